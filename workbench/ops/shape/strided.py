"""Memory seen in another way: views that refuse to copy, strides given by hand, bits read as another type."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.dtypes import DType, plain_dtype
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.families import grid, unbroadcast
from workbench.core.op import Absent, BadInput, DTypeRule, Sample, ops
from workbench.core.quantization import GRADIENT, WHOLE
from workbench.core.tape import Call
from workbench.core.typing import Dim, DTypeLike, Size, Tensor
from workbench.core.value import dims_of, new
from workbench.ops.index.view_scatter import writer
from workbench.ops.offer import offered
from workbench.ops.shape.memory_format import places_of
from workbench.ops.shape.movement import copying, memory_of, move, see, sizes_from, storage

Steps = tuple[int, ...]

# ------------------------------------------------------------------------------------- strides by hand


def contiguous_strides(sizes: Steps) -> Steps:
    """Return the strides, counted in values, of sizes laid out in row-major order."""
    # As PyTorch counts them: a dim without entries counts as one.
    return tuple(math.prod(max(size, 1) for size in sizes[i + 1 :]) for i in range(len(sizes)))


def _strides_of(value: Any) -> Steps:
    """Return the strides of a value, counted in values; those without memory count as contiguous."""
    places = places_of(value.payload)
    if places is None:
        return contiguous_strides(value.payload.shape)
    return tuple(stride // places.itemsize for stride in places.strides)


def _span(sizes: Steps, strides: Steps) -> tuple[int, int]:
    """Return the lowest and the highest position that strides reach, from the first value."""
    if not math.prod(sizes):
        return 0, 0
    ends = [(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


def _strided(x: Any, size: Steps, stride: Steps, offset: int, own: Steps) -> Any:
    """See the memory of `x`, whose strides are `own`, with other strides, `offset` values further on."""
    if not math.prod(size):
        return np.empty(size, x.dtype)
    # Strides are not negative (`_strided_params` refuses them): `offset` is the lowest position.
    high = _span(size, stride)[1] + offset
    if _lies(x, own):
        memory, here = memory_of(x)
        _check_bounds("as_strided", x, size, stride, offset)
        return see(memory, here + offset, size, stride)
    # The same values in another layout, as gradients come: lay them out as they were meant to lie.
    first, last = _span(x.shape, own)
    # `offset` counts from the first value of x, which may not stand first in memory.
    start = -min(first, offset)
    memory = np.zeros(start + max(last, high) + 1, x.dtype)
    see(memory, start, x.shape, own)[...] = x
    return see(memory, start + offset, size, stride)


def _lies(x: Any, own: Steps) -> bool:
    """Say whether the array lies in memory with the strides `own`, counted in values."""
    return tuple(step // x.itemsize for step in x.strides) == own


def _check_bounds(op: str, x: Any, size: Steps, stride: Steps, offset: int) -> None:
    """Refuse sizes and strides that reach out of the memory that `x` is a part of."""
    memory, here = memory_of(x)
    high = _span(size, stride)[1] + offset
    if math.prod(size) and (here + offset < 0 or here + high >= len(memory)):
        raise DimensionError(
            f"sizes {list(size)}, strides {list(stride)}, storage offset {here + offset}, and itemsize "
            f"{x.itemsize} requiring a storage size of {(here + high + 1) * x.itemsize} are out of bounds for "
            f"storage of size {len(memory) * x.itemsize}",
            op=op,
        )


def _strided_sum(x: Any, size: Steps, stride: Steps, offset: int, sizes: Steps, own: Steps) -> Any:
    """Add the values of `x`, each at its place in memory, and read what stands at the places of `own`."""
    first, last = _span(sizes, own)
    low, high = (bound + offset for bound in _span(size, stride))
    start = -min(first, low)
    memory = np.zeros(start + max(last, high) + 1, x.dtype)
    # The positions, seen as the values are: which ones coincide follows without a loop.
    places = see(np.arange(len(memory)), start + offset, size, stride) if x.size else np.empty(0, np.int64)
    # `+=` would add one of those at a place that occurs twice.
    np.add.at(memory, places.ravel(), x.ravel())
    # A view would keep the memory between the strides alive.
    return see(memory, start, sizes, own).copy()


_STRIDES: dict[str, Any] = {"size": (2, 2), "stride": (1, 2), "offset": 1}

STRIDED_SUM = move(
    "strided_sum",
    "Add values at their places in memory into zeros, read with other strides: the transpose of as_strided.",
    "y[p] = Σ x[q] over all q at the place of p",
    dims=lambda x, size, stride, offset, sizes, own: Dims((None,) * len(sizes), sizes),
    rule="an unnamed tensor of the given sizes",
    forward=_strided_sum,
    vjp=lambda c, g: (
        ops.strided_sum(
            g,
            size=c.params["sizes"],
            stride=c.params["own"],
            offset=-c.params["offset"],
            sizes=c.params["size"],
            own=c.params["stride"],
        ),
    ),
    samples=lambda: [Sample((grid(2, 2),), {**_STRIDES, "sizes": (3, 3), "own": (3, 1)})],
    properties=frozenset({"linear"}),
    quantized=GRADIENT,
)


def _strided_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    p, sizes = c.params, tuple(c.inputs[0].payload.shape)
    gradient = ops.strided_sum(
        g, size=p["size"], stride=p["stride"], offset=p["offset"], sizes=sizes, own=p["own"]
    )
    places = see(
        np.arange(sum(map(abs, _span(sizes, p["own"]))) + 1), -_span(sizes, p["own"])[0], sizes, p["own"]
    )
    _, inverse, counts = np.unique(places, return_inverse=True, return_counts=True)
    if counts.size and counts.max() > 1:
        # Values of the input that share their memory share the gradient.
        weight = (1.0 / counts)[inverse].reshape(sizes)
        gradient = ops.mul(gradient, new(weight.astype(gradient.payload.dtype)))
    return (gradient,)


AS_STRIDED = move(
    "as_strided",
    "The memory of a tensor seen with other sizes and strides.",
    "y[i] = memory[offset + Σ i_k·stride_k]",
    dims=lambda x, size, stride, offset, own: Dims((None,) * len(size), size),
    rule="an unnamed tensor of the given sizes",
    forward=_strided,
    vjp=_strided_vjp,
    samples=lambda: [
        Sample((grid(3, 3),), {**_STRIDES, "own": (3, 1)}),
        Sample((grid(3, 3).T,), {**_STRIDES, "own": (1, 3)}),
    ],
    bad=lambda: [
        BadInput(
            (grid(2, 2),),
            {**_STRIDES, "offset": 2, "own": (2, 1)},
            DimensionError,
            "out of bounds for storage",
        )
    ],
    properties=frozenset({"view"}),
)


def _strided_scatter(x: Any, value: Any, size: Steps, stride: Steps, offset: int, own: Steps) -> Any:
    if _lies(x, own):
        _check_bounds("as_strided_scatter", x, size, stride, offset)
    first, last = _span(x.shape, own)
    start = -min(first, offset)
    memory = np.zeros(start + max(last, _span(size, stride)[1] + offset) + 1, x.dtype)
    see(memory, start, x.shape, own)[...] = x
    see(memory, start + offset, size, stride)[...] = value
    return see(memory, start, x.shape, own).copy()


def _strided_scatter_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    """By the places in the memory of the input: that of the gradient is another, however alike its strides are."""
    p, sizes = c.params, tuple(c.inputs[0].payload.shape)
    to_input = to_value = None
    if c.needs[0]:
        first, last = _span(sizes, p["own"])
        low, high = (bound + p["offset"] for bound in _span(p["size"], p["stride"]))
        start = -min(first, low)
        places = np.arange(start + max(last, high) + 1)
        # By positions alone: a mask, with no numbers of the input.
        written = np.isin(
            see(places, start, sizes, p["own"]), see(places, start + p["offset"], p["size"], p["stride"])
        )
        to_input = ops.where(new(written), 0.0, g)
    if c.needs[1]:
        gathered = ops.strided_sum(
            g, size=sizes, stride=p["own"], offset=-p["offset"], sizes=p["size"], own=p["stride"]
        )
        to_value = unbroadcast(gathered, c.inputs[1])
    return to_input, to_value


AS_STRIDED_SCATTER = writer(
    "as_strided_scatter",
    AS_STRIDED,
    samples=lambda: [
        Sample((grid(3, 3), grid(2, 2)), {"size": (2, 2), "stride": (1, 3), "offset": 1, "own": (3, 1)}),
        Sample((grid(3, 3).T, grid(2)), {"size": (2,), "stride": (2,), "offset": 0, "own": (1, 3)}),
    ],
    bad=lambda: [
        BadInput(
            (grid(4), grid(2)),
            {"size": (2,), "stride": (3,), "offset": 3, "own": (1,)},
            DimensionError,
            "out of bounds for storage",
        )
    ],
    forward=_strided_scatter,
    vjp=_strided_scatter_vjp,
)

# -------------------------------------------------------------------------------- bits as another type


def _bits(x: Any, dtype: np.dtype[Any], last: int) -> Any:
    here, there = (x.shape[-1], last) if x.ndim else (1, 1)
    # Asked again, as in a graph the input may come with another size.
    if here * x.itemsize != there * dtype.itemsize:
        raise DTypeError(f"view: the bits of {here} {x.dtype} are not those of {there} {dtype}")
    # NumPy checks that the last dim is contiguous where widths differ.
    return x.view(dtype)


VIEW_DTYPE = move(
    "view_dtype",
    "The same bits read as another data type.",
    "y = bits(x)",
    dims=lambda x, dtype, last: Dims(x.names, (*x.sizes[:-1], last)) if x.sizes else x,
    rule="names pass through; the last dim grows or shrinks with the size of a value",
    dtype=DTypeRule("as asked", None, lambda dtype, params: np.dtype(params["dtype"])),
    forward=_bits,
    vjp=Absent("bits are no numbers: a step from one to the next has no size"),
    samples=lambda: [
        Sample((grid(2, 3),), {"dtype": np.dtype("i8"), "last": 3}, names=(("N", "C"),)),
        Sample((grid(2, 3),), {"dtype": np.dtype("i4"), "last": 6}),
        Sample((grid(),), {"dtype": np.dtype("i8"), "last": 1}),
    ],
    properties=frozenset({"view"}),
    quantized=WHOLE,
)

# ---------------------------------------------------------------------------------- the words people use


@offered("Tensor")
def view(input: Tensor, *shape: Size, size: Size | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """The same memory under other sizes, one of which may be -1, or (given a data type) with its bits read anew.

    Never copies: where the memory of a transposed, stretched or cut tensor cannot be seen that way, `DimensionError`
    names `reshape`, which copies. Activations whose memory the workbench laid out by itself, channels last, count as
    contiguous. Another data type of another width needs a last dim that divides.

    >>> import workbench as wb
    >>> x = wb.zeros(N=2, C=6)
    >>> x.view(2, 2, 3).shape, x.view(wb.int32).dtype
    ((2, 2, 3), workbench.int32)
    >>> x.t().view(12)
    Traceback (most recent call last):
    workbench.base.errors.DimensionError: view: view size is not compatible with input tensor's size and stride ...
    """
    if dtype is None and len(shape) == 1 and isinstance(shape[0], DType | type):
        dtype = shape[0]
    if dtype is not None:
        return _view_dtype(input, plain_dtype(dtype).numpy)
    result = ops.reshape(input, sizes=sizes_from(shape if size is None else (size,)))
    if result._view is not None and result is not input:
        return result  # it shares memory, as told
    before, after = (getattr(one.payload, "places", one.payload) for one in (input, result))
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray) and _scattered(before, after):
        raise DimensionError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead.",
            op="view",
            operands=(dims_of(input).operand(),),
            fix=f"input.reshape({', '.join(map(str, after.shape))})",
        )
    return result


offered("workbench")(copying(view))


def _scattered(before: Any, after: Any) -> bool:
    """Say whether reshaping copied an array that a view of the user's made too scattered for a view."""
    if not after.size or np.may_share_memory(before, after):
        return False
    # Storage that is not in row-major order was laid out by a kernel or an op: the user did nothing to it.
    return bool(storage(before).flags.c_contiguous)


