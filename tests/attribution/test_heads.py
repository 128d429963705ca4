"""Detectors, segmenters and models of several inputs, explained by methods that know nothing of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import (
    DetectionScores,
    FeatureAblation,
    InputXGradient,
    IntegratedGradients,
    Saliency,
    SegmentationScores,
)

RANDOM = np.random.default_rng(0)


def rand(*sizes: int) -> Any:
    return wb.from_numpy(RANDOM.normal(size=sizes).astype(np.float32))


REGION = np.zeros((6, 5), bool)
REGION[1:3, 2:4] = True


@pytest.mark.parametrize("region", [None, REGION, REGION * 0.5, wb.from_numpy(REGION)])
def test_a_region_of_a_map(region: Any) -> None:
    model, x = nn.Conv2d(3, 4, 1).eval(), rand(2, 3, 6, 5)
    scores = model(x).detach().numpy()
    weights = 1.0 if region is None else np.asarray(region, np.float32)
    head = SegmentationScores(model, region)
    np.testing.assert_allclose(head(x).detach().numpy(), (scores * weights).sum((2, 3)), atol=1e-4)
    found = Saliency(head).attribute(x, target=1, abs=False).numpy()
    # One pixel sees one pixel: outside of the region nothing counts.
    slope = model.weight.detach().numpy()[1, :, 0, 0][:, None, None] * weights * np.ones((6, 5))
    np.testing.assert_allclose(found, np.broadcast_to(slope, found.shape), atol=1e-5)


def test_the_pixels_of_a_class_and_dims_by_name() -> None:
    model, x = nn.Conv2d(3, 4, 1).eval(), rand(2, 3, 6, 5)
    scores = model(x).detach().numpy()
    won = scores.argmax(1)[:, None] == np.arange(4)[:, None, None]
    expected = (scores * won).sum((2, 3))
    found = SegmentationScores(model, "class")(x)
    np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-4)
    last = lambda x: model(x).rename("N", "C", "H", "W").align_to("N", "H", "W", "C")
    np.testing.assert_allclose(SegmentationScores(last, "class")(x).detach().numpy(), expected, atol=1e-4)


class Detector(nn.Module):
    """Two boxes: the left half's and the right half's, each scored by what is in it."""

    def forward(self, x: Any) -> Any:
        left, right = x[:, :, :, :4].sum((1, 2, 3)), x[:, :, :, 4:].sum((1, 2, 3))
        scores = wb.stack([wb.stack([left, -left], 1), wb.stack([right, -right], 1)], 1)
        boxes = wb.tensor([[[0.0, 0, 4, 8], [4.0, 0, 8, 8]]]).expand(len(x), 2, 4)
        return boxes + 0 * scores.sum(), scores


@pytest.mark.parametrize(
    ("box", "right"), [((5, 1, 8, 8), True), ((0, 0, 5, 8), False), (1, True), (0, False)]
)
def test_one_box_of_a_detector(box: Any, right: bool) -> None:
    x = rand(3, 1, 8, 8)
    found = Saliency(DetectionScores(Detector().eval(), box)).attribute(x, target=1, abs=False).numpy()
    expected = np.zeros((8, 8))
    expected[:, 4:] = -1 if right else 0
    expected[:, :4] = 0 if right else -1
    np.testing.assert_array_equal(found, np.broadcast_to(expected, found.shape))
    assert DetectionScores(Detector(), box, coordinates=True)(x).shape == (3, 4)


def test_the_mode_is_that_of_the_model() -> None:
    assert SegmentationScores(nn.Conv2d(1, 1, 1)).training
    assert not SegmentationScores(nn.Conv2d(1, 1, 1).eval()).training
    assert not DetectionScores(len, 0).training


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: SegmentationScores(3), TypeError, "forward is a module or a function, a int cannot be called"),
        (lambda: SegmentationScores(len, "all"), ValueError, "a mask, 'class' or None, got 'all'"),
        (lambda: SegmentationScores(lambda x: x)(rand(2, 3)), wb.DimensionError, r"returned shape \[2, 3\]"),
        (lambda: SegmentationScores(lambda x: 3)(rand(2)), wb.DimensionError, "returned int"),
        (
            lambda: SegmentationScores(lambda x: x, np.ones((2, 2)))(rand(1, 1, 3, 2)),
            wb.DimensionError,
            r"the region is \[2, 2\], the map of scores \[3, 2\]",
        ),
        (lambda: DetectionScores(lambda x: x, 0)(rand(2, 3)), wb.DimensionError, "returned Tensor"),
        (lambda: DetectionScores(lambda x: (x, x), 0)(rand(2, 3)), wb.DimensionError, r"returned \[\[2, 3\],"),
        (lambda: DetectionScores(Detector(), 2)(rand(1, 1, 8, 8)), ValueError, "no box 2: the detector returns 2"),
        (lambda: DetectionScores(Detector(), True)(rand(1, 1, 8, 8)), wb.DimensionError, r"box has shape \[\]"),
        (
            lambda: DetectionScores(lambda x: (x, x.numpy()), 0)(rand(2, 3, 4)),
            wb.DimensionError,
            r"returned \(Tensor, ndarray\)",
        ),
        (lambda: DetectionScores(lambda x: (x, x), (0, 0, 1, 1))(rand(2, 0, 4)), ValueError, "found no box"),
        (lambda: SegmentationScores(lambda x: x, np.zeros((3, 2)))(rand(1, 1, 3, 2)), ValueError, "marks no pixel"),
        (lambda: DetectionScores(Detector(), (9, 9, 10, 10))(rand(1, 1, 8, 8)), ValueError, r"overlaps \[9, 9"),
        (lambda: DetectionScores(Detector(), (1, 2))(rand(1, 1, 8, 8)), wb.DimensionError, r"box has shape \[2\]"),
    ],
)  # fmt: skip
def test_refusals(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


class Answering(nn.Module):
    """An answer to a question about an image: both go through a layer of their own and meet in a product."""

    def __init__(self) -> None:
        super().__init__()
        wb.manual_seed(1)
        self.look, self.read, self.answer = nn.Linear(12, 5), nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, image: Any, question: Any, scale: Any = 1.0) -> Any:
        image = image.rename(None).flatten(1)
        return self.answer(self.look(image).tanh() * self.read(question.rename(None).mean(1)).tanh() * scale)


def test_an_image_and_a_question() -> None:
    model = Answering().eval()
    image, question = rand(2, 1, 3, 4).rename("N", "C", "H", "W"), rand(2, 6, 4).rename("N", "T", "E")
    found = IntegratedGradients(model).attribute(
        (image, question), target=[0, 2], additional_forward_args=2.0
    )
    assert [one.names for one in found] == [("N", "C", "H", "W"), ("N", "T", "E")]
    change = model(image, question, 2.0) - model(image * 0, question * 0, 2.0)
    sums = found[0].numpy().sum((1, 2, 3)) + found[1].numpy().sum((1, 2))
    np.testing.assert_allclose(sums, change.detach().numpy()[[0, 1], [0, 2]], atol=1e-3)
    words = wb.arange(6).reshape(1, 6, 1)
    pixels = wb.full((1, 1, 1, 1), 6, dtype=wb.int64)
    left = FeatureAblation(model).attribute((image, question), target=0, feature_mask=(pixels, words))
    assert len(np.unique(left[0].numpy()[0])) == 1, "the image as one feature"
    assert (np.ptp(left[1].numpy(), axis=2) == 0).all(), "each word as one"


def test_columns_of_a_table_and_channels_of_a_series_by_name() -> None:
    table = rand(5, 3).rename("N", "column")
    weights = wb.tensor([1.0, -2.0, 3.0])
    found = InputXGradient(lambda x: (x.rename(None) * weights).sum(1)).attribute(table)
    np.testing.assert_allclose(found.numpy(), table.numpy() * weights.numpy(), atol=1e-6)
    series = rand(2, 7, 3).rename("N", "T", "C")
    found = IntegratedGradients(lambda x: x.square().sum(("T", "C"))).attribute(series, over="C")
    np.testing.assert_allclose(found.numpy(), (series.numpy() ** 2).sum(2), atol=1e-4)
    assert found.names == ("N", "T")
