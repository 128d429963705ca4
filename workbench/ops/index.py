"""Indexing: picking values out by slices, integers and tensors of indices; names of kept dims stay."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.errors import DimensionIndexError, DTypeError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import NOT_DIFFERENTIABLE, NOT_QUANTIZED, grid
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.value import Value, dims_of

NOTHING = Saves((), output=False)

# A normalized key is a tuple of int, slice, None (a new dim), Ellipsis, and NumPy arrays of integers or bools.


def _expand_key(x: Dims, key: tuple[Any, ...]) -> list[Any]:
    """Return the key with its ellipsis written out, one entry a dim (and one a new dim)."""
    used = sum(
        one.ndim if isinstance(one, np.ndarray) and one.dtype == bool else one is not None
        for one in key
        if one is not Ellipsis
    )
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
    arrays: list[tuple[int, np.ndarray[Any, Any]]] = []
    places: list[int] = []
    axis = 0
    apart = False
    last_was_array = False
    for one in _expand_key(x, key):
        if one is None:
            names.append(None)
            sizes.append(1)
            last_was_array = False
        elif isinstance(one, slice):
            names.append(x.names[axis])
            sizes.append(len(range(*one.indices(x.sizes[axis]))))
            axis += 1
            last_was_array = False
        else:
            _check_bounds(x, axis, one)
            array = np.asarray(one)
            if arrays and not last_was_array:
                apart = True
            arrays.append((axis, array))
            places.append(len(names))
            axis += array.ndim if array.dtype == bool else 1
            last_was_array = True
    picked = [array for _, array in arrays]
    if all(array.ndim == 0 and array.dtype != bool for array in picked):
        return Dims(tuple(names), tuple(sizes))
    shapes = [(int(np.count_nonzero(a)),) if a.dtype == bool else a.shape for a in picked]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise DimensionIndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}",
            op="index",
            operands=(x.operand(),),
        ) from None
    # One index vector keeps the name of the dim it picks from; several together make unnamed dims.
    many = [(axis, array) for axis, array in arrays if array.ndim]
    own = x.names[many[0][0]] if len(many) == 1 and len(shape) == 1 and many[0][1].ndim == 1 else None
    at = 0 if apart else places[0]
    new = (own,) if own is not None and len(shape) == 1 else (None,) * len(shape)
    return Dims((*names[:at], *new, *names[at:]), (*sizes[:at], *shape, *sizes[at:]))


def _check_bounds(x: Dims, axis: int, index: Any) -> None:
    array = np.asarray(index)
    size = x.sizes[axis]
    if array.dtype == bool:
        if array.shape != x.sizes[axis : axis + array.ndim]:
            raise DimensionIndexError(
                f"The shape of the mask {list(array.shape)} at index {axis} does not match the shape "
                "of the indexed tensor "
                f"{list(x.sizes)}",
                op="index",
                operands=(x.operand("input", [axis]),),
            )
        return
    if array.size and (int(array.max()) >= size or int(array.min()) < -size):
        wrong = int(array.max()) if int(array.max()) >= size else int(array.min())
        raise DimensionIndexError(
            f"index {wrong} is out of bounds for dimension {axis}"
            + (f" ({x.names[axis]!r})" if x.names[axis] else "")
            + f" with size {size}",
            op="index",
            operands=(x.operand("input", [axis]),),
        )


INDEX_OP = Op(
    name="index",
    doc="Pick values out by position.",
    equation="y = x[key]",
    reference="NumPy, advanced indexing",
    dims=_index_dims,
    rule="sliced dims keep names, integers end theirs; one vector of indices keeps the name, several make unnamed dims",
    dtype=KEEP,
    forward=lambda x, key: x[key],
    vjp=lambda c, g: (ops.index_add(g, key=c.params["key"], sizes=c.inputs[0]._array.shape),),
    saves=NOTHING,
    quantized=lambda q, key: q.with_codes(q.codes[key]),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        Sample((grid(4, 3, 5),), {"key": (slice(1, 3), Ellipsis, 2)}, names=(("N", "C", "T"),)),
        Sample((grid(4, 3, 5),), {"key": (np.array([0, 2, 2]),)}, names=(("N", "C", "T"),)),
        Sample((grid(4, 3),), {"key": (np.array([[0, 1], [1, 2]]), np.array([0, 2]))}, names=(("N", "C"),)),
        Sample(
            (grid(4, 3),),
            {"key": (None, slice(None, None, 2), np.array([True, False, True]))},
            names=(("N", "C"),),
        ),
        Sample(
            (grid(4, 3, 5),),
            {"key": (np.array([0, 1]), slice(None), np.array([1, 1]))},
            names=(("N", "C", "T"),),
        ),
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
    properties=frozenset({"linear", "view"}),
)


def _index_add(x: Any, key: tuple[Any, ...], sizes: tuple[int, ...]) -> Any:
    out = np.zeros(sizes, x.dtype)
    if any(isinstance(one, np.ndarray) for one in key):
        np.add.at(out, key, x)
    else:
        out[key] = x
    return out


INDEX_ADD = Op(
    name="index_add",
    doc="Add values at positions into zeros: the transpose of index.",
    equation="y = 0; y[key] += x",
    reference="NumPy, ufunc.at",
    dims=lambda x, key, sizes: Dims((None,) * len(sizes), sizes),
    rule="an unnamed tensor of the given sizes",
    dtype=KEEP,
    forward=_index_add,
    vjp=lambda c, g: (ops.index(g, key=c.params["key"]),),
    saves=NOTHING,
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(3, 2),), {"key": (np.array([0, 2, 2]),), "sizes": (4, 2)}),
        Sample((grid(2, 2),), {"key": (slice(1, 3),), "sizes": (4, 2)}),
    ],
    bad=list,
    properties=frozenset({"linear"}),
)

# ------------------------------------------------------------------------------------- gather, scatter


def _gather_dims(x: Dims, index: Dims, dim: int) -> Dims:
    if len(x.sizes) != len(index.sizes):
        raise DimensionIndexError(
            "Index tensor must have the same number of dimensions as input tensor",
            op="gather",
            operands=(x.operand("input"), index.operand("index")),
        )
    wrong = [i for i, (a, b) in enumerate(zip(x.sizes, index.sizes, strict=True)) if i != dim and b > a]
    if wrong:
        raise DimensionIndexError(
            f"Size does not match at dimension {wrong[0]}: expected index {list(index.sizes)} to be "
            "no larger than self "
            f"{list(x.sizes)} apart from dimension {dim}",
            op="gather",
            operands=(x.operand("input", wrong), index.operand("index", wrong)),
        )
    names = tuple(b if b is not None else a for a, b in zip(x.names, index.names, strict=True))
    return Dims(names, index.sizes)


def _along(shape: tuple[int, ...], index: Any, dim: int) -> tuple[Any, ...]:
    """Return the NumPy key that picks `index` along `dim`, every other position from itself."""
    grids = np.ogrid[tuple(slice(size) for size in index.shape)] if index.ndim else ()
    return tuple(index if i == dim else grids[i] for i in range(index.ndim))


def _gather(x: Any, index: Any, dim: int) -> Any:
    size = x.shape[dim] if x.ndim else 1
    if index.size and (index.max() >= size or index.min() < 0):
        wrong = int(index.max()) if index.max() >= size else int(index.min())
        raise DimensionIndexError(
            f"index {wrong} is out of bounds for dimension {dim} with size {size}", op="gather"
        )
    return x[_along(x.shape, index, dim)]


GATHER = Op(
    name="gather",
    doc="Pick one value along a dim for each index.",
    equation="y[i][j] = x[index[i][j]][j] for dim 0",
    reference="PyTorch, gather",
    dims=_gather_dims,
    rule="as the index; its unnamed dims take the input's names",
    dtype=KEEP,
    forward=_gather,
    vjp=lambda c, g: (
        ops.scatter_add(g, c.inputs[1], dim=c.params["dim"], sizes=c.inputs[0]._array.shape),
        None,
    ),
    saves=Saves((1,), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        Sample((grid(3, 4), np.array([[0, 3, 3], [1, 1, 0]])), {"dim": 1}, names=(("N", "C"), None)),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 4), np.array([[7]])), {"dim": 1}, DimensionIndexError, "out of bounds for dimension 1"
        ),
        BadInput((grid(3, 4), np.array([0])), {"dim": 1}, DimensionIndexError, "same number of dimensions"),
    ],
)


def _scatter_add(x: Any, index: Any, dim: int, sizes: tuple[int, ...]) -> Any:
    out = np.zeros(sizes, x.dtype)
    np.add.at(out, _along(sizes, index, dim), x)
    return out


SCATTER_ADD = Op(
    name="scatter_add",
    doc="Add each value along a dim at its index, into zeros: the transpose of gather.",
    equation="y[index[i][j]][j] += x[i][j] for dim 0",
    reference="PyTorch, scatter_add",
    dims=lambda x, index, dim, sizes: Dims((None,) * len(sizes), sizes),
    rule="an unnamed tensor of the given sizes",
    dtype=KEEP,
    forward=_scatter_add,
    vjp=lambda c, g: (ops.gather(g, c.inputs[1], dim=c.params["dim"]), None),
    saves=Saves((1,), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(2, 3), np.array([[0, 3, 3], [1, 1, 0]])), {"dim": 1, "sizes": (3, 4)}),
    ],
    bad=list,
)


def _one_hot(x: Any, count: int, dtype: Any) -> Any:
    if x.size and (x.min() < 0 or x.max() >= count):
        wrong = int(x.min()) if x.min() < 0 else int(x.max())
        raise DimensionIndexError(f"class {wrong} is not in [0, {count})", op="one_hot")
    return (x[..., None] == np.arange(count)).astype(dtype)


ONE_HOT = Op(
    name="one_hot",
    doc="A vector for each index: one at the index, zero elsewhere.",
    equation="y[…, k] = [x = k]",
    reference="elementary",
    dims=lambda x, count, dtype: Dims((*x.names, None), (*x.sizes, count)),
    rule="a new unnamed dim at the end",
    dtype=DTypeRule("as asked", None, lambda dtype, params: np.dtype(params["dtype"])),
    forward=_one_hot,
    vjp=NOT_DIFFERENTIABLE,
    saves=NOTHING,
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [Sample((np.array([0, 2, 1]),), {"count": 3, "dtype": np.dtype("i8")}, names=(("N",),))],
    bad=lambda: [
        BadInput(
            (np.array([0, 5]),),
            {"count": 3, "dtype": np.dtype("i8")},
            DimensionIndexError,
            "is not in [0, 3)",
        )
    ],
)

# ---------------------------------------------------------------------------------- the words people use


def normalize_key(key: Any) -> tuple[Any, ...]:
    """Return an indexing key as the table wants it: tensors and lists become NumPy arrays of indices."""
    several = key if isinstance(key, tuple) else (key,)
    return tuple(_normalize_one(one) for one in several)


def _normalize_one(one: Any) -> Any:
    if one is None or one is Ellipsis or isinstance(one, slice):
        return one
    if isinstance(one, bool):
        return np.array(one)
    if isinstance(one, int | np.integer):
        return int(one)
    array = one._array if isinstance(one, Value) else np.asarray(one)
    if array.dtype.kind not in "biu":
        raise DTypeError(
            f"tensors used as indices must be integer or bool tensors, got {array.dtype}. Cast them: index.long()"
        )
    return array


def getitem(input: Any, key: Any) -> Any:
    """``input[key]`` with integers, slices, ``...``, None, and tensors, arrays or lists of indices."""
    return ops.index(input, key=normalize_key(key))


def gather(input: Any, dim: int | str, index: Any) -> Any:
    """Pick one value along `dim` for each index; `index` has as many dims as `input`."""
    return ops.gather(input, index, dim=dim_index(dims_of(input), dim, "gather"))


def index_select(input: Any, dim: int | str, index: Any) -> Any:
    """Pick entries along one dim by a vector of indices; the dim keeps its name."""
    at = dim_index(dims_of(input), dim, "index_select")
    return ops.index(input, key=(*(slice(None),) * at, _normalize_one(index)))


def one_hot(input: Any, num_classes: int = -1) -> Any:
    """A vector for each index: 1 (int64) at the index, 0 elsewhere, along a new last dim."""
    count = num_classes if num_classes >= 0 else int(input._array.max()) + 1
    return ops.one_hot(input, count=count, dtype=np.dtype(np.int64))


FUNCTIONS: dict[str, Any] = {
    "gather": gather,
    "index_select": index_select,
    "one_hot": one_hot,
}
"""What `workbench` offers of this file by name."""

NOT_METHODS = ("one_hot",)
"""Functions that are no methods of a tensor."""

NN: dict[str, Any] = {"one_hot": one_hot}
"""What `workbench.nn.functional` offers of this file."""
