"""Pooling over windows of [N, C, …] in one, two and three spatial dims: the largest value, and the mean."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import remembered
from workbench.core.contribution import SELECTED
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import CHOSEN, COMPUTED, GRADIENT
from workbench.core.tape import Call
from workbench.ops.nn import batching
from workbench.ops.nn.conv.window_geometry import (
    LAYOUT,
    Sizes,
    check_layout,
    output_size,
    positive,
    taps,
)
from workbench.ops.nn.pool.means import averaged, divisor, windows_of_codes


def _pooled_dims(
    op: str, x: Dims, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Dims:
    check_layout(op, x, len(kernel))
    sizes = _places(op, x.sizes[2:], kernel, stride, padding, dilation, ceil_mode)
    if sizes is None:
        sizes = tuple(
            output_size(*each, ceil_mode)
            for each in zip(x.sizes[2:], kernel, stride, padding, dilation, strict=True)
        )
        raise DimensionError(
            f"Given input size {list(x.sizes[1:])}, calculated output size {[x.sizes[1], *sizes]}: "
            "output size is too small.",
            op=op,
            operands=(x.operand("input", range(2, len(kernel) + 2)),),
        )
    return Dims(x.names, (*x.sizes[:2], *sizes))


@remembered(256)
def _places(
    op: str, sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Sizes | None:
    """Return how many windows there are along each dim; None where there is none along some."""
    positive(kernel, "kernel size", op)
    positive(stride, "stride", op)
    positive(dilation, "dilation", op)
    if any(p < 0 or 2 * p > d * (k - 1) + 1 for p, k, d in zip(padding, kernel, dilation, strict=True)):
        raise DimensionError(
            f"pad should be at most half of effective kernel size (and not negative), but got pad={padding}, "
            f"kernel_size={kernel} and dilation={dilation}.",
            op=op,
        )
    found = tuple(
        output_size(*each, ceil_mode) for each in zip(sizes, kernel, stride, padding, dilation, strict=True)
    )
    return None if any(one <= 0 for one in found) else found


def _out_sizes(x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil: bool) -> Sizes:
    return tuple(
        output_size(*each, ceil) for each in zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)
    )


def _cost(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    return float(out.numel * math.prod(params["kernel"]))


# -------------------------------------------------------------------------------------- the largest value


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return the smallest value of a type."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return dtype.type(-np.inf) if dtype.kind in "fV" else dtype.type(0)


def keep_larger(best: Any, where: Any, values: Any, position: Any, nan: bool) -> None:
    """Put `values` and their `position` where they are larger than what is there; NaN is larger than anything."""
    larger = values > best
    if nan:
        # A comparison with NaN is False: where there is none the second look is spared.
        larger |= np.isnan(values)
    np.copyto(best, values, where=larger)
    np.copyto(where, position, where=larger)


def has_nan(x: Any) -> bool:
    """Say whether some value is not a number."""
    return x.dtype.kind in "fV" and bool(np.isnan(x).any())


def _max_pool(
    x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False
) -> tuple[Any, Any]:
    """The first largest value of each window (NaN counts as largest), and where it lies in the plane."""
    sizes = x.shape[2:]
    out = _out_sizes(x, kernel, stride, padding, dilation, ceil_mode)
    best: Any = np.full((*x.shape[:2], *out), lowest(x.dtype), x.dtype)
    # A window of nothing but the lowest value has its first value's place.
    first = [
        np.where(start < 0, start + -(start // d) * d, start)
        for start, d in (
            (np.arange(o) * s - p, d) for o, s, p, d in zip(out, stride, padding, dilation, strict=True)
        )
    ]
    where: Any = np.broadcast_to(in_plane(first, sizes), best.shape).copy()
    nan = has_nan(x)
    for _, there, here in taps(sizes, out, kernel, stride, padding, dilation):
        position = [np.arange(one.start, one.stop, one.step) for one in here]
        part: Any = (..., *there)
        keep_larger(best[part], where[part], x[(..., *here)], in_plane(position, sizes), nan)
    return best, where


def in_plane(positions: list[Any], sizes: Sizes) -> Any:
    """Return the row-major index of every combination of positions along the dims of a plane."""
    index = np.zeros((), np.int64)
    for position, size in zip(positions, sizes, strict=True):
        index = index[..., None] * size + position
    return index


def _planes(x: Any) -> Any:
    return x.reshape(x.shape[0], x.shape[1], math.prod(x.shape[2:]))


def _max_gradient(g: Any, indices: Any, input_shape: Sizes) -> Any:
    count, size = input_shape[0] * input_shape[1], math.prod(input_shape[2:])
    # Planes are numbered through, so that one count serves all of them.
    base = (np.arange(count) * size).reshape(*input_shape[:2], 1)
    # With weights np.bincount adds up, where += would keep one of several.
    flat = np.bincount((_planes(indices) + base).ravel(), _planes(g).ravel(), count * size)
    return flat.reshape(input_shape).astype(g.dtype, copy=False)


def _max_gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    return picked(u, c.inputs[1]), None


def picked(values: Any, indices: Any) -> Any:
    """Return the values of each plane at `indices`, in the sizes of these."""
    n, channels, *sizes = values.payload.shape
    shape = indices.payload.shape
    flat = ops.reshape(indices, sizes=(n, channels, math.prod(shape[2:])))
    found = ops.gather(ops.reshape(values, sizes=(n, channels, math.prod(sizes))), flat, dim=2)
    return ops.reshape(found, sizes=shape)


VALUES_AND_INDICES = DTypeRule(
    "as the input, and int64", None, lambda dtype, params: (dtype, np.dtype(np.int64))
)


def _max_params(n: int, kernel: int, stride: int, padding: int = 0, dilation: int = 1) -> dict[str, Any]:
    each = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    return {key: (value,) * n for key, value in each.items()}


def max_pooling(n: int) -> tuple[Op, Op]:
    """Declare the pooling to the largest value over `n` spatial dims, and its gradient."""
    name = f"max_pool{n}d"
    plane = ", ".join(map(str, LAYOUT[n][2:]))

    def dims(
        x: Dims, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False
    ) -> tuple[Dims, Dims]:
        out = _pooled_dims(name, x, kernel, stride, padding, dilation, ceil_mode)
        return out, out

    def vjp(c: Call, g: Any, g_indices: Any) -> tuple[Any, ...]:
        if g is None:
            return (None,)
        return (back(g, c.outs[1], input_shape=c.inputs[0].payload.shape),)

    shape = (6, 6, 4)[:n]
    forward = Op(
        name=name,
        doc=f"Largest value of each window, and its index in the plane {plane.replace(', ', '·')}.",
        equation=f"y[n, c, p] = max_k x[n, c, p·s + k·d - pad], p and k along ({plane})",
        dims=dims,
        rule=f"[N, C, {plane}] keep their names; {plane} become window positions",
        dtype=VALUES_AND_INDICES,
        forward=_max_pool,
        vjp=vjp,
        saves=Saves((), output=True, outputs=(1,)),
        quantized=CHOSEN,
        contribution=SELECTED,
        cost=_cost,
        samples=lambda: [
            Sample((grid(2, 3, *shape),), _max_params(n, 2, 2), names=(LAYOUT[n],)),
            Sample((grid(1, 2, *(7, 5, 4)[:n]),), _max_params(n, 3, 2, 1)),
            Sample((grid(1, 2, *(7,) * n).swapaxes(2, -1),), _max_params(n, 2, 1, 0, 2)),
            Sample((grid(1, 2, *shape),), {**_max_params(n, 3, 2), "ceil_mode": True}),
        ],
        bad=lambda: [
            BadInput(
                (grid(2, 3, *(1,) * n),), _max_params(n, 2, 2), DimensionError, "output size is too small"
            ),
            BadInput((grid(3, *shape),), _max_params(n, 2, 2), DimensionError, f"Expected {n + 2}D input"),
            BadInput((grid(2, 3, *shape),), _max_params(n, 2, 2, 2), DimensionError, "at most half"),
            BadInput((grid(2, 3, *shape),), _max_params(n, 2, 0), DimensionError, "stride should be greater"),
        ],
        outputs=2,
        batch=batching.as_samples,
    )
    plane_size = 4**n
    back = Op(
        name=f"{name}_gradient",
        doc=f"Gradient of {name}: each value goes back to where the largest was.",
        equation="gx[n, c, index] += g",
        dims=lambda g, indices, input_shape: Dims(g.names, input_shape),
        rule="names of the gradient, sizes of the pooling's input",
        dtype=KEEP,
        forward=_max_gradient,
        vjp=_max_gradient_vjp,
        saves=Saves((1,), output=False),
        cost=lambda dims, out, **params: float(dims[0].numel),
        samples=lambda: [
            Sample(
                (
                    grid(2, 3, *(2,) * n),
                    np.random.default_rng(n).integers(0, plane_size, (2, 3, *(2,) * n)),
                ),
                {"input_shape": (2, 3, *(4,) * n)},
            ),
        ],
        batch=batching.as_samples_into,
        quantized=GRADIENT,
    )
    return forward, back


MAX_POOL1D, MAX_POOL1D_GRADIENT = max_pooling(1)
MAX_POOL2D, MAX_POOL2D_GRADIENT = max_pooling(2)
MAX_POOL3D, MAX_POOL3D_GRADIENT = max_pooling(3)

# ------------------------------------------------------------------------------------------------ the mean


def _avg_pool(
    x: Any,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    sizes, ones = x.shape[2:], (1,) * len(kernel)
    out = _out_sizes(x, kernel, stride, padding, ones, ceil_mode)
    total: Any = np.zeros((*x.shape[:2], *out), x.dtype)
    for _, there, here in taps(sizes, out, kernel, stride, padding, ones):
        total[(..., *there)] += x[(..., *here)]
    count = divisor(sizes, out, kernel, stride, padding, count_include_pad, divisor_override, x.dtype)
    if x.dtype.kind in "iu":
        # Towards zero, as whole numbers are divided in the machine.
        return np.sign(total) * np.sign(count) * (np.abs(total) // np.abs(count))
    return total / count


def _avg_of_codes(
    op: Op, q: Any, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    edges, factors = windows_of_codes(
        q.shape[2:], kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    params = {"kernel": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil_mode}
    more = {"count_include_pad": count_include_pad, "divisor_override": divisor_override}
    return averaged(op, q, edges, factors, **params, **more)


def _avg_gradient(
    g: Any,
    input_shape: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    sizes, out = input_shape[2:], g.shape[2:]
    count = divisor(sizes, out, kernel, stride, padding, count_include_pad, divisor_override, g.dtype)
    share = g / count
    result: Any = np.zeros(input_shape, g.dtype)
    for _, there, here in taps(sizes, out, kernel, stride, padding, (1,) * len(kernel)):
        result[(..., *here)] += share[(..., *there)]
    return result


def _avg_params(n: int, kernel: int, stride: int, padding: int = 0) -> dict[str, Any]:
    return {"kernel": (kernel,) * n, "stride": (stride,) * n, "padding": (padding,) * n}


def average_pooling(n: int) -> tuple[Op, Op]:
    """Declare the pooling to the mean over `n` spatial dims, and its gradient."""
    name = f"avg_pool{n}d"
    plane = ", ".join(map(str, LAYOUT[n][2:]))

    def dims(
        x: Dims, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool = False, **params: Any
    ) -> Dims:
        if params.get("divisor_override") == 0:
            raise DimensionError("divisor must be not zero.", op=name)
        return _pooled_dims(name, x, kernel, stride, padding, (1,) * n, ceil_mode)

    def back_vjp(c: Call, u: Any) -> tuple[Any, ...]:
        return (forward(u, **{key: value for key, value in c.params.items() if key != "input_shape"}),)

    shape, odd = (6, 6, 4)[:n], (7, 5, 4)[:n]
    uneven = {**_avg_params(n, 3, 2, 1), "ceil_mode": True, "count_include_pad": False}
    forward = Op(
        name=name,
        doc="Mean of each window; the padding counts as zeros unless it is left out.",
        equation=f"y[n, c, p] = mean_k x[n, c, p·s + k - pad], p and k along ({plane})",
        dims=dims,
        rule=f"[N, C, {plane}] keep their names; {plane} become window positions",
        dtype=KEEP,
        forward=_avg_pool,
        vjp=lambda c, g: (back(g, input_shape=c.inputs[0].payload.shape, **c.params),),
        saves=Saves((), output=False),
        cost=_cost,
        samples=lambda: [
            Sample((grid(2, 3, *shape),), _avg_params(n, 2, 2), names=(LAYOUT[n],)),
            Sample((grid(1, 2, *odd),), _avg_params(n, 3, 2, 1)),
            Sample((grid(1, 2, *shape),), uneven),
            Sample((grid(1, 2, *shape),), {**_avg_params(n, 2, 2), "divisor_override": 3}),
        ],
        bad=lambda: [
            BadInput(
                (grid(2, 3, *(1,) * n),), _avg_params(n, 2, 2), DimensionError, "output size is too small"
            ),
            BadInput(
                (grid(2, 3, *shape),),
                {**_avg_params(n, 2, 2), "divisor_override": 0},
                DimensionError,
                "divisor must be not zero",
            ),
        ],
        properties=frozenset({"linear"}),
        batch=batching.as_samples,
        quantized=replace(COMPUTED, codes=_avg_of_codes),
    )
    halves = tuple(output_size(size, 3, 2, 1, 1, True) for size in shape)
    back = Op(
        name=f"{name}_gradient",
        doc=f"Gradient of {name}: each value spread evenly over its window.",
        equation=f"gx = ∂⟨g, {name}(x)⟩/∂x",
        dims=lambda g, input_shape, **params: Dims(g.names, input_shape),
        rule="names of the gradient, sizes of the pooling's input",
        dtype=KEEP,
        forward=_avg_gradient,
        vjp=back_vjp,
        saves=Saves((), output=False),
        cost=lambda dims, out, **params: float(out.numel),
        samples=lambda: [
            Sample(
                (grid(2, 3, *(one // 2 for one in shape)),),
                {"input_shape": (2, 3, *shape), **_avg_params(n, 2, 2)},
                names=(LAYOUT[n],),
            ),
            Sample((grid(1, 2, *(4, 3, 2)[:n]),), {"input_shape": (1, 2, *odd), **_avg_params(n, 3, 2, 1)}),
            Sample((grid(1, 2, *halves),), {"input_shape": (1, 2, *shape), **uneven}),
        ],
        properties=frozenset({"linear"}),
        batch=batching.as_samples_into,
        quantized=GRADIENT,
    )
    return forward, back


AVG_POOL1D, AVG_POOL1D_GRADIENT = average_pooling(1)
AVG_POOL2D, AVG_POOL2D_GRADIENT = average_pooling(2)
AVG_POOL3D, AVG_POOL3D_GRADIENT = average_pooling(3)
