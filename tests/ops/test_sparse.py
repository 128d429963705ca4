"""Sparse tensors: SciPy and dense tensors say what comes out, differences what gradients are."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.ops import METHODS

scipy_sparse = pytest.importorskip("scipy.sparse")

INDEX = np.array([[0, 2, 0, 1], [1, 0, 1, 2]])
VALUES = np.array([1.0, 2.0, 3.0, -4.0])
DENSE = np.array([[0, 4.0, 0], [0, 0, -4], [2, 0, 0], [0, 0, 0]])


def coo(requires_grad: bool = False, **words: Any) -> Any:
    return wb.sparse_coo_tensor(INDEX, VALUES, (4, 3), dtype=wb.float64, requires_grad=requires_grad, **words)


def csr(requires_grad: bool = False) -> Any:
    return wb.sparse_csr_tensor(
        [0, 1, 2, 3, 3], [1, 2, 0], [4.0, -4, 2], (4, 3), dtype=wb.float64, requires_grad=requires_grad
    )


KINDS = pytest.mark.parametrize("make", [coo, lambda **words: coo(**words).coalesce(), csr])
X = wb.tensor(np.random.default_rng(0).normal(size=(3, 5)))
Y = wb.tensor(np.random.default_rng(1).normal(size=(4, 3)))


def check(sparse: Any, dense: Any) -> None:
    """The same numbers; what is sparse is told by its layout."""
    found = sparse.to_dense() if sparse.layout is not wb.strided else sparse
    np.testing.assert_allclose(found.detach().numpy(), dense, rtol=1e-12)


def test_parts() -> None:
    x = coo()
    assert (x.shape, x.layout, x.is_sparse, x.is_sparse_csr) == ((4, 3), wb.sparse_coo, True, False)
    assert not x.is_coalesced()
    assert (x._nnz(), x.sparse_dim(), x.dense_dim(), x.dtype, x.numel()) == (4, 2, 0, wb.float64, 12)
    assert x.indices().tolist() == INDEX.tolist()
    assert x.values().tolist() == VALUES.tolist()
    once = x.coalesce()
    assert (once.indices().tolist(), once.values().tolist()) == ([[0, 1, 2], [1, 2, 0]], [4, -4, 2])
    assert once.is_coalesced()
    assert once.coalesce() is once
    rows = x.to_sparse_csr()
    assert (rows.layout, rows.is_sparse_csr, rows.is_sparse) == (wb.sparse_csr, True, False)
    assert (rows.crow_indices().tolist(), rows.col_indices().tolist()) == ([0, 1, 2, 3, 3], [1, 2, 0])
    for one in (x, once, rows, rows.to_sparse(), x.to_dense().to_sparse(), x.to_sparse(layout=wb.sparse_csr)):
        check(one, DENSE)
    assert x.to_dense().layout is wb.strided
    assert not X.is_sparse
    blocks = wb.tensor(DENSE).to_sparse(1)
    assert (blocks.sparse_dim(), blocks.dense_dim(), blocks.values().shape) == (1, 1, (3, 3))
    check(blocks, DENSE)
    check(wb.sparse_coo_tensor([[1, 1]], [[1.0, 2], [3, 4]]), [[0, 0], [4, 6]])
    check(wb.sparse_coo_tensor(wb.zeros(2, 0, dtype=wb.int64), wb.zeros(0), (2, 3)), np.zeros((2, 3)))
    check(wb.zeros(0, 3).to_sparse(), np.zeros((0, 3)))
    check(wb.tensor([[True, False]]).to_sparse(), [[True, False]])


def test_it_prints_as_pytorchs_do() -> None:
    assert repr(wb.sparse_coo_tensor(INDEX, [1.0, 2, 3, 4], (4, 3), names=("N", "C"))) == (
        "tensor(indices=tensor([[0, 2, 0, 1],\n"
        "                       [1, 0, 1, 2]]),\n"
        "       values=tensor([1., 2., 3., 4.]),\n"
        "       size=(4, 3), nnz=4, layout=workbench.sparse_coo, names=('N', 'C'))"
    )
    assert repr(wb.zeros(2, 2).to_sparse_csr()) == (
        "tensor(crow_indices=tensor([0, 0, 0]),\n       col_indices=tensor([], size=(0,)),\n"
        "       values=tensor([], size=(0,)), size=(2, 2), nnz=0,\n       layout=workbench.sparse_csr)"
    )
    assert "nnz=4, dtype=workbench.float64, layout=workbench.sparse_coo,\n       grad_fn=" in repr(
        coo(True) * 2
    )


@KINDS
def test_products(make: Callable[..., Any]) -> None:
    x = make()
    matrix = scipy_sparse.csr_array(DENSE)
    check(x @ X, matrix @ X.numpy())
    check(wb.sparse.mm(x, X), matrix @ X.numpy())
    check(wb.spmm(x, X), matrix @ X.numpy())
    check(wb.mm(x, X), matrix @ X.numpy())
    check(x @ X[:, 0], matrix @ X[:, 0].numpy())
    check(wb.mv(x, X[:, 0]), matrix @ X[:, 0].numpy())
    check(Y.T @ x, Y.T.numpy() @ matrix)
    check(Y[:, 0] @ x, Y[:, 0].numpy() @ matrix)
    check(x.T @ x, (matrix.T @ matrix).toarray())
    check(
        wb.sparse.addmm(wb.ones(4, 5, dtype=wb.float64), x, X, beta=2, alpha=3), 2 + 3 * (matrix @ X.numpy())
    )
    product = x @ wb.randn(3, 2, dtype=wb.float64).to_sparse()
    assert product.layout is wb.sparse_coo
    assert (x @ x.T.to_sparse_csr()).layout is x.layout


@KINDS
def test_arithmetic(make: Callable[..., Any]) -> None:
    x = make()
    kept = (x * 2, 2 * x, x / 2, -x, x.abs(), x.relu(), x.sin(), x.sqrt(), x.float(), x.clone(), x.detach())
    for one in (*kept, x * x, x + x, x - x):
        assert one.layout is x.layout
    check(x * 2, DENSE * 2)
    check(x / 2, DENSE / 2)
    check(-x, -DENSE)
    check(x.abs(), np.abs(DENSE))
    check(x.pow(2), DENSE**2)
    check(x * Y, DENSE * Y.numpy())
    check(Y * x, DENSE * Y.numpy())
    check(x * Y[0], DENSE * Y[0].numpy())
    check(x / (Y * Y + 1), DENSE / (Y.numpy() ** 2 + 1))
    check(x * x, DENSE * DENSE)
    check(x + x, DENSE * 2)
    other = wb.tensor(DENSE[::-1].copy()).to_sparse()
    for added in (x + other, other + x):
        check(added, DENSE + DENSE[::-1])
    check(x - other, DENSE - DENSE[::-1])
    check(x * other, DENSE * DENSE[::-1])
    check(x + Y, DENSE + Y.numpy())
    check(Y - x, Y.numpy() - DENSE)
    check(x.T, DENSE.T)
    check(x.t(), DENSE.T)
    check(x.transpose(0, 1), DENSE.T)
    assert x.T.layout is x.layout
    check(
        Y.sparse_mask(x),
        np.where(DENSE != 0, Y.numpy(), 0)
        if x.layout is wb.sparse_csr or x.is_coalesced()
        else np.where(DENSE != 0, Y.numpy(), 0) * np.array([[1, 2, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]),
    )


@KINDS
def test_sums_and_softmax(make: Callable[..., Any]) -> None:
    x = make()
    check(x.sum(), DENSE.sum())
    check(wb.sparse.sum(x), DENSE.sum())
    for dim in (0, 1, -1):
        check(wb.sparse.sum(x, dim), DENSE.sum(dim))
        assert x.sum(dim).is_sparse
    check(x.sum((0, 1)), DENSE.sum())
    blocks = wb.tensor(DENSE).to_sparse(1)
    check(blocks.sum(1), DENSE.sum(1))
    check(blocks.sum(0), DENSE.sum(0))
    full = np.where(DENSE != 0, DENSE, -np.inf)
    shares = np.exp(full - np.where(np.isfinite(full.max(1)), full.max(1), 0)[:, None])
    expected = shares / np.maximum(shares.sum(1, keepdims=True), 1e-300)
    check(wb.sparse.softmax(x, 1), expected)
    logs = wb.sparse.log_softmax(x, 1)
    np.testing.assert_allclose(logs.values().numpy(), np.log(expected[DENSE != 0]), atol=1e-12)
    tall = wb.sparse_coo_tensor([[0, 0, 1], [0, 1, 1]], [[1.0, 2], [3, 4], [5, 6]], dtype=wb.float64)
    shares = np.exp([[1, 2], [3, 4]]) / np.exp([[1, 2], [3, 4]]).sum(0)
    check(wb.sparse.softmax(tall, 1).values(), [*shares, [1, 1]])


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "to_dense": lambda s, x: s.to_dense(),
    "mm": lambda s, x: s @ x,
    "dense @ sparse": lambda s, x: x.T @ s.T,
    "mv": lambda s, x: s @ x[:, 0],
    "sparse @ sparse": lambda s, x: (s @ s.T).to_dense(),
    "mul": lambda s, x: (s * x.T[:4]).to_dense(),
    "squares": lambda s, x: (s * s + s).to_dense(),
    "div": lambda s, x: (s / (1 + x.T[:4] ** 2)).to_dense(),
    "abs": lambda s, x: s.abs().to_dense(),
    "sum": lambda s, x: s.sum(1).to_dense() * s.sum(),
    "coalesce": lambda s, x: s.coalesce().values() if s.is_sparse else s.values(),
    "csr": lambda s, x: s.to_sparse_csr().values(),
    "values": lambda s, x: s.values(),
    "dense + sparse": lambda s, x: x.T[:4] + s,
    "other places": lambda s, x: (s + x.T[:4].to_sparse()).to_dense(),
    "softmax": lambda s, x: wb.sparse.softmax(s, 1).to_dense(),
    "log_softmax": lambda s, x: wb.sparse.log_softmax(s, 0).to_dense(),
    "mask": lambda s, x: x.T[:4].sparse_mask(s).values(),
}


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_both_orders(name: str, rows: bool) -> None:
    def function(values: Any, x: Any) -> Any:
        if rows:
            s = wb.sparse_csr_tensor([0, 1, 2, 3, 3], [1, 2, 0], values[:3], (4, 3))
        else:
            s = wb.sparse_coo_tensor(INDEX, values, (4, 3))
        return FUNCTIONS[name](s, x)

    inputs = (wb.tensor(VALUES, requires_grad=True), wb.tensor(X.numpy(), requires_grad=True))
    assert wb.autograd.gradcheck(function, inputs)
    assert wb.autograd.gradgradcheck(function, inputs)


@KINDS
def test_the_gradient_of_a_sparse_leaf_is_sparse(make: Callable[..., Any]) -> None:
    x = make().detach().requires_grad_()
    (x @ X).sum().backward()
    assert x.grad.layout is x.layout
    once = x.grad.values().numpy().copy()
    (x @ X).sum().backward()
    np.testing.assert_allclose(x.grad.values().numpy(), 2 * once)
    (x * x).sum().backward()
    (found,) = wb.autograd.grad((x @ X).pow(2).sum(), x)
    assert found.layout is x.layout
    whole = x.detach().to_dense().requires_grad_()
    (expected,) = wb.autograd.grad((whole @ X).pow(2).sum(), whole)
    at = x.detach().to_sparse().indices().numpy() if x.layout is wb.sparse_csr else x.indices().numpy()
    np.testing.assert_allclose(found.values().numpy(), expected.numpy()[tuple(at)])


def test_names() -> None:
    x = wb.tensor(DENSE, names=("N", "C")).to_sparse()
    assert x.names == ("N", "C")
    assert (x @ wb.randn(C=3, K=2, dtype=wb.float64)).names == ("N", "K")
    assert x.T.names == ("C", "N")
    assert x.sum("C").names == ("N",)
    assert wb.sparse.softmax(x, "C").names == ("N", "C")
    assert (x * 2).names == x.to_dense().names == x.to_sparse_csr().names == ("N", "C")
    with pytest.raises(wb.DimensionError):
        x @ wb.randn(N=3, K=2, dtype=wb.float64)
    with pytest.raises(wb.DimensionError):
        x * wb.ones(K=4, C=3, dtype=wb.float64)


def test_a_trace_has_a_sparse_matrix_as_a_constant() -> None:
    matrix = coo()
    graph = wb.graph.trace(lambda x: (matrix @ x).relu(), X)
    np.testing.assert_allclose(graph(2 * X).numpy(), (matrix @ (2 * X)).relu().numpy())
    with pytest.raises(TypeError, match="not made in a traced"):
        wb.graph.trace(lambda v: wb.sparse_coo_tensor([[0]], v, (2,)).to_dense(), wb.ones(1))
    with pytest.raises(TypeError, match="as in a trace"):
        wb.graph.trace(lambda x: x.to_sparse().to_dense(), X)
    np.testing.assert_allclose(wb.vmap(lambda column: matrix @ column, 1, 1)(X).numpy(), (matrix @ X).numpy())


def test_copies() -> None:
    for x in (coo(), csr()):
        for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
            assert again.layout is x.layout
            check(again, DENSE)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x.exp(), "exp is not defined for sparse tensors: it makes 0 to 1.0. Call .to_dense() first"),
        (lambda x: x.softmax(1), "no rule for values with their places"),
        (lambda x: x + 1, "a number cannot be added"),
        (lambda x: 1 / x, "divide by 0"),
        (lambda x: x == x, "beside others"),
        (lambda x: x.numpy(), "Call to_dense()"),
        (lambda x: x.tolist(), "Call to_dense()"),
        (lambda x: x.reshape(12), "to_dense()"),
        (lambda x: x.sum(1, keepdim=True), "keepdim"),
        (lambda x: x.add_(wb.ones(4, 3)), "stays sparse in place"),
        (lambda x: wb.cat([x, x]), "to_dense()"),
        (lambda x: x.unsqueeze(0) @ wb.ones(1, 3, 2), "to_dense()"),
        (lambda x: X.indices(), "expected a sparse tensor"),
        (lambda x: x.crow_indices(), "layout workbench.sparse_csr, got workbench.sparse_coo"),
        (lambda x: x * wb.ones(2, 4, 3), "broadcast"),
        (lambda x: wb.sparse.mm(X, X[0]), "sparse.mm takes matrices"),
        (lambda x: wb.sparse.softmax(wb.tensor(DENSE).to_sparse(1), 1), "along sparse dims"),
        (lambda x: x.to_dense().sparse_mask(X.to_sparse()), "of the mask"),
        (lambda x: wb.tensor(DENSE).to_sparse(3), "from 0 to the 2 dims"),
        (lambda x: X[0].to_sparse_csr(), "takes matrices"),
        (lambda x: wb.zeros(3, layout=wb.sparse_coo), "to_sparse"),
        (lambda x: x.nonzero(), "to_dense()"),
        (lambda x: x.mean(), "to_dense()"),
        (lambda x: x.max(), "to_dense()"),
        (lambda x: x.argmax(), "to_dense()"),
    ],
)  # fmt: skip
def test_what_there_is_no_rule_for_is_refused_in_words(function: Callable[[Any], Any], words: str) -> None:
    x = coo()
    with pytest.raises((TypeError, RuntimeError)) as caught:
        function(x)
    assert any(one in str(caught.value) for one in words.split("|")), str(caught.value)
    check(x, DENSE)


def test_each_method_is_right_or_refuses() -> None:
    """Whatever looks into a payload by itself would take values and places for numbers."""
    wrong, right = [], 0
    skipped = {"bernoulli", "coalesce", "sparse_mask", "cuda"}
    for name, method in METHODS.items():
        if name.endswith("_") or name in skipped or not callable(method):
            continue
        for others in ((), (1,), (coo(),), (Y,)):
            try:
                found = method(coo(), *others)
            except (TypeError, RuntimeError, ValueError):
                continue
            except AttributeError:
                assert others and type(others[0]) is int, name  # in the place of a second tensor
                continue
            if not isinstance(found, wb.Tensor) or name in {"indices", "values", "_indices", "_values"}:
                continue
            expected = method(
                coo().to_dense(), *(one.to_dense() if isinstance(one, wb.Tensor) else one for one in others)
            )
            if not name.startswith("new"):
                right += 1
                if not np.allclose(found.to_dense().numpy(), expected.to_dense().numpy(), equal_nan=True):
                    wrong.append((name, others))
    assert not wrong
    assert right > 50


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[0, 5]], [1.0, 2], (3,)), "for dim 0, size is 3 but found index 5"),
        (([[0, -1]], [1.0, 2], (3,)), "found negative index -1 for dim 0"),
        (([[0, 1]], [1.0], (3,)), "indices: 2, nnz from values: 1"),
        (([0, 1], [1.0, 2], (3,)), "sparse_dim x nnz, but got: [2]"),
        (([[0, 1]], [1.0, 2], (3, 3)), "sparse_dim (1) + dense_dim (0), but got 2"),
        (([[0, 1]], [[1.0], [2]], (3, 3)), "values has incorrect size, expected [2, 3], got [2, 1]"),
        (([[0.5]], [1.0], (3,)), "indices are whole numbers"),
        (([[0, 1]], [1.0, 2], (-3,)), "sizes are 0 or more"),
        (([[0]] * 4, [1.0], (2**20,) * 4), "more places than 64 bits count"),
        (([[0]] * 3, [1.0], (2**62, 2, 0)), "more places than 64 bits count|size is 0"),
        ((np.zeros((1, 0), int), []), "give it"),
        (([[0]],), "takes indices and values"),
    ],
)  # fmt: skip
def test_bad_places_are_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises((RuntimeError, TypeError)) as caught:
        wb.sparse_coo_tensor(*arguments)
    assert any(one in str(caught.value) for one in words.split("|")), str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 1], [0, 1], [1.0, 2], (2, 2)), "nrows + 1 = 3, but got 2"),
        (([0, 2, 1], [0], [1.0], (2, 2)), "rise from 0 to nnz = 1"),
        (([1, 1, 1], [0], [1.0], (2, 2)), "rise from 0"),
        (([0, 1, 2], [0, 2], [1.0, 2], (2, 2)), "for dim 1, size is 2 but found index 2"),
        (([0, 2, 2], [1, 0], [1.0, 2], (2, 2)), "sorted and distinct"),
        (([0, 2, 2], [1, 1], [1.0, 2], (2, 2)), "sorted and distinct"),
        (([0, 1, 2], [0, 1], [1.0], (2, 2)), "the same number of elements, got 2 and 1"),
        (([[0, 1]], [0], [1.0], (1, 2)), "batches and blocks"),
    ],
)  # fmt: skip
def test_bad_rows_are_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(words)):
        wb.sparse_csr_tensor(*arguments)


def test_only_what_fits_is_coalesced() -> None:
    with pytest.raises(RuntimeError, match="cannot set is_coalesced"):
        wb.sparse_coo_tensor(INDEX, VALUES, (4, 3), is_coalesced=True)
    assert wb.sparse_coo_tensor([[0, 1]], [1.0, 2], is_coalesced=True).is_coalesced()
    with pytest.raises(RuntimeError, match="layout"):
        wb.sparse_coo_tensor(INDEX, VALUES, (4, 3), layout=wb.sparse_csr)


@given(st.integers(0, 2**32 - 1))
def test_random_matrices_are_scipys(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, m, k = random.integers(1, 7, 3)
    count = random.integers(0, 12)
    index = np.stack([random.integers(0, n, count), random.integers(0, m, count)])
    values = random.normal(size=count)
    ours = wb.sparse_coo_tensor(index, values, (n, m))
    theirs = scipy_sparse.coo_array((values, tuple(index)), (n, m))
    dense = random.normal(size=(m, k))
    np.testing.assert_allclose(ours.to_dense().numpy(), theirs.toarray())
    np.testing.assert_allclose((ours @ wb.tensor(dense)).numpy(), theirs @ dense, atol=1e-12)
    np.testing.assert_allclose((ours.to_sparse_csr() @ wb.tensor(dense)).numpy(), theirs @ dense, atol=1e-12)
    np.testing.assert_allclose((ours @ ours.T).to_dense().numpy(), (theirs @ theirs.T).toarray(), atol=1e-12)
    np.testing.assert_allclose(
        (ours * ours + ours).to_dense().numpy(), theirs.toarray() ** 2 + theirs.toarray()
    )
    rows = theirs.tocsr()
    rows.sum_duplicates()
    by_rows = ours.to_sparse_csr()
    assert by_rows.crow_indices().tolist() == rows.indptr.tolist()
    assert by_rows.col_indices().tolist() == rows.indices.tolist()
