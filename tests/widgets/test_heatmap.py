"""The heatmap's view model: what it draws of a result, and what it answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import AttributionResult, explain
from workbench.live.encode import encode_snapshot
from workbench.live.messages import HeatmapState, SampleEvent, SelectPointsEvent
from workbench.live.model import Refused
from workbench.live.registry import registry
from workbench.live.renderers import renderers
from workbench.live.selection import selection
from workbench.widgets.heatmap import HeatmapModel


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    renderers.stop()
    for model in registry.models():
        registry.withdraw(model)
    selection.clear()


def scores(images: wb.Tensor) -> wb.Tensor:
    """Three classes: the sum of the squares, its double, and minus it."""
    total = (images * images).sum(["C", "H", "W"]).rename(None)
    return wb.stack([total, total * 2, total * -1], 1)


def result(**more: Any) -> AttributionResult:
    images = wb.rand(N=3, C=3, H=4, W=5)
    return explain(scores, images, [1, 1, 2], class_names=["<a>", "b", "c"], title="digits", **more)


def state(model: HeatmapModel) -> tuple[HeatmapState, np.ndarray, np.ndarray]:
    """The state, the input, and the attributions as a page reads them."""
    found, buffers = encode_snapshot(model.view, model.snapshot())
    drawn = model.snapshot().state
    assert isinstance(drawn, HeatmapState)
    json.dumps(found)
    image = np.frombuffer(buffers[drawn.input_buffer], "<f4").reshape(drawn.height, drawn.width, -1)
    heat = np.frombuffer(buffers[drawn.attribution_buffer], "<f4").reshape(drawn.height, drawn.width)
    return drawn, image, heat


def test_a_sample_is_drawn_with_everything_that_is_known_of_it() -> None:
    made = result()
    model = HeatmapModel(made)
    model.handle(SampleEvent("sample", 2))
    drawn, image, heat = state(model)
    np.testing.assert_array_equal(image, made.inputs.numpy()[2].transpose(1, 2, 0))
    np.testing.assert_allclose(heat, made.attributions.numpy()[2].sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(heat, -(image**2).sum(axis=2), rtol=1e-3)
    assert (drawn.row_dim.name, drawn.row_dim.size) == ("H", 4)
    assert (drawn.column_dim.name, drawn.column_dim.size) == ("W", 5)
    assert drawn.channels == 3
    assert (drawn.head.title, drawn.target, drawn.method) == ("digits", "c", "Integrated Gradients")
    assert ["n_steps", "50"] in drawn.settings
    assert [score.label for score in drawn.predictions] == ["b", "<a>", "c"]
    assert sum(score.probability for score in drawn.predictions) == pytest.approx(1)
    assert drawn.delta is not None and drawn.tolerance is not None
    assert abs(drawn.delta) <= drawn.tolerance
    assert (drawn.sample, drawn.samples, drawn.seconds) == (2, 3, made.seconds)
    assert drawn.input_low <= image.min() and drawn.input_high >= image.max()
    assert "explain(" in drawn.head.code


def test_a_method_that_promises_no_sum_has_no_delta() -> None:
    drawn, _, heat = state(HeatmapModel(result(method="saliency")))
    assert drawn.delta is None and drawn.tolerance is None
    assert (heat >= 0).all()


def test_other_shapes_of_samples() -> None:
    rows = explain(lambda x: x * 2, wb.ones(N=2, features=6), 4)
    drawn, _, _ = state(HeatmapModel(rows))
    assert (drawn.height, drawn.width, drawn.channels, drawn.column_dim.name) == (1, 6, 1, "features")
    assert drawn.input_high > drawn.input_low
    last = explain(lambda x: x.sum(["H", "W", "C"]), wb.ones(N=2, H=4, W=3, C=5))
    drawn, drawn_input, _ = state(HeatmapModel(last))
    assert (drawn.height, drawn.width, drawn.channels) == (4, 3, 1)
    assert (drawn_input == 1).all()
    assert drawn.target == "output"
    assert drawn.predictions == []
    drawn, _, _ = state(HeatmapModel(explain(lambda x: x * 3, wb.ones(N=2))))
    assert (drawn.height, drawn.width) == (1, 1)


def test_what_is_no_picture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    volume = explain(lambda x: x.flatten(1).sum(1), wb.ones(2, 2, 2, 2, 2))
    with pytest.raises(wb.DimensionError, match="a heatmap draws pictures"):
        HeatmapModel(volume)
    monkeypatch.setattr(sys.modules[HeatmapModel.__module__], "MOST_CELLS", 10)
    with pytest.raises(wb.DimensionError, match="a picture of 60 values is more than the 10 that are drawn"):
        HeatmapModel(result())


def test_another_sample_is_drawn_at_once_and_a_wrong_one_is_refused() -> None:
    model = HeatmapModel(result())
    told: list[Any] = []
    model.listen(told.append)
    model.handle(SampleEvent("sample", 1))
    model.handle(SampleEvent("sample", 1))
    assert (len(told), state(model)[0].sample) == (1, 1)
    for wrong in (3, -1):
        with pytest.raises(Refused, match=f"the samples are 0 to 2; there is no sample {wrong}"):
            model.handle(SampleEvent("sample", wrong))
    with pytest.raises(Refused, match="shows one sample after the other"):
        model.handle(SelectPointsEvent("select_points", [0]))
    with pytest.raises(IndexError, match="there is no sample 9"):
        model.sample = 9
    assert (len(told), model.sample) == (1, 1)
    alone = HeatmapModel(explain(lambda x: x.sum("C"), wb.ones(N=1, C=2)))
    with pytest.raises(Refused, match="there is one sample, number 0; there is no sample 1"):
        alone.handle(SampleEvent("sample", 1))


def test_cells_without_an_attribution_travel_as_such() -> None:
    made = result()
    made.attributions.numpy()[0, 0, 1, 2] = np.nan
    _, _, heat = state(HeatmapModel(made))
    assert np.argwhere(np.isnan(heat)).tolist() == [[1, 2]]


def test_what_explain_publishes_reaches_the_panel() -> None:
    renderers.start()
    made = result()
    (model,) = registry.models("heatmap")
    assert isinstance(model, HeatmapModel)
    assert model.result is made


def test_long_names_do_not_fill_the_page() -> None:
    named = explain(
        scores, wb.rand(N=1, C=2, H=4, W=5), 0, class_names=["x" * 10_000, "b", "c"], title="t" * 5000
    )
    drawn, _, _ = state(HeatmapModel(named))
    assert (len(drawn.target), len(drawn.head.title)) == (200, 200)
