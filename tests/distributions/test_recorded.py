"""Densities, moments and divergences are those that PyTorch gave when they were recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.distributions.recorded import answers, recorded

ROUGH = {"VonMises": 1e-6, "RelaxedBernoulli": 1e-6}
"""Where PyTorch computes with fewer digits: Bessel functions by polynomials, clamped sigmoids."""


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    wb.set_default_dtype(wb.float64)
    pairs = [(left.__name__, right.__name__) for left, right in wb.distributions.kl._KL_REGISTRY]
    known = [pair for pair in pairs if all(hasattr(wb.distributions, one) for one in pair)]

    def make(array: Any) -> wb.Tensor:
        return wb.tensor(np.array(array, np.float64, order="C"))

    found = {name: value.numpy() for name, value in answers(wb, make, known)}
    wb.set_default_dtype(wb.float32)
    return found


RECORDED = recorded()


@pytest.mark.parametrize("name", RECORDED)
def test_recorded(name: str, ours: dict[str, Any]) -> None:
    tolerance = next((rough for case, rough in ROUGH.items() if f" {case}(" in name), 1e-9)
    assert ours[name].shape == RECORDED[name].shape
    np.testing.assert_allclose(ours[name], RECORDED[name], rtol=tolerance, atol=tolerance)
