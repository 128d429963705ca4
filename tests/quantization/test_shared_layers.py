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
        message = "first.weight is last.weight: one weight of several .* Name 'first' and 'last' in layers="
        with pytest.raises(wb.QuantizationError, match=f"nothing becomes codes: {message}"):
            q.quantize_weights(model, [x], group_size=8, method=method)
        made = q.quantize_weights(model, [x], group_size=8, method=method, layers=["first", "last"])
        assert made.first.weight is not made.last.weight
        with pytest.warns(
            UserWarning, match=message.replace("first", r"0\.first").replace("last", r"0\.last")
        ):
            made = q.quantize_weights(nn.Sequential(model, nn.Linear(8, 2)), [x], group_size=8, method=method)
        assert made[0].first.weight is made[0].last.weight and type(made[0].first) is nn.Linear
        assert type(made[1]) is WAYS[method][1]


@pytest.mark.parametrize("method", ["nearest", "gptq"])
@pytest.mark.parametrize("bits", [4, 8])
def test_a_table_and_a_layer_with_one_weight_stay_in_floating_point(method: str, bits: int) -> None:
    wb.manual_seed(0)
    model, x = Language().eval(), wb.randint(0, 16, (32,))
    message = (
        r"table\.weight is head\.weight: one weight .* Name 'head' in layers=, .*quantize_dynamic\(quantized"
    )
    with pytest.warns(UserWarning, match=message) as warned:
        made = q.quantize_weights(model, [x], group_size=8, bits=bits, method=method)
    assert warned[0].filename == __file__
    assert made.head.weight is made.table.weight and made.head.weight is not model.head.weight
    assert [type(one) for one in made.children()] == [nn.Embedding, WAYS[method][1], nn.Linear]
    assert q.sqnr(model(x), made(x)) > (18 if bits == 4 else 38)
    # What the warning says to write does what it says.
    both = q.quantize_weights(model, [x], group_size=8, bits=bits, method=method, layers=["middle", "head"])
    assert wb.equal(both.table.weight, model.table.weight)
    code = str(warned[0].message).partition("; then ")[2].partition(" makes")[0]
    both = eval(code, {"wb": wb, "quantized": both})
    small = WAYS[method][1]
    assert [type(one) for one in both.children()] == [q.quantized.Embedding, small, small]
    assert q.sqnr(model(x), both(x)) > (15 if bits == 4 else 36)


def test_a_model_with_nothing_but_a_shared_weight_is_refused() -> None:
    model = nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 16, bias=False))
    model[1].weight = model[0].weight
    with pytest.raises(wb.QuantizationError, match=r"no linear layer .* 0\.weight is 1\.weight"):
        q.quantize_weights(model)
    assert type(q.quantize_weights(model, layers=["1"])[1]) is WAYS["nearest"][1]


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
