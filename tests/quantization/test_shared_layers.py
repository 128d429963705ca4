"""Layers that stand under several names in a model, and weights that stand in several layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q


class Twice(nn.Module):
    """One layer under two names, one of them in a part."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.relu, self.last = nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)
        self.again = self.first
        self.part = nn.Sequential(nn.ReLU(), self.first)

    def forward(self, x: Any) -> Any:
        return self.last(self.part(self.again(self.relu(self.first(x)))))


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.between, self.last = nn.Linear(8, 8), nn.Sigmoid(), nn.Linear(8, 8)
        self.last.weight = self.first.weight

    def forward(self, x: Any) -> Any:
        return self.last(self.between(self.first(x)))


class Language(nn.Module):
    """A table whose rows are also what the last layer multiplies by."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.middle, self.head = (
            nn.Embedding(16, 8),
            nn.Linear(8, 8),
            nn.Linear(8, 16, bias=False),
        )
        self.head.weight = self.table.weight

    def forward(self, x: Any) -> Any:
        return self.head(self.middle(self.table(x)))


@pytest.fixture
def x() -> Any:
    wb.manual_seed(0)
    return wb.randn(64, 8)


def by_layers(model: Any, x: Any) -> Any:
    return q.quantize(model, [x])


def prepared(model: Any, x: Any) -> Any:
    made = q.prepare_fx(model, q.bits_qconfig(8, 4), (x,))
    made(x)
    return made


def in_place(model: Any, x: Any) -> Any:
    q.quantize_dynamic(model, inplace=True)
    return model


WAYS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "by layers": (by_layers, q.quantized.Linear),
    "dynamic": (lambda model, x: q.quantize_dynamic(model), q.quantized.dynamic.Linear),
    "dynamic in place": (in_place, q.quantized.dynamic.Linear),
    "in training": (lambda model, x: q.prepare_qat(model.train()), q.qat.Linear),
    **{
        method: (
            lambda model, x, method=method: q.quantize_weights(
                model, [x], bits=8, group_size=8, method=method
            ),
            type(q.quantize_weights(nn.Sequential(nn.Linear(2, 2)))[0]),
        )
        for method in ("nearest", "gptq", "awq", "awq+gptq")
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_a_layer_under_several_names_stays_one(way: str, x: Any) -> None:
    model = Twice().eval()
    exact = model(x)
    convert, kind = WAYS[way]
    made = convert(model, x)
    assert type(made.first) is kind and type(made.last) is kind
    assert made.first is made.again is made.part[1]
    if way != "in training":
        assert q.sqnr(exact, made(x)) > (30 if way == "by layers" else 38)


def test_inputs_are_divided_in_front_of_it_each_time(x: Any) -> None:
    model = Twice().eval()
    exact = model(x)
    made: Any = q.smooth(model, [x], divide_inputs=True)
    assert made.first is made.again is made.part[1]
    assert wb.allclose(made(x), exact, atol=1e-5)


def test_any_of_its_names_says_it(x: Any) -> None:
    made = q.quantize_weights(Twice().eval(), layers=["part.1", "again"], group_size=8)
    assert made.first is made.part[1] and type(made.first) is WAYS["nearest"][1]
    assert type(made.last) is nn.Linear


def test_its_rounding_is_learned_and_its_bias_corrected_once(x: Any) -> None:
    model = Twice().eval()
    exact, calibrated = model(x), prepared(model, x)
    plain = q.convert_fx(calibrated)
    assert (
        q.sqnr(exact, q.convert_fx(q.adaround(calibrated, [x], steps=100))(x))
        >= q.sqnr(exact, plain(x)) - 0.5
    )
    apart, less = (
        float((one(x) - exact).mean(0).abs().max()) for one in (plain, q.correct_bias(plain, model, [x]))
    )
    assert less < apart


def test_layers_with_one_weight_have_its_codes(x: Any) -> None:
    model = Tied().eval()
    made = q.quantize_weights(model, group_size=8)
    assert made.first.weight is made.last.weight
    assert made.first.bias is not made.last.bias
    assert q.sqnr(model(x), made(x)) > 20
    # Named, each has what serves it best.
    for method in ("gptq", "awq"):
        message = "first.weight is last.weight too: codes are made for one layer, .* Name the layers"
        with pytest.raises(wb.QuantizationError, match=message):
            q.quantize_weights(model, [x], group_size=8, method=method)
        made = q.quantize_weights(model, [x], group_size=8, method=method, layers=["first", "last"])
        assert made.first.weight is not made.last.weight


@pytest.mark.parametrize("method", ["nearest", "gptq"])
def test_a_table_and_a_layer_with_one_weight(method: str) -> None:
    wb.manual_seed(0)
    model, x = Language().eval(), wb.randint(0, 16, (32,))
    with pytest.raises(
        wb.QuantizationError, match=r"table\.weight is head\.weight too: codes are made for one layer"
    ):
        q.quantize_weights(model, [x], group_size=8, method=method)
    assert model.head.weight is model.table.weight
    for layers in (["middle"], ["middle", "head"]):
        made = q.quantize_weights(model, [x], group_size=8, bits=8, method=method, layers=layers)
        assert (made.head.weight is made.table.weight) is (len(layers) == 1)
        assert wb.equal(made.table.weight, model.table.weight)
        assert q.sqnr(model(x), made(x)) > 38


def test_what_would_be_learned_for_two_is_refused(x: Any) -> None:
    wb.manual_seed(0)
    rows = wb.randint(0, 16, (32,))
    for model, given, names in (
        (Tied(), x, "first.weight is last"),
        (Language(), rows, "table.weight is head"),
    ):
        calibrated = prepared(model.eval(), given)
        message = (
            f"{names}.weight too: what is learned for one layer would be the other's. Give each a weight"
        )
        with pytest.raises(wb.QuantizationError, match=message):
            q.adaround(calibrated, [given], steps=5)
    assert q.adaround(calibrated, [rows], steps=5, layers=["middle"]) is not None
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).eval()
    model[2].bias = model[0].bias
    calibrated = q.prepare(model)
    calibrated(x)
    with pytest.raises(
        wb.QuantizationError, match=r"0\.bias is .*2\.bias too: what is taken off for one layer"
    ):
        q.correct_bias(calibrated, model, [x])
    made = q.correct_bias(q.convert(calibrated), model, [x])
    assert not wb.equal(made.module[0].bias, made.module[2].bias)
