"""Convolution in one, two and three dims and its two gradients: three bilinear ops that are each other's derivatives.

The gradient for the input is the transposed convolution. All three exist once for every number of spatial dims.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError, DimensionValueError
from workbench.core.dtype_rules import LEARNED
from workbench.core.families import NOT_QUANTIZED, grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.value import dims_of
from workbench.ops.complexes import conjugate
from workbench.ops.window_geometry import (
    LAYOUT,
    Sizes,
    batched,
    check_kernel,
    columns,
    not_negative,
    output_size,
    overlap_add,
    positive,
    several,
    unbatched,
)

Pair = tuple[int, int]

NCHW = LAYOUT[2]

WORDS = {1: "One", 2: "Two", 3: "Three"}


def _conv_dims(n: int) -> Callable[..., Dims]:
    """Return the dims rule of the convolution over `n` spatial dims."""
    name = f"conv{n}d"
    layout = ", ".join(map(str, LAYOUT[n]))

    def rule(
        x: Dims,
        weight: Dims,
        bias: Dims | None = None,
        *,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
    ) -> Dims:
        if len(x.sizes) != n + 2 or len(weight.sizes) != n + 2:
            raise DimensionError(
                f"Expected {n + 2}D input [{layout}] and {n + 2}D weight to {name}, but got {len(x.sizes)}D and "
                f"{len(weight.sizes)}D.",
                op=name,
                operands=(x.operand("input"), weight.operand("weight")),
                fix="input.unsqueeze(0)" if len(x.sizes) == n + 1 else "",
            )
        if weight.sizes[0] < 1:
            raise DimensionError(
                f"Given groups={groups}, expected weight to be at least 1 at dimension 0, but got weight of size "
                f"{list(weight.sizes)} instead.",
                op=name,
                operands=(weight.operand("weight", [0]),),
            )
        check_kernel(name, weight)
        if x.sizes[1] != weight.sizes[1] * groups:
            fits = x.sizes[-1] == weight.sizes[1] * groups
            order = ", ".join(map(str, (0, n + 1, *range(1, n + 1))))
            raise DimensionError(
                f"Given groups={groups}, weight of size {list(weight.sizes)}, expected input{list(x.sizes)} to have "
                f"{weight.sizes[1] * groups} channels, but got {x.sizes[1]} channels instead.",
                op=name,
                operands=(x.operand("input", [1]), weight.operand("weight", [1])),
                fix=f"input.permute({order})" if fits else "",
            )
        if weight.sizes[1] < 1:
            raise DimensionError(
                "expected input and weight to have at least one channel.",
                op=name,
                operands=(x.operand("input", [1]), weight.operand("weight", [1])),
            )
        if weight.sizes[0] % groups:
            raise DimensionError(
                f"out_channels ({weight.sizes[0]}) must be divisible by groups ({groups}).", op=name
            )
        if bias is not None and bias.sizes != weight.sizes[:1]:
            raise DimensionError(
                f"expected bias to be 1-dimensional with {weight.sizes[0]} elements, but got bias of size "
                f"{list(bias.sizes)} instead.",
                op=name,
                operands=(weight.operand("weight", [0]), bias.operand("bias", [0])),
            )
        if min(stride) < 1 or min(dilation) < 1 or min(padding) < 0:
            raise DimensionValueError(
                f"stride {list(stride)} and dilation {list(dilation)} must be at least 1, padding {list(padding)} at "
                "least 0.",
                op=name,
            )
        sizes = tuple(map(output_size, x.sizes[2:], weight.sizes[2:], stride, padding, dilation))
        if min(sizes) <= 0:
            room = [size + 2 * p for size, p in zip(x.sizes[2:], padding, strict=True)]
            spatial = range(2, n + 2)
            raise DimensionError(
                f"Kernel size {list(weight.sizes[2:])} (dilation {list(dilation)}) can't be greater than "
                f"the padded input size {room}.",
                op=name,
                operands=(x.operand("input", spatial), weight.operand("weight", spatial)),
            )
        return Dims(x.names, (x.sizes[0], weight.sizes[0], *sizes))

    return rule


def _patches(x: Any, kernel: Sizes, out: Sizes, groups: int, params: dict[str, Any]) -> Any:
    """Return the windows of `x` as [N, groups, channels · taps, positions]."""
    view = columns(x, kernel, params["stride"], params["padding"], params["dilation"], out)
    rows = x.shape[1] // groups * math.prod(kernel)
    return view.reshape(x.shape[0], groups, rows, math.prod(out))


def _conv(x: Any, weight: Any, bias: Any = None, *, groups: int, **params: Any) -> Any:
    kernel = weight.shape[2:]
    out = tuple(
        map(output_size, x.shape[2:], kernel, params["stride"], params["padding"], params["dilation"])
    )
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1 if weight.size else 0)
    product = matrix @ _patches(x, kernel, out, groups, params)
    y = product.reshape(x.shape[0], weight.shape[0], *out)
    return y if bias is None else y + bias.reshape(-1, *(1,) * len(kernel))


def _input_gradient(
    g: Any, weight: Any, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    o, i, *kernel = weight.shape
    out = g.shape[2:]
    matrix = weight.reshape(groups, o // groups, i * math.prod(kernel)).swapaxes(1, 2)
    product = matrix @ g.reshape(g.shape[0], groups, o // groups, math.prod(out))
    parts = product.reshape(g.shape[0], groups * i, *kernel, *out)
    return overlap_add(parts, input_shape[2:], stride, padding, dilation)


def _weight_gradient(g: Any, x: Any, *, weight_shape: Sizes, groups: int, **params: Any) -> Any:
    o, i, *kernel = weight_shape
    out = g.shape[2:]
    rows, positions = i * math.prod(kernel), math.prod(out)
    patches = _patches(x, tuple(kernel), out, groups, params)
    left = g.reshape(g.shape[0], groups, o // groups, positions)
    product = np.zeros((groups, o // groups, rows), np.result_type(g, x))
    # Example by example: side by side they would have to be transposed in memory first.
    for gradient, patch in zip(left, patches, strict=True):
        product += gradient @ patch.swapaxes(-1, -2)
    return product.reshape(weight_shape)


def _without(params: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key not in names}


def _params(n: int, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> dict[str, Any]:
    return {
        "stride": (stride,) * n,
        "padding": (padding,) * n,
        "dilation": (dilation,) * n,
        "groups": groups,
    }


def _cost(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    return 2.0 * out.numel * math.prod(dims[1].sizes[1:])


def convolution(n: int) -> tuple[Op, Op, Op]:
    """Declare the convolution over `n` spatial dims, its gradient for the input and that for the weight."""
    name = f"conv{n}d"
    spatial = tuple(range(2, n + 2))
    plane = ", ".join(map(str, LAYOUT[n][2:]))

    def vjp(c: Call, g: Any) -> tuple[Any, ...]:
        x, weight = c.inputs[:2]
        gx = gw = None
        if c.needs[0]:
            gx = to_input(g, conjugate(weight), input_shape=x._array.shape, **c.params)
        if c.needs[1]:
            gw = to_weight(g, conjugate(x), weight_shape=weight._array.shape, **c.params)
        if len(c.inputs) == 2:
            return gx, gw
        return gx, gw, ops.sum(g, dim=(0, *spatial), keepdim=False) if c.needs[2] else None

    def input_vjp(c: Call, u: Any) -> tuple[Any, ...]:
        g, weight = c.inputs
        params = _without(c.params, "input_shape")
        gg = forward(u, conjugate(weight), **params) if c.needs[0] else None
        if not c.needs[1]:
            return gg, None
        return gg, to_weight(conjugate(g), u, weight_shape=weight._array.shape, **params)

    def weight_vjp(c: Call, u: Any) -> tuple[Any, ...]:
        g, x = c.inputs
        params = _without(c.params, "weight_shape")
        gg = forward(conjugate(x), u, **params) if c.needs[0] else None
        return gg, to_input(conjugate(g), u, input_shape=x._array.shape, **params) if c.needs[1] else None

    small, odd, wide = (5,) * n, (6, 5, 4)[:n], (7, 6, 7)[:n]
    x, weight = grid(2, 3, *small), grid(4, 3, *(3,) * n)
    strided, its_weight = grid(2, 3, *odd), grid(4, 3, *(3, 2, 2)[:n])
    grouped, their_weight = grid(1, 4, *wide), grid(6, 2, *(3,) * n)
    wide_params = _params(n, padding=2, dilation=2, groups=2)
    after_stride = tuple(map(output_size, odd, (3, 2, 2), (2,) * n, (0,) * n, (1,) * n))
    forward = Op(
        name=name,
        doc=f"{WORDS[n]}-dimensional cross-correlation with learned weights.",
        equation=f"y[n, o, p] = b[o] + Σ_{{c, k}} x[n, c, p·s + k·d - pad]·w[o, c, k], p and k along ({plane})",
        reference="elementary",
        dims=_conv_dims(n),
        rule=f"[N, C, {plane}] keep their names; C becomes the weight's output channels, {plane} window positions",
        dtype=LEARNED,
        forward=_conv,
        vjp=vjp,
        saves=Saves((0, 1), output=False),
        quantized=NOT_QUANTIZED,
        cost=_cost,
        samples=lambda: [
            Sample((x, weight, grid(4)), _params(n, padding=1), names=(LAYOUT[n], None, None)),
            Sample((strided, its_weight), _params(n, stride=2)),
            Sample((grouped, their_weight, grid(6)), wide_params),
        ],
        bad=lambda: [
            BadInput((x, weight[:, :2]), _params(n), DimensionError, "to have 2 channels, but got 3"),
            BadInput(
                (x, grid(4, 3, *(6,) * n)), _params(n), DimensionError, "can't be greater than the padded"
            ),
            BadInput((x[0], weight), _params(n), DimensionError, f"Expected {n + 2}D input"),
        ],
        properties=frozenset({"narrow"}),
    )
    to_input = Op(
        name=f"{name}_input_gradient",
        doc=f"Gradient of {name} for its input (transposed convolution).",
        equation=f"gx = ∂⟨g, {name}(x, w)⟩/∂x",
        reference="elementary",
        dims=lambda g, weight, *, input_shape, **params: Dims(g.names, input_shape),
        rule="names of the gradient, sizes of the convolution's input",
        dtype=LEARNED,
        forward=_input_gradient,
        vjp=input_vjp,
        saves=Saves(None, output=False),
        quantized=NOT_QUANTIZED,
        cost=lambda dims, out, **params: 2.0 * dims[0].numel * math.prod(dims[1].sizes[1:]),
        samples=lambda: [
            Sample(
                (grid(2, 4, *small), weight),
                {"input_shape": x.shape, **_params(n, padding=1)},
                names=(LAYOUT[n], None),
            ),
            Sample(
                (grid(2, 4, *after_stride), its_weight),
                {"input_shape": strided.shape, **_params(n, stride=2)},
            ),
            Sample((grid(1, 6, *wide), their_weight), {"input_shape": grouped.shape, **wide_params}),
        ],
        bad=list,
    )
    to_weight = Op(
        name=f"{name}_weight_gradient",
        doc=f"Gradient of {name} for its weight.",
        equation=f"gw = ∂⟨g, {name}(x, w)⟩/∂w",
        reference="elementary",
        dims=lambda g, x, *, weight_shape, **params: Dims((None,) * len(weight_shape), weight_shape),
        rule="unnamed, sizes of the weight",
        dtype=LEARNED,
        forward=_weight_gradient,
        vjp=weight_vjp,
        saves=Saves(None, output=False),
        quantized=NOT_QUANTIZED,
        cost=lambda dims, out, **params: 2.0 * dims[0].numel * math.prod(out.sizes[1:]),
        samples=lambda: [
            Sample((grid(2, 4, *small), x), {"weight_shape": weight.shape, **_params(n, padding=1)}),
            Sample(
                (grid(2, 4, *after_stride), strided),
                {"weight_shape": its_weight.shape, **_params(n, stride=2)},
            ),
            Sample((grid(1, 6, *wide), grouped), {"weight_shape": their_weight.shape, **wide_params}),
        ],
        bad=list,
    )
    return forward, to_input, to_weight


CONV1D, CONV1D_INPUT_GRADIENT, CONV1D_WEIGHT_GRADIENT = convolution(1)
CONV2D, CONV2D_INPUT_GRADIENT, CONV2D_WEIGHT_GRADIENT = convolution(2)
CONV3D, CONV3D_INPUT_GRADIENT, CONV3D_WEIGHT_GRADIENT = convolution(3)

# ---------------------------------------------------------------------------------- the words people use


def pair(value: int | tuple[int, int] | list[int], what: str) -> Pair:
    """Return one number for both directions, or two, as a pair.

    >>> pair(3, "stride"), pair((1, 2), "stride")
    ((3, 3), (1, 2))
    """
    both: Any = several(value, 2, what)
    return both  # type: ignore[no-any-return]


def _border(x: Any, weight: Any, padding: Any, stride: Sizes, dilation: Sizes, op: str) -> tuple[Any, Sizes]:
    """Return the input and how far it is to be padded; what is more on one side is added to the input here."""
    n = len(stride)
    if not isinstance(padding, str):
        return x, not_negative(several(padding, n, "padding"), "padding", op)
    if padding == "valid":
        return x, (0,) * n
    if padding != "same":
        raise ValueError(
            f"{op}: invalid padding string {padding!r}, padding should be one of 'valid', 'same'"
        )
    if max(stride) > 1:
        raise DimensionError("padding='same' is not supported for strided convolutions.", op=op)
    kernel = dims_of(weight).sizes[2:]
    if len(kernel) != n:
        return x, (0,) * n  # the op refuses this weight
    total = tuple(d * (k - 1) for d, k in zip(dilation, kernel, strict=True))
    if any(one % 2 for one in total):
        widths = ((0, 0), (0, 0), *((0, one % 2) for one in total))
        x = ops.pad(x, padding=widths, value=0.0)
    return x, tuple(one // 2 for one in total)


def _groups(groups: int, op: str) -> int:
    if groups < 1:
        raise DimensionError(f"non-positive groups is not supported, got {groups}.", op=op)
    return groups


def _convolve(
    n: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    op = f"conv{n}d"
    strides = positive(several(stride, n, "stride"), "stride", op)
    dilations = positive(several(dilation, n, "dilation"), "dilation", op)
    x, added = batched(input, n, op)
    x, widths = _border(x, weight, padding, strides, dilations, op)
    operands = (x, weight) if bias is None else (x, weight, bias)
    y = getattr(ops, op)(
        *operands, stride=strides, padding=widths, dilation=dilations, groups=_groups(groups, op)
    )
    return unbatched(y, added)


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """One-dimensional cross-correlation.

    y[n, o, p] = b[o] + Σ_{c, i} x[n, c, p·s + i·d - pad]·w[o, c, i]

    Shapes: input [N, C, L] or [C, L], weight [O, C / groups, k], bias [O]. `padding` is also 'valid' or 'same'.

    >>> import workbench as wb
    >>> wb.conv1d(wb.ones(1, 1, 5), wb.ones(1, 1, 3)).tolist()
    [[[3.0, 3.0, 3.0]]]
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Two-dimensional cross-correlation.

    y[n, o, p, q] = b[o] + Σ_{c, i, j} x[n, c, p·s + i·d - pad, q·s + j·d - pad]·w[o, c, i, j]

    Shapes: input [N, C, H, W] or [C, H, W], weight [O, C / groups, kH, kW], bias [O]. `padding` is also 'valid'
    or 'same'.

    >>> import workbench as wb
    >>> wb.conv2d(wb.ones(N=1, C=1, H=4, W=4), wb.ones(2, 1, 3, 3)).shape
    (1, 2, 2, 2)
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Three-dimensional cross-correlation: `conv2d` with a depth.

    Shapes: input [N, C, D, H, W] or [C, D, H, W], weight [O, C / groups, kD, kH, kW], bias [O].

    >>> import workbench as wb
    >>> wb.conv3d(wb.ones(1, 1, 4, 4, 4), wb.ones(2, 1, 3, 3, 3)).shape
    (1, 2, 2, 2, 2)
    """
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


FUNCTIONS: dict[str, Any] = {"conv1d": conv1d, "conv2d": conv2d, "conv3d": conv3d}
"""What `workbench` offers of this file by name."""

NOT_METHODS = tuple(FUNCTIONS)
"""Functions that are no methods of a tensor."""

NN: dict[str, Any] = FUNCTIONS
"""What `workbench.nn.functional` offers of this file."""
