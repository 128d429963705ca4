"""What each layer costs, how many bits each gets under a budget, and the report: against brute force, and refusals."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.nn import functional
from workbench.quantization.layerwise import costs
from workbench.quantization.layerwise.frontier import Option, best_within, frontier
from workbench.quantization.layerwise.judge import divergence
from workbench.quantization.noise import Density
from workbench.quantization.reporting.points import bits_used

ONEDNN = q.get_default_qconfig_mapping("onednn")


def integer(model: Any, mapping: Any, x: Any) -> Any:
    prepared = q.prepare_fx(model, mapping, (x[:1],))
    with wb.no_grad():
        prepared(x)
        return q.convert_fx(prepared)


# ------------------------------------------------------------------------------------------ sensitivity


def test_each_layer_alone_and_all_but_it(trained: Any, digits: Any) -> None:
    x, labels = digits[1]
    found = q.sensitivity(trained, (x, labels), progress=False)
    assert found.complete and len(found) == 4
    assert [one.alone.sqnr for one in found] == sorted(one.alone.sqnr for one in found)
    with wb.no_grad():
        plain = trained(x)
    assert found.accuracy == q.accuracy(trained, [(x, labels)])
    for one in found:
        mapping = q.QConfigMapping().set_module_name(one.name, q.get_default_qconfig("onednn"))
        made = integer(trained, mapping, x)
        with wb.no_grad():
            assert one.alone.sqnr == pytest.approx(q.sqnr(plain, made(x)), abs=1)
        rest = integer(trained, q.get_default_qconfig_mapping("onednn").set_module_name(one.name, None), x)
        assert one.others is not None
        with wb.no_grad():
            assert one.others.sqnr == pytest.approx(q.sqnr(plain, rest(x)), abs=1)
        assert one.others.sqnr > found.whole.sqnr - 0.5
    assert found["fc2"].weights == 160 and found["fc2"].kind == "Linear"
    with pytest.raises(KeyError, match="nothing is known of 'fc3'; looked at were"):
        found["fc3"]


def test_the_table_and_the_figure(trained: Any, digits: Any) -> None:
    found = q.sensitivity(trained, digits[1], progress=False)
    lines = repr(found).splitlines()
    assert lines[0].split() == ["layer", "alone", "dB", "KL", "accuracy", "gain", "dB"]
    assert lines[2].startswith(f"{found.costs[0].name} (") and "in floating point)" in lines[-1]
    assert "accuracy" not in repr(q.sensitivity(trained, digits[1][0], others=False, progress=False))
    drawn = found.plot()
    axes, legend = drawn.axes[0], drawn.axes[0].get_legend()
    assert len(axes.patches) == 4
    drawn.draw_without_rendering()
    assert legend.get_window_extent().y0 >= axes.get_window_extent().y1 - 1, "its words stand over the bars"
    assert json.loads(json.dumps(found.to_dict()))["layers"][0]["name"] == found.costs[0].name


def test_an_interrupt_keeps_what_is_known(trained: Any, digits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(parts: Any, *_: Any, **__: Any) -> Any:
        yield from parts[:2]
        raise KeyboardInterrupt

    monkeypatch.setattr(costs, "bar", stopped)
    found = q.sensitivity(trained, digits[1][0])
    assert not found.complete and len(found) == 2 and found.left == ("fc1", "fc2")
    assert "interrupted, 2 not looked at" in repr(found)

    def at_once(parts: Any, *_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(costs, "bar", at_once)
    with pytest.raises(KeyboardInterrupt):
        q.sensitivity(trained, digits[1][0])


def test_divergence_by_hand() -> None:
    p, other = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.5, 0.3])
    wanted = float((p * np.log(p / other)).sum())
    assert divergence(np.log(p)[None] + 3, np.log(other)[None] - 7) == pytest.approx(wanted)
    assert divergence(np.array([[1000.0, 0.0]]), np.array([[1000.0, 0.0]])) == 0


# -------------------------------------------------------------------------------------- mixed precision

_ITEMS = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3), min_size=1, max_size=5
)


@settings(max_examples=60, deadline=None)
@given(_ITEMS, st.integers(0, 40))
def test_no_choice_beats_those_that_are_found(items: Any, budget: int) -> None:
    options = [[Option(str(i), *one) for i, one in enumerate(item)] for item in items]
    every = [
        (sum(one.cost for one in chosen), sum(one.harm for one in chosen))
        for chosen in itertools.product(*options)
    ]
    found = best_within(frontier(options), budget)
    fitting = [harm for cost, harm in every if cost <= budget]
    assert (found is None) == (not fitting)
    if found is not None:
        assert found.harm == min(fitting) and found.cost <= budget
        picked = [item[int(name)] for item, name in zip(options, found.chosen, strict=True)]
        assert sum(one.cost for one in picked) == found.cost


def test_a_budget_of_bytes_is_kept_by_the_mapping(trained: Any, digits: Any) -> None:
    x = digits[1][0]
    found = q.mixed_precision(trained, x, size=3000, choices=("fp32", "int8"), progress=False)
    assert found.cost <= 3000 and set(found.choices.values()) == {"fp32", "int8"}
    made = integer(trained, found.qconfig_mapping, x)
    for name, choice in found.choices.items():
        kind = type(made.get_submodule(name)).__module__
        assert ("quantized" in kind) == (choice == "int8")
    with wb.no_grad():
        assert q.sqnr(trained(x), made(x)) == pytest.approx(found.loss.sqnr, abs=1)
    # The weights of the integer model take what was counted.
    assert q.model_size(made) == pytest.approx(found.cost, abs=200)
    ratios = [ratio for _, ratio in found.curve]
    assert ratios == sorted(ratios) and math.isinf(ratios[-1])
    assert found.loss.sqnr > next(one.loss.sqnr for one in found.uniform if one.name == "int8")
    assert "of 2.93 KB" in repr(found)
    axes = found.plot().axes[0]
    assert axes.lines and axes.get_legend().get_texts()[0].get_text() == "best that fits"
    written = [label.get_text() for label in axes.get_xticklabels()]
    assert len(written) > 1 and all(text.endswith(" KB") for text in written), written
    assert json.loads(json.dumps(found.to_dict()))["choices"] == found.choices


def test_four_bits_are_taken_where_bytes_are_few(trained: Any, digits: Any) -> None:
    found = q.mixed_precision(trained, digits[1][0], size=1900, progress=False)
    assert "int4" in found.choices.values() and found.cost <= 1900
    made = integer(trained, found.qconfig_mapping, digits[1][0])
    for name, choice in found.choices.items():
        if choice == "int4":
            assert np.abs(made.get_submodule(name).weight.payload.codes.astype(int)).max() <= 8


def test_budgets_of_operations_and_time(trained: Any, digits: Any) -> None:
    x = digits[1][0]
    found = q.mixed_precision(trained, x, bit_operations=2e6, progress=False)
    # By hand: places, inputs and outputs of each layer.
    products = {"conv1": 144 * 9 * 4, "conv2": 36 * 36 * 8, "fc1": 72 * 16, "fc2": 160}
    bits = {"fp32": 32 * 32, "int8": 64, "int4": 32}
    assert found.cost == sum(count * bits[found.choices[name]] for name, count in products.items())
    assert found.cost <= 2e6
    assert "ms" in repr(q.mixed_precision(trained, x, time=60.0, choices=("fp32",), progress=False))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "give one budget: size in bytes, time in seconds or bit_operations; none was given"),
        ({"size": 1, "time": 2}, "size, time was given"),
        ({"size": -3}, "size=-3: a budget is a number above 0"),
        ({"size": "1 MB"}, "size='1 MB': a budget is a number above 0"),
        ({"size": 500}, r"size=500 B cannot be kept: the least is 1\.45 KB \(4 layers in int4\), of which 360 B"),
        ({"time": 1e-9}, "cannot be kept: the least is .* ms"),
        ({"size": 9000, "choices": ("int2",)}, "give some of fp32, int8, int4, each once"),
    ],
)  # fmt: skip
def test_budgets_that_are_refused(trained: Any, digits: Any, settings: Any, message: str) -> None:
    with pytest.raises(wb.QuantizationError, match=message):
        q.mixed_precision(trained, digits[1][0][:8], progress=False, **settings)


# ----------------------------------------------------------------------------------------------- report


def test_figures_against_brute_force(trained: Any, digits: Any) -> None:
    x, labels = digits[1]
    found = q.report(trained, [(x[:64], labels[:64]), (x[64:], labels[64:])], advice=False, progress=False)
    assert [one.name for one in found.points] == ["x", "conv1", "conv2", "fc1", "fc2"]
    with wb.no_grad():
        wanted = trained(x)
        hidden = trained.relu3(trained.fc1(trained.flatten(trained.pool2(trained.relu2(trained.bn2(trained.conv2(
            trained.pool1(trained.relu1(trained.bn1(trained.conv1(x)))))))))))  # fmt: skip
        assert found.totals.loss.sqnr == pytest.approx(q.sqnr(wanted, found.model(x)), abs=1e-3)
        assert found["fc2"].output_sqnr == pytest.approx(found.totals.loss.sqnr, abs=1)
    assert found.totals.float_accuracy == q.accuracy(trained, [(x, labels)])
    assert found.totals.sizes == (q.model_size(trained), q.model_size(found.model))
    assert found.totals.samples == 128 and found.totals.operations_on_codes == 2 * 16864
    assert (
        found.totals.operations
        == q.report(trained, x[:2], advice=False, progress=False).totals.operations
        > 2 * 16864
    )
    one, values = found["fc1"], hidden.numpy()
    assert one.clipped == pytest.approx(np.mean(values > one.high + (one.high - one.low) / 510), abs=2e-3)
    codes = np.round((np.clip(values, one.low, one.high) - one.low) / (one.high - one.low) * 255)
    rounded = codes / 255 * (one.high - one.low) + one.low
    assert one.rounding_sqnr == pytest.approx(q.sqnr(values, rounded), abs=0.1)
    bulk = np.quantile(values, 0.999) / (one.high - one.low)
    assert one.bits_used == pytest.approx(8 + min(0.0, math.log2(bulk)), abs=0.05)
    weight = trained.fc2.weight.detach().numpy()
    scale = np.abs(weight).max(1, keepdims=True) / 127.5
    near = np.clip(np.rint(weight / scale), -128, 127) * scale
    assert found["fc2"].weight_sqnr == pytest.approx(q.sqnr(weight, near), abs=1e-3)
    assert found["fc2"].per_channel and found["fc2"].products == 160 and found["fc2"].size[0] == 640
    assert found.worst.name == "fc2" and sum(found["fc1"].counts) == values.size


def test_outliers_are_told_with_what_helps(trained: Any, digits: Any) -> None:
    x = digits[1][0].clone()
    x[0, 0, 0, 0] = 8.0
    ends = q.QConfigMapping().set_global(q.QConfig(q.MinMaxObserver, q.default_weight_observer))
    found = q.report(trained, x, qconfig_mapping=ends, progress=False)
    assert found["x"].bits_used < 5.5 and found["x"].high == pytest.approx(8, rel=0.01)
    told = [one for one in found.advice if one.target == "x"]
    assert len(told) == 1 and told[0].gain > 0.2
    assert "outliers take" in told[0].problem and "of 8 bits" in told[0].problem
    assert [one.gain for one in found.advice] == sorted((one.gain for one in found.advice), reverse=True)
    kept = next(one for one in found.advice if "set_module_name" in one.code)
    # The gain is what is really gained, and the model that is told of is that of the code.
    mapping = q.QConfigMapping().set_global(q.QConfig(q.MinMaxObserver, q.default_weight_observer))
    made = integer(trained, mapping.set_module_name(kept.target, None), x)
    with wb.no_grad():
        assert q.sqnr(trained(x), made(x)) == pytest.approx(kept.after, abs=1)
    assert np.size(found.model.get_submodule("fc2").weight.payload.scale) == 1
    assert "what to do, best first:" in repr(found)


def test_channels_that_reach_far_are_named() -> None:
    wb.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 4)).eval(), wb.rand(64, 8)
    with wb.no_grad():
        model[0].weight[5] *= 60.0
    found = q.report(model, x, progress=False)
    assert found["0"].outlier_channels == (5,)
    assert "outliers" in repr(found)
    with pytest.raises(KeyError, match="the report has no point 'fc'; it has"):
        found["fc"]


class Mixed(nn.Module):
    """Layers of all kinds: one that becomes codes, and those that do not."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.steps = nn.Embedding(20, 8), nn.LSTM(8, 8, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.pair, self.head = nn.Bilinear(8, 8, 8), nn.Linear(8, 3)
        self.weight = nn.Parameter(wb.randn(8, 8))

    def forward(self, words: Any) -> Any:
        x = self.encoder(self.steps(self.words(words))[0])
        return self.head(functional.linear(self.pair(x, x), self.weight).mean(1))