def _view_dtype(input: Any, dtype: np.dtype[Any]) -> Tensor:
    array, own = input.payload, dims_of(input)
    before, after = array.dtype.itemsize, dtype.itemsize
    # Of one width every layout can be read anew, and a number too.
    if before == after:
        return ops.view_dtype(input, dtype=dtype, last=own.sizes[-1] if own.sizes else 1)
    if not own.sizes:
        raise DTypeError(
            f"self.dim() cannot be 0 to view {array.dtype} as {dtype} (different element sizes); reshape it to [1]"
        )
    # A value of the new type must lie in one piece.
    if isinstance(array, np.ndarray) and array.size and array.strides[-1] != before:
        raise DTypeError(
            f"self.stride(-1) must be 1 to view {array.dtype} as {dtype} (different element sizes), but got "
            f"{array.strides[-1] // before}; call .clone() first"
        )
    width = own.sizes[-1] * before
    if width % after:
        raise DTypeError(
            f"self.size(-1) must be divisible by {after // before} to view {array.dtype} as {dtype} (different element "
            f"sizes), but got {own.sizes[-1]}"
        )
    return ops.view_dtype(input, dtype=dtype, last=width // after)


@offered("Tensor")
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same memory under the sizes of `other`; never copies, see `Tensor.view`."""
    return view(input, dims_of(other).sizes)


@overload
def stride(input: Tensor) -> tuple[int, ...]: ...
@overload
def stride(input: Tensor, dim: Dim) -> int: ...
@offered("Tensor")
def stride(input: Tensor, dim: Dim | None = None) -> tuple[int, ...] | int:
    """How many values apart the entries of each dim lie in memory, or those of one dim.

    >>> import workbench as wb
    >>> wb.zeros(N=2, C=3).t().stride()
    (1, 3)
    """
    strides = _strides_of(input)
    return strides if dim is None else strides[dim_index(dims_of(input), dim, "stride")]


@offered("Tensor")
def storage_offset(input: Tensor) -> int:
    """How many values stand before the first one in the memory that the tensor is a part of."""
    array = input.payload
    return memory_of(array)[1] if isinstance(array, np.ndarray) else 0


def _rows_first(input: Any) -> Any:
    """Return a tensor whose dims are permuted into the order of its memory."""
    order = sorted(range(len(dims_of(input).sizes)), key=lambda i: -abs(_strides_of(input)[i]))
    return input if order == sorted(order) else ops.permute(input, dim=tuple(order))


@offered(inplace_view=True)
def as_strided(input: Tensor, size: Size, stride: Size, storage_offset: int | None = None) -> Tensor:
    """The memory of a tensor seen with sizes and strides (in values) given by hand: a view without names.

    `storage_offset` counts from the start of the memory that `input` is a part of; None means where `input` begins.
    Raises `DimensionError` where that memory ends too early.

    >>> import workbench as wb
    >>> wb.arange(6).as_strided((2, 2), (1, 3)).tolist()
    [[0, 3], [1, 4]]
    """
    input = _rows_first(input)
    return ops.as_strided(input, **_strided_params(input, size, stride, storage_offset))


offered("workbench")(copying(as_strided))


@offered()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Size, stride: Size, storage_offset: int | None = None
) -> Tensor:
    """A copy of `input` in which what `as_strided` shows is replaced by `src`."""
    params = _strided_params(input, size, stride, storage_offset)
    if dims_of(src).sizes != params["size"]:
        raise DimensionError(
            f"expected src to have a size equal to the slice of self. src size = {list(dims_of(src).sizes)}, slice "
            f"size = {list(params['size'])}",
            op="as_strided_scatter",
            operands=(dims_of(input).operand("input"), dims_of(src).operand("src")),
        )
    return ops.as_strided_scatter(input, src, **params)


def _strided_params(value: Any, size: Any, stride: Any, storage_offset: int | None) -> dict[str, Any]:
    sizes, steps = (tuple(int(one) for one in several) for several in (size, stride))
    own = dims_of(value)
    if len(sizes) != len(steps):
        raise DimensionError(
            "mismatch in length of strides and shape", op="as_strided", operands=(own.operand(),)
        )
    if any(step < 0 for step in steps):
        raise DimensionError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}",
            operands=(own.operand(),),
        )
    array = value.payload
    here = memory_of(array)[1] if isinstance(array, np.ndarray) else 0
    # The op counts from the tensor's own first value, which a traced tensor has too.
    offset = 0 if storage_offset is None else int(storage_offset) - here
    return {"size": sizes, "stride": steps, "offset": offset, "own": _strides_of(value)}
