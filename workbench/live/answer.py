"""What becomes of a page's request: checked, handed to its view model, and answered in words.

The same for every way in which a request can arrive: the control channel, or a widget's own comm.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from workbench.live.follow import selected_by
from workbench.live.ledger import Ledger
from workbench.live.messages import PROTOCOL_VERSION, Reply, Request
from workbench.live.model import Refused
from workbench.live.registry import Registry
from workbench.live.selection import Selection
from workbench.live.validate import parse_event, parse_message

__all__ = ["answer", "answering", "asked", "refuse"]

logger = logging.getLogger(__name__)

_thread = threading.local()


def answering() -> bool:
    """Say whether this thread is doing what a person asked: pictures that come of it are urgent."""
    return getattr(_thread, "answering", False)


@contextmanager
def asked() -> Iterator[None]:
    """Do what a person asked, or tell what they wait for: pictures that come of it are urgent.

    >>> with asked():
    ...     print(answering())
    True
    >>> answering()
    False
    """
    before = answering()
    # Of this thread: what a cell publishes meanwhile, in its own, is nobody's wish.
    _thread.answering = True
    try:
        yield
    finally:
        # In any case: the thread goes on to serve others.
        _thread.answering = before


def answer(said: object, registry: Registry, selection: Selection, ledger: Ledger) -> Reply | None:
    """Do what the request `said` asks, or nothing, and return what the page is told.

    `said` is plain data as it came from the page, or a `Request`. What arrives again is answered again, and done once;
    None if it is not its turn, and the page will send it again. An exception of the view model is logged and answered
    without its details.
    """
    # Known only once the message could be read: until then a refusal answers nobody in particular.
    request: Request | None = None
    try:
        message = said if isinstance(said, Request) else parse_message(said)
        if not isinstance(message, Request):
            raise Refused("this channel takes events only")
        request = message
        return ledger.once(request, lambda one: _answer(one, registry, selection))
    except Refused as refusal:
        return refuse(str(refusal), request)


def refuse(reason: str, request: Request | None = None) -> Reply:
    """Return the answer that something was not done; to no request in particular, if it could not be read."""
    if request is None:
        return Reply("reply", PROTOCOL_VERSION, "", 0, "", False, reason)
    return Reply("reply", PROTOCOL_VERSION, request.sender, request.number, request.model, False, reason)


def _answer(request: Request, registry: Registry, selection: Selection) -> Reply:
    try:
        _do(request, registry, selection)
    except Refused as refusal:
        return refuse(str(refusal), request)
    except Exception as fault:  # whatever a view model does, the page gets its answer
        logger.exception("an event for %s failed", request.model)
        return refuse(f"internal error ({type(fault).__name__}); the log of the kernel says more", request)
    return Reply("reply", PROTOCOL_VERSION, request.sender, request.number, request.model, True, "")


def _do(request: Request, registry: Registry, selection: Selection) -> None:
    model = registry.find(request.model)
    if model is None:
        raise Refused("this picture is not in the kernel any more; run its cell again")
    event = parse_event(model.view, request.event)
    with asked():
        model.handle(event)
    # After the view model has accepted it: what was refused selects nothing elsewhere.
    chosen: Mapping[str, Any] = selected_by(model, event)
    if chosen:
        selection.set(source=model.id, **chosen)
