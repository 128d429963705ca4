"""Every model of the house with an input of it, small ones where the model lets one choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import workbench as wb
from workbench import models

__all__ = ["MODELS"]

_WORDS = models.BertSettings(words=50, features=8, layers=1, heads=2, hidden=16)
MODELS: dict[str, tuple[Callable[[], Any], Callable[[], wb.Tensor]]] = {
    "lenet": (models.LeNet, lambda: wb.rand(2, 1, 28, 28)),
    "digits": (models.DigitsNet, lambda: wb.rand(N=2, C=1, H=28, W=28)),
    "resnet18": (models.resnet18, lambda: wb.rand(1, 3, 64, 64)),
    "resnet50": (models.resnet50, lambda: wb.rand(1, 3, 32, 32)),
    "mobilenet_v2": (models.mobilenet_v2, lambda: wb.rand(1, 3, 32, 32)),
    "efficientnet_lite0": (models.efficientnet_lite0, lambda: wb.rand(1, 3, 64, 64)),
    "vit_small": (models.vit_small, lambda: wb.rand(N=1, C=3, H=32, W=32)),
    "bert": (lambda: models.BertEncoder(_WORDS), lambda: wb.tensor([[1, 2, 3], [4, 5, 0]])),
    "language": (
        lambda: models.WordLanguageModel(words=20, features=8, hidden=8, layers=1),
        lambda: wb.tensor([[1, 2], [3, 4]], names=("T", "N")),
    ),
}
