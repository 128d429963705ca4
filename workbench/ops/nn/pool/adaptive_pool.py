"""Pooling to a given size, and the way back from the places of the largest values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, overload

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import SymbolicSize, whole
from workbench.core.contribution import PRODUCT, SELECTED
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.index_types import check_index
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import CHOSEN, PLACED
from workbench.core.tape import Call
from workbench.core.typing import Size, Tensor
from workbench.core.value import dims_of
from workbench.ops.nn import batching
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes, batched, several, unbatched
from workbench.ops.nn.pool.pool_ops import VALUES_AND_INDICES, has_nan, in_plane, keep_larger, lowest, picked
from workbench.ops.offer import offered


def _bounds(size: int, out: int) -> tuple[Any, Any]:
    """Return where each of `out` windows over `size` values begins and ends; they may overlap by one."""
    index = np.arange(out)
    # Down at the start and up at the end: windows may overlap, none is empty, and nothing is left out.
    return index * size // out, -(-(index + 1) * size // out)


def _adaptive_dims(x: Dims, sizes: Sizes) -> tuple[Dims, Dims]:
    if len(x.sizes) != len(sizes) + 2:
        raise DimensionError(
            f"Expected {len(sizes) + 2}D input, but got {len(x.sizes)}D.",
            op="adaptive_max_pool",
            operands=(x.operand("input"),),
        )
    if any(one < 1 for one in x.sizes[1:]):
        raise DimensionError(
            "Expected input to have non-zero size for non-batch dimensions.",
            op="adaptive_max_pool",
            operands=(x.operand("input"),),
        )
    out = Dims(x.names, (*x.sizes[:2], *sizes))
    return out, out


def _adaptive_max(x: Any, sizes: Sizes) -> tuple[Any, Any]:
    """The first largest value of each window (NaN counts as largest), and where it lies in the plane."""
    tables = []
    for size, out in zip(x.shape[2:], sizes, strict=True):
        start, end = _bounds(size, out)
        width = int((end - start).max()) if out else 0
        # A narrower window sees its last value once more, which changes nothing.
        tables.append([np.minimum(start + tap, end - 1) for tap in range(width)])
    best = np.full((*x.shape[:2], *sizes), lowest(x.dtype), x.dtype)
    first = [table[0] if table else np.zeros(0, np.int64) for table in tables]
    where: Any = np.broadcast_to(in_plane(first, x.shape[2:]), best.shape).copy()
    nan = has_nan(x)
    for tap in itertools.product(*tables):
        key: Any = (slice(None), slice(None), *np.ix_(*tap))
        keep_larger(best, where, x[key], in_plane(list(tap), x.shape[2:]), nan)
    return best, where


def _adaptive_vjp(c: Call, g: Any, g_indices: Any) -> tuple[Any, ...]:
    if g is None:
        return (None,)
    back = getattr(ops, f"max_pool{len(c.params['sizes'])}d_gradient")
    return (back(g, c.outs[1], input_shape=c.inputs[0].payload.shape),)


ADAPTIVE_MAX_POOL = Op(
    name="adaptive_max_pool",
    contribution=SELECTED,
    doc="Largest value of each of as many windows as asked for, and its index in the plane.",
    equation="y[n, c, p] = max x[n, c, ⌊p·size/out⌋ … ⌈(p + 1)·size/out⌉ - 1]",
    dims=_adaptive_dims,
    rule="names pass through; the spatial dims have the given sizes",
    dtype=VALUES_AND_INDICES,
    forward=_adaptive_max,
    vjp=_adaptive_vjp,
    saves=Saves((), output=True, outputs=(1,)),
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(2, 3, 7, 5),), {"sizes": (3, 2)}, names=(LAYOUT[2],)),
        Sample((grid(2, 3, 8),), {"sizes": (5,)}),
        Sample((grid(1, 2, 4, 5, 3),), {"sizes": (2, 3, 3)}),
    ],
    bad=lambda: [
        BadInput((grid(3, 5, 5),), {"sizes": (3, 2)}, DimensionError, "Expected 4D input"),
        BadInput((grid(2, 3, 0, 5),), {"sizes": (3, 2)}, DimensionError, "non-zero size"),
    ],
    outputs=2,
    batch=batching.as_samples,
    quantized=CHOSEN,
)


def _unpool_dims(x: Dims, indices: Dims, sizes: Sizes) -> Dims:
    if x.sizes != indices.sizes:
        raise DimensionError(
            f"Expected shape of indices to be: {list(x.sizes)} but got: {list(indices.sizes)}.",
            op="max_unpool",
            operands=(x.operand("input"), indices.operand("indices")),
        )
    return Dims(x.names, (*x.sizes[:2], *sizes))


def _unpool(x: Any, indices: Any, sizes: Sizes) -> Any:
    count = math.prod(sizes)
    # NumPy would count a negative one from the end.
    wrong = indices[(indices < 0) | (indices >= count)]
    if wrong.size:
        raise DimensionError(
            f"Found an invalid max index: {int(wrong.flat[0])} (output volumes are of size "
            f"{'x'.join(map(str, sizes))}).",
            op="max_unpool",
        )
    planes = x.shape[0] * x.shape[1]
    out = np.zeros((planes, count), x.dtype)
    size = math.prod(x.shape[2:])
    np.put_along_axis(out, indices.reshape(planes, size), x.reshape(planes, size), 1)
    return out.reshape(*x.shape[:2], *sizes)


MAX_UNPOOL = Op(
    name="max_unpool",
    contribution=PRODUCT,
    doc="Each value at its index in a plane of zeros; where two meet, one of them.",
    equation="y[n, c, index[n, c, p]] = x[n, c, p]",
    dims=_unpool_dims,
    rule="names pass through; the spatial dims have the given sizes",
    dtype=KEEP,
    forward=_unpool,
    vjp=lambda c, g: (picked(g, c.inputs[1]), None),
    saves=Saves((1,), output=False),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        Sample(
            (grid(2, 3, 2, 2), np.array([[0, 2], [9, 15]]) + np.zeros((2, 3, 1, 1), int)),
            {"sizes": (4, 4)},
            names=(LAYOUT[2], None),
        ),
    ],
    bad=lambda: [
        BadInput(
            (grid(1, 1, 2), np.array([[[0, 9]]])), {"sizes": (4,)}, DimensionError, "invalid max index: 9"
        ),
        BadInput((grid(1, 1, 2), np.array([[[0]]])), {"sizes": (4,)}, DimensionError, "shape of indices"),
    ],
    batch=batching.as_samples,
    quantized=PLACED,
)

# ---------------------------------------------------------------------------------- the words people use


def target_sizes(dims: Dims, n: int, output_size: Any, op: str) -> Sizes:
    """Return the sizes asked for; None stands for the size that a dim has."""
    wanted = tuple(output_size) if isinstance(output_size, Iterable) else (output_size,)
    if len(wanted) == 1:
        wanted = wanted * n
    if len(wanted) != n or not all(
        one is None or isinstance(one, int | np.integer | SymbolicSize) for one in wanted
    ):
        raise DimensionError(f"output_size must be {n} numbers, got {output_size!r}.", op=op)
    sizes = tuple(
        size if one is None else whole(one) for one, size in zip(wanted, dims.sizes[-n:], strict=True)
    )
    if any(one < 0 for one in sizes):
        raise DimensionError(
            f"elements of output_size must be greater than or equal to 0, got {sizes}.", op=op
        )
    return sizes


def _adaptive_max_pool(
    n: int, input: Any, output_size: Any, return_indices: bool
) -> Tensor | tuple[Tensor, Tensor]:
    op = f"adaptive_max_pool{n}d"
    x, added = batched(input, n, op)
    found = ops.adaptive_max_pool(x, sizes=target_sizes(dims_of(x), n, output_size, op))
    values, indices = unbatched(found, added)
    return (values, indices) if return_indices else values


@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Size, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Size, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Size, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]: ...
@offered("workbench", "nn.functional")
def adaptive_max_pool1d(
    input: Tensor, output_size: Size, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Pool [N, C, L] or [C, L] to the largest value of each of `output_size` windows.

    >>> import workbench as wb
    >>> wb.nn.functional.adaptive_max_pool1d(wb.arange(5.0).reshape(1, 1, 5), 2).tolist()
    [[[2.0, 4.0]]]
    """
    return _adaptive_max_pool(1, input, output_size, return_indices)