def test_what_is_left_in_floating_point_is_said() -> None:
    wb.manual_seed(0)
    model, words = Mixed().eval(), wb.randint(0, 20, (16, 6))
    mapping = q.get_default_qconfig_mapping("onednn").set_module_name("encoder.linear2", None)
    mapping.set_object_type(functional.linear, None)
    found = q.report(model, (words, wb.zeros(16).long()), qconfig_mapping=mapping, progress=False)
    told = {one.name: (one.kind, one.size, one.reason) for one in found.left}
    assert told == {
        "words": ("Embedding", 640, "a table of rows is quantized row by row"),
        "steps": ("LSTM", 2048, "it has no integer form by calibration"),
        "encoder.linear2": ("Linear", 512, "the mapping has no qconfig for it"),
        "pair": ("Bilinear", 2048, "no integer form of it is known"),
        "linear_layer": ("Linear", 256, "the mapping has no qconfig for it"),
    }
    assert "left in floating point:" in repr(found) and "steps (LSTM, 2.00 KB): it has no integer" in repr(
        found
    )
    assert found.to_dict()["left"][0]["name"] == "words"
    html = found._repr_mimebundle_()["text/html"]
    assert "Left in floating point" in html and "quantized row by row" in html
    # What it says to write is what helps.
    mapping = q.get_default_qconfig_mapping("onednn")
    mapping.set_object_type(nn.LSTM, q.default_dynamic_qconfig)
    mapping.set_object_type(nn.Embedding, q.float_qparams_weight_only_qconfig)
    found = q.report(model, (words, wb.zeros(16).long()), qconfig_mapping=mapping, progress=False)
    assert [one.name for one in found.left] == ["pair"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 50), min_size=4, max_size=40).filter(lambda one: sum(one) > 0), st.floats(-5, 5)
)
def test_bits_in_use_lie_between_none_and_all(counts: list[int], low: float) -> None:
    density = Density(np.array(counts), low, low + 3.0)
    for first, last in ((low, low + 3.0), (-10.0, 10.0), (0.0, 0.0)):
        assert 0 <= bits_used(density, first, last, 8) <= 8


