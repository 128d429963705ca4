"""Metrics agree with values recorded from Captum 0.9.0, in float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.attribution.judgement.cases import ALL
from workbench.attribution import concept, influence, metrics, robust

FILE = Path(__file__).with_name("captum.npz")
OURS = SimpleNamespace(
    attr=wb.attribution, metrics=metrics, robust=robust, concept=concept, influence=influence
)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.__name__)
def test_agrees_with_what_was_recorded(case: Callable[[Any, Any], dict[str, Any]]) -> None:
    recorded = np.load(FILE, allow_pickle=False)
    for name, found in case(wb, OURS).items():
        np.testing.assert_allclose(found, recorded[name], rtol=1e-4, atol=1e-7, err_msg=name)
