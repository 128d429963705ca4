"""Hooks of modules: before and after calls, gradients and states, on one module or on all."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.core import scope
from workbench.nn.modules import module as modules


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(wb.full((3,), 2.0), names=("C",))

    def forward(self, x: wb.Tensor, shift: float = 0.0) -> wb.Tensor:
        return x * self.weight + shift


def test_hooks_with_keywords_see_and_change_them() -> None:
    layer = Scaled()
    seen = []

    def before(module: nn.Module, inputs: Any, keywords: dict[str, Any]) -> Any:
        return (inputs[0] + 1,), {**keywords, "shift": 10.0}

    layer.register_forward_pre_hook(before, with_kwargs=True)
    layer.register_forward_hook(lambda m, i, k, o: seen.append((i[0].tolist(), k)), with_kwargs=True)
    assert layer(wb.zeros(3), shift=5.0).tolist() == [12, 12, 12]
    assert seen == [([1, 1, 1], {"shift": 10.0})]


def test_a_pre_hook_that_returns_something_else_is_refused() -> None:
    layer = Scaled()
    layer.register_forward_pre_hook(lambda m, i, k: (i,), with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple of \\(new_args, new_kwargs\\)"):
        layer(wb.zeros(3))


def test_hooks_run_in_order_unless_one_is_put_in_front() -> None:
    layer = nn.Identity()
    order: list[str] = []
    for name, prepend in (("a", False), ("b", False), ("c", True)):
        layer.register_forward_hook(lambda *_, name=name: order.append(name), prepend=prepend)
        layer.register_forward_pre_hook(lambda *_, name=name: order.append(name.upper()), prepend=prepend)
    layer(wb.zeros(1))
    assert "".join(order) == "CABcab"


def test_a_hook_that_is_always_called_sees_a_failure_and_does_not_hide_it() -> None:
    layer = nn.Linear(2, 2)
    seen: list[Any] = []
    layer.register_forward_hook(lambda m, i, o: seen.append(o), always_call=True)
    layer.register_forward_hook(lambda m, i, o: seen.append("no"))
    with pytest.raises(wb.DimensionError):
        layer(wb.zeros(3))
    assert seen == [None]

    def fails(*_: Any) -> None:
        raise KeyError("second")

    layer.register_forward_hook(fails, always_call=True)
    with pytest.raises(wb.DimensionError) as caught:
        layer(wb.zeros(3))
    assert "a forward hook with always_call=True failed too: KeyError: 'second'" in caught.value.__notes__


def test_a_handle_removes_its_hook_and_a_copy_keeps_its_own() -> None:
    layer = nn.Identity()
    with layer.register_forward_hook(lambda m, i, o: o + 1) as handle:
        other = copy.deepcopy(layer)
        assert layer._hooked
    handle.remove()
    assert not layer._hooked
    assert layer(wb.zeros(1)).item() == 0
    assert other(wb.zeros(1)).item() == 1


def test_backward_hooks_see_named_gradients_and_may_change_them() -> None:
    layer = Scaled()
    seen: list[Any] = []

    def after(module: nn.Module, grad_input: Any, grad_output: Any) -> Any:
        seen.append([(one.names, one.tolist()) for one in (*grad_input, *grad_output)])
        return (grad_input[0] * 10,)

    layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 3,))
    layer.register_full_backward_hook(after)
    x = wb.ones(2, 3, names=("N", "C")).requires_grad_()
    layer(x).sum().backward()
    names = ("N", "C")
    assert seen == [[(names, [[6.0] * 3] * 2), (names, [[3.0] * 3] * 2)]]
    assert x.grad is not None and x.grad.tolist() == [[60.0] * 3] * 2
    assert layer.weight.grad is not None and layer.weight.grad.tolist() == [6.0] * 3


def test_backward_hooks_where_no_input_wants_a_gradient() -> None:
    layer = Scaled()
    seen: list[Any] = []
    layer.register_backward_hook(lambda m, inward, outward: seen.append((inward, outward[0].tolist())))
    layer(wb.ones(3)).sum().backward()
    assert seen == [((None,), [1, 1, 1])]
    with wb.no_grad():
        layer(wb.ones(3))
    layer.register_full_backward_hook(lambda m, inward, outward: (outward[0],))
    with pytest.raises(RuntimeError, match="should always return None"):
        layer(wb.ones(3)).sum().backward()


def test_a_backward_hook_that_returns_another_number_is_refused() -> None:
    layer = Scaled()
    layer.register_full_backward_hook(lambda m, inward, outward: (inward[0], inward[0]))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        layer(wb.ones(3, requires_grad=True)).sum().backward()


def test_backward_hooks_stay_on_the_tape() -> None:
    layer = nn.Tanh()
    layer.register_full_backward_hook(lambda m, inward, outward: (inward[0] * 2,))
    x = wb.tensor([0.5], requires_grad=True)
    (gradient,) = wb.autograd.grad(layer(x).sum(), x, create_graph=True)
    (second,) = wb.autograd.grad(gradient.sum(), x)
    slope = 1 - np.tanh(0.5) ** 2
    assert gradient.item() == pytest.approx(2 * slope, rel=1e-6)
    assert second.item() == pytest.approx(-4 * np.tanh(0.5) * slope, rel=1e-6)


def test_hooks_of_all_modules_come_first_and_end() -> None:
    layer = nn.Identity()
    order: list[str] = []
    layer.register_forward_hook(lambda *_: order.append("own"))
    with (
        modules.register_module_forward_hook(lambda *_: order.append("all")),
        modules.register_module_forward_pre_hook(lambda m, i: i[0] + 1),
        modules.register_module_full_backward_hook(lambda m, i, o: order.append("back")),
        modules.register_module_full_backward_pre_hook(lambda m, o: order.append("back first")),
    ):
        y = layer(wb.zeros(1, requires_grad=True))
        assert y.item() == 1
        y.backward()
    assert order == ["all", "own", "back first", "back"]
    assert scope.active == 0
    assert layer(wb.zeros(1)).item() == 0


def test_registrations_can_be_watched_and_changed() -> None:
    seen: list[str] = []
    with (
        modules.register_module_parameter_registration_hook(lambda m, name, p: seen.append(name)),
        modules.register_module_buffer_registration_hook(lambda m, name, b: b + 1),
        modules.register_module_module_registration_hook(lambda m, name, c: seen.append(name)),
    ):
        layer = nn.Sequential(nn.Linear(2, 2))
        layer.register_buffer("count", wb.zeros(1))
    assert seen == ["weight", "bias", "0"]
    assert layer.count.item() == 1


def test_state_hooks_change_what_is_saved() -> None:
    layer = nn.Linear(2, 1)
    order: list[str] = []
    layer.register_state_dict_pre_hook(lambda m, prefix, keep: order.append(prefix))
    layer.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop(prefix + "bias") and None)
    assert list(nn.Sequential(layer).state_dict()) == ["0.weight"]
    assert order == ["0."]
    layer.register_state_dict_post_hook(lambda m, state, prefix, meta: {})
    with pytest.raises(RuntimeError, match="post-hook must return None"):
        layer.state_dict()
    other = nn.Linear(1, 1)
    other._register_state_dict_hook(lambda m, state, prefix, meta: {"all": 1})
    assert other.state_dict() == {"all": 1}


def test_load_hooks_change_what_is_loaded_and_what_is_missed() -> None:
    layer = nn.Linear(2, 1)

    def rename(state: Any, prefix: str, *_: Any) -> None:
        if prefix + "w" in state:
            state[prefix + "weight"] = state.pop(prefix + "w")

    layer._register_load_state_dict_pre_hook(rename)
    layer.register_load_state_dict_pre_hook(lambda module, state, *_: seen.append(type(module).__name__))
    seen: list[Any] = []
    given = {"w": np.ones((1, 2), np.float32)}
    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "bias"'):
        layer.load_state_dict(given)
    assert list(given) == ["w"]
    assert layer.weight.detach().tolist() != [[1, 1]]
    handle = layer.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    assert repr(layer.load_state_dict(given)) == "<All keys matched successfully>"
    assert layer.weight.detach().tolist() == [[1, 1]]
    handle.remove()
    # What a hook does not forgive is undone.
    layer.register_load_state_dict_post_hook(lambda m, keys: seen.append(m.weight.detach().tolist()))
    with pytest.raises(RuntimeError, match="nothing was changed"):
        layer.load_state_dict({"w": np.zeros((1, 2), np.float32)})
    assert seen[-1] == [[0, 0]]
    assert layer.weight.detach().tolist() == [[1, 1]]
    layer.register_load_state_dict_post_hook(lambda m, keys: keys)
    with pytest.raises(RuntimeError, match="not expected to return new values"):
        layer.load_state_dict({"w": np.zeros((1, 2), np.float32)}, strict=False)
    assert layer.weight.detach().tolist() == [[1, 1]]


def test_a_module_with_hooks_can_be_pickled() -> None:
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(_add_one)
    other = pickle.loads(pickle.dumps(layer))
    x = wb.ones(1, 2)
    np.testing.assert_array_equal(other(x).detach().numpy(), layer(x).detach().numpy())
    assert other._hooked


def _add_one(module: nn.Module, inputs: Any, output: wb.Tensor) -> wb.Tensor:
    return output + 1


def test_a_hook_that_is_always_called_is_called_once_where_a_later_one_fails() -> None:
    layer, seen = Scaled(), []

    def fails(*_: Any) -> None:
        raise ValueError("no")

    layer.register_forward_hook(lambda *_: seen.append("first"), always_call=True)
    layer.register_forward_hook(fails)
    layer.register_forward_hook(lambda *_: seen.append("last"), always_call=True)
    with pytest.raises(ValueError, match="no"):
        layer(wb.zeros(3))
    assert seen == ["first", "last"]


def test_backward_hooks_leave_named_tuples_and_inputs_that_want_no_gradient_alone() -> None:
    class Pair(NamedTuple):
        one: Any
        other: Any

    class Split(nn.Module):
        def forward(self, x: wb.Tensor, index: wb.Tensor) -> Pair:
            assert not index.requires_grad
            assert index.is_leaf
            return Pair(x * 2, index)

    layer, seen = Split(), []
    layer.register_full_backward_hook(lambda module, inward, outward: seen.append((inward[1], outward[1])))
    pair = layer(wb.ones(2, requires_grad=True), wb.tensor([1.0, 0.0]))
    assert isinstance(pair, Pair)
    assert not pair.other.requires_grad
    pair.one.sum().backward()
    assert seen == [(None, None)]


def test_assigning_to_a_buffer_is_watched_too() -> None:
    layer, seen = nn.Module(), []
    layer.register_buffer("mean", wb.zeros(1))
    with modules.register_module_buffer_registration_hook(lambda module, name, value: seen.append(name)):
        layer.mean = wb.ones(1)
        layer.other = wb.ones(1)  # no buffer
    assert seen == ["mean"]


def test_a_hook_may_remove_itself_or_another_while_it_is_called() -> None:
    layer, seen = Scaled(), []

    def once(*_: Any) -> None:
        seen.append("once")
        handle.remove()

    handle = layer.register_forward_pre_hook(once)
    layer.register_forward_pre_hook(lambda *_: seen.append("always"))
    layer(wb.zeros(3))
    layer(wb.zeros(3))
    assert seen == ["once", "always", "always"]
