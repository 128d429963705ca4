"""Steps by sparse gradients: those of dense ones where the rule leaves alone what has no gradient, else refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

TAKE = ("SGD", "Adagrad", "LBFGS", "SparseAdam")
REFUSE = sorted(
    name
    for name in wb.optim.__all__
    if isinstance(kind := getattr(wb.optim, name), type)
    and issubclass(kind, wb.optim.Optimizer)
    and name not in (*TAKE, "Optimizer")
)
GRADIENT = np.array([[0, 0], [1.0, -2], [0, 0], [0.5, 3]])


def parameter(dtype: Any = wb.float64) -> Any:
    return wb.nn.Parameter(wb.arange(8.0).reshape(4, 2).to(dtype))


def sparse_gradient(dtype: Any = wb.float64) -> Any:
    # A place twice: both count.
    values = wb.tensor([[0.25, 3], [1.0, -2], [0.25, 0]], dtype=dtype)
    return wb.sparse_coo_tensor([[3, 1, 3]], values, (4, 2))


SETTINGS: dict[str, dict[str, Any]] = {
    "SGD": {},
    "SGD momentum": {"momentum": 0.9, "dampening": 0.5},
    "SGD nesterov": {"momentum": 0.9, "nesterov": True, "maximize": True},
    "Adagrad": {},
}


@pytest.mark.parametrize("dtype", [wb.float64, wb.float32, wb.float16])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_step_is_that_of_the_dense_gradient(name: str, dtype: Any) -> None:
    found = []
    for sparse in (False, True):
        p = parameter(dtype)
        optimizer = getattr(wb.optim, name.split()[0])([p], lr=0.1, **SETTINGS[name])
        for step in range(3):
            # What moved goes on moving where there is a momentum, with no gradient too.
            scale = 0.0 if step == 1 else 1.0
            p.grad = sparse_gradient(dtype) * scale if sparse else wb.tensor(GRADIENT, dtype=dtype) * scale
            version = p._version
            optimizer.step()
            assert p._version > version
        found.append(p.detach().numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3 if dtype is wb.float16 else 1e-6)


def test_adam_moves_and_remembers_only_what_a_gradient_reaches() -> None:
    p = parameter()
    before = p.detach().clone().numpy()
    optimizer = wb.optim.SparseAdam([p], lr=0.1)
    for _ in range(2):
        p.grad = sparse_gradient()
        optimizer.step()
    moved = p.detach().numpy() - before
    np.testing.assert_allclose(moved[[1, 3]], -0.2 * np.sign(GRADIENT[[1, 3]]), rtol=1e-6)
    assert not moved[[0, 2]].any()
    state = optimizer.state_dict()
    assert state["state"][0]["step"] == 2
    assert not state["state"][0]["exp_avg"].numpy()[[0, 2]].any()
    other = wb.optim.SparseAdam([q := parameter()], lr=0.1)
    other.load_state_dict(state)
    q.data = p.detach().clone()
    for one, optimizer_of in ((p, optimizer), (q, other)):
        one.grad = sparse_gradient()
        optimizer_of.step()
    np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is None


def test_lbfgs_takes_all_of_a_sparse_gradient() -> None:
    found = []
    for sparse in (False, True):
        table = wb.nn.Embedding(5, 2, sparse=sparse)
        with wb.no_grad():
            table.weight.copy_(wb.arange(10.0).reshape(5, 2))
        optimizer = wb.optim.LBFGS(table.parameters(), max_iter=5)

        def closure(table: Any = table, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = (table(wb.tensor([1, 3, 1])) - 2).pow(2).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        found.append(table.weight.detach().numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


@pytest.mark.parametrize("name", REFUSE)
def test_other_rules_refuse_them_and_change_nothing(name: str) -> None:
    p = parameter()
    before = p.detach().clone().numpy()
    optimizer = getattr(wb.optim, name)([p])
    p.grad = sparse_gradient()
    with pytest.raises((RuntimeError, TypeError), match="sparse"):
        optimizer.step()
    np.testing.assert_array_equal(p.detach().numpy(), before)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: wb.optim.SGD([p], lr=0.1, weight_decay=0.9), "weight_decay"),
        (lambda p: wb.optim.Adagrad([p], weight_decay=0.1), "not compatible with sparse gradients"),
    ],
)
def test_settings_that_move_everything_are_refused(make: Any, words: str) -> None:
    p = parameter()
    before = p.detach().clone().numpy()
    optimizer = make(p)
    p.grad = sparse_gradient()
    with pytest.raises(RuntimeError, match=words):
        optimizer.step()
    np.testing.assert_array_equal(p.detach().numpy(), before)
    q = parameter()
    q.grad = wb.ones_like(q)
    adam = wb.optim.SparseAdam([q])
    with pytest.raises(RuntimeError, match="dense gradients"):
        adam.step()
    for wrong in ({"lr": -1}, {"eps": 0.0}, {"betas": (1.0, 0.9)}):
        with pytest.raises(ValueError):
            wb.optim.SparseAdam([p], **wrong)
