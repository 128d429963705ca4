"""Photos as networks that were trained on ImageNet take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.nn.functional import interpolate
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["imagenet_input"]

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's red, green and blue, in 0…1."""


def imagenet_input(
    photo: Any, size: int = 224, *, crop: float = 0.875, mean: Any = MEAN, std: Any = STD, names: Any = None
) -> Tensor:
    """Return a photo [H, W, C:3] of bytes as [N:1, C:3, H:size, W:size]: its middle, scaled and normalised.

    The middle square of which each side is `crop` of the shorter side of the photo is scaled bilinearly, with
    smoothing where it shrinks; then x = (photo / 255 - mean) / std for each colour. Dims have `names`, where given.

    Raises ValueError for what is not a photo in three colours of bytes.

    >>> import numpy as np
    >>> imagenet_input(np.zeros((300, 400, 3), np.uint8)).shape
    (1, 3, 224, 224)
    """
    array = np.asarray(photo)
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8 or 0 in array.shape:
        raise ValueError(
            f"a photo is an array [H, W, 3] of uint8, got {array.dtype}{list(array.shape)}: "
            "take away a fourth channel (photo[..., :3]) or repeat a single one"
        )
    # The part that is left where the shorter side is scaled to size / crop and the middle is cut out.
    side = max(1, round(min(array.shape[:2]) * crop))
    top, left = (array.shape[0] - side) // 2, (array.shape[1] - side) // 2
    middle = array[top : top + side, left : left + side].transpose(2, 0, 1)[None].astype(np.float32) / 255
    scaled = interpolate(
        from_numpy(np.ascontiguousarray(middle)), (size, size), mode="bilinear", antialias=True
    )
    shift, scale = (np.asarray(one, np.float32).reshape(3, 1, 1) for one in (mean, std))
    return from_numpy((scaled.numpy() - shift) / scale, names=names)
