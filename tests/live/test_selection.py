"""The selection that views and Python share."""

from __future__ import annotations

import numpy as np
import pytest

from tests.live.models import Nodes, Observers
from workbench.live.follow import follow
from workbench.live.registry import Registry
from workbench.live.selection import Selected, Selection


def test_parts_are_set_alone_or_together() -> None:
    selection = Selection()
    selection.node = "conv1"
    selection.points = np.array([4, 2])
    selection.sample = np.int64(3)
    selection.set(observer="conv1.output")
    assert selection.now == Selected("conv1", "conv1.output", (4, 2), 3)
    assert all(type(index) is int for index in selection.points)
    selection.clear()
    assert selection.now == Selected()


def test_listeners_hear_of_changes_with_their_source_and_only_of_changes() -> None:
    selection, heard = Selection(), []
    stop = selection.listen(lambda now, source: heard.append((now.node, source)))
    selection.node = "a"
    selection.node = "a"
    selection.set(node="b", source="graph-1")
    stop()
    selection.node = "c"
    assert heard == [("a", "python"), ("b", "graph-1")]


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("node", 3, "selection.node is a node's identity as text, or None; got int"),
        ("observer", b"a", "selection.observer is a observer's identity as text, or None; got bytes"),
        ("points", "12", r"selection.points is a sequence of indices, e.g. \[4, 7\]; got str"),
        ("points", 4, "selection.points is a sequence of indices"),
        ("points", [1.5], "selection.points takes whole numbers; got float"),
        ("points", [-1], "selection.points takes indices from 0; got -1"),
        ("sample", True, "selection.sample takes whole numbers; got bool"),
        ("colour", "red", "a selection has no part 'colour'; it has node, observer, points and sample"),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(part: str, value: object, words: str) -> None:
    selection = Selection()
    selection.set(node="a", points=[1])
    with pytest.raises(TypeError, match=words):
        selection.set(**{"observer": "changed", part: value})  # type: ignore[arg-type]
    assert selection.now == Selected(node="a", points=(1,))


def test_view_models_follow_and_those_without_the_thing_stay() -> None:
    selection, registry = Selection(), Registry()
    graph, one, other = registry.show(Nodes()), Observers(), registry.show(Observers())
    registry.know(one)  # only in a cell
    stop = follow(selection, registry)
    selection.set(node="conv1", observer="a")
    assert (graph.selected, one.selected, other.selected) == ("conv1", "a", "a")
    selection.observer = "unknown"
    assert (one.selected, other.selected) == ("a", "a")
    selection.set(observer="b", source=one.id)
    assert (one.selected, other.selected) == ("a", "b"), "who selected is not told"
    stop()
    selection.observer = "a"
    assert other.selected == "b"


def test_a_model_that_fails_does_not_keep_others_from_following(caplog: pytest.LogCaptureFixture) -> None:
    selection, registry = Selection(), Registry()
    broken, fine = registry.show(Observers()), registry.show(Observers())
    broken.fault = ZeroDivisionError()
    follow(selection, registry)
    selection.observer = "a"
    assert fine.selected == "a"
    assert f"{broken.id} could not follow the selection" in caplog.text
