"""Gradients of arguments alone, as attribution asks for them: parameters are constants of both halves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels
from workbench.attribution import GradientShap, IntegratedGradients, LayerGradCam, Saliency, evaluation
from workbench.core.stack import parameters_fixed

pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")

nn = wb.nn


class Block(nn.Module):
    """Two convolutions with norms, and a way around them."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return (self.inner(x) + x).relu()


def network() -> Any:
    wb.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), Block(), nn.Dropout(0.5),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5),
    )  # fmt: skip
    for _ in range(3):
        model(wb.rand(16, 3, 16, 16) * 3 - 1)  # statistics that are not 0 and 1
    return model.eval()


@pytest.fixture
def x() -> wb.Tensor:
    return wb.from_numpy(np.random.default_rng(1).random((2, 3, 16, 16), np.float32))


def programs(model: Any) -> list[Any]:
    return list(wb.compiler.explain(model).programs)


def same(found: Any, expected: Any) -> None:
    expected = expected.numpy()
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("method", [Saliency, IntegratedGradients, GradientShap])
def test_attributions_of_a_compiled_model_are_those_of_the_model(method: Any, x: wb.Tensor) -> None:
    model = network()
    fast = wb.compile(model, fullgraph=True)
    settings = {"baselines": wb.zeros(2, 3, 16, 16)} if method is GradientShap else {}
    found = []
    for one in (model, fast):
        wb.manual_seed(3)
        found.append(method(one).attribute(x, target=2, **settings))
    same(found[1], found[0])
    made = programs(fast)
    assert {one.half for one in made} == {"forward", "backward"}
    assert not any(one.eager for one in made)
    steps = " ".join(name for one in made for name in one.steps)
    assert "weight gradient" not in steps
    assert "norm" not in steps  # folded
    assert all(one.grad is None for one in model.parameters())


def test_what_changes_behind_it_is_noticed(x: wb.Tensor) -> None:
    model = network()
    fast = wb.compile(model)
    before = Saliency(fast).attribute(x, target=0)
    with wb.no_grad():
        model[0].weight.mul_(2)
        model[1].running_var.add_(1)
    after = Saliency(fast).attribute(x, target=0)
    same(after, Saliency(model).attribute(x, target=0))
    assert not np.allclose(before.numpy(), after.numpy())
    assert sum(wb.compiler.explain(fast).made_anew.values()) == 1


def test_it_is_trained_as_before(x: wb.Tensor) -> None:
    """The two have programs of their own."""
    model = network()
    fast = wb.compile(model, fullgraph=True)
    Saliency(fast).attribute(x, target=0)
    fast(x).sum().backward()
    gradients = [one.grad.numpy().copy() for one in model.parameters()]
    for one in model.parameters():
        one.grad = None
    model(x).sum().backward()
    for one, gradient in zip(model.parameters(), gradients, strict=True):
        np.testing.assert_allclose(gradient, one.grad.numpy(), rtol=1e-3, atol=1e-4)


def test_taps_see_what_they_saw(x: wb.Tensor) -> None:
    """A hook, as a layer's attribution puts one up, has the model run as it is written."""
    model = network()
    fast = wb.compile(model)
    Saliency(fast).attribute(x, target=0)
    same(
        LayerGradCam(fast, fast[4]).attribute(x, target=0),
        LayerGradCam(model, model[4]).attribute(x, target=0),
    )
    seen = []
    handle = model[2].register_forward_hook(lambda module, given, found: seen.append(found.shape))
    found = Saliency(fast).attribute(x, target=0)
    handle.remove()
    assert seen == [(2, 8, 8, 8)]
    same(found, Saliency(model).attribute(x, target=0))


def test_what_has_no_graph_runs_as_it_is_written(x: wb.Tensor) -> None:
    layer = nn.Linear(4, 3).eval()

    def forward(values: Any) -> Any:
        return layer(values) if float(values.sum()) > 0 else layer(-values)

    fast = wb.compile(forward)
    values = wb.tensor([[1.0, 2.0, 3.0, -1.0]])
    same(Saliency(fast).attribute(values, target=1), Saliency(forward).attribute(values, target=1))
    assert "compiled" not in wb.compiler.explain(fast).calls


def test_values_that_sums_would_overflow_for_run_by_ops(x: wb.Tensor) -> None:
    model = network()
    fast = wb.compile(model)
    large = wb.from_numpy(x.numpy() * np.float32(3e37))
    with parameters_fixed():
        found = []
        for one in (model, fast):
            leaf = large.detach().requires_grad_()
            output = one(leaf)
            found.append((output.detach(), wb.autograd.grad(output.sum(), [leaf])[0]))
    for ours, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-3, equal_nan=True)


