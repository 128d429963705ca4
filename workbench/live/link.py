"""The kernel's end of the link: what a page may ask, what it is told, and when.

Two channels (Jupyter's comms) join a page and the kernel, because a kernel serves a comm in the thread that
last wrote to it:

- *control*, opened by every page, is written to only from the thread that answers on it. It is served while
  a cell runs, so a person who drags a range changes the very next batch.
- *data*, one for all pages, carries states. The thread that makes pictures writes to it.

A page says hello with the views that it draws and repeats it every half minute. Pages that fell silent are
forgotten after three minutes. Without a page nothing is built; what is published is noted for three minutes
more, because a page that is being loaded, or reloaded, will want to show it, and then nobody listens.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from workbench.live.answer import answer, answering, refuse
from workbench.live.changes import Sent, encode_news
from workbench.live.ledger import Ledger, ledger
from workbench.live.messages import (
    PROTOCOL_VERSION,
    VIEWS,
    Announcement,
    Hello,
    Trouble,
    Update,
    Welcome,
    Withdrawal,
)
from workbench.live.model import Refused, ViewModel
from workbench.live.registry import Change, Registry
from workbench.live.renderers import Renderers
from workbench.live.selection import Selection
from workbench.live.throttle import Throttle, throttle
from workbench.live.validate import parse_message

__all__ = ["CONTROL", "DATA", "KERNEL", "SILENCE", "Channel", "KernelLink"]

logger = logging.getLogger(__name__)

CONTROL = "workbench.control"
"""Comm target that a page opens to speak to the kernel."""

DATA = "workbench.data"
"""Comm target of the channel that carries states."""

SILENCE = 180.0
"""A page that has said nothing for so many seconds is taken to be gone; hidden pages speak once a minute."""

KERNEL = uuid.uuid4().hex
"""Identity of this process: a picture made by another one cannot be asked anything."""


class Channel(Protocol):
    """What the link needs of a Jupyter comm."""

    @property
    def comm_id(self) -> str:
        """Identity of the channel, the same at both ends."""

    def send(self, data: dict[str, Any], *, buffers: Sequence[bytes] | None = None) -> None:
        """Write one message."""


@dataclass(frozen=True)
class Page:
    """One page that listens: what it draws, and until when it is believed to be there."""

    views: frozenset[str]
    expires: float


class KernelLink:
    """Joins the registry of view models with the pages that listen.

    `data` is the channel for states. Everything is safe to be called from any thread.
    """

    def __init__(
        self,
        data: Channel,
        registry: Registry,
        renderers: Renderers,
        selection: Selection,
        *,
        clock: Callable[[], float] = time.monotonic,
        throttle: Throttle = throttle,
        ledger: Ledger = ledger,
    ) -> None:
        self._data = data
        self._registry = registry
        self._renderers = renderers
        self._selection = selection
        self._clock = clock
        self._lock = threading.RLock()
        self._pages: dict[str, Page] = {}
        self._sent: dict[str, int] = {}  # how many pictures of each model
        self._had: dict[str, Sent] = {}  # of each model, what every page has that draws it
        self._watched: frozenset[str] = frozenset()
        self._alone_since = clock()
        self._throttle = throttle
        self._ledger = ledger
        registry.listen(self._registry_changed)
        renderers.start()

    def watched(self) -> frozenset[str]:
        """Return the views that some page draws now."""
        now = self._clock()
        with self._lock:
            silent = [identity for identity, page in self._pages.items() if page.expires < now]
            for identity in silent:
                self._forget(identity)
            return self._watched

    # ------------------------------------------------------------------------------- what a page says

    def receive(self, control: Channel, message: Mapping[str, Any]) -> None:
        """Answer one message of a page on its control channel, the one that opened it included."""
        try:
            # No message of a page has buffers: what is not used need not be trusted.
            if message.get("buffers"):
                raise Refused("a page sends no binary buffers")
            said = parse_message(message["content"].get("data"))
            if isinstance(said, Hello):
                self._greet(control, said)
                return
        except Refused as refusal:
            control.send(vars(refuse(str(refusal))))
            return
        reply = answer(said, self._registry, self._selection, self._ledger)
        if reply is not None:
            control.send(vars(reply))

    def leave(self, control: Channel) -> None:
        """Forget the page of this control channel: it has closed it."""
        with self._lock:
            self._forget(control.comm_id)

    def _greet(self, control: Channel, hello: Hello) -> None:
        unknown = [view for view in hello.views if view not in VIEWS]
        if unknown:
            raise Refused(f"there is no view {unknown[0]!r}; the views are {', '.join(VIEWS)}")
        views = frozenset(hello.views)
        # Whether the page was known is decided before it is written down: a new one gets every picture.
        with self._lock:
            before = self._pages.get(control.comm_id)
            self._pages[control.comm_id] = Page(views, self._clock() + SILENCE)
            self._watched = self._union()
        # It may have been stopped in the quiet before this page came.
        self._renderers.start()
        control.send(vars(Welcome("welcome", PROTOCOL_VERSION, KERNEL, self._data.comm_id)))
        for model in self._registry.models():
            fresh = before is None or model.view not in before.views
            # What is on its way at this moment counts as lost, too: one picture more is no harm.
            with self._lock:
                lost = hello.have.get(model.id, 0) != self._sent.get(model.id, 0)
            if model.view in views and (fresh or lost):
                with self._lock:
                    self._had.pop(model.id, None)
                self._request(model.id, urgent=True)

    # ------------------------------------------------------------------------------ what a page is told

    def _registry_changed(self, change: Change, model: ViewModel) -> None:
        if not self._pages:
            self._rest()
        elif change == "gone":
            self._throttle.forget(self._key(model.id))
            with self._lock:
                self._sent.pop(model.id, None)
                self._had.pop(model.id, None)
            self._send(vars(Withdrawal("gone", PROTOCOL_VERSION, model.id)))
        elif model.view in self._watched:
            self._request(model.id, urgent=answering())

    def _request(self, identity: str, *, urgent: bool) -> None:
        self._throttle.request(self._key(identity), lambda: self._draw(identity), urgent=urgent)

    def _key(self, identity: str) -> str:
        return f"panel {identity}"

    def _draw(self, identity: str) -> None:
        """Make and send one picture; called by the throttle's thread."""
        model = self._registry.find(identity)
        order = self._registry.order(identity)
        if model is None or order is None or model.view not in self.watched():
            # Asked again: between the request and now the last page may have gone.
            return
        # Taken before the picture is made: a page that comes meanwhile takes it away, and is not given a change.
        with self._lock:
            had = self._had.get(identity)
        try:
            snapshot = model.snapshot()
            fields, buffers, whole = encode_news(model.view, snapshot, had)
        except Exception as fault:  # a view model that fails must not take the others' pictures with it
            logger.exception("no picture of %s could be made", identity)
            reason = f"no picture could be made ({type(fault).__name__}); the log of the kernel says more"
            self._send(vars(Trouble("trouble", PROTOCOL_VERSION, model.view, identity, reason)))
            return
        # Counted before it is sent: one that gets lost is then missed by the page at its next hello.
        with self._lock:
            number = self._sent[identity] = self._sent.get(identity, 0) + 1
            # A page that came since then asks for another picture, which is to be whole.
            if self._had.get(identity) is had:
                self._had[identity] = Sent(snapshot)
        where = PROTOCOL_VERSION, model.view, identity, order, number
        if whole or had is None:
            self._send(vars(Announcement("state", *where, fields)), buffers)
            return
        kept = had.places(buffers)
        news = [buffer for buffer, place in zip(buffers, kept, strict=True) if place < 0]
        self._send(vars(Update("update", *where, fields, kept)), news)

    def _send(self, message: dict[str, Any], buffers: Sequence[bytes] | None = None) -> None:
        self._data.send(message, buffers=buffers)

    # --------------------------------------------------------------------------------- who is listening

    def _union(self) -> frozenset[str]:
        # All of them together, kept: it is asked for at every change of every model.
        return frozenset[str]().union(*(page.views for page in self._pages.values()))

    def _forget(self, page: str) -> None:
        self._pages.pop(page, None)
        self._watched = self._union()
        self._alone_since = self._clock()

    def _rest(self) -> None:
        """Listen no longer, if no page has been there for long: publishing then costs nothing again."""
        if self._clock() - self._alone_since > SILENCE:
            self._renderers.stop()
