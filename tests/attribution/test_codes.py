"""Models of codes are explained by what their codes stand for, or refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn, quantization
from workbench.attribution import LRP, DeepLift


def converted() -> tuple[Any, Any, Any]:
    """Return a model, the same in codes, and pictures."""
    wb.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3)
    )
    model = nn.Sequential(quantization.QuantStub(), layers, quantization.DeQuantStub()).eval()
    model.qconfig = quantization.get_default_qconfig()
    x = wb.from_numpy(np.random.default_rng(1).normal(size=(8, 2, 8, 8)).astype(np.float32))
    prepared = quantization.prepare(model)
    prepared(x)
    return model, quantization.convert(prepared), x


def test_codes_share_out_what_they_stand_for() -> None:
    model, codes, x = converted()
    found, delta = DeepLift(codes).attribute(x, 0.3, target=1, return_convergence_delta=True)
    assert np.abs(delta.numpy()).max() <= 1e-5
    assert (
        np.corrcoef(found.numpy().ravel(), DeepLift(model).attribute(x, 0.3, 1).numpy().ravel())[0, 1] > 0.95
    )


def test_relevance_goes_through_codes() -> None:
    model, codes, x = converted()
    found, expected = (LRP(one).attribute(x, target=1).numpy().ravel() for one in (codes, model))
    assert np.corrcoef(found, expected)[0, 1] > 0.95


def test_codes_without_a_rule_are_refused_by_name() -> None:
    x = wb.tensor([[1.0, 3.0, 2.0]])

    def model(x: Any) -> Any:
        q = wb.quantize_per_tensor(x, 0.1, 0, wb.quint8)
        return q.sort(1)[0].dequantize()[:, 0]

    with pytest.raises(wb.AutogradError, match=r"no rule for sort \(test_codes.py:\d+\)"):
        DeepLift(model).attribute(x)
