"""Models of 16-bit numbers, and models that compute some of their values in another type than float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q

HALVES = [wb.float16, wb.bfloat16]
OTHERS = [*HALVES, wb.float64, wb.float8_e4m3fn, wb.float8_e5m2]


class Convolved(nn.Module):
    """Layers, a function with a scale of its own, one that joins, and some that only move values."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(64, 3)

    def forward(self, x: Any) -> Any:
        h = self.norm(self.conv(x)).relu()
        h = nn.functional.max_pool2d(wb.cat([h, h + 1.0], 1), 2)[:, ::2]
        return self.head(h.flatten(1)).sigmoid()


class Between(nn.Module):
    """A sum in another type between layers."""

    def __init__(self, kind: Any, result: Any = None) -> None:
        super().__init__()
        self.first, self.second, self.kind, self.result = nn.Linear(4, 4), nn.Linear(4, 4), kind, result

    def forward(self, x: Any) -> Any:
        h = self.first(x).relu().to(self.kind)
        if self.kind not in (wb.float8_e4m3fn, wb.float8_e5m2):  # no op computes with these
            h = h + h
        h = self.second(h.reshape(-1, 4).float())
        return h if self.result is None else h.to(self.result)


def as_graph(model: Any, *examples: Any) -> Any:
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping(), examples)
    prepared(*examples)
    return prepared


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_a_graph_watched_in_half_precision_has_the_codes_of_float32(kind: Any) -> None:
    model, x = Convolved().eval(), wb.randn(4, 3, 8, 8)
    wanted = q.convert_fx(as_graph(model, x))
    halves = Convolved().eval()
    halves.load_state_dict(model.state_dict())
    prepared = as_graph(halves.to(kind), x.to(kind))
    with pytest.raises(wb.QuantizationError, match=rf"is {kind.name}, and codes are made of float32: call"):
        q.convert_fx(prepared)
    found = q.convert_fx(prepared.float())
    assert found.code == wanted.code
    np.testing.assert_allclose(found(x).numpy(), wanted(x).numpy(), rtol=0, atol=0.03)


@pytest.mark.parametrize("kind", OTHERS, ids=str)
def test_values_of_another_type_stay_what_they_are_between_codes(kind: Any) -> None:
    model, x = Between(kind).eval(), wb.randn(64, 4)
    prepared = as_graph(model, x)
    assert len(prepared.calibration.names) == 6  # two layers with their weights, and what each of them takes
    integer = q.convert_fx(prepared)
    assert {type(one).__name__ for one in integer.children()} == {"LinearReLU", "Linear", "Quantize"}
    assert q.sqnr(model(x), integer(x)) > 25


def test_inputs_of_another_type_than_the_parameters_are_no_codes() -> None:
    class Cast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return self.layer(x.float())

    model, x = Cast().eval(), wb.randn(64, 4, dtype=wb.float64)
    integer = q.convert_fx(as_graph(model, x))
    assert q.sqnr(model(x), integer(x)) > 25


class Joined(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.single, self.halved = nn.Linear(4, 4), nn.Linear(4, 4).bfloat16()

    def forward(self, x: Any) -> Any:
        h = self.single(x)
        return wb.cat([h, self.halved(h.bfloat16())], 1)


def test_a_layer_of_half_precision_in_a_model_of_single() -> None:
    model, x = Joined().eval(), wb.randn(64, 4)
    mapping = q.get_default_qconfig_mapping()
    with pytest.raises(wb.QuantizationError, match=r"a weight of sizes \[4, 4\] is bfloat16, and codes are"):
        q.convert_fx(as_graph(model, x))
    prepared = q.prepare_fx(model, mapping.set_module_name("halved", None), (x,))
    prepared(x)
    integer = q.convert_fx(prepared)
    assert type(integer.halved) is nn.Linear
    assert q.sqnr(model(x), integer(x)) > 25


@pytest.mark.parametrize("kind", OTHERS, ids=str)
def test_results_of_every_floating_type_are_compared(kind: Any) -> None:
    x = wb.tensor([[1.0, -2.0], [0.5, 4.0]])
    given = {"places": wb.tensor([1, 2]), "scores": x.to(kind), "waves": wb.tensor([1j]), "exact": [x]}
    scores, exact = given["scores"], given["exact"][0]
    found = [*q.analysis.float_results(given)]
    assert len(found) == 2 and found[0] is scores and found[1] is exact
    assert all(one is other for one, other in zip(q.analysis.results_of(given), found, strict=True))
    row = q.analysis.together(given)
    assert row.dtype == (np.float64 if kind is wb.float64 else np.float32)
    np.testing.assert_array_equal(row, np.tile(x.numpy().ravel(), 2))
    np.testing.assert_array_equal(q.analysis.together((scores, x.half(), x.bfloat16())), np.tile(row[:4], 3))
    assert q.sqnr(x, scores) == float("inf")
    codes = wb.quantize_per_tensor(x, 0.5, 8, wb.quint8)
    (only,) = q.analysis.results_of([wb.tensor([True]), codes])
    assert only is codes
    with pytest.raises(wb.QuantizationError, match="has no floating point values to compare: it is dict"):
        q.analysis.together({"places": given["places"], "waves": given["waves"]})


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_a_model_that_gives_half_precision_is_measured(kind: Any) -> None:
    model, x = Between(kind, result=kind).eval(), wb.randn(64, 4)
    report = q.report(model, [x], progress=False)
    assert {"first", "second"} <= {point.name for point in report.points}
    costs = q.sensitivity(model, [x], progress=False)
    assert all(20 < one.alone.sqnr < 80 for one in costs)
    assert q.accuracy(model, [(x, model(x).float().argmax(1))]) == 1.0


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_layers_that_give_half_precision_are_compared(kind: Any) -> None:
    class Halved(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.to(kind)

    class Chain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.layer, self.dequant = q.QuantStub(), nn.Linear(4, 3), q.DeQuantStub()
            self.halved = Halved()

        def forward(self, x: Any) -> Any:
            return self.halved(self.dequant(self.layer(self.quant(x))))

    model, x = Chain().eval(), wb.randn(64, 4)
    integer = q.quantize(model, [x], evaluate=x)
    figures = {one.name: one.sqnr for one in q.compare_layers(model, integer, x)}
    assert 25 < figures["halved"] < 80 and 25 < figures["layer"] < 80
    assert integer.calibration.figures().sqnr == pytest.approx(q.sqnr(model(x), integer(x)))


@pytest.mark.parametrize("kind", [wb.float32, *OTHERS], ids=str)
def test_batches_with_values_that_are_none_are_refused_in_every_type(kind: Any) -> None:
    x = wb.tensor([[float("nan"), 1.0, 2.0, 3.0], [float("nan"), 0.0, 0.0, 0.0]]).to(kind)
    with pytest.raises(wb.QuantizationError, match="batch 0 has 2 NaN or infinite values"):
        q.sensitivity(nn.Sequential(nn.Linear(4, 2)).eval(), [x], progress=False)