@pytest.mark.parametrize("function", [q.sensitivity, q.report])
def test_what_cannot_be_measured(trained: Any, digits: Any, function: Any) -> None:
    x, labels = digits[1]
    cases = [
        (nn.Sequential(nn.ReLU()).eval(), x, "has no layer that becomes codes: there is nothing to quantize"),
        (trained, [], "there is nothing to look at: the data gave no batch"),
        (
            trained,
            [x, x * float("inf")],
            "batch 1 has .* NaN or infinite values: nothing that they reach can be",
        ),
        (nn.Sequential(nn.Linear(2, 2)), wb.ones(2, 2), "Fusion only for eval! Call model"),
        (_Infinite().eval(), wb.ones(2, 2), "the model itself computes NaN or infinite values"),
    ]
    for model, data, message in cases:
        with pytest.raises(wb.QuantizationError, match=message):
            function(model, data, progress=False)
    with pytest.raises(wb.DimensionError, match=r"labels \[7\]: there is one label a sample, labels \[128\]"):
        function(trained, (x, labels[:7]), progress=False)
    with pytest.raises(wb.QuantizationError, match="accuracy needs labels"):
        q.sensitivity(trained, x, accuracy=True)


class _Infinite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.fc(x) / 0.0


class TwoInputs(wb.nn.Module):
    """Scores of two inputs, and of a third where it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = wb.nn.Linear(6, 8), wb.nn.Linear(4, 8)
        self.out = wb.nn.Linear(8, 3)

    def forward(self, left: Any, right: Any) -> Any:
        return self.out((self.left(left) + self.right(right)).relu())


def test_models_of_several_inputs_are_given_tuples_or_dicts() -> None:
    wb.manual_seed(3)
    model = TwoInputs().eval()
    a, b, labels = wb.randn(24, 6), wb.randn(24, 4), wb.randint(0, 3, (24,))
    wanted = [(one.name, one.alone.sqnr) for one in q.sensitivity(model, [((a, b), labels)], progress=False)]
    assert len(wanted) > 2
    for data in (
        ((a, b), labels),
        [([a, b],)],
        {"left": a, "right": b},
        [({"right": b, "left": a}, labels)],
    ):
        found = q.sensitivity(model, data, progress=False)
        assert [(one.name, one.alone.sqnr) for one in found] == wanted
    mixed = q.mixed_precision(model, [((a, b),)], size=290, progress=False)
    assert mixed.loss.sqnr > 5
    timed = q.mixed_precision(model, [((a, b),)], bit_operations=1e9, progress=False)
    assert timed.loss.sqnr >= mixed.loss.sqnr
    told = q.report(model, {"left": a, "right": b}, progress=False)
    assert {point.name for point in told.points} >= {"left", "right", "out"}
    assert told.model(a, b).shape == (24, 3)
    better = q.correct_bias(told.model, model, [((a, b),)])
    assert better(a, b).shape == (24, 3)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"left": 1, "rigth": 2}, "no 'rigth': did you mean 'right'"),
        ({"right": 2}, r"\(left, right\): 'left' is missing"),
        ([(1, 2, 3)], "batch 0 is a tuple: a batch is a tensor, or a pair"),
        ([((1, 2), "yes")], "labels of type str"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(data: Any, words: str) -> None:
    tensors = {1: wb.ones(2, 6), 2: wb.ones(2, 4), 3: wb.ones(2)}

    def made(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: made(value) for key, value in one.items()}
        if isinstance(one, tuple | list):
            return type(one)(made(value) for value in one)
        return tensors.get(one, one)

    with pytest.raises(wb.QuantizationError, match=words):
        q.sensitivity(TwoInputs().eval(), made(data), progress=False)


class Several(nn.Module):
    """Results in a dict, of which some are no numbers of a layer, or nested."""

    def __init__(self, nested: bool) -> None:
        super().__init__()
        self.first, self.second, self.nested = nn.Linear(4, 5), nn.Linear(5, 3), nested

    def forward(self, x: Any) -> Any:
        hidden = self.first(x)
        scores = self.second(hidden)
        if self.nested:
            return (scores.argmax(1), [{"scores": scores}]), hidden
        return {"best": scores.argmax(1), "scores": scores, "hidden": (hidden, [hidden])}


@pytest.mark.parametrize("nested", [False, True])
def test_models_that_return_dicts_and_tuples_are_judged_by_all_their_values(nested: bool) -> None:
    wb.manual_seed(0)
    model, x = Several(nested).eval(), wb.randn(32, 4)
    told = q.report(model, x, progress=False)
    assert {point.name for point in told.points} >= {"first", "second"} and told.totals.loss.sqnr > 20
    assert len(q.sensitivity(model, x, progress=False)) == 2
    size = q.model_size(model)
    assert q.mixed_precision(model, x, size=size, progress=False).loss.sqnr > 20
    with wb.no_grad():
        together = q.analysis.together
        exact, codes = together(model(x)), together(told.model(x))
    assert told.totals.loss.sqnr == pytest.approx(q.sqnr(exact, codes), abs=1e-3)


class Heads(nn.Module):
    """Two results, each of a layer of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.scores, self.boxes = nn.Linear(8, 8), nn.Linear(8, 3), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        hidden = self.body(x).relu()
        return {"scores": self.scores(hidden), "boxes": self.boxes(hidden)}


