"""Values of one point on the held batch, in the floating point model and in the integer one."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.quantization.layer_values import LayerValues, LayerValuesBeside, compared_values


class Net(wb.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = wb.nn.Linear(12, 8), wb.nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.last(self.first(x))


def made(graph: bool) -> tuple[Any, Any, Any]:
    wb.manual_seed(0)
    model, x = Net().eval(), wb.randn(64, 12)
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping(), (x,)) if graph else q.prepare(model)
    with wb.no_grad():
        prepared(x)
    return model, prepared, x


def found(calibration: q.Calibration, name: str) -> LayerValues | None:
    done = threading.Event()
    beside = LayerValuesBeside(calibration.measurement, done.set)
    assert beside.latest(calibration.entry(name)) is None
    assert done.wait(30)
    return beside.latest(calibration.entry(name))


@pytest.mark.parametrize("graph", [False, True])
def test_of_a_layer_and_of_the_input(graph: bool) -> None:
    model, prepared, x = made(graph)
    calibration = q.Calibration(prepared, evaluate=x)
    with wb.no_grad():
        exact = model.first(x).numpy()
        codes = (q.convert_fx if graph else q.convert)(prepared)
        seen: list[Any] = []
        codes.first.register_forward_hook(lambda module, inputs, output: seen.append(output))
        codes(x)
    values = found(calibration, "first.output")
    assert values is not None
    assert values.before.sum() == values.after.sum() == exact.size
    expected = seen[0].dequantize().numpy()
    assert values.worst == pytest.approx(np.abs(expected - exact).max(), rel=1e-6)
    assert values.sqnr == pytest.approx(
        10 * np.log10((exact**2).sum() / ((expected - exact) ** 2).sum()), abs=1e-3
    )
    assert found(calibration, "input") is not None
    before = [entry.observer.batches for entry in calibration.entries]
    assert [entry.observer.batches for entry in calibration.entries] == before


def test_they_follow_what_is_chosen() -> None:
    _, prepared, x = made(graph=False)
    calibration = q.Calibration(prepared, evaluate=x)
    fine = found(calibration, "first.output")
    calibration.choose("first.output", bits=2)
    coarse = found(calibration, "first.output")
    assert fine is not None and coarse is not None
    assert coarse.sqnr < fine.sqnr - 15
    assert np.count_nonzero(coarse.after) <= 4
    calibration.choose("first.weight", bits=2, per_channel=False)
    weight = found(calibration, "first.weight")
    assert weight is not None
    assert np.count_nonzero(weight.after) <= 4


def test_why_there_are_none() -> None:
    _, prepared, x = made(graph=False)
    done = threading.Event()
    beside = LayerValuesBeside(None, done.set)
    assert beside.latest(prepared.calibration.entry("first.output")) is None
    assert done.wait(30)
    assert beside.trouble.startswith("no batch is held: give a small one")
    fresh = q.prepare(Net().eval())
    calibration = q.Calibration(fresh, evaluate=x)
    done.clear()
    beside = LayerValuesBeside(calibration.measurement, done.set)
    assert beside.latest(calibration.entry("first.output")) is None
    assert done.wait(30)
    assert beside.trouble.startswith("not calibrated yet: ")


def test_values_that_are_not_finite_or_do_not_belong_together() -> None:
    one = np.array([1.0, np.nan, np.inf, 3.0])
    values = compared_values(one, np.array([1.0, 1.0, 1.0, 2.0]))
    assert (values.before.sum(), values.worst) == (2, 1.0)
    same = compared_values(np.ones(3), np.ones(3))
    assert (same.low, same.high) == (0.5, 1.5)
    with pytest.raises(wb.QuantizationError, match="none of the values on the held batch is finite"):
        compared_values(np.full(3, np.nan), np.ones(3))
    with pytest.raises(wb.QuantizationError, match=r"as part of another step: it has \(2,\) values here"):
        compared_values(np.ones(3), np.ones(2))
