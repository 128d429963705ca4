"""A view model as a widget in a cell: the same picture as in the panel, kept in the notebook's file.

The widget's state holds one complete picture, and beside it what has changed of it since, so a notebook that was
saved with its widgets shows the last one without a kernel. What a person does in the widget travels on the control
channel of the live link, which is served while a cell runs. A front end that gives widgets no access to its kernel uses
the widget's own comm instead: then what a person does waits until the running cell has ended.

The output in the notebook has three parts: the widget, a static picture for where no widget can be made
(`workbench.widgets.stills`), and a type by which JupyterLab's extension of ours knows that it is to see to both.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from workbench.base import events
from workbench.live.answer import answer, answering
from workbench.live.changes import Sent, encode_news
from workbench.live.encode import encode_snapshot
from workbench.live.ledger import ledger
from workbench.live.link import KERNEL
from workbench.live.messages import PROTOCOL_VERSION
from workbench.live.model import Snapshot, ViewModel
from workbench.live.registry import registry
from workbench.live.selection import selection
from workbench.live.throttle import throttle
from workbench.widgets.stills import OUTPUT, still

__all__ = ["STATIC", "HearingWidget", "MissingBundle", "ViewWidget", "bundle"]

STATIC = Path(__file__).parent / "static"
"""Where the browser's part of each widget lies, one file a view; made from ``extensions/widgets``."""


class MissingBundle(FileNotFoundError):
    """The browser's part of a widget was not built."""


def bundle(view: str) -> str:
    """Return the JavaScript that draws `view`.

    Raises:
        MissingBundle: it was not built.
    """
    path = STATIC / f"{view}.js"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingBundle(
            f"the browser's part of the {view} view is missing ({path}): the package was installed "
            "without its front end; install a wheel, or run `npm ci && npm run build` in extensions/"
        ) from None


def _follows_nothing() -> None:
    """Stand for the end of following until there is something to end: a widget that was not made is closed too."""


class ViewWidget(anywidget.AnyWidget):
    """Draws `model` in a cell and follows it.

    Pictures are made from the moment the widget is displayed, at the pace of `workbench.live.throttle`.

    Raises:
        MissingBundle: the browser's part of the view was not built.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    view = traitlets.Unicode(read_only=True, help="Name of the view.").tag(sync=True)
    view_model = traitlets.Unicode(read_only=True, help="Identity of the view model.").tag(sync=True)
    kernel = traitlets.Unicode(read_only=True, help="Identity of the process.").tag(sync=True)
    version = traitlets.Int(PROTOCOL_VERSION, read_only=True, help="Version of the state.").tag(sync=True)
    state = traitlets.Dict(help="One complete state, as plain data.").tag(sync=True)
    change = traitlets.Dict(help="Fields that are others by now.").tag(sync=True)
    buffers = traitlets.List(traitlets.Bytes(), help="What the state's buffer fields point to.").tag(
        sync=True
    )

    _stop: Callable[[], None] = staticmethod(_follows_nothing)

    def __init__(self, model: ViewModel, **traits: Any) -> None:
        registry.know(model)
        snapshot = model.snapshot()
        state, buffers = encode_snapshot(model.view, snapshot)
        # Read-only traits: only `set_trait` may give them a value.
        self.set_trait("view", model.view)
        self.set_trait("view_model", model.id)
        self.set_trait("kernel", KERNEL)
        super().__init__(_esm=bundle(model.view), state=state, buffers=buffers, **traits)
        self._model = model
        self._sent = Sent(snapshot)
        self._displayed = False
        self._stop = model.listen(_Follower(self))
        self.on_msg(self._received)

    @property
    def model(self) -> ViewModel:
        """The view model that this widget draws."""
        return self._model

    def draw(self) -> None:
        """Bring the picture up to date now."""
        self._show(self._model.snapshot())

    def _show(self, snapshot: Snapshot) -> None:
        fields, buffers, whole = encode_news(self._model.view, snapshot, self._sent)
        with self.hold_sync():  # all travel in one message, as one belongs to the other
            self.buffers = buffers
            if whole:
                self.state = fields
                self._sent = Sent(snapshot)
            self.change = {} if whole else fields

    def close(self) -> None:
        """Take the widget out of every page and stop following the view model."""
        self._stop()
        throttle.forget(self._key)
        super().close()

    @property
    def _key(self) -> str:
        # A widget's own model serves panels too: each has its own pace.
        return f"widget {id(self)}"

    def _changed(self) -> None:
        if self._displayed:
            throttle.request(self._key, _Follower(self).draw, urgent=answering())

    def _received(self, widget: object, content: object, buffers: object) -> None:
        """Answer an event that came on the widget's own comm."""
        reply = answer(content, registry, selection, ledger)
        if reply is not None:
            self.send(vars(reply))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        self._displayed = True  # a widget that is made and never shown makes no pictures
        # What a cell shows stands at the side, too: the same model, so that both say the same.
        registry.show(self._model)
        snapshot = self._model.snapshot()
        self._show(snapshot)
        bundle = super()._repr_mimebundle_(**options)
        assert bundle is not None  # only a widget without a view has none
        data, metadata = bundle
        return {**data, "text/html": still(snapshot), OUTPUT: {"view": self.view}}, metadata


class _Follower:
    """Listens to a view model for a widget without keeping the widget alive."""

    def __init__(self, widget: ViewWidget) -> None:
        self._widget = weakref.ref(widget)

    def __call__(self, model: ViewModel) -> None:
        widget = self._widget()
        if widget is not None:
            widget._changed()

    def draw(self) -> None:
        widget = self._widget()
        if widget is not None:
            widget.draw()


class HearingWidget(ViewWidget):
    """Draws `model` in a cell, and hears when `source` is published, whether a panel looks or not."""

    _deaf: Callable[[], None] = staticmethod(_follows_nothing)

    def __init__(self, model: ViewModel, source: object, **traits: Any) -> None:
        super().__init__(model, **traits)
        self._deaf = events.subscribe(type(source), _Ear(model, source))
        # Also where nobody closes it.
        weakref.finalize(self, self._deaf)

    def close(self) -> None:
        """Take the widget out of every page and listen no longer."""
        self._deaf()
        super().close()


class _Ear:
    """Passes on what a source publishes to its view model, without keeping either alive."""

    def __init__(self, model: ViewModel, source: object) -> None:
        self._model = weakref.ref(model)
        # Both weakly: who publishes lives on, and this is among its listeners.
        self._source = weakref.ref(source)

    def __call__(self, source: object) -> None:
        model = self._model()
        if model is not None and self._source() is source:
            model.changed()
