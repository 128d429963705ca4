"""Indexing: parts shown by integers and slices, values picked by tensors of indices; names of kept dims stay."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import Dims, unify_names
from workbench.base.dtypes import as_places, dtype_of, half_width
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.base.numbers import fitted, number
from workbench.base.quantized_array import QuantizedArray
from workbench.base.symbolic_size import SymbolicSize, plain, whole
from workbench.core import sparse_indexing
from workbench.core.dispatch import numbers
from workbench.core.families import grid
from workbench.core.inplace import writable
from workbench.core.op import BadInput, Sample, ops
from workbench.core.overlap import check_sources, reads_apart
from workbench.core.quantization import MOVED
from workbench.core.typing import Tensor
from workbench.core.value import Value, dims_of, new
from workbench.ops.index import batching
from workbench.ops.index.advanced import checked, fronted, pick_dims, shapes, together
from workbench.ops.index.layout import layout
from workbench.ops.index.view_scatter import fits, writer
from workbench.ops.offer import offered
from workbench.ops.shape.movement import MOVES, move, out_of_bounds

# ------------------------------------------------------- index: integers, slices, None (a new dim), Ellipsis


def _written_out(x: Dims, key: tuple[Any, ...]) -> list[Any]:
    """Return the key with its ellipsis written out, one entry a dim (and one a new dim)."""
    used = sum(one is not None and one is not Ellipsis for one in key)
    if used > len(x.sizes):
        raise DimensionIndexError(
            f"too many indices for tensor of dimension {len(x.sizes)}: got {used}",
            op="index",
            operands=(x.operand(),),
        )
    fill = [slice(None)] * (len(x.sizes) - used)
    position = next((i for i, one in enumerate(key) if one is Ellipsis), len(key))
    return [*key[:position], *fill, *(one for one in key[position:] if one is not Ellipsis)]


_PLAIN = {int, type(None)}
"""Types of what a slice is made of, as a rule: nobody else needs to be asked about these."""


def _length(part: slice, size: int) -> int:
    """Return how many of `size` entries a slice shows."""
    # Told first, without a question about a size that may be one of a trace.
    if part.start is None and part.stop is None and part.step is None:
        return size
    if _PLAIN.issuperset((type(size), type(part.start), type(part.stop), type(part.step))):
        return len(range(*part.indices(size)))
    step = 1 if part.step is None else part.step
    if step < 0:
        # Counting backwards is left to Python, which needs a number.
        return len(range(*part.indices(plain(size))))
    start = 0 if part.start is None else _edge(part.start, size)
    stop = size if part.stop is None else _edge(part.stop, size)
    return (stop - start + step - 1) // step if stop >= start else 0


def _edge(place: Any, size: Any) -> Any:
    """Return where an edge of a slice lies among `size` entries of a trace: those outside are moved to the ends."""
    if place < 0:
        place = place + size
        return place if place >= 0 else 0
    return place if place <= size else size


def index_dims(x: Dims, key: tuple[Any, ...]) -> Dims:
    names: list[str | None] = []
    sizes: list[int] = []
    axis = 0
    for one in _written_out(x, key):
        if one is None:
            names.append(None)
            sizes.append(1)
            continue
        size = x.sizes[axis]
        if isinstance(one, slice):
            names.append(x.names[axis])
            sizes.append(_length(one, size))
        elif not -size <= one < size:
            raise out_of_bounds(x, axis, one)
        axis += 1
    return Dims(tuple(names), tuple(sizes))


def _index(x: Any, key: tuple[Any, ...]) -> Any:
    # With an ellipsis NumPy returns an array, and so a view, even where nothing but one value is left.
    return x[key if any(one is Ellipsis for one in key) else (*key, Ellipsis)]


def _place(x: Any, key: tuple[Any, ...], sizes: tuple[int, ...]) -> Any:
    out = np.zeros(sizes, x.dtype)
    out[key] = x
    return out


INDEX = move(
    "index",
    "The part of a tensor that integers and slices show.",
    "y = x[key]",
    reference="NumPy 2, basic indexing",
    dims=index_dims,
    rule="sliced dims keep their names, integers end theirs, new dims have none",
    forward=_index,
    quantized=MOVED,
    vjp=lambda c, g: (ops.place(g, key=c.params["key"], sizes=tuple(c.inputs[0].payload.shape)),),
    samples=lambda: [
        Sample((grid(4, 3, 5),), {"key": (slice(1, 3), Ellipsis, 2)}, names=(("N", "C", "T"),)),
        Sample((grid(4, 3),), {"key": (None, slice(None, None, 2), -1)}, names=(("N", "C"),)),
        Sample((grid(4),), {"key": (1,)}),
    ],
    bad=lambda: [
        BadInput(
            (grid(4, 3),),
            {"key": (4,)},
            DimensionIndexError,
            "out of bounds for dimension 0 ('N')",
            names=(("N", "C"),),
        ),
        BadInput((grid(4, 3),), {"key": (0, 0, 0)}, DimensionIndexError, "too many indices"),
    ],
    batch=batching.index,
    small="index",
    sparse=sparse_indexing.index,
)

PLACE = move(
    "place",
    "Values at the part of zeros that integers and slices show: the transpose of index.",
    "y = 0; y[key] = x",
    dims=lambda x, key, sizes: Dims((None,) * len(sizes), sizes),
    rule="an unnamed tensor of the given sizes",
    forward=_place,
    vjp=lambda c, g: (ops.index(g, key=c.params["key"]),),
    samples=lambda: [Sample((grid(2, 2),), {"key": (slice(1, 3),), "sizes": (4, 2)})],
    properties=MOVES,
    batch=batching.place,
)

INDEX_SET = writer(
    "index_set",
    INDEX,
    samples=lambda: [
        Sample((grid(4, 3), grid(2, 3)), {"key": (slice(1, 3),)}, names=(("N", "C"), ("N", None))),
        Sample((grid(4, 3), grid(3)), {"key": (slice(0, 4, 2),)}, names=(("N", "C"), ("C",))),
        Sample((grid(4, 3), 0.5), {"key": (1, 2)}),
    ],
    bad=lambda: [
        BadInput((grid(4, 3), grid(3, 3)), {"key": (slice(1, 3),)}, DimensionError, "must match the size"),
        BadInput(
            (grid(4, 3), grid(3)), {"key": (0,)}, DimensionError, "do not match", names=(("N", "C"), ("T",))
        ),
    ],
    batch=batching.index_set,
)

# ------------------------------------------------------------------------------------------- keys


def index_tensor(one: Any) -> Any:
    """Return an index (a tensor, an array, a list) as a tensor of integers or bools."""
    value = one if isinstance(one, Value) else new(_widened(np.asarray(one)))
    dtype = value.payload.dtype
    if dtype == np.uint8:
        warnings.warn(
            "indexing with dtype uint8 is now deprecated, please use a dtype bool instead: a mask of bytes is true "
            "where it is not 0; numbers of entries are int64, index.long().",
            UserWarning,
            stacklevel=2,
        )
        return ops.ne(value, 0)
    if dtype.kind not in "biu" or dtype.itemsize == 2 or dtype == np.int8:
        raise DTypeError(
            f"tensors used as indices must be integer or bool tensors, of 32 bits or more, got {dtype}. Cast them: "
            f"{as_places('index', dtype)}"
        )
    return value


def _widened(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array used as an index with whole numbers as int64, whatever their width; bytes remain, as a mask.

    NumPy's narrow integers are numbers of entries to their owner. Of tensors PyTorch takes int32 and int64 alone.
    """
    nothing = not array.size and array.dtype.kind == "f"  # what NumPy makes of []
    if not nothing and (array.dtype.kind not in "iu" or array.dtype == np.uint8):
        return array
    if array.dtype == np.uint64:  # what int64 has not must not come out as a number from the end
        array = np.asarray(np.minimum(array, np.iinfo(np.int64).max))
    return array.astype(np.int64, copy=False)


