"""Optimizers against their formulas written out, their state, and the settings they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

import workbench as wb
from workbench import optim
from workbench.testing import assert_close

START = np.array([1.0, -2.0, 3.0])
GRADIENTS = [np.array([0.5, -1.0, 0.0]), np.array([0.1, 2.0, -0.3]), np.array([-0.4, 0.2, 0.9])]


def run(make: object, dtype: str = "float64") -> np.ndarray:
    """Return the parameter after three steps with the gradients above."""
    p = wb.tensor(START, dtype=dtype, requires_grad=True)
    optimizer = make([p])  # type: ignore[operator]
    for gradient in GRADIENTS:
        p.grad = wb.tensor(gradient, dtype=dtype)
        optimizer.step()
    return p.detach().numpy()


def adam(decay: float = 0.0, decoupled: bool = False) -> np.ndarray:
    p, m, v = START.copy(), np.zeros(3), np.zeros(3)
    for t, g in enumerate(GRADIENTS, 1):
        if decoupled:
            p = p - 0.1 * decay * p
        else:
            g = g + decay * p
        m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g * g
        p = p - 0.1 * (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.9**t)) + 1e-8)
    return p


def sgd(momentum: float, dampening: float = 0.0, decay: float = 0.0, nesterov: bool = False) -> np.ndarray:
    p, v = START.copy(), None
    for g in GRADIENTS:
        g = g + decay * p
        v = g if v is None else momentum * v + (1 - dampening) * g
        p = p - 0.1 * (g + momentum * v if nesterov else v if momentum else g)
    return p


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: optim.Adam(p, 0.1, (0.8, 0.9)), adam()),
        (lambda p: optim.Adam(p, 0.1, (0.8, 0.9), weight_decay=0.2), adam(0.2)),
        (lambda p: optim.AdamW(p, 0.1, (0.8, 0.9), weight_decay=0.2), adam(0.2, decoupled=True)),
        (lambda p: optim.SGD(p, 0.1), sgd(0.0)),
        (lambda p: optim.SGD(p, 0.1, momentum=0.9), sgd(0.9)),
        (lambda p: optim.SGD(p, 0.1, momentum=0.9, dampening=0.5, weight_decay=0.1), sgd(0.9, 0.5, 0.1)),
        (lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True), sgd(0.9, nesterov=True)),
    ],
)
def test_steps_are_those_of_the_formula(make: object, expected: np.ndarray, dtype: str) -> None:
    """float32 takes the compiled step where there is one, float64 the plain one."""
    assert_close(run(make, dtype), expected, rtol=2e-6 if dtype == "float32" else 1e-12, atol=1e-6)


def test_a_gradient_in_another_memory_order_is_taken_right() -> None:
    gradient = np.arange(24, dtype=np.float32).reshape(4, 3, 2).transpose(2, 1, 0)
    p = wb.zeros(2, 3, 4, requires_grad=True)
    p.grad = wb.from_numpy(gradient)
    optim.SGD([p], lr=1.0).step()
    assert_close(p.detach(), -gradient)


def test_only_parameters_with_a_gradient_change_and_each_change_is_told_to_the_tape() -> None:
    a, b = wb.ones(2, requires_grad=True), wb.ones(2, requires_grad=True)
    optimizer = optim.Adam([a, b])
    loss = (a * a).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    assert b.detach().tolist() == [1, 1]
    assert a.detach().tolist() != [1, 1]
    with pytest.raises(wb.AutogradError, match="modified by an inplace operation"):
        loss.backward()


def test_zero_grad_and_closures() -> None:
    p = wb.ones(1, requires_grad=True)
    optimizer = optim.SGD([p], lr=0.5)

    def closure() -> wb.Tensor:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 1
    assert p.item() == 0
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0]
    optimizer.zero_grad()
    assert p.grad is None


def test_groups_have_settings_of_their_own() -> None:
    a, b = wb.ones(1, requires_grad=True), wb.ones(1, requires_grad=True)
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.25}], lr=0.5)
    (a + b).sum().backward()
    optimizer.step()
    assert (a.item(), b.item()) == (0.5, 0.75)
    assert repr(optimizer).splitlines()[11:15] == [
        "Parameter Group 1",
        "    dampening: 0",
        "    differentiable: False",
        "    foreach: None",
    ]
    assert "    lr: 0.25" in repr(optimizer)


def test_the_state_goes_round() -> None:
    def steps(optimizer: optim.Optimizer, p: wb.Tensor, gradients: list[np.ndarray]) -> None:
        for gradient in gradients:
            p.grad = wb.tensor(gradient, dtype="float32")
            optimizer.step()

    p = wb.tensor(START, dtype="float32", requires_grad=True)
    first = optim.Adam([p], lr=0.1)
    steps(first, p, GRADIENTS[:2])
    q = wb.tensor(p.detach().numpy().copy(), requires_grad=True)
    second = optim.Adam([q], lr=0.9)
    second.load_state_dict(first.state_dict())
    steps(first, p, GRADIENTS[2:])
    steps(second, q, GRADIENTS[2:])
    assert_close(p.detach(), q.detach(), rtol=0, atol=0)
    assert second.param_groups[0]["lr"] == 0.1


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    p, q = wb.ones(2, requires_grad=True), wb.ones(3, requires_grad=True)
    one, other = optim.Adam([p]), optim.Adam([q], lr=0.5)
    p.grad = wb.ones(2)
    one.step()
    with pytest.raises(ValueError, match=r"'exp_avg' of parameter 0 has shape \[2\], the parameter \[3\]"):
        other.load_state_dict(one.state_dict())
    two = optim.Adam([wb.ones(2, requires_grad=True), q])
    with pytest.raises(ValueError, match="group 0 has 1 parameters there, 2 here"):
        two.load_state_dict(one.state_dict())
    bad = one.state_dict()
    bad["param_groups"][0]["lr"] = -1
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        optim.Adam([p]).load_state_dict(bad)
    assert other.param_groups[0]["lr"] == 0.5
    assert other.state == {}


P, Q = wb.ones(1, requires_grad=True), wb.ones(1, requires_grad=True)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (lambda: optim.SGD(P), TypeError, "write [tensor]"),
        (lambda: optim.SGD([1.0]), TypeError, "one of the params is float"),
        (lambda: optim.SGD([P * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: optim.SGD([P, P]), UserWarning, "a parameter group with duplicate parameters"),
        (lambda: optim.SGD([{"params": P}, {"params": P}]), ValueError, "more than one parameter group"),
        (lambda: optim.SGD([{"params": {P}}]), TypeError, "organized in ordered collections"),
        (lambda: optim.SGD([("a", P), Q]), ValueError, "Some param names are missing"),
        (
            lambda: optim.SGD([{"params": P}, {"params": [("q", Q)]}]),
            ValueError,
            "cannot add param group with names",
        ),
        (lambda: optim.SGD([P], lr=wb.ones(2)), ValueError, "Tensor lr must be 1-element, got shape [2]"),
        (lambda: optim.SGD([P], differentiable=True), ValueError, "func.functional_call"),
        (lambda: optim.Adam([P], capturable=True), ValueError, "captured into an accelerator's graph"),
        (lambda: optim.Adam([P], fused=True, foreach=True), RuntimeError, "cannot be `True` together"),
        (
            lambda: optim.Adam([P], fused=True, differentiable=True),
            RuntimeError,
            "not support `differentiable`",
        ),
        (lambda: optim.Rprop([P], etas=(1.2, 0.5)), ValueError, "0 < eta1 < 1 < eta2 must hold"),
        (lambda: optim.Adadelta([P], rho=1.5), ValueError, "Invalid rho value: 1.5; it must be in [0, 1]"),
        (lambda: optim.Adafactor([P], d=0.5), ValueError, "Clipping threshold d should be >= 1 but is: 0.5"),
        (lambda: optim.Muon([P]), ValueError, "leave those to AdamW"),
        (lambda: optim.LBFGS([P], line_search_fn="armijo"), ValueError, "only 'strong_wolfe' is supported"),
        (
            lambda: optim.LBFGS([{"params": P}, {"params": Q}]),
            ValueError,
            "doesn't support per-parameter options",
        ),
        (lambda: optim.LBFGS([P]).step(), TypeError, "needs a closure"),
        (lambda: optim.Optimizer([P], {}).step(), TypeError, "has no rule: define step"),
        (lambda: optim.SGD([P], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda: optim.SGD([P], lr=math.nan), ValueError, "Invalid learning rate: nan"),
        (lambda: optim.SGD([P], nesterov=True), ValueError, "requires a momentum and zero dampening"),
        (lambda: optim.Adam([P], betas=(0.9, 1.0)), ValueError, "Invalid beta parameter at index 1: 1.0"),
        (lambda: optim.Adam([P], eps=-1e-8), ValueError, "Invalid epsilon value"),
        (
            lambda: optim.Adam([{"params": [P], "wieght_decay": 1}]),
            ValueError,
            "did you mean 'weight_decay'?",
        ),
        (lambda: optim.Adam([P]).add_param_group([P]), TypeError, "a dict with the key 'params'"),
    ],
)
def test_bad_settings_are_refused_in_words(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)


def test_gradients_that_are_not_there_are_not_set_to_zero() -> None:
    one, other = wb.ones(1, requires_grad=True), wb.ones(1, requires_grad=True)
    optimizer = wb.optim.SGD([one, other], lr=0.5)
    (one * 2).backward()
    optimizer.zero_grad(set_to_none=False)
    assert one.grad is not None
    assert one.grad.tolist() == [0]
    assert other.grad is None


def test_decay_stays_decoupled_after_a_state_of_adam() -> None:
    p = wb.ones(1, requires_grad=True)
    optimizer = wb.optim.AdamW([p], lr=0.5, weight_decay=0.5)
    p.grad = wb.zeros(1)
    optimizer.load_state_dict(wb.optim.Adam([p], lr=0.5, weight_decay=0.5).state_dict())
    optimizer.step()
    assert p.tolist() == [0.75]  # a decayed gradient would be a whole step: 0.5
