"""One tensor as a live view: its dims, statistics, a picture, and sliders for the dims that are not drawn."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from workbench.live.messages import SliceEvent, TensorState
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.tensor import Tensor
from workbench.widgets.base import ViewWidget
from workbench.widgets.values import draw, statistics_of, tensor_state, values_of

__all__ = ["TensorModel", "TensorWidget"]

MOST_VALUES = 1 << 18
"""Most values that travel to the picture in a page."""


class TensorModel(ViewModel):
    """Draws `tensor` under the name `title`; `source` says where it came from.

    Call `changed` after changing the tensor in place, or `show` to draw another in its place. With ``keep=False`` the
    tensor lives no longer for it: of one that is gone the last picture stays. `most` bounds the values of a picture.
    """

    view = "shapes"

    def __init__(
        self,
        tensor: Any,
        title: str = "tensor",
        source: str = "",
        *,
        keep: bool = True,
        most: int = MOST_VALUES,
    ) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._title = title
        self._source = source
        self._keep, self._most = keep, most
        self._held = self._hold(tensor)
        self._last: Snapshot | None = None
        self._chosen: dict[int, int] = {}

    def _hold(self, tensor: Any) -> Callable[[], Any]:
        return (lambda: tensor) if self._keep else weakref.ref(tensor)

    @property
    def tensor(self) -> Any:
        """The tensor that is drawn; None if it is gone."""
        return self._held()

    def call(self, title: str, source: str) -> None:
        """Say from now on what the tensor is called, and where it comes from."""
        if (title, source) != (self._title, self._source):
            self._title, self._source = title, source
            self.again()

    def show(self, tensor: Any) -> None:
        """Draw `tensor` from now on; what the sliders say stays where it still fits."""
        with self._lock:
            self._held = self._hold(tensor)
            # Entries that the other tensor has as well are kept: sliders stay where they are.
            self._chosen = {
                axis: index
                for axis, index in self._chosen.items()
                if axis < len(tensor.shape) and index < tensor.shape[axis]
            }
        self.changed()

    def snapshot(self) -> Snapshot:
        """Return the tensor's state now; reads at most a sample of it."""
        with self._lock:
            # Taken together: another thread may put another tensor in the place of this one.
            tensor, chosen, last = self.tensor, dict(self._chosen), self._last
        if tensor is None and last is not None:
            return last
        drawn = self._drawn(tensor, chosen)
        if not self._keep:
            self._last = drawn
        return drawn

    def _drawn(self, tensor: Any, chosen: dict[int, int]) -> Snapshot:
        state = tensor_state(tensor, self._title, self._source, made=self.made)
        # Outside of the lock: reading may take its time.
        values = values_of(tensor)
        if values is None:
            return Snapshot(state)
        statistics = statistics_of(values)
        drawn = draw(values, state.dims, chosen, statistics, self._most)
        fields = {**vars(state), "statistics": statistics}
        if drawn is None:
            return Snapshot(TensorState(**fields))
        return Snapshot(TensorState(**{**fields, "picture": drawn.picture}), (drawn.values.tobytes(),))

    def sample_of(self, event: object) -> int | None:
        """Return the entry of the batch that a slider was moved to."""
        return event.index if isinstance(event, SliceEvent) and event.axis == self._sample_axis() else None

    def show_sample(self, index: int) -> None:
        """Move the slider of the batch to a sample that was chosen elsewhere."""
        axis = self._sample_axis()
        if axis is not None:
            self.handle(SliceEvent("slice", axis, index))

    def _sample_axis(self) -> int | None:
        """Which dim counts samples: N; only the name says so."""
        tensor = self.tensor
        labels = () if tensor is None else tensor.dim_labels
        return labels.index("N") if "N" in labels else None

    def handle(self, event: object) -> None:
        """Move a slider."""
        if not isinstance(event, SliceEvent):
            raise Refused("a tensor's picture has sliders only; there is nothing to select")
        tensor = self.tensor
        if tensor is None:
            raise Refused("the tensor is gone, and this is its last picture; run the cell again")
        with self._lock:
            shape = tensor.shape
            if not 0 <= event.axis < len(shape):
                raise Refused(f"the tensor has {len(shape)} dims; there is no axis {event.axis}")
            if not 0 <= event.index < shape[event.axis]:
                name = tensor.dim_labels[event.axis] or f"dim {event.axis}"
                raise Refused(f"{name} has {shape[event.axis]} entries; there is no entry {event.index}")
            self._chosen[event.axis] = event.index
        self.again()  # the values are no newer for that


class TensorWidget(ViewWidget):
    """A tensor in a cell, with sliders for the dims that are not drawn."""

    def __init__(self, tensor: Any, title: str = "tensor", source: str = "", **traits: Any) -> None:
        super().__init__(TensorModel(tensor, title, source), **traits)


renderers.register(Tensor, TensorModel)