def test_what_making_a_program_takes_is_not_what_a_row_takes(x: wb.Tensor) -> None:
    fast = wb.compile(network())
    taken = []
    for _ in range(2):
        IntegratedGradients(fast).attribute(x, target=1, n_steps=20)
        (costs,) = evaluation._MEASURED.pop(fast).values()
        taken.append(costs["gradients"].bytes)
    assert taken[0] < 1.5 * taken[1]
    assert max(one.inputs[0][0] for one in programs(fast)) == 39  # all but the first, which was measured


def saved(function: Any) -> tuple[tuple[str, ...], int]:
    (backward,) = [one for one in programs(function) if one.half == "backward"]
    return backward.saved, backward.saved_bytes


def gradient_of(function: Any, x: wb.Tensor) -> Any:
    given = x.detach().requires_grad_()
    with parameters_fixed():
        function(given).sum().backward()
    assert given.grad is not None
    return given.grad.numpy()


def test_of_rectified_values_a_byte_each_is_kept() -> None:
    """Unless their own numbers are read, or they are what is returned and there anyway."""
    first, second = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)

    def masked(a: Any) -> Any:
        return second(first(a).relu()).relu().mean((2, 3))

    def read(a: Any) -> Any:
        y = first(a).relu()
        return (y * y).mean((2, 3))

    def returned(a: Any) -> Any:
        return second(first(a).relu() + 1).relu()

    x = wb.from_numpy(np.random.default_rng(2).standard_normal((2, 3, 6, 5), np.float32))
    count = 2 * 16 * 6 * 5
    for function, names, size in (
        (masked, ("relu_blocks", "relu_1_blocks"), 2 * count),
        (read, ("relu",), 4 * count),
        (returned, ("relu_blocks", "relu_1"), 5 * count),
    ):
        fast = wb.compile(function, fullgraph=True)
        np.testing.assert_allclose(gradient_of(fast, x), gradient_of(function, x), rtol=1e-4, atol=1e-5)
        assert set(saved(fast)[0]) == set(names)
        assert saved(fast)[1] == size


def test_masks_let_through_what_rectifiers_do() -> None:
    """NaN goes through, of an infinite gradient nothing does where the value is 0, and zeros of either sign block."""
    layer = nn.Linear(6, 6, bias=False)
    with wb.no_grad():
        layer.weight.copy_(wb.eye(6))
    x = wb.tensor([[np.nan, 1.0, 0.0, -0.0, -3.0, 2.0]])
    scale = wb.tensor([1.0, np.inf, np.inf, np.inf, np.inf, 3.0])

    def function(a: Any) -> Any:
        return (layer(a).relu() @ layer.weight) * scale

    expected, found = gradient_of(function, x), gradient_of(wb.compile(function), x)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    plain = wb.tensor([[0.5, 1.0, 0.0, -0.0, -3.0, 2.0]])

    def elementwise(a: Any) -> Any:
        return ((a * 2).relu() * 1).cumsum(1) * scale

    fast = wb.compile(elementwise, fullgraph=True)
    np.testing.assert_array_equal(gradient_of(fast, plain), gradient_of(elementwise, plain))


def test_a_row_costs_what_programs_work_in_too(x: wb.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there before it is measured, since programs keep it, and grows with the rows."""
    fast = wb.compile(network())
    for _ in range(2):
        IntegratedGradients(fast).attribute(x, target=2)
    ((cost,),) = [one.values() for one in evaluation._MEASURED[fast].values()]
    worked_in = wb.compiler.explain(fast).working_bytes([(1, 3, 16, 16)])
    assert worked_in == max(one.planned_bytes for one in programs(fast) if one.inputs[0][0] == 1) > 0
    assert cost.bytes > worked_in
    # A model of its own, of which something is said that no call of it takes.
    other = wb.compile(network())
    monkeypatch.setattr(type(other), "_working_bytes", lambda self, shapes: len(shapes) << 40)
    for _ in range(2):
        IntegratedGradients(other).attribute(x, target=2)
    ((cost,),) = [one.values() for one in evaluation._MEASURED[other].values()]
    assert cost.bytes > 1 << 40
    assert wb.compiler.explain(fast).working_bytes([(1234, 3, 16, 16)]) == 0


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e30])
def test_parameters_are_looked_at_again_once_they_have_changed(x: wb.Tensor, value: float) -> None:
    wb.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 30, 16), nn.ReLU(), nn.Conv2d(30, 4, 1), nn.ReLU(), nn.Flatten()
    ).eval()
    fast = wb.compile(model)
    with parameters_fixed():
        for one in (None, None, None, 0, 2):
            if one is not None:
                with wb.no_grad():
                    model[one].weight[3, 1] = value
            np.testing.assert_allclose(
                gradient_of(fast, x), gradient_of(model, x), rtol=1e-4, atol=1e-6, equal_nan=True
            )
    assert wb.compiler.explain(fast).calls == {"compiled": 5}
