"""How the shared selection and the view models follow each other."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from workbench.live.messages import VIEWS, SelectEvent, SelectPointsEvent
from workbench.live.model import Refused, ViewModel
from workbench.live.registry import Registry
from workbench.live.selection import Selected, Selection

__all__ = ["follow", "following", "selected_by"]

logger = logging.getLogger(__name__)

_thread = threading.local()


def following() -> bool:
    """Say whether this thread shows in one view what was selected in another: that is no selection of its own."""
    return getattr(_thread, "following", False)


def selected_by(model: ViewModel, event: object) -> dict[str, Any]:
    """Return the parts of the selection that `event`, done in the view of `model`, has chosen; empty if none."""
    part = VIEWS[model.view].selects
    if isinstance(event, SelectEvent) and part is not None:
        return {part: event.id}
    sample = model.sample_of(event)
    chosen: dict[str, Any] = {} if sample is None else {"sample": sample}
    if isinstance(event, SelectPointsEvent):
        chosen["points"] = event.indices
    return chosen


def follow(selection: Selection, registry: Registry) -> Callable[[], None]:
    """Let every view model follow `selection`; return a function that stops it.

    A point that is a sample, a sample of an attribution and an entry of a batch are one thing where they have one
    number: a projector of test images, a heatmap and the images show the same one. A node of a graph, the observer of
    its values and the channels of a layer are found by where they lie in the model.
    """
    # A change says what is selected now; what was before is needed to tell which part has changed.
    seen = selection.now

    def changed(selected: Selected, source: str) -> None:
        nonlocal seen
        before, seen = seen, selected
        outer, _thread.following = following(), True
        try:
            _show(registry, source, before, selected)
        finally:
            _thread.following = outer

    return selection.listen(changed)


def _show(registry: Registry, source: str, before: Selected, selected: Selected) -> None:
    """Let every model but that of `source` show what is selected now and was not before."""
    places = _places(registry, source, before, selected)
    origin = registry.find(source)
    # Numbers that Python gives are meant as they are.
    samples = selected.points if origin is None else origin.samples_of(selected.points)
    for model in registry.known():
        # The view in which it was done has done it already.
        if model.id == source:
            continue
        event = _event_for(model.view, before, selected)
        if event is not None:
            _offer(model, partial(_take, model, () if origin is None else samples), event)
        elif places and (VIEWS[model.view].selects in ("node", "observer") or model.by_place):
            _offer(model, model.show_place, places)
        elif selected.sample is not None and selected.sample != before.sample:
            _offer(model, model.show_sample, selected.sample)
        if len(samples) > 1 and selected.points != before.points:
            _offer(model, model.show_points, samples)


def _places(registry: Registry, source: str, before: Selected, after: Selected) -> tuple[str, ...]:
    """Where in a model that lies which was picked: a node and an observer of one layer are shown together."""
    origin = registry.find(source)
    part = None if origin is None else VIEWS[origin.view].selects
    if origin is None or part is None or getattr(after, part) == getattr(before, part):
        return ()
    if part == "points":
        return origin.places_of(str(after.points[0])) if after.points else ()
    picked: str | None = getattr(after, part)
    return () if picked is None else origin.places_of(picked)


def _event_for(view: str, before: Selected, after: Selected) -> object | None:
    part = VIEWS[view].selects
    if part is None or getattr(after, part) == getattr(before, part):
        return None
    if part == "points":
        return SelectPointsEvent("select_points", list(after.points))
    return SelectEvent("select", getattr(after, part))


def _take(model: ViewModel, samples: tuple[int, ...], event: object) -> None:
    """Let a model select; points that are samples are found by these: in another cloud they have other numbers."""
    own = model.points_of(samples) if samples and isinstance(event, SelectPointsEvent) else None
    model.handle(event if own is None else SelectPointsEvent("select_points", list(own)))


def _offer(model: ViewModel, take: Callable[[Any], None], chosen: object) -> None:
    """Hand over a selection that was made elsewhere; a model that does not have the thing stays as it is."""
    try:
        take(chosen)
    # It has no such node, observer or point, which is no fault of anyone's.
    except Refused:
        return
    except Exception:  # a view model that fails must not keep the others from following
        logger.exception("%s could not follow the selection", model.id)
