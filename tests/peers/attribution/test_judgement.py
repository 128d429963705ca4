"""Metrics agree with Captum's on the same weights and perturbations, in float64."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.attribution.judgement.cases import ALL
from workbench.attribution import concept, influence, metrics, robust

torch = pytest.importorskip("torch")
pytest.importorskip("captum")

import captum.attr  # noqa: E402
import captum.concept  # noqa: E402
import captum.influence  # noqa: E402
import captum.metrics  # noqa: E402
import captum.robust  # noqa: E402

OURS = SimpleNamespace(
    attr=wb.attribution, metrics=metrics, robust=robust, concept=concept, influence=influence
)
THEIRS = SimpleNamespace(
    attr=captum.attr,
    metrics=captum.metrics,
    robust=captum.robust,
    concept=captum.concept,
    influence=captum.influence,
)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.__name__)
def test_agrees_with_captum(case: Callable[[Any, Any], dict[str, Any]]) -> None:
    with warnings.catch_warnings():
        # Captum's own: of inputs without requires_grad, and of batches that are not multiples.
        warnings.simplefilter("ignore")
        expected = case(torch, THEIRS)
    found = case(wb, OURS)
    assert found.keys() == expected.keys()
    for name, one in found.items():
        np.testing.assert_allclose(one, expected[name], rtol=1e-4, atol=1e-7, err_msg=name)
