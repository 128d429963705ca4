"""Indexing: parts shown by integers and slices, values picked by tensors of indices; names of kept dims stay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import Dims, Names, unify_names
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.core.dispatch import numbers
from workbench.core.families import NOT_QUANTIZED, grid, unbroadcast
from workbench.core.op import BadInput, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.value import Value, dims_of, new
from workbench.ops.moving import MOVES, move, on_codes
from workbench.ops.writing import fits, writer

INDICES = Saves(tuple(range(1, 65)), output=False)
"""The rule reads the indices, which are the inputs after the first."""

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


def _index_dims(x: Dims, key: tuple[Any, ...]) -> Dims:
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
            sizes.append(len(range(*one.indices(size))))
        elif not -size <= one < size:
            raise _out_of_bounds(x, axis, one)
        axis += 1
    return Dims(tuple(names), tuple(sizes))


def _out_of_bounds(x: Dims, axis: int, index: int) -> DimensionIndexError:
    called = f" ({x.names[axis]!r})" if x.names[axis] else ""
    return DimensionIndexError(
        f"index {index} is out of bounds for dimension {axis}{called} with size {x.sizes[axis]}",
        op="index",
        operands=(x.operand("input", [axis]),),
    )


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
    reference="NumPy, basic indexing",
    dims=_index_dims,
    rule="sliced dims keep their names, integers end theirs, new dims have none",
    forward=_index,
    quantized=on_codes(_index),
    vjp=lambda c, g: (ops.place(g, key=c.params["key"], sizes=tuple(c.inputs[0]._array.shape)),),
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
)

# ----------------------------------------------------------------------------- pick: tensors of indices


def _layout(ndim: int, dims: tuple[int, ...], indices: tuple[Dims, ...], width: int) -> tuple[list[int], int]:
    """Return the dims that stay, and before how many of them the `width` dims of the indices stand.

    They take the place of the indexed dims where those are neighbours, and come first where they are not.
    """
    rest = [i for i in range(ndim) if i not in dims]
    # An index without dims selects: the dims of the others are neighbours when it is gone.
    wide = [dim for dim, one in zip(dims, indices, strict=True) if one.sizes] or list(dims)
    gone = set(dims) - set(wide)
    inside = [i for i in range(wide[0], wide[-1] + 1) if i not in gone]
    return rest, (sum(i < wide[0] for i in rest) if inside == wide and width else 0)


def _index_names(x: Dims, dims: tuple[int, ...], indices: tuple[Dims, ...], sizes: tuple[int, ...]) -> Names:
    """Names of the dims of the indices: their own, else of one vector of indices that of the dim it picks from."""
    together = Dims((), ())
    for one in indices:
        names = unify_names("index", together, one)
        together = Dims(names, (1,) * len(names))
    wide = [dim for dim, one in zip(dims, indices, strict=True) if one.sizes]
    if len(sizes) == 1 and len(wide) == 1 and together.names == (None,):
        return (x.names[wide[0]],)
    return together.names


def _pick_dims(x: Dims, *indices: Dims, dims: tuple[int, ...]) -> Dims:
    sizes = _together(x, indices)
    rest, at = _layout(len(x.sizes), dims, indices, len(sizes))
    kept = [x.names[i] for i in rest]
    own = _index_names(x, dims, indices, sizes)
    twice = next((name for name in own if name is not None and name in kept), None)
    if twice is not None:
        raise DimensionError(
            f"indexing would make two dims called {twice!r}: one of the indices, one that stays.",
            op="index",
            operands=(x.operand("input"), *(one.operand("index") for one in indices)),
            fix=f"index.rename({twice}=None)",
        )
    picked = [x.sizes[i] for i in rest]
    return Dims((*kept[:at], *own, *kept[at:]), (*picked[:at], *sizes, *picked[at:]))


def _together(x: Dims, indices: tuple[Dims, ...]) -> tuple[int, ...]:
    shapes = [one.sizes for one in indices]
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        raise DimensionIndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}",
            op="index",
            operands=(x.operand("input"), *(one.operand("index") for one in indices)),
        ) from None


def _checked(sizes: tuple[int, ...], indices: tuple[Any, ...], dims: tuple[int, ...]) -> None:
    x = Dims((None,) * len(sizes), sizes)
    for dim, index in zip(dims, indices, strict=True):
        if index.size and (int(index.max()) >= sizes[dim] or int(index.min()) < -sizes[dim]):
            raise _out_of_bounds(x, dim, int(index.max() if index.max() >= sizes[dim] else index.min()))


def _shapes(indices: tuple[Any, ...]) -> tuple[Dims, ...]:
    return tuple(Dims((None,) * one.ndim, one.shape) for one in indices)


def _fronted(x: Any, indices: tuple[Any, ...], dims: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """Return values laid out as the result of a pick with the dims of the indices moved to the front."""
    width = len(np.broadcast_shapes(*[one.shape for one in indices]))
    at = _layout(len(sizes), dims, _shapes(indices), width)[1]
    order = (*range(at, at + width), *range(at), *range(at + width, x.ndim))
    return x.transpose(order)


def _pick(x: Any, *indices: Any, dims: tuple[int, ...]) -> Any:
    _checked(x.shape, indices, dims)
    if len(dims) == 1:
        return np.asarray(np.take(x, indices[0], axis=dims[0]))
    shape = np.broadcast_shapes(*[one.shape for one in indices])
    rest, at = _layout(x.ndim, dims, _shapes(indices), len(shape))
    picked = x.transpose((*dims, *rest))[tuple(indices)]
    width = len(shape)
    order = (*range(width, width + at), *range(width), *range(width + at, picked.ndim))
    return picked.transpose(order)


def add_rows(out: Any, rows: Any, values: Any) -> None:
    """Add each row of `values` to the row of `out` that `rows` says, in place; rows may occur several times."""
    if not rows.size:
        return
    if values.shape[1] == 1:
        np.add.at(out[:, 0], rows, values[:, 0])
        return
    # Sorted, equal rows are neighbours and are summed in one go.
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    out[rows[starts]] += np.add.reduceat(values[order], starts, axis=0)


def _pick_add(x: Any, *indices: Any, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    _checked(sizes, indices, dims)
    shape = np.broadcast_shapes(*[one.shape for one in indices])
    rest = [i for i in range(len(sizes)) if i not in dims]
    lengths, others = tuple(sizes[i] for i in dims), tuple(sizes[i] for i in rest)
    rows = np.zeros(shape, np.int64)
    for index, length in zip(indices, lengths, strict=True):
        rows = rows * length + np.where(index < 0, index + length, index)
    out = np.zeros((math.prod(lengths), math.prod(others)), x.dtype)
    if x.size:
        add_rows(out, rows.ravel(), _fronted(x, indices, dims, sizes).reshape(math.prod(shape), -1))
    return out.reshape(lengths + others).transpose(np.argsort((*dims, *rest)))


def _no_gradients(c: Call) -> tuple[None, ...]:
    return (None,) * (len(c.inputs) - 1)


PICK = move(
    "pick",
    "Pick values by tensors of indices, one for each of some dims.",
    "y[i…, r…] = x[index₁[i…], index₂[i…], …, r…]",
    reference="NumPy, advanced indexing",
    dims=_pick_dims,
    rule="kept dims keep names, those of the indices have the indices' names; one unnamed vector keeps its dim's name",
    forward=_pick,
    quantized=lambda q, *indices, dims: q.with_codes(_pick(q.codes, *indices, dims=dims)),
    vjp=lambda c, g: (
        ops.pick_add(g, *c.inputs[1:], dims=c.params["dims"], sizes=tuple(c.inputs[0]._array.shape)),
        *_no_gradients(c),
    ),
    saves=INDICES,
    samples=lambda: [
        Sample((grid(4, 3, 5), np.array([0, 2, -2])), {"dims": (1,)}, names=(("N", "C", "T"), None)),
        Sample((grid(4, 3), np.array([[0, 1], [1, 2]])), {"dims": (0,)}, names=(("V", "D"), ("N", "T"))),
        Sample((grid(4, 3), np.array([[0, 1], [1, 2]]), np.array([0, 2])), {"dims": (0, 1)}),
        Sample(
            (grid(4, 3, 5), np.array([0, 1]), np.array([1, 1])), {"dims": (0, 2)}, names=(("N", "C", "T"), None, None)
        ),
        Sample((grid(2, 4, 3), np.array(1), np.array([1, 1])), {"dims": (1, 2)}, names=(("N", "C", "T"), None, None)),
    ],
    bad=lambda: [
        BadInput((grid(4, 3), np.array([0, 4])), {"dims": (0,)}, DimensionIndexError, "index 4 is out of bounds"),
        BadInput(
            (grid(4, 3), np.array([0, 1]), np.array([0, 1, 2])), {"dims": (0, 1)}, DimensionIndexError, "broadcast"
        ),
        BadInput(
            (grid(4, 3), np.array([0, 1])), {"dims": (0,)}, DimensionError, "two dims called", (("N", "C"), ("C",))
        ),
    ],
    properties=frozenset({"moves"}),
)

PICK_ADD = move(
    "pick_add",
    "Add values at indices into zeros: the transpose of pick.",
    "y = 0; y[index₁, index₂, …] += x",
    reference="NumPy, ufunc.at",
    dims=lambda x, *indices, dims, sizes: Dims((None,) * len(sizes), sizes),
    rule="an unnamed tensor of the given sizes",
    forward=_pick_add,
    vjp=lambda c, g: (ops.pick(g, *c.inputs[1:], dims=c.params["dims"]), *_no_gradients(c)),
    saves=INDICES,
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(3, 2), np.array([0, 2, 2])), {"dims": (0,), "sizes": (4, 2)}),
        Sample((grid(2, 3), np.array([0, 1]), np.array([1, 1])), {"dims": (0, 2), "sizes": (4, 3, 5)}),
        Sample((grid(3), np.array([1, 1, -1])), {"dims": (0,), "sizes": (4,)}),
    ],
    properties=frozenset(),
)


def _index_put_dims(x: Dims, value: Dims, *indices: Dims, dims: tuple[int, ...]) -> Dims:
    return fits("index_put", x, _pick_dims(x, *indices, dims=dims), value)


def _index_put(x: Any, value: Any, *indices: Any, dims: tuple[int, ...]) -> Any:
    _checked(x.shape, indices, dims)
    shape = np.broadcast_shapes(*[one.shape for one in indices])
    rest, at = _layout(x.ndim, dims, _shapes(indices), len(shape))
    target = (*(x.shape[i] for i in rest[:at]), *shape, *(x.shape[i] for i in rest[at:]))
    out = x.copy()
    source = _fronted(np.broadcast_to(value, target), indices, dims, x.shape)
    out.transpose((*dims, *rest))[tuple(indices)] = source
    return out


def _index_put_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    value, indices = c.inputs[1], c.inputs[2:]
    return (
        ops.index_put(g, 0.0, *indices, **c.params) if c.needs[0] else None,
        unbroadcast(ops.pick(g, *indices, **c.params), value) if c.needs[1] else None,
        *(None for _ in indices),
    )


INDEX_PUT = move(
    "index_put",
    "A tensor with the values at tensors of indices replaced; of values for one place the last one stays.",
    "y = x; y[index₁, index₂, …] = value",
    reference="NumPy, advanced indexing",
    dims=_index_put_dims,
    rule="as the input; the value's names unify with those of what is picked, its sizes broadcast",
    forward=_index_put,
    vjp=_index_put_vjp,
    saves=Saves(tuple(range(2, 65)), output=False),
    quantized=NOT_QUANTIZED,
    samples=lambda: [
        Sample((grid(4, 3), grid(2, 3), np.array([2, 0])), {"dims": (0,)}, names=(("N", "C"), (None, "C"), None)),
        Sample((grid(4, 3, 5), grid(3), np.array([2, 0]), np.array([1, 1])), {"dims": (0, 2)}),
        Sample((grid(4, 3), 0.5, np.array([2, 0]), np.array([[1], [2]])), {"dims": (0, 1)}),
    ],
    bad=lambda: [
        BadInput((grid(4, 3), grid(3, 3), np.array([2, 0])), {"dims": (0,)}, DimensionError, "must match the size")
    ],
    properties=MOVES,
)

# ------------------------------------------------------------------------------------------- keys


def index_tensor(one: Any) -> Any:
    """Return an index (a tensor, an array, a list) as a tensor of integers or bools."""
    if isinstance(one, Value):
        value = one
    else:
        array = np.asarray(one)
        value = new(array.astype(np.int64) if not array.size and array.dtype.kind == "f" else array)
    if value._array.dtype.kind not in "biu":
        raise DTypeError(
            f"tensors used as indices must be integer or bool tensors, got {value._array.dtype}. Cast them: "
            "index.long()"
        )
    return value


def _is_mask(value: Any) -> bool:
    return bool(value._array.dtype.kind == "b")


def _ones(mask: Any, x: Dims, axis: int) -> list[Any]:
    """Return the places where a mask is true, as one vector of indices a dim; it has to fit `x` from `axis` on."""
    sizes = tuple(mask._array.shape)
    if sizes != x.sizes[axis : axis + len(sizes)]:
        raise DimensionIndexError(
            f"The shape of the mask {list(sizes)} at index {axis} does not match the shape of the indexed tensor "
            f"{list(x.sizes)}",
            op="index",
            operands=(x.operand("input", range(axis, min(axis + len(sizes), len(x.sizes)))), dims_of(mask).operand("mask")),
        )
    return [new(one) for one in np.nonzero(numbers(mask))]


def split_key(x: Dims, key: Any) -> tuple[tuple[Any, ...], tuple[int, ...], list[Any]]:
    """Return a key as the part that `index` shows, and dims of that part with a tensor of indices for each.

    As in PyTorch integers select before tensors pick, and a bool is a new dim with one entry or none.
    """
    entries: list[Any] = []
    for one in key if isinstance(key, tuple) else (key,):
        if one is None or one is Ellipsis or isinstance(one, slice | bool | np.bool_):
            entries.append(bool(one) if isinstance(one, np.bool_) else one)
        elif hasattr(one, "__index__") and not isinstance(one, Value | np.ndarray):
            entries.append(int(one))
        else:
            index = index_tensor(one)
            plain = isinstance(index._array, np.ndarray) and not index._array.ndim and not _is_mask(index)
            # An integer tensor without dims selects, as an integer does.
            entries.append(int(index._array) if plain else index)
    entries = _all_entries(x, entries)
    shown: list[Any] = []
    dims: list[int] = []
    picks: list[Any] = []
    axis = position = 0
    for one in entries:
        if one is None or isinstance(one, bool) or (isinstance(one, Value) and _is_mask(one) and not one._array.shape):
            if one is not None:
                dims.append(position)
                true = one if isinstance(one, bool) else bool(numbers(one))
                picks.append(new(np.zeros(1 if true else 0, np.int64)))
            shown.append(None)
            position += 1
        elif isinstance(one, int | slice):
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


def _takes(one: Any) -> int:
    """Return how many dims an entry of a key stands for."""
    if one is None or isinstance(one, bool):
        return 0
    return len(one._array.shape) if isinstance(one, Value) and _is_mask(one) else 1


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


def normalize_key(key: Any) -> tuple[Any, ...]:
    """Return a key as NumPy takes it: tensors become arrays."""
    several = key if isinstance(key, tuple) else (key,)
    return tuple(numbers(one) if isinstance(one, Value) else one for one in several)


def assign(array: Any, key: Any, value: Any) -> None:
    """Set the numbers of `array` at `key` in place, where `setitem` would, once all of it is known to fit."""
    target = Dims((None,) * array.ndim, array.shape)
    shown, dims, picks = split_key(target, key)
    part = _index(array, shown)
    if not picks:
        part[...] = value
        return
    indices = tuple(numbers(one) for one in picks)
    _checked(part.shape, indices, dims)
    shape = _together(target, _shapes(indices))
    rest, at = _layout(part.ndim, dims, _shapes(indices), len(shape))
    sizes = (*(part.shape[i] for i in rest[:at]), *shape, *(part.shape[i] for i in rest[at:]))
    part.transpose((*dims, *rest))[indices] = _fronted(np.broadcast_to(value, sizes), indices, dims, part.shape)


def shows_all(key: tuple[Any, ...]) -> bool:
    """Say whether a key shows all of a tensor as it is."""
    return all(isinstance(one, slice) and one == slice(None) for one in key)


def getitem(input: Any, key: Any) -> Any:
    """``input[key]`` with integers, slices, ``...``, None, bools, and tensors, arrays or lists of indices or bools.

    Without tensors a view. Dims of tensors of indices stand where they pick from, or first where those dims are no
    neighbours; they have the names of the tensors. A mask of bools is as many vectors of indices as it has dims.

    >>> import workbench as wb
    >>> x = wb.zeros(N=4, C=3, T=5)
    >>> x[1:, ..., 0].names, x[:, [0, 2]].names, x[x[:, 0, 0] > 0].shape
    (('N', 'C'), ('N', 'C', 'T'), (0, 3, 5))
    """
    shown, dims, picks = split_key(dims_of(input), key)
    if not picks:
        return ops.index(input, key=shown)
    part = input if shows_all(shown) else ops.index(input, key=shown)
    return ops.pick(part, *picks, dims=dims)


def setitem(input: Any, key: Any, value: Any) -> Any:
    """Return what `input` is after ``input[key] = value``: a new tensor, with gradients for both.

    The value is cast to the type of `input`; its sizes broadcast and its names unify with those of ``input[key]``.

    >>> import workbench as wb
    >>> setitem(wb.zeros(3), slice(1, None), 2.0)
    tensor([0.0000, 2.0000, 2.0000])
    """
    shown, dims, picks = split_key(dims_of(input), key)
    if isinstance(value, list | np.ndarray | np.generic):
        value = new(np.asarray(value))
    value = as_written(input, value, shown, dims, picks)
    if not picks:
        return ops.index_set(input, value, key=shown)
    if shows_all(shown):
        return ops.index_put(input, value, *picks, dims=dims)
    part = ops.index_put(ops.index(input, key=shown), value, *picks, dims=dims)
    return ops.index_set(input, part, key=shown)


def as_written(input: Any, value: Any, shown: tuple[Any, ...], dims: tuple[int, ...], picks: list[Any]) -> Any:
    """Return a value as it is written to a part of `input`: in its type, without dims of size 1 too many."""
    if not isinstance(value, Value):
        return value
    part = _index_dims(dims_of(input), shown)
    target = len(_pick_dims(part, *map(dims_of, picks), dims=dims).sizes if picks else part.sizes)
    sizes = dims_of(value).sizes
    extra = len(sizes) - target
    if extra > 0 and all(size == 1 for size in sizes[:extra]):
        value = ops.squeeze(value, dim=tuple(range(extra)))
    if value._array.dtype != input._array.dtype:
        value = ops.to(value, dtype=input._array.dtype)
    return value


def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A copy of `input` with `values` written (or, with `accumulate`, added) at tensors of indices, one a dim.

    An entry of `indices` may be None, for all of a dim, or a mask. Values broadcast to what ``input[indices]`` is.

    >>> import workbench as wb
    >>> wb.zeros(3).index_put((wb.tensor([0, 0, 2]),), wb.tensor(1.0), accumulate=True)
    tensor([2.0000, 0.0000, 1.0000])
    """
    if values._array.dtype != input._array.dtype:
        raise DTypeError(
            f"Index put requires the source and destination dtypes match, got {input._array.dtype} for the destination "
            f"and {values._array.dtype} for the source. Cast the values: values.to(input.dtype)"
        )
    key = tuple(slice(None) if one is None else one for one in indices)
    if not accumulate:
        return setitem(input, key, values)
    shown, dims, picks = split_key(dims_of(input), key)
    values = as_written(input, values, shown, dims, picks)
    part = _pick_dims(dims_of(input), *map(dims_of, picks), dims=dims)
    fits("index_put", dims_of(input), part, dims_of(values))
    spread = ops.expand(values, sizes=part.sizes)
    return ops.add(input, ops.pick_add(spread, *picks, dims=dims, sizes=dims_of(input).sizes))


FUNCTIONS: dict[str, Any] = {"index_put": index_put}
"""What `workbench` offers of this file by name."""

INPLACE = ("index_put",)
"""Also offered with an underscore."""