def _is_mask(value: Any) -> bool:
    return bool(value.payload.dtype.kind == "b")


def _ones(mask: Any, x: Dims, axis: int) -> list[Any]:
    """Return the places where a mask is true, as one vector of indices a dim; it has to fit `x` from `axis` on."""
    sizes = tuple(mask.payload.shape)
    if sizes != x.sizes[axis : axis + len(sizes)]:
        raise DimensionIndexError(
            f"The shape of the mask {list(sizes)} at index {axis} does not match the shape of the indexed tensor "
            f"{list(x.sizes)}",
            op="index",
            operands=(
                x.operand("input", range(axis, min(axis + len(sizes), len(x.sizes)))),
                dims_of(mask).operand("mask"),
            ),
        )
    unify_names("index", Dims(x.names[axis : axis + len(sizes)], sizes), dims_of(mask))
    return [new(one) for one in np.nonzero(numbers(mask))]


def split_key(x: Dims, key: Any) -> tuple[tuple[Any, ...], tuple[int, ...], list[Any]]:
    """Return a key as the part that `index` shows, and dims of that part with a tensor of indices for each.

    As in PyTorch integers select before tensors pick, and a bool is a new dim with one entry or none.
    """
    entries: list[Any] = []
    for one in key if isinstance(key, tuple) else (key,):
        if one is None or one is Ellipsis or isinstance(one, slice | bool | np.bool_):
            entries.append(
                bool(one) if isinstance(one, np.bool_) else _edges(one) if isinstance(one, slice) else one
            )
        elif hasattr(one, "__index__") and not isinstance(one, Value | np.ndarray):
            entries.append(whole(one))
        else:
            index = one if _one_number(one) else index_tensor(one)
            entries.append(int(index.payload) if _one_number(index) else index)
    entries = _all_entries(x, entries)
    shown: list[Any] = []
    dims: list[int] = []
    picks: list[Any] = []
    axis = position = 0
    for one in entries:
        if (
            one is None
            or isinstance(one, bool)
            or (isinstance(one, Value) and _is_mask(one) and not one.payload.shape)
        ):
            if one is not None:
                dims.append(position)
                true = one if isinstance(one, bool) else bool(numbers(one))
                picks.append(new(np.zeros(1 if true else 0, np.int64)))
            shown.append(None)
            position += 1
        elif isinstance(one, int | slice | SymbolicSize):
            shown.append(one)
            axis += 1
            position += isinstance(one, slice)
        else:
            several = _ones(one, x, axis) if _is_mask(one) else [one]
            for vector in several:
                shown.append(slice(None))
                dims.append(position)
                picks.append(vector)
                axis += 1
                position += 1
    return tuple(shown), tuple(dims), picks


