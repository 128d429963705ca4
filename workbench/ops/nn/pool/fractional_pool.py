"""Pooling to the largest value over windows that chance places: steps of one size and the next, mixed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from workbench.base.dims import Dims
from workbench.base.dtypes import as_numbers
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.symbolic_size import SymbolicFloat, scaled
from workbench.core.contribution import SELECTED
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import Quantization
from workbench.core.quantized_rules import picked
from workbench.core.tape import Call
from workbench.core.typing import Size, Tensor
from workbench.core.value import dims_of
from workbench.ops.nn.conv.window_geometry import (
    LAYOUT,
    Sizes,
    batched,
    check_layout,
    positive,
    several,
    unbatched,
)
from workbench.ops.nn.pool.pool_ops import VALUES_AND_INDICES, has_nan, keep_larger, lowest
from workbench.ops.offer import offered
from workbench.ops.random.noise import noise


def _column(n: int, axis: int) -> int:
    """Return which random number places the windows along a spatial dim: two dims take theirs the other way round."""
    return 1 - axis if n == 2 else axis


def _starts(sample: Any, size: int, out: int, kernel: int) -> Any:
    """Return where the windows of every plane begin: [N, C, out], worked out in the type of the values."""
    kind = sample.dtype.type
    begin = np.zeros((*sample.shape, out), np.int64)
    if out > 1:
        alpha = kind(size - kernel) / kind(out - 1)
        # In the type of the values, rounding and all: another would begin some windows one place further on.
        steps = (np.arange(out).astype(kind) + sample[..., None]) * alpha
        begin[...] = steps.astype(np.int64) - (sample * alpha).astype(np.int64)[..., None]
    if out:
        # The last window ends where the plane does, whatever rounding says.
        begin[..., -1] = size - kernel
    return begin


def _fractional(x: Any, samples: Any, kernel: Sizes, sizes: Sizes) -> tuple[Any, Any]:
    """The first largest value of each window (NaN counts as largest), and where it lies in the plane."""
    n, count, spatial = len(kernel), len(x), x.shape[2:]
    starts = [
        # PyTorch lets more numbers be given than there are examples.
        _starts(samples[:count, :, _column(n, axis)], size, out, k)
        for axis, (size, out, k) in enumerate(zip(spatial, sizes, kernel, strict=True))
    ]
    planes = x.reshape(*x.shape[:2], math.prod(spatial))
    best = np.full((*x.shape[:2], math.prod(sizes)), lowest(x.dtype), x.dtype)
    where: Any = None
    nan = has_nan(x)
    for tap in itertools.product(*map(range, kernel)):
        place: Any = np.zeros((*x.shape[:2], *(1,) * n), np.int64)
        for axis, (start, size, offset) in enumerate(zip(starts, spatial, tap, strict=True)):
            along = [1] * n
            along[axis] = start.shape[2]
            place = place * size + (start + offset).reshape(*x.shape[:2], *along)
        place = place.reshape(best.shape)
        where = place.copy() if where is None else where
        keep_larger(best, where, np.take_along_axis(planes, place, 2), place, nan)
    shape = (*x.shape[:2], *sizes)
    return best.reshape(shape), where.reshape(shape)


def _fractional_dims(x: Dims, samples: Dims, kernel: Sizes, sizes: Sizes) -> tuple[Dims, Dims]:
    n = len(kernel)
    op = f"fractional_max_pool{n}d"
    check_layout(op, x, n)
    positive(kernel, "kernel size", op)
    if any(one < 1 for one in x.sizes[1:]):
        raise DimensionError(
            f"Expected input to have non-zero size for non-batch dimensions, but got {list(x.sizes)}.",
            op=op,
            operands=(x.operand("input", [i for i, size in enumerate(x.sizes) if i and not size]),),
        )
    for axis, (size, out, k) in enumerate(zip(x.sizes[2:], sizes, kernel, strict=True)):
        if out + k - 1 > size:
            raise DimensionError(
                f"{out} windows of {k} are too large relative to input size {size} along dim {axis + 2}: windows begin "
                "at different places, so that at least output size + kernel size - 1 values are needed.",
                op=op,
                operands=(x.operand("input", [axis + 2]),),
            )
    wanted = (x.sizes[0], x.sizes[1], n)
    if len(samples.sizes) != 3 or samples.sizes[1:] != wanted[1:] or samples.sizes[0] < wanted[0]:
        raise DimensionError(
            f"Expect _random_samples to have shape {list(wanted)}, a number for each plane and spatial dim; got "
            f"{list(samples.sizes)}.",
            op=op,
            operands=(x.operand("input", [0, 1]), samples.operand("_random_samples")),
        )
    out_dims = Dims(x.names, (*x.sizes[:2], *sizes))
    return out_dims, out_dims


def _vjp(c: Call, g: Any, g_indices: Any) -> tuple[Any, ...]:
    if g is None:
        return None, None
    back = getattr(ops, f"max_pool{len(c.params['sizes'])}d_gradient")
    return back(g, c.outs[1], input_shape=c.inputs[0].payload.shape), None


def _chances(*sizes: int) -> Any:
    return np.random.default_rng(len(sizes)).random(sizes)


FRACTIONAL_MAX_POOL = Op(
    name="fractional_max_pool",
    contribution=SELECTED,
    doc="Largest value of each of as many windows as asked for, placed by random numbers, and its index in the plane.",
    equation="y[n, c, p] = max_k x[n, c, ⌊(p + u)·a⌋ - ⌊u·a⌋ + k], a = (size - kernel) / (out - 1), u from [0, 1)",
    reference="Graham 2014",
    dims=_fractional_dims,
    rule="names pass through; the spatial dims have the given sizes",
    dtype=VALUES_AND_INDICES,
    forward=_fractional,
    vjp=_vjp,
    saves=Saves((), output=True, outputs=(1,)),
    cost=lambda dims, out, **params: float(math.prod(params["kernel"]) * dims[0].numel),
    samples=lambda: [
        Sample(
            (grid(2, 3, 7, 9), _chances(2, 3, 2)), {"kernel": (2, 3), "sizes": (3, 4)}, names=(LAYOUT[2], None)
        ),
        Sample((grid(1, 2, 4, 5, 6), _chances(1, 2, 3)), {"kernel": (2, 2, 2), "sizes": (2, 1, 4)}),
    ],
    bad=lambda: [
        BadInput(
            (grid(2, 3, 5, 5), _chances(2, 3, 2)),
            {"kernel": (3, 3), "sizes": (4, 2)},
            DimensionError,
            "too large relative to input size 5",
        ),
        BadInput(
            (grid(2, 3, 5, 5), _chances(2, 3, 3)),
            {"kernel": (2, 2), "sizes": (2, 2)},
            DimensionError,
            "Expect _random_samples to have shape",
        ),
    ],
    outputs=2, quantized=Quantization("same", picked, inputs=("value", "plain")),
)  # fmt: skip

# ---------------------------------------------------------------------------------- the words people use


def _targets(spatial: Sizes, output_size: Any, output_ratio: Any, op: str) -> Sizes:
    n = len(spatial)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{op} requires specifying either an output_size or an output_ratio")
    if output_size is not None:
        sizes = several(output_size, n, "output_size")
    else:
        ratios = (
            (output_ratio,) * n
            if isinstance(output_ratio, int | float | SymbolicFloat)
            else tuple(output_ratio)
        )
        if len(ratios) != n:
            raise ValueError(f"{op} requires output_ratio to either be a single number or {n} of them.")
        sizes = tuple(scaled(size, float(ratio)) for size, ratio in zip(spatial, ratios, strict=True))
    if any(one < 0 for one in sizes):
        raise DimensionError(f"negative output size {list(sizes)}.", op=op)
    return sizes


def _pool(
    n: int,
    input: Any,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    return_indices: bool,
    random_samples: Any,
) -> Tensor | tuple[Tensor, Tensor]:
    op = f"fractional_max_pool{n}d"
    dtype = input.payload.dtype
    if dtype.kind not in "fV":
        raise DTypeError(
            f"{op}: values must be real floating point, got {dtype}. Cast them: {as_numbers('input', dtype)}"
        )
    x, added = batched(input, n, op)
    sizes = dims_of(x).sizes
    if random_samples is None:
        kind = np.dtype(np.float64 if dtype == np.float64 else np.float32)
        random_samples = ops.to(noise("rand", (*sizes[:2], n), kind), dtype=dtype)
    elif random_samples.payload.dtype != dtype:
        raise DTypeError(
            f"{op}: Expect _random_samples to have the same dtype as input, {dtype}; got {random_samples.payload.dtype}"
        )
    found = ops.fractional_max_pool(
        x,
        random_samples,
        kernel=several(kernel_size, n, "kernel_size"),
        sizes=_targets(sizes[2:], output_size, output_ratio, op),
    )
    values, indices = unbatched(found, added)
    return (values, indices) if return_indices else values


@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: Literal[False] = False,
    _random_samples: Tensor | None = None,
) -> Tensor: ...
@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]: ...
@offered("nn.functional")
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Pool [N, C, H, W] or [C, H, W] to the largest values of overlapping windows that chance places. Graham 2014.

    The windows are of one size; from one to the next are steps of two neighbouring lengths, so that the result has
    `output_size`, or `output_ratio` times the size of the input. `_random_samples` are the numbers [N, C, 2] from
    [0, 1) that place them; without, they are drawn.

    Raises `DimensionError` where the windows do not fit, `DTypeError` for values that are not floating point.

    >>> import workbench as wb
    >>> wb.nn.functional.fractional_max_pool2d(wb.zeros(N=1, C=3, H=9, W=9), 2, output_ratio=0.7).shape
    (1, 3, 6, 6)
    """
    return _pool(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: Literal[False] = False,
    _random_samples: Tensor | None = None,
) -> Tensor: ...
@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]: ...
@offered("nn.functional")
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Pool [N, C, D, H, W] or [C, D, H, W] as `fractional_max_pool2d` does; `_random_samples` are [N, C, 3].

    >>> import workbench as wb
    >>> wb.nn.functional.fractional_max_pool3d(wb.zeros(N=1, C=3, D=9, H=9, W=9), 2, output_size=(4, 5, 6)).shape
    (1, 3, 4, 5, 6)
    """
    return _pool(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
