"""Hooks around steps and states, and optimizers of one's own."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import workbench as wb
from workbench import optim


def made() -> tuple[wb.Tensor, optim.Optimizer]:
    p = wb.ones(2, requires_grad=True)
    p.grad = wb.ones(2)
    return p, optim.SGD([p], lr=0.5)


def test_hooks_are_called_around_a_step_until_they_are_removed() -> None:
    p, optimizer = made()
    seen: list[str] = []
    everywhere = optim.register_optimizer_step_pre_hook(lambda *_: seen.append("all"))
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(f"before {p[0].item()}"))
    after = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(f"after {p[0].item()}"))
    optimizer.step()
    assert seen == ["all", "before 1.0", "after 0.5"]
    for handle in (everywhere, before, after):
        handle.remove()
    optimizer.step()
    assert len(seen) == 3


def test_a_hook_may_give_other_arguments() -> None:
    _, optimizer = made()
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((), {"closure": lambda: 7}))
    assert optimizer.step() == 7
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match=r"a tuple of \(new_args, new_kwargs\), but got 3"):
        optimizer.step()
    with pytest.raises(TypeError, match="int cannot be"):
        optimizer.register_step_post_hook(3)


def test_an_optimizer_of_ones_own_has_hooks_called_once() -> None:
    class Twice(optim.SGD):
        def step(self, closure: Any = None) -> Any:
            super().step()
            return super().step(closure)

    p = wb.ones(1, requires_grad=True)
    p.grad = wb.ones(1)
    optimizer, seen = Twice([p], lr=0.25), []
    optimizer.register_step_post_hook(lambda *_: seen.append(p.item()))
    optimizer.step()
    assert seen == [0.5]


def test_hooks_of_states() -> None:
    _, optimizer = made()
    order: list[str] = []
    optimizer.register_state_dict_pre_hook(lambda o: order.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: order.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    assert optimizer.state_dict()["more"] == 1
    assert order == ["first", "second"]

    def slower(o: optim.Optimizer, state: dict[str, Any]) -> dict[str, Any]:
        groups = [{**group, "lr": 0.125} for group in state["param_groups"]]
        return {**state, "param_groups": groups}

    optimizer.register_load_state_dict_pre_hook(slower)
    optimizer.register_load_state_dict_post_hook(lambda o: order.append(str(o.param_groups[0]["lr"])))
    optimizer.load_state_dict(optimizer.state_dict())
    assert order[-1] == "0.125"


def test_copies_and_pickles_go_on_alike() -> None:
    p = wb.ones(2, requires_grad=True)
    p.grad = wb.ones(2)
    optimizer = optim.Adam([p], lr=0.5)
    optimizer.step()
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (q,) = other.param_groups[0]["params"]
        assert q is not p
        assert list(other.state) == [q]
        q.grad = wb.ones(2)
        other.step()
        assert q.detach().tolist() == pytest.approx([0.0, 0.0], abs=1e-6)
    assert p.detach().tolist() == pytest.approx([0.5, 0.5])