@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None], *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]: ...
@offered("nn.functional")
def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Pool [N, C, H, W] or [C, H, W] to the largest value of each of `output_size` windows; None keeps a size."""
    return _adaptive_max_pool(2, input, output_size, return_indices)


@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None], *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]: ...
@offered("nn.functional")
def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Pool [N, C, D, H, W] or [C, D, H, W] to the largest value of each of `output_size` windows."""
    return _adaptive_max_pool(3, input, output_size, return_indices)


def _unpooled(
    n: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    op = f"max_unpool{n}d"
    check_index(op, indices, "int64", "indices")
    x, added = batched(input, n, op)
    places, _ = batched(indices, n, op)
    kernel = several(kernel_size, n, "kernel_size")
    strides = kernel if stride is None else several(stride, n, "stride")
    widths = several(padding, n, "padding")
    # Several sizes pool to the same: this is the smallest of them that nothing was left over from.
    natural = tuple(
        (size - 1) * s - 2 * p + k
        for size, s, p, k in zip(dims_of(x).sizes[2:], strides, widths, kernel, strict=True)
    )
    sizes = natural if output_size is None else tuple(whole(one) for one in output_size)[-n:]
    if len(sizes) != n or any(
        not one - s < size < one + s for one, size, s in zip(natural, sizes, strides, strict=True)
    ):
        raise DimensionError(
            f"invalid output_size {list(output_size)}: each of its last {n} numbers must lie less than a stride from "
            f"{list(natural)}.",
            op=op,
        )
    return unbatched(ops.max_unpool(x, places, sizes=sizes), added)


@offered("nn.functional")
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Size | None = None,
) -> Tensor:
    """Put the values that `max_pool1d` found back where they lay, among zeros.

    `output_size` decides between the sizes that pool to the same.

    >>> import workbench as wb
    >>> values, indices = wb.max_pool1d(wb.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2, return_indices=True)
    >>> wb.nn.functional.max_unpool1d(values, indices, 2).tolist()
    [[[0.0, 3.0, 2.0, 0.0]]]
    """
    return _unpooled(1, input, indices, kernel_size, stride, padding, output_size)


@offered("nn.functional")
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Size | None = None,
) -> Tensor:
    """Put the values that `max_pool2d` found back where they lay, among zeros; see `max_unpool1d`."""
    return _unpooled(2, input, indices, kernel_size, stride, padding, output_size)


@offered("nn.functional")
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Size | None = None,
) -> Tensor:
    """Put the values that `max_pool3d` found back where they lay, among zeros; see `max_unpool1d`."""
    return _unpooled(3, input, indices, kernel_size, stride, padding, output_size)