def _plain_slice(part: slice) -> bool:
    return type(part.start) in _PLAIN and type(part.stop) in _PLAIN and type(part.step) in _PLAIN


def _simple(key: tuple[Any, ...], ndim: int) -> tuple[Any, ...] | None:
    """Return a key of plain numbers, slices and new dims as `split_key` would; None for any other, and a wrong one."""
    used, ellipsis = 0, -1
    for place, one in enumerate(key):
        kind = type(one)
        if kind is int or (kind is slice and _plain_slice(one)):
            used += 1
        elif one is Ellipsis and ellipsis < 0:
            ellipsis = place
        elif one is not None:
            return None
    if used > ndim:
        return None
    fill = (slice(None),) * (ndim - used)
    return (*key, *fill) if ellipsis < 0 else (*key[:ellipsis], *fill, *key[ellipsis + 1 :])


def _picks_first(input: Any, key: Any) -> bool:
    """Say whether a key is a tensor of whole numbers, which picks along the first dim."""
    array = key.payload if isinstance(key, Value) else None
    return (
        type(array) is np.ndarray and array.dtype == np.int64 and array.ndim > 0 and bool(input.payload.shape)
    )


def _given_by_tensors(part: slice) -> bool:
    return isinstance(part.stop, Value) or isinstance(part.start, Value) or isinstance(part.step, Value)


def _edges(part: slice) -> slice:
    """Return a slice of plain numbers for one whose ends are tensors; refuse ends that are no whole numbers."""
    if not _given_by_tensors(part):
        return part
    ends = []
    for end in (part.start, part.stop, part.step):
        if isinstance(end, Value):
            if end.payload.dtype.kind not in "iu" or math.prod(end.payload.shape) != 1:
                raise TypeError(
                    "slice indices must be whole numbers, or a tensor with one: got a tensor with shape "
                    f"{list(end.payload.shape)} and {dtype_of(end.payload)!r}. x[index] picks values by a tensor"
                )
            end = int(numbers(end).item())
        ends.append(end)
    return slice(*ends)


def _one_number(one: Any) -> bool:
    """Say whether a tensor is one whole number, of any width: it selects, as an integer does. A byte is a mask."""
    array = one.payload if isinstance(one, Value) else None
    return type(array) is np.ndarray and not array.ndim and array.dtype.kind == "i"


def _takes(one: Any) -> int:
    """Return how many dims an entry of a key stands for."""
    if one is None or isinstance(one, bool):
        return 0
    return len(one.payload.shape) if isinstance(one, Value) and _is_mask(one) else 1


def _all_entries(x: Dims, entries: list[Any]) -> list[Any]:
    """Return the entries with the ellipsis written out."""
    used = sum(_takes(one) for one in entries if one is not Ellipsis)
    if used > len(x.sizes):
        raise DimensionIndexError(
            f"too many indices for tensor of dimension {len(x.sizes)}: got {used}",
            op="index",
            operands=(x.operand(),),
        )
    fill = [slice(None)] * (len(x.sizes) - used)
    position = next((i for i, one in enumerate(entries) if one is Ellipsis), len(entries))
    rest = entries[position + 1 :]
    if any(one is Ellipsis for one in rest):
        raise DimensionIndexError("an index can only have a single ellipsis ('...')", op="index")
    return [*entries[:position], *fill, *rest]


