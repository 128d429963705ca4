"""Comparing a quantized model with its original."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q


def test_ratio() -> None:
    x = wb.tensor([3.0, 4.0])
    assert q.sqnr(x, x * 1.01) == pytest.approx(40.0, abs=1e-3)
    assert q.sqnr(x, x) == math.inf
    codes = wb.quantize_per_tensor(x, 0.1, 0, wb.quint8)  # type: ignore[attr-defined]
    assert q.sqnr(x, codes) > 100
    with pytest.raises(wb.DimensionError, match=r"values of one shape, and got \[2\] and \[1\]"):
        q.sqnr(x, x[:1])


def test_layers_are_compared_where_they_mean_the_same(
    model: Any, fused: Any, prepared: Any, images: Any
) -> None:
    integer = q.convert(prepared)
    against_fused = {layer.name: layer for layer in q.compare_layers(fused, integer, images)}
    assert list(against_fused) == ["conv1", "pool1", "conv2", "pool2", "flatten", "fc1", "fc2"]
    assert against_fused["conv1"].kind == "ConvReLU2d"
    assert all(20 < layer.sqnr < 60 for layer in against_fused.values())
    against_original = {layer.name: layer.sqnr for layer in q.compare_layers(model, integer, images)}
    assert list(against_original) == ["relu1", "pool1", "relu2", "pool2", "flatten", "relu3", "fc2"]
    assert against_original["relu1"] == pytest.approx(against_fused["conv1"].sqnr, abs=1e-2)
    with pytest.raises(wb.QuantizationError, match="no layer in common"):
        q.compare_layers(wb.nn.Linear(2, 2), integer, images)


def test_a_convolution_that_swallowed_its_normalisation_is_compared_behind_it(
    model: Any, images: Any
) -> None:
    fused = q.fuse_modules(model, [["conv1", "bn1"], ["conv2", "bn2"]])
    prepared = q.prepare(fused)
    with wb.no_grad():
        prepared(images)
    found = {layer.name: layer.sqnr for layer in q.compare_layers(model, q.convert(prepared), images)}
    assert "conv1" not in found
    assert found["bn1"] > 20


def test_all_calls_of_a_layer_are_compared() -> None:
    wb.manual_seed(0)

    class Twice(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = wb.nn.Conv2d(2, 2, 3, padding=1)

        def forward(self, x: Any) -> Any:
            return wb.cat([self.layer(x), self.layer(x[:, :, ::2])], dim=2)

    model, x = Twice().eval(), wb.randn(8, 2, 6, 6)
    integer = q.quantize(model, [x])
    seen: list[list[Any]] = [[], []]
    stops = [
        one.register_forward_hook(lambda module, given, output, into=into: into.append(output))
        for one, into in zip((model.layer, integer.layer), seen, strict=True)
    ]
    integer(x), model(x)
    for stop in stops:
        stop.remove()
    exact, codes = (q.analysis.together(several) for several in seen)
    assert exact.size == 8 * 2 * (36 + 18)
    (found,) = (one for one in q.compare_layers(model, integer, x) if one.name == "layer")
    assert found.sqnr == pytest.approx(q.sqnr(exact, codes), abs=1e-6)
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping(), (x,))
    prepared(x)
    calibration = q.Calibration(prepared, evaluate=x)
    assert calibration.measurement is not None
    before, after = calibration.measurement.values_at(calibration.entry("layer.output").point)
    assert before.size == after.size == exact.size


def test_size_and_accuracy(prepared: Any, images: Any) -> None:
    integer = q.convert(prepared)
    weights = sum(
        int(np.prod(layer.weight.shape)) for layer in (integer.conv1, integer.conv2, integer.fc1, integer.fc2)
    )
    channels = 4 + 8 + 16 + 10
    assert q.model_size(integer) == weights + channels * 8 + channels * 4 + 5 * 12
    labels = wb.from_numpy(prepared(images).detach().numpy().argmax(1))
    assert q.accuracy(prepared, [(images, labels)]) == 1.0
    with pytest.raises(ValueError, match="nothing to evaluate"):
        q.accuracy(prepared, [])
    with pytest.raises(wb.DimensionError, match=r"accuracy takes scores \[N, classes\] and labels \[N\]"):
        q.accuracy(prepared, [(images, labels[:3])])
