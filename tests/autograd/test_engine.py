"""Backward: accumulation, names, hooks, higher orders, and what is refused."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.dispatch import apply, interpreting
from workbench.core.op import Op


def leaf(*values: float, names: tuple[str, ...] | None = None) -> wb.Tensor:
    return wb.tensor(list(values), dtype="float64", names=names, requires_grad=True)


def test_gradients_accumulate_and_carry_names() -> None:
    x = leaf(1, 2, names=("C",))
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [5, 7]
    assert x.grad.names == ("C",)


def test_an_upstream_gradient_must_fit_in_size_and_name() -> None:
    y = leaf(1, 2, names=("C",)) * 2
    with pytest.raises(wb.AutogradError, match="Mismatch in shape"):
        y.backward(wb.ones(3))
    with pytest.raises(wb.DimensionError, match="do not match"):
        y.backward(wb.ones(H=2))


def test_shared_gradients_are_not_aliased() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    (x + y).sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    x.grad.add_(1)
    assert y.grad.tolist() == [1, 1]


def test_diamonds_sum_before_they_go_on() -> None:
    x = leaf(2)
    a = x * 3
    ((a * a) + (a * 2)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2 * 6 * 3 + 6]


def test_higher_orders() -> None:
    x = leaf(1.5)
    y = (x**4.0).sum()
    for expected in (4 * 1.5**3, 12 * 1.5**2, 24 * 1.5):
        (y,) = wb.autograd.grad(y, x, create_graph=True)
        np.testing.assert_allclose(y.detach().numpy(), [expected])
        y = y.sum()


def test_grad_of_intermediate_values_and_unused_inputs() -> None:
    x, unused = leaf(2), leaf(1)
    a = x * 3
    b = (a * a).sum()
    ga, gx = wb.autograd.grad(b, (a, x), retain_graph=True)
    assert ga is not None
    assert gx is not None
    assert (ga.tolist(), gx.tolist()) == ([12], [36])
    assert x.grad is None
    assert wb.autograd.grad(b, unused, allow_unused=True, retain_graph=True) == (None,)
    with pytest.raises(wb.AutogradError, match="not have been used"):
        wb.autograd.grad(b, unused)


def test_hooks_see_and_replace_gradients() -> None:
    x = leaf(1, 2)
    seen = []
    a = x * 2
    remove = a.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(g.tolist()))
    a.sum().backward(retain_graph=True)
    remove()
    a.sum().backward()
    assert seen == [[20, 20], [2, 2]]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda x: (x * 2).backward(), "implicitly created only for scalar outputs"),
        (lambda x: x.detach().sum().backward(), "does not require grad"),
        (lambda x: wb.autograd.grad(x.sum(), x.detach()), "does not require grad"),
    ],
)
def test_refusals(act: object, message: str) -> None:
    with pytest.raises(wb.AutogradError, match=message):
        act(leaf(1, 2))  # type: ignore[operator]


def test_a_freed_graph_says_which_op() -> None:
    y = (leaf(1, 2) * 3).exp().sum()
    y.backward()
    with pytest.raises(wb.AutogradError, match="a second time: what 'exp' saved"):
        y.backward()


def test_an_overwritten_saved_value_is_refused() -> None:
    x = leaf(1, 2)
    a = wb.ones(2, dtype="float64")
    y = (x * a).sum()
    a.add_(1)
    with pytest.raises(wb.AutogradError, match=r"input 1 of 'mul' .* is at version 1; expected version 0"):
        y.backward()


def test_nothing_is_recorded_under_no_grad() -> None:
    x = leaf(1)
    with wb.no_grad():
        y = x * 2
        with wb.enable_grad():
            z = x * 2
    assert (y.requires_grad, z.requires_grad) == (False, True)


def test_values_the_rules_do_not_read_are_freed() -> None:
    x = wb.ones(10_000, requires_grad=True)
    a = x * 2.0
    payload = weakref.ref(a.payload)
    b = (a + 1.0).sum()
    del a
    gc.collect()
    assert payload() is None
    b.backward()
    assert x.grad is not None
    assert x.grad[0].item() == 2


def test_no_cycles_keep_memory() -> None:
    gc.collect()
    gc.disable()
    try:
        x = wb.ones(10, requires_grad=True)
        y = x.exp()
        alive = weakref.ref(y)
        z = y.sum()
        z.backward()
        del y, z
        assert alive() is None
    finally:
        gc.enable()


class Seen:
    """Notes the names of the ops that run."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        self.names.append(op.name)
        return apply(op, *inputs, **params)


def test_grad_computes_nothing_that_was_not_asked_for() -> None:
    images = wb.randn(2, 1, 4, 4, requires_grad=True)
    weight = wb.randn(3, 1, 3, 3, requires_grad=True)
    output = wb.conv2d(images, weight).sum()
    with interpreting(seen := Seen()):
        (gradient,) = wb.autograd.grad(output, images, retain_graph=True)
    assert "conv2d_input_gradient" in seen.names
    assert "conv2d_weight_gradient" not in seen.names
    both = wb.autograd.grad(output, [images, weight])
    assert both[0].tolist() == gradient.tolist()
    assert weight.grad is None


def test_grad_of_a_value_on_the_way_and_of_what_lies_before_it() -> None:
    x, w = leaf(2), leaf(3)
    middle = x * w
    by_middle, by_x = wb.autograd.grad((middle * middle).sum(), [middle, x])
    assert (by_middle.tolist(), by_x.tolist()) == ([12], [36])


def test_a_gradient_of_what_is_on_the_way_leaves_the_way() -> None:
    w = leaf(1, 2)
    f = w - 0.5
    (g,) = wb.autograd.grad((f * f).sum(), [f])
    (f - g).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_hooks_on_what_is_asked_for_are_run() -> None:
    y = leaf(1, 2) * 1
    y.register_hook(lambda gradient: gradient * 3)
    assert wb.autograd.grad(y.sum(), y)[0].tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1, lambda x: -x, lambda x: x.view(2, 1), lambda x: x.expand(3, 2), lambda x: x.mean(),
        lambda x: wb.cat([x, x]), lambda x: wb.stack([x, x]), lambda x: x[:1], lambda x: x.clone(), lambda x: x.float(),
        lambda x: wb.nn.functional.pad(x, (1, 1)), lambda x: x.reshape(1, 2), lambda x: x * 2, lambda x: x.t(),
    ],
    ids=range(14),
)  # fmt: skip
def test_what_saved_nothing_can_be_gone_through_again(function: Any) -> None:
    x = leaf(1, 2)
    y = function(x).sum()
    y.backward()
    once = x.grad.clone()
    y.backward()
    assert x.grad.tolist() == (once * 2).tolist()
