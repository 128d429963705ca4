"""States as they travel."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tests.live.models import Nodes, Observers
from workbench.live import encode as encoding
from workbench.live.encode import encode, encode_snapshot
from workbench.live.messages import Candidate, Dim, SelectEvent
from workbench.live.model import Snapshot


def test_dataclasses_become_plain_data_and_what_is_not_finite_becomes_none() -> None:
    value = {"dim": Dim(None, 3), "rows": (Candidate("L2", -math.inf, 1.5, math.nan),), "flag": True}
    plain = encode(value)
    assert plain == {
        "dim": {"name": None, "size": 3},
        "rows": [{"name": "L2", "low": None, "high": 1.5, "sqnr": None}],
        "flag": True,
    }
    json.dumps(plain, allow_nan=False)


def test_numbers_of_numpy_travel_as_pythons() -> None:
    value = [np.float32(0.5), np.int64(3), np.bool_(True), np.float64("nan"), np.uint8(7)]
    plain = encode(value)
    assert plain == [0.5, 3, True, None, 7]
    assert [type(entry) for entry in plain] == [float, int, bool, type(None), int]  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [np.zeros(3), b"bytes", {1, 2}, object(), 1j])
def test_other_things_are_an_error_that_says_what_to_use(value: object) -> None:
    with pytest.raises(
        TypeError, match=f"a state holds a {type(value).__name__}, which cannot travel to a page"
    ):
        encode([value])


def test_a_snapshot_must_fit_its_view() -> None:
    state, buffers = encode_snapshot("histogram", Observers().snapshot())
    assert state["kind"] == "histogram"
    assert buffers == [b"\x00\x01"]
    with pytest.raises(TypeError, match="the histogram view draws HistogramState, not GraphState"):
        encode_snapshot("histogram", Nodes().snapshot())
    with pytest.raises(TypeError, match="TensorState or FlowState or ClashState, not SelectEvent"):
        encode_snapshot("shapes", Snapshot(SelectEvent("select", None)))


def test_a_picture_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MAXIMUM_BYTES", 1)
    with pytest.raises(
        ValueError, match=r"MB of buffers, more than the .* MB that are sent; draw fewer points"
    ):
        encode_snapshot("histogram", Observers().snapshot())
