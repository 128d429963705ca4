"""Attributions agree with values recorded from Captum 0.9.0 (float64, a network of two layers).

Captum keeps the places and weights of the integral in float32, so that its sums are good to seven digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution.quadrature import METHODS

NAMES = ("N", "C", "H", "W")
VALUES = np.load(Path(__file__).with_name("captum.npz"), allow_pickle=False)
TARGET = VALUES["target"].tolist()


def plain(name: str) -> wb.Tensor:
    return wb.from_numpy(VALUES[name])


def named(name: str) -> wb.Tensor:
    return wb.from_numpy(VALUES[name], names=NAMES)


def forward(x: Any, scale: Any = None) -> Any:
    flat = x.rename(None).reshape(x.shape[0], 12)
    scores = ((flat @ plain("w1").t()) + plain("b1")).tanh() @ plain("w2").t()
    return scores if scale is None else scores * scale


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_steps", [4, 50])
def test_integrated_gradients(method: str, n_steps: int) -> None:
    found, delta = wb.attribution.IntegratedGradients(forward).attribute(
        named("x"),
        baselines=named("base"),
        target=TARGET,
        method=method,
        n_steps=n_steps,
        return_convergence_delta=True,
    )
    np.testing.assert_allclose(found.numpy(), VALUES[f"{method} {n_steps}"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(delta.numpy(), VALUES[f"{method} {n_steps} delta"], rtol=1e-4, atol=1e-6)
    assert found.names == NAMES


@pytest.mark.parametrize("size", [None, 1, 3, 8, 1000])
def test_further_arguments_go_along_with_their_samples_in_every_batch(size: int | None) -> None:
    found, delta = wb.attribution.IntegratedGradients(forward).attribute(
        named("x"),
        target=1,
        additional_forward_args=plain("scale"),
        internal_batch_size=size,
        return_convergence_delta=True,
    )
    np.testing.assert_allclose(found.numpy(), VALUES["extra"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(delta.numpy(), VALUES["extra delta"], rtol=1e-4, atol=1e-6)


def test_saliency_and_input_x_gradient() -> None:
    saliency = wb.attribution.Saliency(forward)
    product = wb.attribution.InputXGradient(forward)
    for found, name in [
        (saliency.attribute(named("x"), target=TARGET), "saliency"),
        (saliency.attribute(named("x"), target=TARGET, abs=False), "saliency signed"),
        (product.attribute(named("x"), target=TARGET), "input_x_gradient"),
    ]:
        np.testing.assert_allclose(found.numpy(), VALUES[name], rtol=1e-10, atol=1e-12)
        assert found.names == NAMES
