"""What ops do to sparse values: rules written with other ops, on the values that are there, which are on the tape.

A rule gets the op's inputs, without names, and its parameters, and returns a value: dense, or sparse again. As it is
made of other ops, gradients of every order follow. Numbers are read of places only, which have no gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError, DTypeError
from workbench.base.sparse_array import SparseArray
from workbench.core.op import Absent, Op, ops
from workbench.core.value import Value, new

__all__ = [
    "add", "at_places", "coalesce", "derived", "div", "is_sparse", "matmul", "mul", "permute", "places", "subtract",
    "sum_", "sums", "to_dense", "values_of", "with_values",
]  # fmt: skip

Rule = Callable[..., Any]


def is_sparse(value: Any) -> bool:
    """Say whether a value is sparse."""
    return isinstance(value, Value) and type(value.payload) is SparseArray


# ------------------------------------------------------------------------------------- to values and back


def values_of(x: Any) -> Any:
    """Return the values that are there, [n, …dense dims]."""
    found: SparseArray = x.payload
    return ops.sparse_values(x, count=found.count, sparse_dim=found.sparse_dim)


def with_values(x: Any, values: Any) -> Any:
    """Return other values at the places of `x`."""
    found: SparseArray = x.payload
    if found.starts is not None:
        return ops.sparse_csr(new(found.starts), new(found.index[1]), values, size=found.shape)
    return ops.sparse_coo(new(found.index), values, size=found.shape, coalesced=found.coalesced)


def at(index: Any, values: Any, size: tuple[int, ...], coalesced: bool = False) -> Any:
    """Return values at places, an array [sparse dims, n]."""
    return ops.sparse_coo(new(index), values, size=size, coalesced=coalesced)


def by_rows(x: Any) -> Any:
    """Return a coalesced matrix laid out by compressed rows."""
    found: SparseArray = coalesce(x).payload
    starts = np.zeros(found.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(found.index[0], minlength=found.shape[0]), out=starts[1:])
    return ops.sparse_csr(new(starts), new(found.index[1]), values_of(coalesce(x)), size=found.shape)


def places(x: Any) -> Any:
    """Return each place as one number, as a value."""
    return new(x.payload.flat())


def _columns(values: Any) -> Any:
    """Return values [n, …] as rows, [n, D]."""
    shape = values.payload.shape
    return ops.reshape(values, sizes=(shape[0], math.prod(shape[1:])))


def sums(values: Any, group: Any, count: int) -> Any:
    """Return the sums of values [n, …] over groups, which whole numbers [n] say: [count, …]."""
    rest = values.payload.shape[1:]
    # To add rows up by number is what the gradient of a lookup does.
    total = ops.embedding_gradient(new(group), _columns(values), count=count)
    return ops.reshape(total, sizes=(count, *rest))


def picked(values: Any, group: Any) -> Any:
    """Return of values [count, …] those of whole numbers [n]: [n, …]."""
    rest = values.payload.shape[1:]
    return ops.reshape(ops.embedding(new(group), _columns(values)), sizes=(len(group), *rest))


def to_dense(x: Any) -> Any:
    """Return all values, zeros too."""
    found: SparseArray = x.payload
    count = math.prod(found.shape[: found.sparse_dim])
    return ops.reshape(sums(values_of(x), found.flat(), count), sizes=found.shape)


def at_places(dense: Any, x: Any) -> Any:
    """Return the values of a dense tensor, of the size of `x`, at the places of `x`: [n, …dense dims]."""
    found: SparseArray = x.payload
    count = math.prod(found.shape[: found.sparse_dim])
    rest = found.shape[found.sparse_dim :]
    return picked(ops.reshape(dense, sizes=(count, *rest)), found.flat())


def coalesce(x: Any) -> Any:
    """Return the same values with each place once, in the order of rows; values of one place are added up."""
    found: SparseArray = x.payload
    if found.coalesced:
        return x
    flat, group = np.unique(found.flat(), return_inverse=True)
    sizes = found.shape[: found.sparse_dim]
    index = np.array(np.unravel_index(flat, sizes), np.int64) if sizes else np.zeros((0, len(flat)), np.int64)
    total = sums(values_of(x), group.reshape(-1), len(flat))
    return at(index.reshape(found.sparse_dim, len(flat)), total, found.shape, True)


# ------------------------------------------------------------------------------------------------- rules


def derived(op: Op) -> Rule | Absent:
    """Return the rule of an op whose record has none: on the values, where it leaves 0 as it is."""
    if "elementwise" not in op.properties or op.outputs > 1:
        return Absent("no rule for values with their places has been written")

    def rule(x: Any, *rest: Any, **params: Any) -> Any:
        if not is_sparse(x) or any(isinstance(one, Value) for one in rest):
            raise DTypeError(f"{op.name} is not defined for sparse tensors beside others. {CALL}")
        with np.errstate(all="ignore"):
            zero = np.asarray(op.forward(np.zeros((1,), x.payload.dtype), *rest, **params))
        # NaN is no 0 either.
        if not (zero.size == 1 and zero.item() == 0):
            raise DTypeError(
                f"{op.name} is not defined for sparse tensors: it makes 0 to {zero.item()}. {CALL}"
            )
        # Of values that are to be added up, each by itself is only right where the op adds up, too.
        x = x if "linear" in op.properties else coalesce(x)
        return with_values(x, op(values_of(x), *rest, **params))

    return rule


CALL = "Call .to_dense() first."


def _dense(x: Any) -> Any:
    return to_dense(x) if is_sparse(x) else x


def add(x: Any, y: Any) -> Any:
    """Add: sparse where both are, dense beside a dense tensor."""
    if not (is_sparse(x) and is_sparse(y)):
        if not (isinstance(x, Value) and isinstance(y, Value)):
            raise DTypeError(f"add: a number cannot be added to a sparse tensor, of which most is 0. {CALL}")
        return ops.add(_dense(x), _dense(y))
    a, b = x.payload, y.payload
    if a.shape != b.shape:
        raise DimensionError(f"add: sparse tensors of sizes {list(a.shape)} and {list(b.shape)}", op="add")
    if a.same_places(b):
        return with_values(x, ops.add(values_of(x), values_of(y)))
    if a.sparse_dim != b.sparse_dim:
        raise DimensionError(
            f"add: sparse tensors with {a.sparse_dim} and {b.sparse_dim} sparse dims", op="add"
        )
    index = np.concatenate([a.index, b.index], 1)
    both = at(index, ops.cat(values_of(x), values_of(y), dim=0), a.shape)
    return by_rows(both) if a.starts is not None and b.starts is not None else both


def subtract(x: Any, y: Any) -> Any:
    """Subtract: sparse where both are, dense beside a dense tensor."""
    return add(x, ops.neg(y) if isinstance(y, Value) else y)


def _beside(op: Any, x: Any, y: Any) -> Any:
    """Return values of the sparse `x` and what of `y` stands beside them."""
    if not isinstance(y, Value) or not y.payload.shape:
        return with_values(x, op(values_of(x), y))
    size = x.payload.shape
    if len(y.payload.shape) > len(size):
        raise DimensionError(
            f"{op.name}: a sparse tensor is not broadcast, {list(size)} to {list(y.payload.shape)}",
            op=op.name,
        )
    beside = y if tuple(y.payload.shape) == size else ops.expand(y, sizes=size)
    return with_values(x, op(values_of(x), at_places(beside, x)))


def mul(x: Any, y: Any) -> Any:
    """Multiply: sparse wherever one of both is."""
    if not (is_sparse(x) and is_sparse(y)):
        return _beside(ops.mul, x, y) if is_sparse(x) else _beside(ops.mul, y, x)
    x, y = coalesce(x), coalesce(y)
    a, b = x.payload, y.payload
    if a.shape != b.shape:
        raise DimensionError(f"mul: sparse tensors of sizes {list(a.shape)} and {list(b.shape)}", op="mul")
    if a.same_places(b):
        return with_values(x, ops.mul(values_of(x), values_of(y)))
    _, mine, theirs = np.intersect1d(a.flat(), b.flat(), assume_unique=True, return_indices=True)
    both = ops.mul(picked(values_of(x), mine), picked(values_of(y), theirs))
    product = at(a.index[:, mine], both, a.shape, True)
    return by_rows(product) if a.starts is not None else product


def div(x: Any, y: Any) -> Any:
    """Divide a sparse tensor by a number, or by what is dense."""
    if not is_sparse(x) or is_sparse(y):
        raise DTypeError(f"div: to divide by a sparse tensor is to divide by 0, nearly everywhere. {CALL}")
    return _beside(ops.div, x, y)


def permute(x: Any, dim: tuple[int, ...]) -> Any:
    """Put sparse dims in another order; dense dims stay behind."""
    found: SparseArray = x.payload
    order = tuple(one % found.ndim for one in dim)
    k = found.sparse_dim
    if sorted(order[:k]) != list(range(k)) or order[k:] != tuple(range(k, found.ndim)):
        raise DTypeError(
            f"permute is not defined for dense dims of sparse tensors, got the order {order}. {CALL}"
        )
    if order == tuple(range(found.ndim)):
        return with_values(x, values_of(x))
    size = tuple(found.shape[i] for i in order)
    turned = at(found.index[list(order[:k])], values_of(x), size)
    return by_rows(turned) if found.starts is not None else turned


def sum_(x: Any, dim: tuple[int, ...], keepdim: bool = False, **params: Any) -> Any:
    """Sum over dims: dense where no sparse dim is left."""
    found: SparseArray = x.payload
    over = {one % found.ndim for one in dim} if dim else set(range(found.ndim))
    if keepdim:
        raise DTypeError(f"sum with keepdim=True is not defined for sparse tensors. {CALL}")
    k = found.sparse_dim
    dense = tuple(one - k + 1 for one in sorted(over) if one >= k)
    values = values_of(x)
    if dense:
        values = ops.sum(values, dim=dense, keepdim=False, **params)
    left = [one for one in range(k) if one not in over]
    if not left:
        return ops.sum(values, dim=(0,), keepdim=False, **params)
    size = tuple(found.shape[one] for one in range(found.ndim) if one not in over)
    if len(left) == k:
        return at(found.index, values, size, found.coalesced)
    return coalesce(at(found.index[left], values, size))


def matmul(x: Any, y: Any) -> Any:
    """Multiply matrices, of which one or both are sparse; a vector may stand on either side."""
    sizes = [one.payload.shape for one in (x, y)]
    if any(is_sparse(one) and (one.payload.ndim != 2 or one.payload.sparse_dim != 2) for one in (x, y)):
        raise DTypeError(
            f"matmul of sparse tensors is one of matrices with two sparse dims, got {sizes}. {CALL}"
        )
    if any(len(size) > 2 for size in sizes):
        raise DTypeError(f"matmul of a sparse matrix takes no batches, got {sizes}. {CALL}")
    if is_sparse(x) and is_sparse(y):
        return _both(x, y)
    if not is_sparse(x):  # x·Y = (Yᵀ·xᵀ)ᵀ
        turned = x if len(sizes[0]) == 1 else ops.permute(x, dim=(1, 0))
        out = matmul(permute(y, (1, 0)), turned)
        return out if len(sizes[0]) == 1 else ops.permute(out, dim=(1, 0))
    found: SparseArray = x.payload
    dense = y if len(sizes[1]) == 2 else ops.reshape(y, sizes=(sizes[1][0], 1))
    rows, columns = new(found.index[0]), new(found.index[1])
    out = ops.sparse_product(rows, columns, values_of(x), dense, count=found.shape[0])
    return out if len(sizes[1]) == 2 else ops.reshape(out, sizes=(found.shape[0],))


def _both(x: Any, y: Any) -> Any:
    """Multiply sparse matrices: every value with all of the row of the other that its column names."""
    x, y = coalesce(x), coalesce(y)
    a, b = x.payload, y.payload
    starts = np.searchsorted(b.index[0], np.arange(b.shape[0] + 1))
    lengths = np.diff(starts)[a.index[1]]
    mine = np.repeat(np.arange(a.count), lengths)
    first = np.repeat(
        starts[:-1][a.index[1]] - np.concatenate([[0], np.cumsum(lengths)[:-1]])[: a.count], lengths
    )
    theirs = first + np.arange(len(mine))
    products = ops.mul(picked(values_of(x), mine), picked(values_of(y), theirs))
    index = np.stack([a.index[0][mine], b.index[1][theirs]]).astype(np.int64)
    out = coalesce(at(index, products, (a.shape[0], b.shape[1])))
    return by_rows(out) if a.starts is not None and b.starts is not None else out