def test_what_codes_of_a_layer_cost_a_later_result_is_no_less_than_it_is() -> None:
    """The boxes were not looked at, so that four bits for their layer cost nothing."""
    wb.manual_seed(0)
    model, x = Heads().eval(), wb.randn(64, 8)
    found = q.sensitivity(model, x, progress=False)
    for name in ("scores", "boxes"):
        assert math.isfinite(found[name].alone.sqnr) and found[name].alone.kl > 0
    labelled = q.sensitivity(model, (x, model(x)["scores"].argmax(1)), progress=False)
    assert labelled.accuracy == 1
    best = q.mixed_precision(model, x, size=10**6, progress=False)
    assert best.choices == dict.fromkeys(("body", "scores", "boxes"), "fp32")
    advised = {one.target for one in q.report(model, x, progress=False).advice}
    assert "boxes" in advised


def test_a_model_without_numbers_to_compare_is_refused() -> None:
    class Best(nn.Sequential):
        def forward(self, x: Any) -> Any:
            return {"best": super().forward(x).argmax(1)}

    message = (
        "the model's result has no floating point values to compare: .* return a tensor, or a dict or tuple"
    )
    with pytest.raises(wb.QuantizationError, match=message):
        q.report(Best(nn.Linear(4, 3)).eval(), wb.rand(8, 4), progress=False)
