"""Sparse tensors in both libraries: values, layouts, gradients, refusals, and how they print."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.filterwarnings(
    "ignore:Sparse .*:UserWarning", "ignore:.*sparse.*beta state:UserWarning"
)

INDEX = [[0, 2, 0, 1, 3], [1, 0, 1, 2, 0]]
VALUES = [1.0, 2.0, 3.0, -4.0, 0.5]
X = np.random.default_rng(0).normal(size=(3, 5))
Y = np.random.default_rng(1).normal(size=(4, 3))

FUNCTIONS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "to_dense": lambda lib, s, x, y: s.to_dense(),
    "sparse.mm": lambda lib, s, x, y: lib.sparse.mm(s, x),
    "matmul": lambda lib, s, x, y: s @ x,
    "mv": lambda lib, s, x, y: s @ x[:, 0],
    "sparse @ sparse": lambda lib, s, x, y: lib.sparse.mm(s, s.transpose(0, 1)),
    "addmm": lambda lib, s, x, y: lib.sparse.addmm(y @ x, s, x, beta=2, alpha=3),
    "number": lambda lib, s, x, y: (s * 2.0) / 3.0,
    "dense factor": lambda lib, s, x, y: s.coalesce() * y,
    "sparse factor": lambda lib, s, x, y: s.coalesce() * s.coalesce(),
    "sum of both": lambda lib, s, x, y: s + s * 2,
    "difference": lambda lib, s, x, y: s - y.to_sparse(),
    "dense + sparse": lambda lib, s, x, y: y + s,
    "neg": lambda lib, s, x, y: -s,
    "abs": lambda lib, s, x, y: s.coalesce().abs(),
    "pow": lambda lib, s, x, y: s.coalesce().pow(2),
    "t": lambda lib, s, x, y: s.t(),
    "coalesce": lambda lib, s, x, y: s.coalesce(),
    "values": lambda lib, s, x, y: s.coalesce().values(),
    "sum": lambda lib, s, x, y: lib.sparse.sum(s),
    "sum over 0": lambda lib, s, x, y: lib.sparse.sum(s, 0),
    "sum over 1": lambda lib, s, x, y: lib.sparse.sum(s, dim=1),
    "softmax 0": lambda lib, s, x, y: lib.sparse.softmax(s, 0),
    "softmax 1": lambda lib, s, x, y: lib.sparse.softmax(s, 1),
    "log_softmax": lambda lib, s, x, y: lib.sparse.log_softmax(s, dim=1),
    "mask": lambda lib, s, x, y: y.sparse_mask(s.coalesce()),
    "to_sparse": lambda lib, s, x, y: (y * (y > 0)).to_sparse(),
    "to_sparse 1": lambda lib, s, x, y: y.to_sparse(1),
    "number at a place": lambda lib, s, x, y: s[0, 1],
    "mul_": lambda lib, s, x, y: (s * 1).mul_(3),
    "add_": lambda lib, s, x, y: (s * 1).add_(s, alpha=2),
    "sub_": lambda lib, s, x, y: (s * 1).sub_(y.to_sparse()),
    "zero_": lambda lib, s, x, y: (s * 1).zero_(),
}

# PyTorch has no gradients of these.
PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "row": lambda lib, s: s[0],
    "column": lambda lib, s: s[:, 1],
    "select": lambda lib, s: s.select(0, -1),
    "new dim": lambda lib, s: s[None],
    "index_select": lambda lib, s: s.index_select(1, lib.tensor([2, 0, 2])),
    "rows": lambda lib, s: s.index_select(0, lib.tensor([0, 3, 0])),
    "div_": lambda lib, s: s.div_(2),
    "neg_": lambda lib, s: s.neg_(),
    "mul_ dense": lambda lib, s: s.mul_(lib.tensor(Y)),
    "copy_": lambda lib, s: s.copy_(s * 3),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_and_changes_in_place(name: str) -> None:
    ours, theirs = (
        PARTS[name](
            lib, lib.sparse_coo_tensor(lib.tensor(INDEX), lib.tensor(VALUES, dtype=lib.float64), (4, 3))
        )
        for lib in (wb, torch)
    )
    assert str(ours.layout).split(".")[1] == str(theirs.layout).split(".")[1]
    assert ours.is_coalesced() == theirs.is_coalesced() or name in ("row", "select", "index_select", "rows")
    np.testing.assert_allclose(ours.to_dense().numpy(), theirs.to_dense().numpy(), rtol=1e-12)


def run(lib: Any, name: str) -> tuple[Any, list[Any]]:
    values = lib.tensor(VALUES, dtype=lib.float64, requires_grad=True)
    x, y = (lib.tensor(one, requires_grad=True) for one in (X, Y))
    s = lib.sparse_coo_tensor(lib.tensor(INDEX), values, (4, 3))
    out = FUNCTIONS[name](lib, s, x, y)
    dense = out.to_dense() if "sparse" in str(out.layout) else out
    (dense * dense + dense).sum().backward()
    return out, [dense, *(one.grad for one in (values, x, y))]


def numbers(value: Any) -> Any:
    if value is None:
        return None
    return (value.to_dense() if "sparse" in str(value.layout) else value).detach().numpy()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_layouts_and_gradients(name: str) -> None:
    (ours, mine), (theirs, other) = run(wb, name), run(torch, name)
    assert str(ours.layout).split(".")[1] == str(theirs.layout).split(".")[1]
    assert ours.shape == tuple(theirs.shape)
    if ours.is_sparse:
        assert ours.coalesce().indices().tolist() == theirs.coalesce().indices().tolist()
    for one, another in zip(mine, other, strict=True):
        if another is None:
            assert one is None or not numbers(one).any()
        else:
            np.testing.assert_allclose(numbers(one), numbers(another), rtol=1e-10, atol=1e-12)


ROWS = ([0, 1, 2, 3, 4], [1, 2, 0, 0], [4.0, -4.0, 2.0, 0.5])


@pytest.mark.parametrize("name", ["mm", "mv", "to_dense", "number", "t"])
def test_by_compressed_rows(name: str) -> None:
    found = []
    for lib in (wb, torch):
        s = lib.sparse_csr_tensor(*(lib.tensor(one) for one in ROWS), (4, 3), dtype=lib.float64)
        x = lib.tensor(X)
        found.append({"mm": lambda s=s, x=x: s @ x, "mv": lambda s=s, x=x: s @ x[:, 0], "to_dense": s.to_dense,
                      "number": lambda s=s: (s * 2).to_dense(), "t": lambda s=s: s.t().to_dense()}[name]())  # fmt: skip
        assert (s.crow_indices().tolist(), s.col_indices().tolist(), s.values().tolist()) == ROWS
        assert s.to_sparse_coo().indices().tolist() == [[0, 1, 2, 3], [1, 2, 0, 0]]
    np.testing.assert_allclose(found[0].numpy(), found[1].numpy(), rtol=1e-12)
    dense = [lib.tensor(Y * (Y > 0)).to_sparse_csr() for lib in (wb, torch)]
    assert dense[0].crow_indices().tolist() == dense[1].crow_indices().tolist()
    assert dense[0].col_indices().tolist() == dense[1].col_indices().tolist()


def test_they_print_alike() -> None:
    for make in (
        lambda lib: lib.sparse_coo_tensor(lib.tensor(INDEX), lib.tensor(VALUES), (4, 3)),
        lambda lib: lib.sparse_coo_tensor(lib.tensor([[0, 1]]), lib.tensor([[1.5, 2.25], [3.5, 4.5]])),
        lambda lib: lib.sparse_csr_tensor(*(lib.tensor(one) for one in ROWS), (4, 3)),
        lambda lib: lib.zeros(2, 3).to_sparse(),
    ):
        # Names that are longer may break a line elsewhere.
        ours, theirs = (" ".join(repr(make(lib)).split()) for lib in (wb, torch))
        assert ours.replace("workbench.", "torch.") == theirs


@pytest.mark.parametrize(
    "arguments",
    [
        ([[0, 5]], [1.0, 2.0], (3,)),
        ([[0, -1]], [1.0, 2.0], (3,)), ([[0, 1]], [1.0], (3,)), ([0, 1], [1.0, 2.0], (3,)),
        ([[0, 1]], [1.0, 2.0], (3, 3)), ([[0, 1]], [[1.0], [2.0]], (3, 3)), ([[0, 1]], [1.0, 2.0], (-3,)),
    ],
)  # fmt: skip
def test_what_pytorch_refuses_is_refused(arguments: Any) -> None:
    index, values, size = arguments
    for lib in (wb, torch):
        with pytest.raises((RuntimeError, IndexError)):
            lib.sparse_coo_tensor(lib.tensor(index), lib.tensor(values), size, check_invariants=True)


def test_the_gradient_of_a_sparse_leaf_is_pytorchs() -> None:
    found = []
    for lib in (wb, torch):
        s = lib.sparse_coo_tensor(lib.tensor(INDEX), lib.tensor(VALUES), (4, 3), dtype=lib.float64).coalesce()
        s.requires_grad_()
        (lib.sparse.mm(s, lib.tensor(X)) ** 2).sum().backward()
        found.append(s.grad)
    assert found[0].is_sparse
    np.testing.assert_allclose(found[0].to_dense().numpy(), found[1].to_dense().numpy(), rtol=1e-12)


SPARSE_STEPS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1}, "SGD maximizing": {"lr": 0.1, "maximize": True},
    "SGD momentum": {"lr": 0.1, "momentum": 0.9, "dampening": 0.25},
    "SGD nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True}, "Adagrad": {"lr": 0.1, "lr_decay": 0.01},
    "SparseAdam": {"lr": 0.1, "betas": (0.8, 0.95)}, "SparseAdam maximizing": {"maximize": True},
}  # fmt: skip


@pytest.mark.parametrize("bags", [False, True])
@pytest.mark.parametrize("name", SPARSE_STEPS)
def test_tables_learn_by_sparse_gradients(name: str, bags: bool) -> None:
    found = []
    for lib in (wb, torch):
        kind = lib.nn.EmbeddingBag if bags else lib.nn.Embedding
        words = {"mode": "sum"} if bags else {"padding_idx": 2}
        table = kind(6, 3, sparse=True, **words).to(lib.float64)
        with lib.no_grad():
            table.weight.copy_(lib.arange(18.0).reshape(6, 3) / 10)
        optimizer = getattr(lib.optim, name.split()[0])(table.parameters(), **SPARSE_STEPS[name])
        places = lib.tensor([[1, 2, 1], [4, 2, 2]])
        factors = lib.tensor(X)
        for step in range(5):
            optimizer.zero_grad()
            y = table(places if step % 2 else places[:1] * 0 + 5)
            (y @ factors).pow(2).sum().backward()
            if step == 1:
                places_of = table.weight.grad.coalesce().indices().tolist()
            optimizer.step()
        state = optimizer.state_dict()["state"].get(0, {})
        found.append(
            # PyTorch keeps a momentum with its places, of which we keep all values.
            (
                table.weight.detach().numpy(),
                {
                    key: np.asarray(one.to_dense() if getattr(one, "is_sparse", False) else one)
                    for key, one in state.items()
                },
                places_of,
            )
        )
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    assert found[0][2] == found[1][2]
    for key, theirs in found[1][1].items():
        if theirs is not None and theirs.dtype != object:
            np.testing.assert_allclose(found[0][1][key], theirs, rtol=1e-9)
