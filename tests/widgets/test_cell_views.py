"""What a cell shows of its value: text and a picture always, in a notebook a live view where something can be moved."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from tests.widgets.test_last_cell import ended
from workbench.attribution import AttributionResult, explain
from workbench.base import renderer_lookup
from workbench.live import cells
from workbench.live.messages import SampleEvent, SliceEvent
from workbench.live.model import Refused, ViewModel
from workbench.live.registry import registry
from workbench.live.renderers import renderers
from workbench.live.selection import selection
from workbench.widgets import cell_views
from workbench.widgets.last_cell import last_cell

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(renderer_lookup, "in_notebook", lambda: True)
    yield
    for model in registry.models():
        registry.withdraw(model)
    selection.clear()


def shown(value: Any) -> dict[str, Any]:
    """What a cell shows of `value`, by type."""
    bundle = value._repr_mimebundle_()
    return dict(bundle[0] if isinstance(bundle, tuple) else bundle)


def model_of(value: Any) -> ViewModel:
    model = renderers.drawn(value)
    assert model is not None
    return model


def explained() -> AttributionResult:
    model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(16, 3)).eval()
    return explain(model, wb.rand(N=4, C=1, H=4, W=4), title="digits")


@pytest.mark.usefixtures("notebook")
def test_a_tensor_that_is_drawn_in_part_has_sliders_beside_text_and_a_static_picture() -> None:
    images = wb.rand(N=40, C=1, H=4, W=4)
    found = shown(images)
    assert WIDGET in found and found["text/plain"] == repr(images) and "<img" in found["text/html"]
    picture: Any = model_of(images).snapshot().state
    assert [(one.dim.name, one.index) for one in picture.picture.sliders] == [("N", 0)]


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize(
    "sizes", [{}, {"N": 9}, {"H": 5, "W": 6}, {"N": 6, "C": 1, "H": 4, "W": 4}, {"N": 0}]
)
def test_a_tensor_that_is_drawn_whole_has_a_static_picture_only(sizes: dict[str, int]) -> None:
    assert set(shown(wb.zeros(**sizes))) == {"text/plain", "text/html"}


def test_outside_of_a_notebook_nothing_is_live() -> None:
    for value in (wb.rand(N=40, C=1, H=4, W=4), explained()):
        assert set(shown(value)) == {"text/plain", "text/html"}


@pytest.mark.usefixtures("notebook")
def test_without_the_browsers_part_the_picture_is_static(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(cell_views, "STATIC", tmp_path)
    for value in (wb.rand(N=40, C=1, H=4, W=4), explained()):
        assert set(shown(value)) == {"text/plain", "text/html"}


@pytest.mark.usefixtures("notebook")
def test_an_attribution_is_a_picture_with_a_text_beside_it() -> None:
    result = explained()
    found = shown(result)
    assert WIDGET in found and found["text/plain"] == repr(result)
    assert "the attribution" in found["text/html"] and "Integrated Gradients" in found["text/html"]


@pytest.mark.usefixtures("notebook")
def test_an_attribution_of_what_is_no_picture_is_text() -> None:
    model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(16, 3)).eval()
    result = explain(model, wb.rand(2, 2, 2, 2, 2))
    found = shown(result)
    assert set(found) == {"text/plain", "text/html"}
    assert "Integrated Gradients" in found["text/html"] and "&lt;" not in found["text/plain"]


@pytest.mark.usefixtures("notebook")
def test_tensor_and_attribution_in_cells_share_the_sample() -> None:
    images, result = wb.rand(N=40, C=1, H=4, W=4), explained()
    shown(images)
    shown(result)
    tensor, heatmap = model_of(images), model_of(result)
    tensor.handle(SliceEvent("slice", 0, 3))
    assert tensor.sample_of(SliceEvent("slice", 0, 3)) == 3
    heatmap.handle(SampleEvent("sample", 2))
    selection.sample = 1
    picture: Any = tensor.snapshot().state
    assert picture.picture.sliders[0].index == 1 and result is not None
    sample: Any = heatmap.snapshot().state
    assert sample.sample == 1


@pytest.mark.usefixtures("notebook")
def test_a_cells_picture_keeps_no_tensor_and_stays_as_the_last_one() -> None:
    images = wb.rand(N=40, C=1, H=4, W=4)
    shown(images)
    model, gone = model_of(images), weakref.ref(images)
    before = model.snapshot()
    del images
    gc.collect()
    assert gone() is None
    assert model.snapshot() == before
    with pytest.raises(Refused, match="the tensor is gone, and this is its last picture; run the cell again"):
        model.handle(SliceEvent("slice", 0, 3))
    model.show_sample(3)  # there is nothing to move, which is no fault


@pytest.mark.usefixtures("notebook")
def test_cell_and_panel_show_one_model_which_learns_its_name_when_the_cell_has_ended() -> None:
    images = wb.rand(N=40, C=1, H=4, W=4)
    shown(images)
    cells.ended.tell(ended("images", images, number=9), {"images": images})
    model = model_of(images)
    state: Any = model.snapshot().state
    assert (state.head.title, state.head.source) == ("images", "cell 9")
    assert registry.models("shapes")[-1] is model and last_cell not in registry.models("shapes")
    cells.ended.tell(ended("y = 1", number=10), {"y": wb.ones(H=2)})
    assert registry.models("shapes")[-1] is last_cell
