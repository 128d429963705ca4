"""What finds no range makes no codes: layers that would need one are refused in words, or stay in floating point."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q

LAYERS = {"Linear": lambda: nn.Linear(4, 4), "Conv2d": lambda: nn.Conv2d(2, 4, 2)}
X = {"Linear": wb.rand(3, 4), "Conv2d": wb.rand(3, 2, 4, 4)}
PLACEHOLDERS = {
    "ReuseInputObserver": q.default_reuse_input_qconfig,
    "PlaceholderObserver": q.float16_static_qconfig,
    "NoopObserver": q.QConfig(q.NoopObserver, q.default_weight_observer),
}


class Stubbed(nn.Module):
    def __init__(self, layer: Any, config: Any) -> None:
        super().__init__()
        self.quant, self.layer, self.dequant = q.QuantStub(), layer, q.DeQuantStub()
        self.qconfig = q.default_qconfig
        self.layer.qconfig = config

    def forward(self, x: Any) -> Any:
        return self.dequant(self.layer(self.quant(x)))


def prepared(layer: Any, config: Any, training: bool = False) -> Any:
    model = Stubbed(layer, config).train(training)
    return q.prepare_qat(model) if training else q.prepare(model)


def graph(kind: str, config: Any, training: bool = False) -> Any:
    model = nn.Sequential(nn.ReLU(), LAYERS[kind]()).train(training)
    mapping = q.QConfigMapping().set_global(q.default_qat_qconfig if training else q.default_qconfig)
    mapping.set_module_name("1", config)
    made = (q.prepare_qat_fx if training else q.prepare_fx)(model, mapping, (X[kind],))
    made(X[kind])
    return made.eval()


@pytest.mark.parametrize("training", [False, True], ids=["in use", "in training"])
@pytest.mark.parametrize("observer", PLACEHOLDERS)
@pytest.mark.parametrize("kind", LAYERS)
def test_layers_are_refused_when_they_are_prepared(kind: str, observer: str, training: bool) -> None:
    words = (
        rf"^'layer' is a {kind}, which becomes codes, and its qconfig has {observer} for its values, which finds no "
        r"range: give it an observer with a range, such as those of wb\.quantization\.default_qconfig, or set "
        r"qconfig = None to leave it in floating point$"
    )
    with pytest.raises(wb.QuantizationError, match=words):
        prepared(LAYERS[kind](), PLACEHOLDERS[observer], training)


def test_a_layer_without_a_weight_is_refused_too() -> None:
    with pytest.raises(
        wb.QuantizationError, match=r"'layer' is a Hardswish, .* ReuseInputObserver for its values"
    ):
        prepared(nn.Hardswish(), q.default_reuse_input_qconfig)


def test_what_only_passes_codes_on_needs_no_range() -> None:
    made = prepared(nn.ReLU(), q.default_reuse_input_qconfig)
    made(X["Linear"])
    assert q.convert(made)(X["Linear"]).shape == (3, 4)


def test_a_range_in_each_call_is_for_quantize_dynamic() -> None:
    words = "PlaceholderObserver for its values, which finds no range: quantize_dynamic makes layers that find a range"
    with pytest.raises(wb.QuantizationError, match=words):
        prepared(nn.Linear(4, 4), q.default_dynamic_qconfig)


@pytest.mark.parametrize(
    ("weight", "known"),
    [
        (q.NoopObserver, "NoopObserver"), (nn.Identity, "Identity"), (q.RecordingObserver, "RecordingObserver"),
        (None, "none"),
    ],
    ids=["noop", "identity", "recording", "none"],
)  # fmt: skip
def test_a_weight_needs_a_range(weight: Any, known: str) -> None:
    config = q.QConfig(q.default_observer, weight)
    with pytest.raises(
        wb.QuantizationError, match=f"'layer' is a Linear, .* has {known} for its weight, which finds"
    ):
        prepared(nn.Linear(4, 4), config)
    with pytest.raises(
        wb.QuantizationError, match=f"'layer' is a ConvTranspose2d, .* has {known} for its weight"
    ):
        prepared(nn.ConvTranspose2d(2, 2, 2), config, training=True)


@pytest.mark.parametrize(
    ("config", "training", "words"),
    [
        (q.default_debug_qconfig, False, "RecordingObserver for its values"),
        (q.default_debug_qconfig, True, "RecordingObserver for its values"),
        (q.default_weight_only_qconfig, True, "Identity for its values"),
        (q.default_activation_only_qconfig, True, "Identity for its weight"),
    ],
    ids=["recorded", "recorded in training", "weight alone", "values alone"],
)
def test_what_is_only_studied_runs_and_is_refused_by_convert(config: Any, training: bool, words: str) -> None:
    made = prepared(nn.Linear(4, 4), config, training)
    assert made(X["Linear"]).shape == (3, 4)
    with pytest.raises(
        wb.QuantizationError, match=f"'layer' is a Linear, which becomes codes, .* has {words}"
    ):
        q.convert(made.eval())


@pytest.mark.parametrize("training", [False, True], ids=["in use", "in training"])
@pytest.mark.parametrize("kind", LAYERS)
def test_a_graph_leaves_a_layer_in_floating_point_whose_weight_is_only_carried(
    kind: str, training: bool
) -> None:
    for config in (q.default_reuse_input_qconfig, q.float16_static_qconfig):
        made = q.convert_fx(graph(kind, config, training))
        layer = made.get_submodule("1")
        assert type(layer) is getattr(nn, kind)
        assert made(X[kind]).dtype is wb.float32


def test_a_graph_refuses_what_is_only_studied() -> None:
    with pytest.raises(
        wb.QuantizationError, match=r"'1' is a Linear, .* has Identity for its weight, which finds no"
    ):
        graph("Linear", q.default_activation_only_qconfig)
    with pytest.raises(
        wb.QuantizationError, match=r"'1' is a Linear, .* has Identity for its weight, which finds no"
    ):
        q.convert_fx(graph("Linear", q.default_activation_only_qconfig, training=True))
    recorded = graph("Linear", q.default_debug_qconfig)
    with pytest.raises(
        wb.QuantizationError, match=r"'_1' is a value, .* has RecordingObserver for its values"
    ):
        q.convert_fx(recorded)
