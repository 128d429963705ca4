"""Metrics agree with those of Quantus 0.6.0, where both have them."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution.metrics import complexity, deletion_curve, pointing_game, sparseness
from workbench.attribution.metrics.imputation import impute

torch = pytest.importorskip("torch")
if importlib.util.find_spec("quantus") is None:
    pytest.skip("Quantus is not installed", allow_module_level=True)

RANDOM = np.random.default_rng(8)
IMAGES = RANDOM.uniform(0.1, 1, size=(3, 1, 6, 6)).astype(np.float32)
ATTRIBUTIONS = RANDOM.normal(size=(3, 1, 6, 6)).astype(np.float32)
LABELS = np.array([2, 0, 1])


@pytest.fixture(scope="module")
def quantus() -> Iterator[Any]:
    """Quantus looks for Zennit, which imports torchvision; it does without where it finds none."""
    real = importlib.util.find_spec
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(
            importlib.util, "find_spec", lambda name, *rest: None if name == "zennit" else real(name, *rest)
        )
        imported = pytest.importorskip("quantus", exc_type=ImportError)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield imported


def asked(metric: Any, **more: Any) -> Any:
    given = {"model": None, "x_batch": IMAGES, "y_batch": LABELS, "a_batch": ATTRIBUTIONS, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array(metric(**given), np.float64)


def test_complexity_and_sparseness(quantus: Any) -> None:
    ours = wb.from_numpy(ATTRIBUTIONS)
    settings = {"disable_warnings": True, "normalise": False, "abs": True}
    np.testing.assert_allclose(complexity(ours), asked(quantus.Complexity(**settings)), rtol=1e-5)
    # Quantus adds 1e-7 to each size.
    np.testing.assert_allclose(sparseness(ours), asked(quantus.Sparseness(**settings)), rtol=1e-5)


def test_pointing_game(quantus: Any) -> None:
    masks = RANDOM.random((3, 1, 6, 6)) < 0.5
    theirs = quantus.PointingGame(disable_warnings=True, normalise=False, abs=False)
    found = pointing_game(wb.from_numpy(ATTRIBUTIONS), wb.from_numpy(masks))
    np.testing.assert_array_equal(found, asked(theirs, s_batch=masks))


def test_imputation(quantus: Any) -> None:
    from quantus.functions.perturb_func import noisy_linear_imputation

    for part in (0.1, 0.5, 0.9):
        removed = RANDOM.random((6, 6)) < part
        removed[0, 0] = False
        picture = RANDOM.normal(size=(2, 6, 6))
        theirs = noisy_linear_imputation(picture, np.flatnonzero(removed), noise=0)
        np.testing.assert_allclose(
            impute(picture, removed, 0, None), theirs.reshape(picture.shape), atol=1e-9
        )


def test_deletion_by_pixels(quantus: Any) -> None:
    theirs = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 3)).eval()
    ours = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(36, 3)).eval()
    ours.load_state_dict({name: wb.from_numpy(one.numpy()) for name, one in theirs.state_dict().items()})
    flipping = quantus.PixelFlipping(
        features_in_step=4, perturb_baseline=0.0, normalise=False, disable_warnings=True
    )
    expected = asked(flipping, model=theirs, softmax=True)
    target = LABELS.tolist()
    found = deletion_curve(ours, wb.from_numpy(IMAGES), wb.from_numpy(ATTRIBUTIONS), target, steps=9)
    # Theirs begins after the first step.
    np.testing.assert_allclose(found.scores.numpy()[:, 1:], expected, rtol=1e-4, atol=1e-6)
