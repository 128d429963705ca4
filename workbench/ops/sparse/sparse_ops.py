"""The ops below sparse tensors: values put to their places and taken from there, and the product with a dense matrix.

All else is made of these and of ops on dense values (`core.sparse_rules`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.lazy import scipy_sparse
from workbench.base.sparse_array import SparseArray
from workbench.core.contribution import PRODUCT
from workbench.core.dtype_rules import PROMOTE
from workbench.core.families import grid
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import AT_PLACES
from workbench.core.sparse_rules import at_places, is_sparse, to_dense, values_of, with_values
from workbench.core.tape import Call
from workbench.core.value import new

__all__ = ["SPARSE_COO", "SPARSE_CSR", "SPARSE_PRODUCT", "SPARSE_VALUES"]

ITSELF = DTypeRule("as the values", None, lambda dtype, params: dtype)


def _gradient_at(pattern: SparseArray, g: Any) -> Any:
    """Return what of a gradient, dense or sparse, belongs to values at these places."""
    if is_sparse(g) and g.payload.same_places(pattern):
        return values_of(g)
    return at_places(to_dense(g) if is_sparse(g) else g, new(pattern))


def _no_batch(batch: Any) -> Any:
    raise DTypeError(
        "sparse tensors have no batch dim: make them outside of vmap, or multiply by a dense batch of matrices"
    )


def _coo(index: Any, values: Any, size: tuple[int, ...], coalesced: bool) -> SparseArray:
    return SparseArray(index, values.copy(), size, coalesced)


def _coo_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    pattern = SparseArray(c.inputs[0].payload, np.empty((c.inputs[1].payload.shape[0], 0)), c.params["size"])
    return None, _gradient_at(pattern, g) if c.needs[1] else None


SPARSE_COO = Op(
    name="sparse_coo",
    doc="Values at their places, and 0 elsewhere; values of one place add up.",
    equation="y[i[:, k], …] = Σ v[k, …]",
    dims=lambda index, values, size, coalesced: Dims((None,) * len(size), size),
    rule="[S, n], [n, …] -> the given sizes",
    dtype=DTypeRule("as the values", None, lambda dtype, params: dtype, skip=1),
    forward=_coo,
    vjp=_coo_vjp,
    saves=Saves((0,), output=False),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        # Of whole numbers: slopes of what is sparse are found in its values, see tests/ops/test_sparse.py.
        Sample((np.array([[0, 2, 0], [1, 0, 1]]), np.array([3, 4, 5])), {"size": (3, 2), "coalesced": False}),
        Sample((np.array([[0, 2]]), np.arange(6).reshape(2, 3)), {"size": (4, 3), "coalesced": True}),
    ],
    batch=_no_batch,
    properties=frozenset({"moves"}),
    quantized=AT_PLACES,
)


def _csr(starts: Any, columns: Any, values: Any, size: tuple[int, ...]) -> SparseArray:
    rows = np.repeat(np.arange(size[0]), np.diff(starts))
    return SparseArray(np.stack([rows, columns]).astype(np.int64), values.copy(), size, True, starts)


def _csr_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    starts, columns = c.inputs[0].payload, c.inputs[1].payload
    pattern = _csr(starts, columns, np.empty((len(columns), 0)), c.params["size"])
    return None, None, _gradient_at(pattern, g) if c.needs[2] else None


SPARSE_CSR = Op(
    name="sparse_csr",
    doc="A matrix by compressed rows: the values of each row, one row behind the other, with their columns.",
    equation="y[i, j[k]] = v[k] for starts[i] ≤ k < starts[i + 1]",
    dims=lambda starts, columns, values, size: Dims((None,) * len(size), size),
    rule="[rows + 1], [n], [n] -> the given sizes",
    dtype=DTypeRule("as the values", None, lambda dtype, params: dtype, skip=2),
    forward=_csr,
    vjp=_csr_vjp,
    saves=Saves((0, 1), output=False),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        Sample((np.array([0, 1, 3]), np.array([2, 0, 1]), np.array([3, 4, 5])), {"size": (2, 3)})
    ],
    batch=_no_batch,
    properties=frozenset({"moves"}),
    quantized=AT_PLACES,
)


def _sample_sparse() -> SparseArray:
    return SparseArray(np.array([[0, 2, 2], [1, 0, 1]]), np.array([3, 4, 5]), (3, 2), True)


SPARSE_VALUES = Op(
    name="sparse_values",
    doc="The values of a sparse tensor, without their places.",
    equation="v[k, …] = y[i[:, k], …]",
    dims=lambda x, count, sparse_dim: Dims((None, *x.names[sparse_dim:]), (count, *x.sizes[sparse_dim:])),
    rule="a row of values, and the dense dims",
    dtype=ITSELF,
    forward=lambda x, count, sparse_dim: x.values.copy(),
    vjp=lambda c, g: (with_values(c.inputs[0], g),),
    saves=Saves((0,), output=False),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [Sample((_sample_sparse(),), {"count": 3, "sparse_dim": 2}, names=(("N", "C"),))],
    properties=frozenset({"moves", "places"}),
    quantized=AT_PLACES,
)


def _product_dims(rows: Dims, columns: Dims, values: Dims, dense: Dims, count: int) -> Dims:
    if len(dense.sizes) != 2 or len(values.sizes) != 1:
        raise DimensionError(
            f"the product is one of a sparse matrix and a dense one, got {list(dense.sizes)}",
            op="sparse_product",
        )
    return Dims((None, dense.names[1]), (count, dense.sizes[1]))


def _product(rows: Any, columns: Any, values: Any, dense: Any, count: int) -> Any:
    matrix = scipy_sparse.coo_array((values, (rows, columns)), (count, len(dense)))
    return np.ascontiguousarray(matrix.tocsr() @ dense)


def _product_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    rows, columns, values, dense = c.inputs
    gv = gd = None
    if c.needs[2]:
        # Only where there are values: no matrix of all places is made.
        pairs = ops.mul(ops.embedding(rows, g), ops.conj(ops.embedding(columns, dense)))
        gv = ops.sum(pairs, dim=(1,), keepdim=False)
    if c.needs[3]:
        gd = ops.sparse_product(columns, rows, ops.conj(values), g, count=dense.payload.shape[0])
    return None, None, gv, gd


SPARSE_PRODUCT = Op(
    name="sparse_product",
    contribution=PRODUCT,
    doc="Product of a sparse matrix, given by its values and their places, and a dense one.",
    equation="y[r, d] = Σ v[k]·x[j[k], d] over the k with i[k] = r",
    dims=_product_dims,
    rule="[n], [n], [n], [M, D] -> [rows, D]",
    dtype=DTypeRule(
        "the values and the dense matrix become one type", PROMOTE.common, PROMOTE.result, skip=2
    ),
    forward=_product,
    vjp=_product_vjp,
    saves=Saves((0, 1, 2, 3), output=False),
    cost=lambda dims, out, **params: 2.0 * dims[2].numel * out.sizes[1],
    samples=lambda: [
        Sample(
            (np.array([0, 2, 0]), np.array([1, 0, 1]), grid(3, seed=1), grid(2, 4, seed=2)),
            {"count": 3},
            names=(None, None, None, ("N", "C")),
        ),
        Sample((np.zeros(0, np.int64), np.zeros(0, np.int64), grid(0), grid(2, 3)), {"count": 2}),
    ],
    bad=lambda: [
        BadInput(
            (np.array([0]), np.array([1]), grid(1), grid(2)), {"count": 3}, DimensionError, "and a dense one"
        )
    ],
    quantized=AT_PLACES,
)
