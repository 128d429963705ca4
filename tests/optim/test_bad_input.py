"""What people give optimizers by mistake: refused in words, and nothing is changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

optim: Any = wb.optim


def parameter(*sizes: int) -> Any:
    return wb.ones(*(sizes or (2,)), requires_grad=True)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: optim.SGD(wb.nn.Linear(2, 2)),
            TypeError,
            r"got Linear: of a module those are model.parameters\(\)",
        ),
        (lambda: optim.SGD(wb.nn.Linear(2, 2).parameters), TypeError, "got method"),
        (lambda: optim.SGD([{"lr": 0.1}]), TypeError, r"with the key 'params', but got the keys \['lr'\]"),
        (lambda: optim.SGD([parameter()], lr="0.1"), TypeError, "lr is a number, got '0.1'"),
        (lambda: optim.SGD([parameter()], lr=None), TypeError, "lr is a number, got None"),
        (lambda: optim.SGD([parameter()], lr=float("nan")), ValueError, "Invalid learning rate: nan"),
        (
            lambda: optim.SGD([parameter()], weight_decay=None),
            TypeError,
            "weight_decay is a number, got None",
        ),
        (lambda: optim.SGD([parameter()], dampening="a"), TypeError, "dampening is a number, got 'a'"),
        (
            lambda: optim.SGD([parameter()], dampening=float("nan")),
            ValueError,
            "dampening is a number, got nan",
        ),
        (lambda: optim.Adam([parameter()], betas=0.9), TypeError, "betas are two numbers, got 0.9"),
        (lambda: optim.Adam([parameter()], betas=("a", 0.9)), TypeError, r"betas\[0\] is a number, got 'a'"),
        (lambda: optim.Adam([parameter()], eps="1"), TypeError, "eps is a number, got '1'"),
    ],
)
def test_settings(make: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_settings_may_be_numbers_of_numpy() -> None:
    p = parameter()
    p.grad = wb.ones(2)
    optim.SGD([p], lr=np.float32(0.5), momentum=np.float64(0.5)).step()
    assert p.tolist() == [0.5, 0.5]


def entry(state: Any, **changes: Any) -> Any:
    return {**state, "state": {0: {**state["state"][0], **changes}}}


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (lambda state: None, TypeError, "expected the state of an optimizer, a dict, got NoneType"),
        (lambda state: [1], TypeError, "expected the state of an optimizer, a dict, got list"),
        (
            lambda state: {**state, "param_groups": 3},
            ValueError,
            "list of dicts with the key 'params', got int",
        ),
        (lambda state: {**state, "param_groups": ["a"]}, ValueError, "a dict with the key 'params', got 'a'"),
        (lambda state: {**state, "param_groups": [{}]}, ValueError, "a dict with the key 'params', got {}"),
        (lambda state: {**state, "state": [1]}, ValueError, "what is remembered by parameter, got list"),
        (lambda state: {**state, "state": {0: "x"}}, ValueError, "state of parameter 0 is a dict, got str"),
        (
            lambda state: entry(state, exp_avg="x"),
            ValueError,
            "'exp_avg' of parameter 0 is a tensor, got str",
        ),
        (lambda state: entry(state, step="x"), ValueError, "'step' of parameter 0 is a number, got 'x'"),
    ],
)
def test_a_state_of_garbage(spoil: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    p = parameter()
    p.grad = wb.ones(2)
    optimizer = optim.Adam([p])
    optimizer.step()
    before = repr(optimizer.state_dict())
    with pytest.raises(error, match=words):
        optimizer.load_state_dict(spoil(copy.deepcopy(optimizer.state_dict())))
    assert repr(optimizer.state_dict()) == before


def test_a_parameter_that_was_resized_is_refused_before_it_counts() -> None:
    p = parameter()
    p.grad = wb.ones(2)
    optimizer = optim.Adam([p])
    optimizer.step()
    p.payload = np.ones(3, np.float32)
    p.grad = wb.ones(3)
    before = repr(optimizer.state_dict())
    with pytest.raises(
        ValueError, match=r"remembers '\w+' of sizes \[2\] for a parameter that now has \[3\]"
    ):
        optimizer.step()
    assert repr(optimizer.state_dict()) == before
    assert p.tolist() == [1, 1, 1]
    del optimizer.state[p]
    optimizer.step()
    assert p.tolist() != [1, 1, 1]


def test_a_closure_returns_the_loss() -> None:
    with pytest.raises(TypeError, match="the closure of LBFGS"):
        optim.LBFGS([parameter()]).step(lambda: None)


def test_a_parameter_that_was_replaced_is_not_moved_and_one_of_two_optimizers_is_by_both() -> None:
    layer = wb.nn.Linear(1, 1, bias=False)
    optimizer = optim.SGD(layer.parameters(), lr=1.0)
    layer.weight = wb.nn.Parameter(wb.ones(1, 1))
    layer(wb.ones(1, 1)).sum().backward()
    optimizer.step()
    assert layer.weight.tolist() == [[1]]
    p = parameter()
    p.grad = wb.ones(2)
    for one in (optim.SGD([p], lr=0.25), optim.SGD((one for one in [p]), lr=0.25)):
        one.step()
    assert p.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: optim.Adam({"params": []}), r"but got a dict: write \[group\]"),
        (lambda: optim.Adam(wb.nn.Linear(1, 1).state_dict()), r"those are model.parameters\(\)"),
        (lambda: optim.Adam(iter([])), "was gone over before. Call it anew"),
        (
            lambda: optim.Adam([{"params": [wb.ones(1)], "learning_rate": 1}]),
            "'learning_rate' of Adam: did you mean 'lr'",
        ),
        (
            lambda: optim.Adam([wb.ones(1)]).step(wb.ones(1)),
            r"got Tensor: call loss.backward\(\), then step\(\)",
        ),
        (
            lambda: optim.LBFGS([wb.ones(1)]).step(3),
            "a function that computes loss and gradients anew, got int",
        ),
    ],
)
def test_what_is_often_passed_instead(make: Callable[[], Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        make()


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_a_closure_that_fails_amid_a_step_of_lbfgs_leaves_all_as_it_was(search: str | None) -> None:
    p = wb.tensor([1.0, -2.0], requires_grad=True)
    optimizer = optim.LBFGS([p], max_iter=3, line_search_fn=search)
    calls, fail_at = 0, 3

    def closure() -> Any:
        nonlocal calls
        calls += 1
        if calls == fail_at:
            raise KeyboardInterrupt
        optimizer.zero_grad()
        loss = (p**4).sum()
        loss.backward()
        return loss

    before = p.tolist()
    with pytest.raises(KeyboardInterrupt):
        optimizer.step(closure)
    assert p.tolist() == before
    assert not optimizer.state[p]
    optimizer.step(closure)
    known = {key: str(value) for key, value in optimizer.state[p].items()}
    calls, after = 0, p.tolist()
    with pytest.raises(KeyboardInterrupt):
        optimizer.step(closure)
    assert p.tolist() == after
    assert {key: str(value) for key, value in optimizer.state[p].items()} == known
