"""Loss scaling: the course of the scale, skipped steps, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import workbench as wb
from workbench import optim
from workbench.train import GradScaler


def parts(scale: float = 4.0) -> tuple[wb.Tensor, optim.SGD, GradScaler]:
    weight = wb.ones(2, requires_grad=True)
    return weight, optim.SGD([weight], lr=1.0), GradScaler(init_scale=scale, growth_interval=2)


def test_gradients_are_scaled_and_brought_back() -> None:
    weight, optimizer, scaler = parts()
    scaler.scale((weight * 3).sum()).backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [12.0, 12.0]
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [3.0, 3.0]
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [-2.0, -2.0]
    assert scaler.state_dict() == {
        "scale": 4.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 1,
    }  # fmt: skip


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_step_that_overflows_is_left_out_and_the_scale_shrinks(bad: float) -> None:
    weight, optimizer, scaler = parts()
    for wanted in (4.0, 8.0, 8.0):  # two good ones in a row, and it grows
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == wanted
    before = weight.tolist()
    optimizer.zero_grad()
    scaler.scale((weight * wb.tensor([1.0, bad])).sum()).backward()
    assert scaler.step(optimizer) is None
    assert scaler.overflowed(optimizer)
    scaler.update()
    assert weight.tolist() == before
    assert (scaler.get_scale(), scaler.state_dict()["_growth_tracker"]) == (4.0, 0)


def test_several_outputs_are_scaled_alike() -> None:
    _, _, scaler = parts()
    one, (two,) = scaler.scale([wb.tensor(1.0), (wb.tensor(2.0),)])
    assert (one.item(), two.item()) == (4.0, 8.0)
    assert [value.item() for value in scaler.scale(iter([wb.tensor(1.0)]))] == [4.0]
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3.0)


def test_a_scale_can_be_given_and_never_leaves_float32() -> None:
    weight, optimizer, scaler = parts(3e38)
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale((weight * 1e-30).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert math.isfinite(scaler.get_scale())
    scaler.update(32.0)
    assert scaler.get_scale() == 32.0
    scaler.update(wb.tensor(16.0))
    assert scaler.get_scale() == 16.0


def test_what_is_called_out_of_turn_is_refused() -> None:
    weight, optimizer, scaler = parts()
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called since the last update"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step\(\)"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: None)
    scaler.update()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    optimizer.zero_grad()
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)


def test_gradients_in_float16_are_refused() -> None:
    weight = wb.ones(2, dtype="float16", requires_grad=True)
    optimizer, scaler = optim.SGD([weight], lr=1.0), GradScaler(init_scale=2.0)
    scaler.scale(weight.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.step(optimizer)


def test_state_goes_over_and_a_scaler_can_be_off() -> None:
    _, _, scaler = parts(64.0)
    other = GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    off = GradScaler(enabled=False)
    assert (off.is_enabled(), off.get_scale(), off.state_dict()) == (False, 1.0, {})
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        other.load_state_dict(off.state_dict())
    weight, optimizer, _ = parts()
    off.scale(weight.sum()).backward()
    off.unscale_(optimizer)
    off.step(optimizer)
    off.update()
    np.testing.assert_array_equal(weight.detach().numpy(), [0.0, 0.0])
    with pytest.raises(AssertionError, match="growth factor must be > 1"):
        GradScaler(growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor must be < 1"):
        GradScaler(backoff_factor=1.0)
