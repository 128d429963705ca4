"""Bookmarks of the projector as states of TensorBoard's, and back.

What both know (name, selection, what is shown, colour, label, camera, projection) goes over; the whole arrangement
lies beside it under a name of its own. A page without a kernel does the same in ``scatter/bookmarkfile.ts``, and the
examples of ``tests/bookmarks.json`` there hold both to one form.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Literal

from workbench.embedding.bookmarks import State
from workbench.live.messages import ScatterArrangement, ScatterBookmark, ScatterHidden, ScatterRange

__all__ = ["bookmarks_of", "state_of"]

_DISTANCE = 1.9
"""How far TensorBoard's camera stands from the middle at first."""
_METHODS = ("pca", "tsne", "umap", "custom")
_MOST_FILTERS = 100
_MOST_NAME = 200
_K = 12
_LARGEST = sys.float_info.max


def state_of(bookmark: ScatterBookmark, size: tuple[int, int], first: bool) -> State:
    """Return the state that TensorBoard's projector would go to, of points [N, features]."""
    arrangement = bookmark.arrangement
    method = arrangement.projection.replace("-", "")
    return {
        "label": bookmark.name,
        "isSelected": first,
        "projections": [],
        "selectedProjection": next((one for one in _METHODS if method.startswith(one)), "pca"),
        "dataSetDimensions": list(size),
        "pcaComponentDimensions": [0, 1, 2],
        "selectedPoints": arrangement.selected,
        "filteredPoints": arrangement.isolated,
        "selectedColorOptionName": arrangement.colour,
        "selectedLabelOption": arrangement.label,
        "cameraDef": _camera_out(arrangement.camera),
        "workbench": asdict(arrangement),
    }


def bookmarks_of(states: Iterable[State], count: int) -> list[ScatterBookmark]:
    """Return what states say of a picture of `count` points: what is none of it is left out."""
    return [
        ScatterBookmark(
            _words(state.get("label"))[:_MOST_NAME] or f"State {place}",
            _own(kept, count)
            if isinstance(kept := state.get("workbench"), Mapping)
            else _foreign(state, count),
        )
        for place, state in enumerate(states)
    ]


def _foreign(state: State, count: int) -> ScatterArrangement:
    shown = _words(state.get("selectedProjection"))
    return ScatterArrangement(
        projection="t-sne" if shown == "tsne" else shown,
        camera=_camera_in(state.get("cameraDef")),
        label=_words(state.get("selectedLabelOption")),
        colour=_words(state.get("selectedColorOptionName")),
        hidden=[],
        ranges=[],
        isolated=_points(state.get("filteredPoints"), count),
        selected=_points(state.get("selectedPoints"), count) or [],
        metric="cosine",
        k=_K,
    )


def _own(kept: State, count: int) -> ScatterArrangement:
    camera, k = _numbers(kept.get("camera")), kept.get("k")
    metric: Literal["cosine", "euclidean"] = "euclidean" if kept.get("metric") == "euclidean" else "cosine"
    return ScatterArrangement(
        projection=_words(kept.get("projection")),
        camera=camera if len(camera) == 6 and camera[2] > 0 else [],
        label=_words(kept.get("label")),
        colour=_words(kept.get("colour")),
        hidden=[
            ScatterHidden(_words(one.get("column")), [_words(value) for value in values])
            for one in _parts(kept.get("hidden"))
            if isinstance(values := one.get("values"), list)
        ],
        ranges=[
            ScatterRange(_words(one.get("column")), *ends)
            for one in _parts(kept.get("ranges"))
            if len(ends := _numbers([one.get("low"), one.get("high")])) == 2 and ends[0] <= ends[1]
        ],
        isolated=_points(kept.get("isolated"), count),
        selected=_points(kept.get("selected"), count) or [],
        metric=metric,
        k=k if type(k) is int and 1 <= k <= 999 else _K,
    )


def _words(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _points(value: Any, count: int) -> list[int] | None:
    if not isinstance(value, list):
        return None
    return [one for one in value if type(one) is int and 0 <= one < count]


def _numbers(value: Any) -> list[float]:
    found = value if isinstance(value, list) else []
    # Compared and not converted: a whole number of a file may be beyond all floats. NaN compares with nothing.
    finite = all(
        isinstance(one, int | float) and type(one) is not bool and abs(one) <= _LARGEST for one in found
    )
    return [float(one) for one in found] if finite else []


def _parts(value: Any) -> list[State]:
    found = value if isinstance(value, list) else []
    return [one for one in found if isinstance(one, Mapping)][:_MOST_FILTERS]


def _camera_out(camera: list[float]) -> State:
    yaw, pitch, zoom, _, _, flat = camera or (0.6, 0.32, 1.0, 0.0, 0.0, 0.0)
    far = _DISTANCE / max(zoom, 1e-3)
    return {
        "orthographic": flat > 0.5,
        "position": {
            "x": -math.cos(pitch) * math.sin(yaw) * far,
            "y": math.sin(pitch) * far,
            "z": math.cos(pitch) * math.cos(yaw) * far,
        },
        "target": {"x": 0, "y": 0, "z": 0},
        "zoom": zoom,
    }


def _camera_in(given: Any) -> list[float]:
    position = given.get("position") if isinstance(given, Mapping) else None
    if not isinstance(given, Mapping) or not isinstance(position, Mapping):
        return []
    place = _numbers([position.get(axis) for axis in "xyz"])
    far = math.hypot(*place)
    if len(place) != 3 or not 0 < far < math.inf:
        return []
    x, y, z = place
    zoom = min(400.0, max(0.1, _DISTANCE / far))
    flat = 1.0 if given.get("orthographic") is True else 0.0
    return [math.atan2(-x, z), math.asin(y / far), zoom, 0.0, 0.0, flat]
