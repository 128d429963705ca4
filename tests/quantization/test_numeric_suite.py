"""A model and its integer form side by side, and the words that programs have for joining and embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.ao.ns import _numeric_suite as ns


@pytest.fixture
def x() -> Any:
    wb.manual_seed(0)
    return wb.rand(4, 1, 6, 6)


@pytest.fixture
def models(x: Any) -> tuple[Any, Any]:
    wb.manual_seed(1)
    layers = [wb.nn.Conv2d(1, 3, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(48, 5)]
    model: Any = q.QuantWrapper(wb.nn.Sequential(*layers)).eval()
    model.qconfig = q.get_default_qconfig("onednn")
    fused = q.fuse_modules(model, [["module.0", "module.1"]])
    prepared = q.prepare(fused)
    prepared(x)
    return fused, q.convert(prepared)


def test_weights(models: tuple[Any, Any]) -> None:
    floats, codes = models
    found = ns.compare_weights(floats.state_dict(), codes.state_dict())
    assert sorted(found) == ["module.0.weight", "module.3._packed_params._packed_params"]
    for name, pair in found.items():
        assert pair["quantized"].is_quantized, name
        assert q.sqnr(pair["float"], pair["quantized"]) > 35
    assert ns.compare_weights({}, codes.state_dict()) == {}


def test_results_of_layers(models: tuple[Any, Any], x: Any) -> None:
    floats, codes = models
    before = codes(x)
    found = ns.compare_model_outputs(floats, codes, x)
    assert list(found) == ["quant.stats", "dequant.stats", "module.0.stats", "module.3.stats"]
    for name, pair in found.items():
        assert len(pair["float"]) == len(pair["quantized"]) == 1
        assert q.sqnr(pair["float"][0], pair["quantized"][0]) > 30, name
    np.testing.assert_array_equal(codes(x), before)
    # Each call adds one.
    assert len(ns.get_matching_activations(floats, codes)["module.3.stats"]["quantized"]) == 2


def test_layers_in_the_shadow(models: tuple[Any, Any], x: Any) -> None:
    floats, codes = models
    before = codes(x)
    found = ns.compare_model_stub(floats, codes, [wb.nn.Linear, q.intrinsic.ConvReLU2d], x)
    assert list(found) == ["module.0.stats", "module.3.stats"]
    # The shadow has the same codes to begin with: only the layer's own error is left.
    assert q.sqnr(found["module.3.stats"]["float"][0], found["module.3.stats"]["quantized"][0]) > 35
    np.testing.assert_array_equal(codes(x), before)


def test_refusals(models: tuple[Any, Any], x: Any) -> None:
    floats, codes = models
    with pytest.raises(wb.QuantizationError, match="the two models have no layer in common"):
        ns.compare_model_outputs(wb.nn.Sequential(wb.nn.Identity()), codes, x)
    with pytest.raises(
        wb.QuantizationError, match="no layer of the integer model stands for one of these types"
    ):
        ns.compare_model_stub(floats, codes, [wb.nn.LSTM], x)


def test_joining_by_function() -> None:
    conv, norm, relu = wb.nn.Conv2d(1, 2, 3), wb.nn.BatchNorm2d(2), wb.nn.ReLU()
    assert type(q.fuse_conv_bn(True, conv, norm)) is q.intrinsic.ConvBn2d
    with pytest.raises(wb.QuantizationError, match="is_qat=False is for modules in use: call"):
        q.fuse_conv_bn_relu(False, conv, norm, relu)
    conv.eval()
    with pytest.raises(wb.QuantizationError, match="must all be in training, or all in use"):
        q.fuse_conv_bn_relu(False, conv, norm, relu)
    norm.eval()
    relu.eval()
    assert type(q.fuse_conv_bn_relu(False, conv, norm, relu)) is q.intrinsic.ConvReLU2d
    method = q.get_fuser_method((wb.nn.Linear, wb.nn.BatchNorm1d))
    joined = method(False, wb.nn.Linear(2, 3).eval(), wb.nn.BatchNorm1d(3).eval())
    assert type(joined) is wb.nn.Linear
    with pytest.raises(wb.QuantizationError, match="there is no way to join Linear, GELU"):
        q.get_fuser_method((wb.nn.Linear, wb.nn.GELU))
    kinds = [type(one).__name__ for one in q.fuse_known_modules([conv, norm, relu], False)]
    assert kinds == ["ConvReLU2d", "Identity", "Identity"]


@pytest.mark.parametrize("width", [6, 7])
@pytest.mark.parametrize("bag", [False, True])
def test_tables_of_four_bits(width: int, bag: bool) -> None:
    wb.manual_seed(0)
    table: Any = (wb.nn.EmbeddingBag if bag else wb.nn.Embedding)(10, width)
    rows = wb.tensor([[1, 3, 3], [9, 0, 4]])
    expected = table(rows).detach()
    ratios = []
    for config in (q.float_qparams_weight_only_qconfig, q.float_qparams_weight_only_qconfig_4bit):
        made = q.quantize_dynamic(wb.nn.Sequential(table), {type(table): config})
        ratios.append(q.sqnr(expected, made(rows)))
        size = made[0].codes.payload.nbytes
    assert size == 10 * ((width + 1) // 2)
    assert 15 < ratios[1] < ratios[0] - 15


def test_calibrating_by_pairs(x: Any) -> None:
    prepared = q.prepare(wb.nn.Sequential(wb.nn.Conv2d(1, 2, 3)).eval())
    q.default_eval_fn(prepared, [(x, None), (x, None)])
    assert prepared.calibration["input"].batches == 2
