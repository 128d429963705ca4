"""How the shared selection and the view models follow each other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from workbench.live.messages import VIEWS, SampleEvent, SelectEvent, SelectPointsEvent
from workbench.live.model import Refused, ViewModel
from workbench.live.registry import Registry
from workbench.live.selection import Selected, Selection

__all__ = ["follow", "selected_by"]

logger = logging.getLogger(__name__)


def selected_by(view: str, event: object) -> dict[str, Any]:
    """Return the parts of the selection that `event`, done in `view`, has chosen; empty if none.

    >>> selected_by("graph", SelectEvent("select", "conv1"))
    {'node': 'conv1'}
    """
    part = VIEWS[view].selects
    if isinstance(event, SelectEvent) and part is not None:
        return {part: event.id}
    if isinstance(event, SelectPointsEvent):
        return {"points": event.indices}
    if isinstance(event, SampleEvent):
        return {"sample": event.index}
    return {}


def follow(selection: Selection, registry: Registry) -> Callable[[], None]:
    """Let every view model follow `selection`; return a function that stops it.

    Samples are not followed: another sample may cost a model seconds, so that stays a gesture in its view.
    """
    # A change says what is selected now; what was before is needed to tell which part has changed.
    seen = selection.now

    def changed(selected: Selected, source: str) -> None:
        nonlocal seen
        before, seen = seen, selected
        for model in registry.known():
            # The view in which it was done has done it already.
            event = None if model.id == source else _event_for(model.view, before, selected)
            if event is not None:
                _offer(model, event)

    return selection.listen(changed)


def _event_for(view: str, before: Selected, after: Selected) -> object | None:
    part = VIEWS[view].selects
    if part is None or getattr(after, part) == getattr(before, part):
        return None
    if part == "points":
        return SelectPointsEvent("select_points", list(after.points))
    return SelectEvent("select", getattr(after, part))


def _offer(model: ViewModel, event: object) -> None:
    """Hand over a selection that was made elsewhere; a model that does not have the thing stays as it is."""
    try:
        model.handle(event)
    # It has no such node, observer or point, which is no fault of anyone's.
    except Refused:
        return
    except Exception:  # a view model that fails must not keep the others from following
        logger.exception("%s could not follow the selection", model.id)