def assign(array: Any, key: Any, value: Any) -> None:
    """Set the numbers of `array` at `key` in place, where `setitem` would, once all of it is known to fit."""
    target = Dims((None,) * array.ndim, array.shape)
    shown, dims, picks = split_key(target, key)
    part = _index(array, shown)
    one = not isinstance(value, np.ndarray) or value.ndim == 0
    part = writable(part, one and not picks, "__setitem__")
    value = _written(value, array.dtype)
    if not picks:
        _fits_part(value, part.shape)
        _check_source(part, value)
        part[...] = value
        return
    # Picked places are written one after another: none of them may still have to be read.
    check_sources(part, (value,), "__setitem__", apart=True)
    indices = tuple(numbers(one) for one in picks)
    if part.size:
        checked(part.shape, indices, dims)
    shape = together(target, shapes(indices))
    rest, at = layout(part.ndim, dims, shapes(indices), len(shape))
    sizes = (*(part.shape[i] for i in rest[:at]), *shape, *(part.shape[i] for i in rest[at:]))
    _fits_part(value, sizes)
    part.transpose((*dims, *rest))[indices] = fronted(
        np.broadcast_to(value, sizes), indices, dims, part.shape
    )


def _written(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return what is assigned to a part of a tensor of type `dtype`: a number that it has, an array of numbers."""
    if isinstance(value, list | tuple):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        # What is too large for 16 bits is infinite there, as it is for PyTorch.
        large = half_width(dtype) and isinstance(value, int | float)
        return number("__setitem__", value) if large else fitted("__setitem__", value, dtype)
    if value.dtype.kind in "OSUMm":
        raise TypeError(f"__setitem__: values must be numbers, not {value.dtype}")
    return value


def _check_source(part: Any, value: Any) -> None:
    """Refuse numbers that lie partly where they are written to."""
    if isinstance(value, np.ndarray) and np.may_share_memory(part, value):
        while value.ndim > part.ndim:
            value = value[0]
        if value.shape != part.shape:
            value = np.broadcast_to(value, part.shape)
        check_sources(part, (value,), "__setitem__")


def written(input: Any, key: Any, value: Any) -> Any:
    """Return what `input` is after ``input[key] = value``, where that is to be written into its own memory."""
    array = input.payload
    source = value.payload if isinstance(value, Value) else value
    if type(array) is np.ndarray and type(source) is np.ndarray:
        shown, _, picks = split_key(dims_of(input), key)
        part = _index(array, shown)
        if picks:
            check_sources(part, (source,), "__setitem__", apart=True)
        else:
            _fits_part(source, part.shape)
            _check_source(part, source)
    return setitem(input, key, value)


def _fits_part(value: Any, sizes: tuple[int, ...]) -> None:
    """Refuse numbers whose sizes do not broadcast to those of the part they are written to."""
    shape = np.shape(value)
    # As in NumPy and PyTorch, dims of one entry too many at the left do not count.
    while shape and len(shape) > len(sizes) and shape[0] == 1:
        shape = shape[1:]
    if len(shape) > len(sizes) or any(
        size not in (1, own) for size, own in zip(reversed(shape), reversed(sizes), strict=False)
    ):
        raise DimensionError(
            f"shape mismatch: value of shape {list(shape)} cannot be broadcast to the part of shape {list(sizes)} "
            "that the index selects",
            op="index",
        )


def shows_all(key: tuple[Any, ...]) -> bool:
    """Say whether a key shows all of a tensor as it is."""
    return all(isinstance(one, slice) and one == slice(None) for one in key)


def getitem(input: Any, key: Any) -> Tensor:
    """``input[key]`` with integers, slices, ``...``, None, bools, and tensors, arrays or lists of indices or bools.

    Without tensors a view. Dims of tensors of indices stand where they pick from, or first where those dims are no
    neighbours; they have the names of the tensors. A mask of bools is as many vectors of indices as it has dims.

    >>> import workbench as wb
    >>> x = wb.zeros(N=4, C=3, T=5)
    >>> x[1:, ..., 0].names, x[:, [0, 2]].names, x[x[:, 0, 0] > 0].shape
    (('N', 'C'), ('N', 'C', 'T'), (0, 3, 5))
    """
    # One integer or one slice, as in a loop over rows, needs no reading.
    if type(key) is int or (type(key) is slice and _plain_slice(key)):
        return ops.index(input, key=(key,))
    if key is None or type(key) is tuple:
        simple = _simple(key if type(key) is tuple else (key,), len(input.payload.shape))
        if simple is not None:
            return ops.index(input, key=simple)
    elif _picks_first(input, key):
        return ops.pick(input, key, dims=(0,))
    shown, dims, picks = split_key(dims_of(input), key)
    if not picks:
        return ops.index(input, key=shown)
    part = input if shows_all(shown) else ops.index(input, key=shown)
    return ops.pick(part, *picks, dims=dims)


def setitem(input: Any, key: Any, value: Any) -> Tensor:
    """Return what `input` is after ``input[key] = value``: a new tensor, with gradients for both.

    The value is cast to the type of `input`; its sizes broadcast and its names unify with those of ``input[key]``.

    >>> import workbench as wb
    >>> setitem(wb.zeros(3), slice(1, None), 2.0)
    tensor([0., 2., 2.])
    """
    shown, dims, picks = split_key(dims_of(input), key)
    if not isinstance(value, Value):
        codes = isinstance(input.payload, QuantizedArray)
        value = _written(value, np.dtype(np.float32) if codes else input.payload.dtype)
        value = new(value) if isinstance(value, np.ndarray) else value
    value = as_written(input, value, shown, dims, picks)
    if not picks:
        return ops.index_set(input, value, key=shown)
    if shows_all(shown):
        return ops.index_put(input, value, *picks, dims=dims)
    # Basic keys show a part first; what tensors pick is changed in that part, and the part is put back.
    part = ops.index_put(ops.index(input, key=shown), value, *picks, dims=dims)
    return ops.index_set(input, part, key=shown)


def as_written(
    input: Any, value: Any, shown: tuple[Any, ...], dims: tuple[int, ...], picks: list[Any]
) -> Any:
    """Return a value as it is written to a part of `input`: in its type, without dims of size 1 too many."""
    if not isinstance(value, Value):
        return value
    part = index_dims(dims_of(input), shown)
    target = len(pick_dims(part, *map(dims_of, picks), dims=dims).sizes if picks else part.sizes)
    sizes = dims_of(value).sizes
    extra = len(sizes) - target
    if extra > 0 and all(size == 1 for size in sizes[:extra]):
        value = ops.squeeze(value, dim=tuple(range(extra)))
    # What is written among codes is rounded to them: it is not cast before.
    if value.payload.dtype != input.payload.dtype and not isinstance(input.payload, QuantizedArray):
        value = ops.to(value, dtype=input.payload.dtype)
    return value


@offered(in_place=True)
@reads_apart
def index_put(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy of `input` with `values` written (or, with `accumulate`, added) at tensors of indices, one a dim.

    An entry of `indices` may be None, for all of a dim, or a mask. Values broadcast to what ``input[indices]`` is.

    >>> import workbench as wb
    >>> wb.zeros(3).index_put((wb.tensor([0, 0, 2]),), wb.tensor(1.0), accumulate=True)
    tensor([2., 0., 1.])
    """
    # Numbers that are written among codes are rounded to them.
    rounded = isinstance(input.payload, QuantizedArray) and values.payload.dtype == np.float32
    if values.payload.dtype != input.payload.dtype and not rounded:
        way = "values.float()" if input.dtype.is_quantized else "values.to(input.dtype)"
        raise DTypeError(
            f"Index put requires the source and destination dtypes match, got {input.payload.dtype} for the "
            f"destination and {values.payload.dtype} for the source. Cast the values: {way}"
        )
    if not isinstance(indices, tuple | list):
        raise TypeError(
            f"index_put(): indices must be a tuple of tensors, one a dim, got {type(indices).__name__}: give (index,)"
        )
    key = tuple(slice(None) if one is None else one for one in indices)
    if not accumulate:
        return setitem(input, key, values)
    shown, dims, picks = split_key(dims_of(input), key)
    values = as_written(input, values, shown, dims, picks)
    if not picks:
        return ops.index_set(input, ops.add(ops.index(input, key=shown), values), key=shown)
    own = input if shows_all(shown) else ops.index(input, key=shown)
    part = pick_dims(dims_of(own), *map(dims_of, picks), dims=dims)
    fits("index_put", dims_of(own), part, dims_of(values))
    spread = ops.expand(values, sizes=part.sizes)
    total = ops.add(own, ops.pick_add(spread, *picks, dims=dims, sizes=dims_of(own).sizes))
    return total if own is input else ops.index_set(input, total, key=shown)
