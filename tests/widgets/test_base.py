"""A view model as a widget in a cell."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.models import Nodes, Observers, gesture
from workbench.live.link import KERNEL
from workbench.live.messages import PROTOCOL_VERSION
from workbench.live.registry import registry
from workbench.live.selection import selection
from workbench.live.throttle import Throttle
from workbench.widgets import base
from workbench.widgets.base import MissingBundle, ViewWidget, bundle


@pytest.fixture(autouse=True)
def throttle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Throttle]:
    """Bundles that need no build, and pictures that are made when the test says so."""
    (tmp_path / "histogram.js").write_text("export default {}", encoding="utf-8")
    monkeypatch.setattr(base, "STATIC", tmp_path)
    own = Throttle(cost=lambda: 0.0, clock=lambda: 0.0, threaded=False)
    monkeypatch.setattr(base, "throttle", own)
    yield own
    selection.clear()


def test_the_state_in_the_notebook_is_one_complete_picture() -> None:
    model = Observers()
    widget = ViewWidget(model)
    state = widget.get_state()
    assert (state["view"], state["view_model"], state["kernel"]) == ("histogram", model.id, KERNEL)
    assert state["version"] == PROTOCOL_VERSION
    assert state["state"]["kind"] == "histogram"
    assert state["state"]["model"]["sqnr"] is None
    assert state["buffers"] == [b"\x00\x01"]
    json.dumps({name: value for name, value in state.items() if name != "buffers"}, allow_nan=False)


def test_a_widget_follows_its_model_from_the_moment_it_is_displayed(throttle: Throttle) -> None:
    model = Observers()
    widget = ViewWidget(model)
    model.selected = "a"
    model.changed()
    assert throttle.delay() is None, "nobody sees it yet"
    widget._repr_mimebundle_()
    assert widget.state["selected"] == "a"
    model.selected = "b"
    model.changed()
    model.changed()
    assert throttle.step()
    assert widget.state["selected"] == "b"
    assert not throttle.step()


def test_what_lasts_travels_once(throttle: Throttle, tmp_path: Path) -> None:
    (tmp_path / "graph.js").write_text("export default {}", encoding="utf-8")
    model = Nodes()
    widget = ViewWidget(model)
    widget._repr_mimebundle_()
    whole = widget.state
    sent: list[str] = []
    widget.observe(lambda change: sent.append(change["name"]), ["state", "change"])
    model.selected = "a"
    widget.draw()
    assert sent == ["change"]
    assert widget.state is whole and "nodes" not in widget.change
    assert {**widget.state, **widget.change}["selected"] == "a"
    model.nodes = []
    widget.draw()
    # What had changed of the picture before must not lie over the new one.
    assert (widget.state["selected"], widget.change) == ("a", {})


def test_an_event_on_the_widgets_own_comm_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Observers()
    widget = ViewWidget(model)
    answers: list[dict[str, Any]] = []
    monkeypatch.setattr(widget, "send", answers.append)

    def ask(**event: object) -> None:
        widget._handle_custom_msg(gesture(model.id, event), [])

    ask(type="select", id="a")
    ask(type="select", id="z")
    widget._handle_custom_msg({"type": "hello", "version": PROTOCOL_VERSION, "views": []}, [])
    assert [answer["accepted"] for answer in answers] == [True, False, False]
    assert answers[1]["reason"] == "only a and b can be selected"
    assert answers[2]["reason"] == "this channel takes events only"
    assert model.selected == "a"
    assert selection.observer == "a"


def test_events_reach_a_model_that_only_a_widget_draws() -> None:
    model = Observers()
    widget = ViewWidget(model)
    assert registry.find(model.id) is widget.model
    assert model not in registry.models()


def test_a_closed_widget_lets_everything_go(throttle: Throttle) -> None:
    model = Observers()
    widget = ViewWidget(model)
    widget._repr_mimebundle_()
    model.changed()
    widget.close()
    assert throttle.delay() is None
    model.changed()
    assert throttle.delay() is None
    alive = weakref.ref(widget)
    del widget
    gc.collect()
    assert alive() is None


def test_a_missing_bundle_says_how_to_get_it() -> None:
    with pytest.raises(
        MissingBundle, match=r"the browser's part of the graph view is missing .*npm run build"
    ):
        bundle("graph")
