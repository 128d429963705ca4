"""Detectors and segmenters as models with one row of class scores a sample, which every method explains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.attribution.checks import check_model
from workbench.base.errors import DimensionError
from workbench.core.value import dims_of, new
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["DetectionScores", "SegmentationScores"]

Array = np.ndarray[Any, Any]


class _Head(Module):
    """A model behind something that makes class scores of its output."""

    def __init__(self, model: Callable[..., Any]) -> None:
        super().__init__()
        check_model(type(self).__name__, model)
        # A module is a part of this one, whose mode and layers are found.
        self.model = model
        self.training = isinstance(model, Module) and model.training


class SegmentationScores(_Head):
    """A segmenter's scores [N, classes, H, W] summed over a region: [N, classes], so that a target is a class.

    `region` is a mask [H, W] of truth values or weights; without it all pixels count. ``region="class"`` counts for
    each class the pixels that the model gives to it: for methods that look at other inputs as well, as Integrated
    Gradients do, give the mask itself, which stays. Dims are found by the names C, H, W, else by their places.

    Raises:
        DimensionError: the output is no map of scores, or the region is of another size.
        ValueError: a word other than ``"class"``, or a region without a pixel.

    >>> import workbench as wb
    >>> conv = wb.nn.Conv2d(3, 5, 1)
    >>> head = SegmentationScores(conv.eval(), region=wb.ones(8, 8) > 0)
    >>> found = wb.attribution.Saliency(head).attribute(wb.rand(N=2, C=3, H=8, W=8), target=4)
    >>> found.names
    ('N', 'C', 'H', 'W')
    """

    def __init__(self, model: Callable[..., Any], region: Any = None) -> None:
        super().__init__(model)
        if isinstance(region, str) and region != "class":
            raise ValueError(f"region is a mask, 'class' or None, got {region!r}")
        self.region = region

    def forward(self, *inputs: Any) -> Tensor:
        """Return the scores of the classes, [N, classes]."""
        scores = self.model(*inputs)
        if not isinstance(scores, Tensor) or scores.ndim != 4:
            shape = f"shape {list(scores.shape)}" if isinstance(scores, Tensor) else type(scores).__name__
            raise DimensionError(
                f"a segmenter returns scores [N, classes, H, W], this model returned {shape}",
                op="SegmentationScores",
            )
        if {"N", "C", "H", "W"} == set(scores.names):
            scores = scores.align_to("N", "C", "H", "W")
        scores = scores.rename(None)
        if self.region is None:
            return scores.sum((2, 3))
        return (scores * self._weights(scores)).sum((2, 3))

    def _weights(self, scores: Tensor) -> Tensor:
        if isinstance(self.region, str):
            values = scores.detach().numpy(force=True)
            classes = np.arange(values.shape[1])[:, None, None]
            return new((values.argmax(1)[:, None] == classes).astype(values.dtype))
        region = self.region
        weights = region.numpy(force=True) if isinstance(region, Tensor) else np.asarray(region)
        if weights.shape != tuple(scores.shape[2:]):
            raise DimensionError(
                f"the region is {list(weights.shape)}, the map of scores [{scores.shape[2]}, {scores.shape[3]}]: one "
                "for all samples, of the size of the output",
                op="SegmentationScores",
                operands=(dims_of(scores).operand("scores", [2, 3]),),
            )
        if not weights.any():
            raise ValueError("the region marks no pixel, so that there is nothing to explain")
        return new(weights.astype(scores.payload.dtype))


class DetectionScores(_Head):
    """A detector's class scores of one box: [N, classes], so that a target is a class.

    The model returns boxes [N, K, 4] as (left, top, right, bottom) and scores [N, K, classes]. `box` is four numbers:
    of the K boxes that counts which overlaps it most, in each input anew. A whole number is the place of a box among
    the K. With `coordinates` what is explained is where the box lies: [N, 4].

    Raises:
        DimensionError: the model returns no boxes with scores, or `box` is not one.
        ValueError: there is no box of that number, or none overlaps the one that is asked for.

    >>> import workbench as wb
    >>> boxes = wb.tensor([[[0.0, 0.0, 4.0, 4.0], [4.0, 4.0, 8.0, 8.0]]])
    >>> model = lambda x: (boxes, x.unfold(1, 2, 2))
    >>> DetectionScores(model, (5, 5, 8, 8))(wb.tensor([[1.0, 2.0, 7.0, 3.0]])).tolist()
    [[7.0, 3.0]]
    """

    def __init__(self, model: Callable[..., Any], box: Any, coordinates: bool = False) -> None:
        super().__init__(model)
        self.box = box
        self.coordinates = coordinates

    def forward(self, *inputs: Any) -> Tensor:
        """Return the scores of the classes of the box that is meant, [N, classes]."""
        found = self.model(*inputs)
        fits = (
            isinstance(found, tuple | list)
            and len(found) == 2
            and all(isinstance(one, Tensor) for one in found)
        )
        boxes, scores = (one.rename(None) for one in found) if fits else (None, None)
        if (
            boxes is None
            or scores is None
            or boxes.ndim != 3
            or boxes.shape[2] != 4
            or scores.shape[:2] != boxes.shape[:2]
        ):
            shapes = [list(one.shape) for one in found] if fits else _kinds(found)
            raise DimensionError(
                f"a detector returns boxes [N, K, 4] and scores [N, K, classes], this model returned {shapes}",
                op="DetectionScores",
            )
        if boxes.shape[1] == 0:
            raise ValueError("the detector found no box, so that there is none to explain")
        places = self._places(boxes.detach().numpy(force=True))
        chosen: Tensor = (boxes if self.coordinates else scores)[new(np.arange(len(places))), new(places)]
        return chosen

    def _places(self, boxes: Array) -> Array:
        """Return which box of each sample is meant, int64 [N]."""
        if isinstance(self.box, int | np.integer) and not isinstance(self.box, bool):
            if not 0 <= self.box < boxes.shape[1]:
                raise ValueError(
                    f"there is no box {self.box}: the detector returns {boxes.shape[1]}, counted from 0"
                )
            return np.full(len(boxes), self.box)
        asked = self.box.numpy(force=True) if isinstance(self.box, Tensor) else np.asarray(self.box)
        if asked.shape != (4,):
            raise DimensionError(
                f"box has shape {list(asked.shape)}: it is (left, top, right, bottom), or the place of a box",
                op="DetectionScores",
            )
        overlaps = _overlaps(boxes, asked)
        best: Array = overlaps.argmax(1)
        missed = np.flatnonzero(overlaps.max(1) <= 0)
        if missed.size:
            raise ValueError(
                f"no box of sample {missed[0]} overlaps {asked.tolist()}: boxes are (left, top, right, bottom), in the "
                "detector's own unit"
            )
        return best


def _kinds(found: Any) -> str:
    """Return the types of what a model returned, in words."""
    if not isinstance(found, tuple | list):
        return type(found).__name__
    return f"({', '.join(type(one).__name__ for one in found)})"


def _overlaps(boxes: Array, asked: Array) -> Array:
    """Return intersection over union of boxes [N, K, 4] with one [4]."""
    low, high = np.maximum(boxes[..., :2], asked[..., :2]), np.minimum(boxes[..., 2:], asked[..., 2:])
    common = np.clip(high - low, 0, None).prod(-1)
    areas = [np.clip(one[..., 2:] - one[..., :2], 0, None).prod(-1) for one in (boxes, asked)]
    union = areas[0] + areas[1] - common
    return np.asarray(np.divide(common, union, out=np.zeros_like(common), where=union > 0))
