"""Attributions of a network with convolutions agree with Captum's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import visualization as ours_drawn
from workbench.attribution.quadrature import METHODS

torch = pytest.importorskip("torch")
captum = pytest.importorskip("captum.attr")

RANDOM = np.random.default_rng(3)
IMAGES, BASELINES = RANDOM.normal(size=(2, 3, 2, 8, 8)).astype(np.float32)
KERNEL = RANDOM.normal(size=(4, 2, 3, 3)).astype(np.float32)
WEIGHT = RANDOM.normal(size=(5, 64)).astype(np.float32)
TARGET = [0, 4, 2]


def ours(x: Any) -> Any:
    hidden = wb.max_pool2d(wb.tanh(wb.conv2d(x.rename(None), wb.from_numpy(KERNEL), padding=1)), 2)
    return hidden.reshape(x.shape[0], 64) @ wb.from_numpy(WEIGHT).t()


def theirs(x: Any) -> Any:
    hidden = torch.nn.functional.conv2d(x, torch.tensor(KERNEL), padding=1).tanh()
    return torch.nn.functional.max_pool2d(hidden, 2).flatten(1) @ torch.tensor(WEIGHT).T


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_integrated_gradients(method: str) -> None:
    options: dict[str, Any] = {"method": method, "n_steps": 20, "return_convergence_delta": True}
    found, delta = wb.attribution.IntegratedGradients(ours).attribute(
        wb.from_numpy(IMAGES), wb.from_numpy(BASELINES), TARGET, **options
    )
    expected, difference = captum.IntegratedGradients(theirs).attribute(
        torch.tensor(IMAGES), torch.tensor(BASELINES), target=torch.tensor(TARGET), **options
    )
    close(found, expected)
    np.testing.assert_allclose(delta.numpy(), difference.numpy(), atol=1e-3)


@pytest.mark.parametrize("name", ["Saliency", "InputXGradient"])
def test_gradients(name: str) -> None:
    found = getattr(wb.attribution, name)(ours).attribute(wb.from_numpy(IMAGES), TARGET)
    images = torch.tensor(IMAGES).requires_grad_()
    close(found, getattr(captum, name)(theirs).attribute(images, target=torch.tensor(TARGET)))


@pytest.mark.parametrize("sign", ["all", "positive", "negative", "absolute_value"])
def test_normalization(sign: Any) -> None:
    visualization = pytest.importorskip("captum.attr._utils.visualization")
    values = RANDOM.normal(size=(9, 7, 3))
    expected = visualization._normalize_attr(values.sum(2), sign, 2)
    found = ours_drawn.normalize(values, sign, 2)
    np.testing.assert_allclose(found, expected, atol=1e-6)
