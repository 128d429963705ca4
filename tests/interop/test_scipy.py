"""SciPy's sparse matrices as tensors, and back."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.interop.scipy import from_scipy, to_scipy

sparse = pytest.importorskip("scipy.sparse")
DENSE = np.array([[0, 4.0, 0], [0, 0, -4], [2, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("kind", ["coo", "csr", "csc", "lil", "dok", "bsr"])
@pytest.mark.parametrize("make", [sparse.coo_array, sparse.coo_matrix])
def test_matrices_come_and_go(kind: str, make: type) -> None:
    ours = from_scipy(make(DENSE).asformat(kind))
    assert ours.layout is (wb.sparse_csr if kind == "csr" else wb.sparse_coo)
    assert ours.to_dense().tolist() == DENSE.tolist()
    back = to_scipy(ours)
    assert back.format == ("csr" if kind == "csr" else "coo")
    assert back.toarray().tolist() == DENSE.tolist()
    back.data[:] = 0
    assert ours.to_dense().tolist() == DENSE.tolist()


def test_places_that_stand_twice_add_up() -> None:
    twice = sparse.csr_array((np.array([1.0, 2, 3]), np.array([1, 1, 0]), np.array([0, 2, 3])), (2, 2))
    assert from_scipy(twice).to_dense().tolist() == [[0, 3], [3, 0]]
    assert len(twice.data) == 3


def test_what_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a sparse matrix of SciPy's, got ndarray"):
        from_scipy(DENSE)
    for value in (wb.ones(2, 2), wb.ones(2, 2).to_sparse(1)):
        with pytest.raises(TypeError, match="whose dims are all sparse"):
            to_scipy(value)
    with pytest.raises(TypeError, match="detach"):
        to_scipy(wb.ones(2, 2).to_sparse().requires_grad_())
