"""What a page says is checked before anything is done with it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.live.models import gesture
from workbench.live.messages import (
    PROTOCOL_VERSION,
    VIEWS,
    Hello,
    Request,
    SampleEvent,
    SelectEvent,
    SelectPointsEvent,
    SetRangeEvent,
)
from workbench.live.model import Refused
from workbench.live.validate import MAXIMUM_ITEMS, MAXIMUM_TEXT, parse_event, parse_message

RANGE: dict[str, Any] = {"type": "set_range", "id": "a", "low": -1, "high": 2.5, "final": True}

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def test_well_formed_messages_become_dataclasses() -> None:
    hello = {"type": "hello", "version": PROTOCOL_VERSION, "views": ["graph"]}
    assert parse_message(hello) == Hello("hello", PROTOCOL_VERSION, ["graph"])
    request = gesture("graph-1", {"type": "select"}, 7, sender="page", oldest=3)
    assert parse_message(request) == Request(
        "event", PROTOCOL_VERSION, "page", 7, 3, "graph-1", {"type": "select"}
    )
    assert parse_event("histogram", RANGE) == SetRangeEvent("set_range", "a", -1.0, 2.5, True)
    assert parse_event("histogram", {"type": "select", "id": None}) == SelectEvent("select", None)
    assert parse_event("heatmap", {"type": "sample", "index": 3}) == SampleEvent("sample", 3)
    points = parse_event("scatter", {"type": "select_points", "indices": [4, 2]})
    assert points == SelectPointsEvent("select_points", [4, 2])


def test_whole_numbers_stand_for_floats() -> None:
    event = parse_event("histogram", RANGE)
    assert isinstance(event, SetRangeEvent)
    assert type(event.low) is float


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"low": "1"}, "'set_range'.low is a number, not '1'"),
        ({"low": True}, "'set_range'.low is a number, not True"),
        ({"low": None}, "'set_range'.low is a number, not None"),
        ({"low": math.nan}, "'set_range'.low is not a finite number"),
        ({"high": math.inf}, "'set_range'.high is not a finite number"),
        ({"high": 10**400}, "'set_range'.high is not a finite number"),
        ({"final": 1}, "'set_range'.final is true or false, not 1"),
        ({"id": 7}, "'set_range'.id is text, not 7"),
        ({"id": "x" * (MAXIMUM_TEXT + 1)}, "'set_range'.id has 1,001 characters; at most 1,000 are taken"),
        ({"extra": 1}, "'set_range' has no field 'extra'; its fields are type, id, low, high, final"),
        (
            {"type": "explode"},
            "the histogram view has no event of type 'explode'; it has 'choose', 'compare', 'redo'",
        ),
        ({"type": ["set_range"]}, "the histogram view has no event of type a list of 1"),
    ],
)
def test_a_wrong_event_is_refused_with_the_reason(change: dict[str, object], words: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_event("histogram", {**RANGE, **change})
    assert words in str(caught.value)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(Refused, match="'set_range' lacks the field 'low'"):
        parse_event("histogram", {"type": "set_range", "id": "a"})


def test_an_event_of_another_view_is_refused() -> None:
    with pytest.raises(Refused, match="the graph view has no event of type 'set_range'; it has 'select'"):
        parse_event("graph", RANGE)


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        ([1.5], r"'select_points'.indices\[0\] is a whole number, not 1.5"),
        ([0, "1"], r"'select_points'.indices\[1\] is a whole number, not '1'"),
        ([2**60], r"'select_points'.indices\[0\] is beyond ±2\*\*53"),
        ("12", "'select_points'.indices is a list, not '12'"),
        ([0] * (MAXIMUM_ITEMS + 1), "'select_points'.indices has 100,001 entries; at most 100,000 are taken"),
    ],
)
def test_lists_are_checked_and_bounded(indices: object, words: str) -> None:
    with pytest.raises(Refused, match=words):
        parse_event("scatter", {"type": "select_points", "indices": indices})


@pytest.mark.parametrize("version", [0, 1, 5, 7, "6", None, True, 6.5])
def test_another_version_is_refused_with_what_to_do(version: object) -> None:
    with pytest.raises(Refused, match="reload the page after updating, or restart the kernel"):
        parse_message({"type": "hello", "version": version, "views": []})


def outcome(parse: Callable[[], object]) -> object:
    """What parsing returns: a message, or the words of the refusal. Anything else it may raise is a failure."""
    try:
        return parse()
    except Refused as refusal:
        return str(refusal)


@given(plain)
@example({"type": "event", "version": PROTOCOL_VERSION})
@example({"type": "hello", "version": PROTOCOL_VERSION, "views": [["graph"]]})
@example({1: 2})
def test_no_message_does_anything_but_parse_or_be_refused(data: object) -> None:
    result = outcome(lambda: parse_message(data))
    assert isinstance(result, Hello | Request) or 0 < len(str(result)) < 500


@given(st.sampled_from(sorted(VIEWS)), plain)
def test_no_event_does_anything_but_parse_or_be_refused(view: str, data: object) -> None:
    result = outcome(lambda: parse_event(view, data))
    assert isinstance(result, VIEWS[view].events) or 0 < len(str(result)) < 500


@given(
    st.sampled_from(sorted(VIEWS)),
    st.sampled_from(["select", "set_range", "sample", "slice", "select_points", "set_neighbours"]),
    st.dictionaries(
        st.sampled_from(["id", "low", "high", "final", "index", "axis", "indices", "metric", "k"]), plain
    ),
)
def test_an_accepted_event_survives_json_and_is_finite(view: str, kind: str, fields: dict[str, Any]) -> None:
    try:
        event = parse_event(view, {"type": kind, **fields})
    except Refused:
        return
    text = json.dumps(vars(event), allow_nan=False)
    assert parse_event(view, json.loads(text)) == event
