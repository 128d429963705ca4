"""Perturbed inputs: attributions agree with values recorded from Captum 0.9.0 (float64, a network of two layers)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb

VALUES = np.load(Path(__file__).parent / "recorded" / "perturbation.npz", allow_pickle=False)
X, BASE, MASK = (wb.from_numpy(VALUES[name]) for name in ("x", "base", "mask"))
OPTIONS: dict[str, Any] = {"baselines": BASE, "target": [1, 2]}


def forward(x: Any) -> Any:
    hidden = wb.tanh(x.reshape(x.shape[0], 12) @ wb.from_numpy(VALUES["w1"]).t())
    return hidden @ wb.from_numpy(VALUES["w2"]).t()


def check(name: str, found: Any, rtol: float = 1e-5) -> None:
    assert found.shape == VALUES[name].shape
    np.testing.assert_allclose(found.numpy(), VALUES[name], rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("together", [1, 3])
def test_feature_ablation(together: int) -> None:
    method = wb.attribution.FeatureAblation(forward)
    check("ablation", method.attribute(X, feature_mask=MASK, perturbations_per_eval=together, **OPTIONS))
    check("ablation of all", method.attribute(X, BASE, perturbations_per_eval=together))


def test_occlusion() -> None:
    check("occlusion", wb.attribution.Occlusion(forward).attribute(X, (2, 3), (1, 2), **OPTIONS))


def test_shapley_values() -> None:
    check("shapley", wb.attribution.ShapleyValues(forward).attribute(X, feature_mask=MASK, **OPTIONS))


def test_lime(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = VALUES["chosen"]
    monkeypatch.setattr(
        wb.attribution.Lime, "_draw", lambda self, count, shape: np.tile(chosen, (shape[0], 1, 1))
    )
    # scikit-learn's lasso stops a little before it has come to rest, and in float32.
    found = wb.attribution.Lime(forward).attribute(X, feature_mask=MASK, n_samples=30, **OPTIONS)
    check("lime", found, rtol=2e-3)
