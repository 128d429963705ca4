"""Values at tensors of indices, one for each of some dims: picked, added into zeros, replaced."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import Dims, Names, broadcast_sizes, unify_names
from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.core import sparse_indexing
from workbench.core.contribution import PRODUCT
from workbench.core.families import grid, unbroadcast
from workbench.core.op import BadInput, Sample, ops
from workbench.core.quantization import GRADIENT, MOVED, WRITTEN
from workbench.core.tape import Call
from workbench.ops.index import batching
from workbench.ops.index.layout import layout
from workbench.ops.index.view_scatter import fits
from workbench.ops.shape.movement import SavesFrom, move, out_of_bounds

INDICES = SavesFrom(first=1)


def _index_names(x: Dims, dims: tuple[int, ...], indices: tuple[Dims, ...], sizes: tuple[int, ...]) -> Names:
    """Names of the dims of the indices: their own, else of one vector of indices that of the dim it picks from."""
    so_far = Dims((), ())
    for one in indices:
        names = unify_names("index", so_far, one)
        so_far = Dims(names, (1,) * len(names))
    wide = [dim for dim, one in zip(dims, indices, strict=True) if one.sizes]
    if len(sizes) == 1 and len(wide) == 1 and so_far.names == (None,):
        return (x.names[wide[0]],)
    return so_far.names


def pick_dims(x: Dims, *indices: Dims, dims: tuple[int, ...]) -> Dims:
    """Names and sizes of what is picked."""
    # One index without names, as an embedding has it, is the common case.
    if len(dims) == 1 and not any(indices[0].names):
        at, sizes = dims[0], indices[0].sizes
        own: Names = (x.names[at],) if len(sizes) == 1 else (None,) * len(sizes)
        return Dims((*x.names[:at], *own, *x.names[at + 1 :]), (*x.sizes[:at], *sizes, *x.sizes[at + 1 :]))
    sizes = together(x, indices)
    rest, at = layout(len(x.sizes), dims, indices, len(sizes))
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


def together(x: Dims, indices: tuple[Dims, ...]) -> tuple[int, ...]:
    shapes = [one.sizes for one in indices]
    try:
        return broadcast_sizes(*shapes)
    except ValueError:
        raise DimensionIndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}",
            op="index",
            operands=(x.operand("input"), *(one.operand("index") for one in indices)),
        ) from None


def checked(sizes: tuple[int, ...], indices: tuple[Any, ...], dims: tuple[int, ...]) -> None:
    x = Dims((None,) * len(sizes), sizes)
    for dim, index in zip(dims, indices, strict=True):
        if index.size and (int(index.max()) >= sizes[dim] or int(index.min()) < -sizes[dim]):
            raise out_of_bounds(x, dim, int(index.max() if index.max() >= sizes[dim] else index.min()))


def shapes(indices: tuple[Any, ...]) -> tuple[Dims, ...]:
    return tuple(Dims((None,) * one.ndim, one.shape) for one in indices)


def fronted(x: Any, indices: tuple[Any, ...], dims: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """Return values laid out as the result of a pick with the dims of the indices moved to the front."""
    width = len(np.broadcast_shapes(*[one.shape for one in indices]))
    at = layout(len(sizes), dims, shapes(indices), width)[1]
    order = (*range(at, at + width), *range(at), *range(at + width, x.ndim))
    return x.transpose(order)


def _pick(x: Any, *indices: Any, dims: tuple[int, ...]) -> Any:
    try:
        return _picked(x, indices, dims)
    except IndexError:
        checked(x.shape, indices, dims)  # says which index is out of bounds of which dim
        raise


def _picked(x: Any, indices: tuple[Any, ...], dims: tuple[int, ...]) -> Any:
    if len(dims) == 1:
        return x.take(indices[0], axis=dims[0])
    shape = np.broadcast_shapes(*[one.shape for one in indices])
    rest, at = layout(x.ndim, dims, shapes(indices), len(shape))
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
    out[rows[starts]] += np.add.reduceat(values[order], starts, axis=0, dtype=values.dtype)


def _pick_add(x: Any, *indices: Any, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    if not x.size:
        return np.zeros(sizes, x.dtype)
    checked(sizes, indices, dims)
    shape = np.broadcast_shapes(*[one.shape for one in indices])
    rest = [i for i in range(len(sizes)) if i not in dims]
    lengths, others = tuple(sizes[i] for i in dims), tuple(sizes[i] for i in rest)
    # Indices into several dims become one into all their entries in a row.
    rows = np.zeros(shape, np.int64)
    for index, length in zip(indices, lengths, strict=True):
        rows = rows * length + np.where(index < 0, index + length, index)
    out = np.zeros((math.prod(lengths), math.prod(others)), x.dtype)
    add_rows(out, rows.ravel(), fronted(x, indices, dims, sizes).reshape(math.prod(shape), -1))
    # Sorting an order gives its inverse.
    return out.reshape(lengths + others).transpose(np.argsort((*dims, *rest)))


def _no_gradients(c: Call) -> tuple[None, ...]:
    return (None,) * (len(c.inputs) - 1)


PICK = move(
    "pick",
    "Pick values by tensors of indices, one for each of some dims.",
    "y[i…, r…] = x[index₁[i…], index₂[i…], …, r…]",
    reference="NumPy 2, advanced indexing",
    dims=pick_dims,
    rule="kept dims keep names, those of the indices have the indices' names; one unnamed vector keeps its dim's name",
    forward=_pick,
    quantized=MOVED,
    sparse=sparse_indexing.pick,
    vjp=lambda c, g: (
        ops.pick_add(g, *c.inputs[1:], dims=c.params["dims"], sizes=tuple(c.inputs[0].payload.shape)),
        *_no_gradients(c),
    ),
    saves=INDICES,
    samples=lambda: [
        Sample((grid(4, 3, 5), np.array([0, 2, -2])), {"dims": (1,)}, names=(("N", "C", "T"), None)),
        Sample((grid(4, 3), np.array([[0, 1], [1, 2]])), {"dims": (0,)}, names=(("V", "D"), ("N", "T"))),
        Sample((grid(4, 3), np.array([[0, 1], [1, 2]]), np.array([0, 2])), {"dims": (0, 1)}),
        Sample(
            (grid(4, 3, 5), np.array([0, 1]), np.array([1, 1])),
            {"dims": (0, 2)},
            names=(("N", "C", "T"), None, None),
        ),
        Sample(
            (grid(2, 4, 3), np.array(1), np.array([1, 1])),
            {"dims": (1, 2)},
            names=(("N", "C", "T"), None, None),
        ),
    ],
    bad=lambda: [
        BadInput(
            (grid(4, 3), np.array([0, 4])), {"dims": (0,)}, DimensionIndexError, "index 4 is out of bounds"
        ),
        BadInput(
            (grid(4, 3), np.array([0, 1]), np.array([0, 1, 2])),
            {"dims": (0, 1)},
            DimensionIndexError,
            "broadcast",
        ),
        BadInput(
            (grid(4, 3), np.array([0, 1])),
            {"dims": (0,)},
            DimensionError,
            "two dims called",
            (("N", "C"), ("C",)),
        ),
    ],
    properties=frozenset({"moves"}),
    batch=batching.pick,
)

PICK_ADD = move(
    "pick_add",
    "Add values at indices into zeros: the transpose of pick.",
    "y = 0; y[index₁, index₂, …] += x",
    reference="NumPy 2, ufunc.at",
    dims=lambda x, *indices, dims, sizes: Dims((None,) * len(sizes), sizes),
    rule="an unnamed tensor of the given sizes",
    forward=_pick_add,
    vjp=lambda c, g: (ops.pick(g, *c.inputs[1:], dims=c.params["dims"]), *_no_gradients(c)),
    saves=INDICES,
    cost=lambda dims, out, /, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(3, 2), np.array([0, 2, 2])), {"dims": (0,), "sizes": (4, 2)}),
        Sample((grid(2, 3), np.array([0, 1]), np.array([1, 1])), {"dims": (0, 2), "sizes": (4, 3, 5)}),
        Sample((grid(3), np.array([1, 1, -1])), {"dims": (0,), "sizes": (4,)}),
    ],
    properties=frozenset(),
    batch=batching.pick_add,
    quantized=GRADIENT,
    contribution=PRODUCT,
)


def _index_put_dims(x: Dims, value: Dims, *indices: Dims, dims: tuple[int, ...]) -> Dims:
    return fits("index_put", x, pick_dims(x, *indices, dims=dims), value)


def _index_put(x: Any, value: Any, *indices: Any, dims: tuple[int, ...]) -> Any:
    shape = np.broadcast_shapes(*[one.shape for one in indices])
    rest, at = layout(x.ndim, dims, shapes(indices), len(shape))
    target = (*(x.shape[i] for i in rest[:at]), *shape, *(x.shape[i] for i in rest[at:]))
    out = x.copy()
    source = fronted(np.broadcast_to(value, target), indices, dims, x.shape)
    try:
        out.transpose((*dims, *rest))[tuple(indices)] = source
    except IndexError:
        checked(x.shape, indices, dims)  # says which index is out of bounds of which dim
        raise
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
    reference="NumPy 2, advanced indexing",
    dims=_index_put_dims,
    rule="as the input; the value's names unify with those of what is picked, its sizes broadcast",
    forward=_index_put,
    vjp=_index_put_vjp,
    saves=SavesFrom(first=2),
    samples=lambda: [
        Sample(
            (grid(4, 3), grid(2, 3), np.array([2, 0])), {"dims": (0,)}, names=(("N", "C"), (None, "C"), None)
        ),
        Sample((grid(4, 3, 5), grid(3), np.array([2, 0]), np.array([1, 1])), {"dims": (0, 2)}),
        Sample((grid(4, 3), 0.5, np.array([2, 0]), np.array([[1], [2]])), {"dims": (0, 1)}),
    ],
    bad=lambda: [
        BadInput(
            (grid(4, 3), grid(3, 3), np.array([2, 0])), {"dims": (0,)}, DimensionError, "must match the size"
        )
    ],
    properties=frozenset({"moves"}),
    batch=batching.index_put,
    quantized=WRITTEN,
)
