"""Attributions as a live view: a heatmap over its input, sample by sample."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import numpy as np

from workbench.attribution import AttributionResult
from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.live.messages import ClassScore, Dim, Head, HeatmapState, SampleEvent
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.tensor import Tensor
from workbench.widgets.base import ViewWidget

__all__ = ["HeatmapModel", "HeatmapWidget", "attribution", "heatmap"]

Array = np.ndarray[Any, Any]

MOST_CELLS = 1 << 22
"""Largest picture that is drawn, in cells and channels together."""

MOST_CLASSES = 10
"""Most classes whose probabilities are shown."""

COLOURS = (1, 3, 4)
"""Numbers of channels that a picture can show; others are averaged where the input is drawn."""

LONGEST = 200
"""Most characters of a text that travel."""


class HeatmapModel(ViewModel):
    """Draws `result`, one sample at a time.

    Images have dims H and W by name, or as their last two; one more dim is that of the channels, over which
    attributions are summed. Samples that are lists of values [N, features] are drawn as one row.

    Raises:
        DimensionError: the samples are no pictures, or too large for one.
    """

    view = "heatmap"

    def __init__(self, result: AttributionResult, source: str = "") -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._source = source
        self._sample = 0
        self._made = time.time()
        self._result = result
        inputs, self._rows, self._columns = _pictures(result.inputs)
        # Channels that are no colours (features of a layer, say) can only be averaged.
        self._inputs = inputs if inputs.shape[3] in COLOURS else inputs.mean(axis=3, keepdims=True)
        # Attributions of channels add up: what a pixel has done is their sum.
        self._attributions = _pictures(result.attributions)[0].sum(axis=3)
        self._low, self._high = _range(self._inputs)

    @property
    def result(self) -> AttributionResult:
        """What is drawn."""
        return self._result

    @property
    def sample(self) -> int:
        """The sample that is drawn; assign to draw another.

        Raises:
            IndexError: there is no such sample.
        """
        return self._sample

    @sample.setter
    def sample(self, index: int) -> None:
        if not 0 <= index < len(self._result):
            raise IndexError(_no_sample(len(self._result), index))
        with self._lock:
            # Told only where it changes: views that follow each other come to rest here.
            if index == self._sample:
                return
            self._sample = int(index)
        self.changed()

    def snapshot(self) -> Snapshot:
        """Return the picture of the sample, with what the model made of it."""
        result, sample = self._result, self._sample
        image, heat = self._inputs[sample], self._attributions[sample]
        state = HeatmapState(
            kind="heatmap",
            head=Head(result.title[:LONGEST], self._source, self._made, False, result.code),
            height=heat.shape[0],
            width=heat.shape[1],
            channels=image.shape[2],
            input_buffer=0,
            input_low=self._low,
            input_high=self._high,
            attribution_buffer=1,
            row_dim=self._rows,
            column_dim=self._columns,
            method=result.method,
            settings=[[name, value[:LONGEST]] for name, value in result.settings.items()],
            target=result.target_name(sample)[:LONGEST],
            predictions=[
                ClassScore(label[:LONGEST], probability)
                for label, probability in result.predictions(sample, MOST_CLASSES)
            ],
            delta=_of_sample(result.delta, sample),
            tolerance=_of_sample(result.tolerance, sample),
            seconds=result.seconds,
            sample=sample,
            samples=len(result),
        )
        return Snapshot(state, (_bytes(image), _bytes(heat)))

    def sample_of(self, event: object) -> int | None:
        """Return the sample that was asked for."""
        return event.index if isinstance(event, SampleEvent) else None

    def show_sample(self, index: int) -> None:
        """Draw the sample that was chosen elsewhere: it was attributed with the others."""
        self.handle(SampleEvent("sample", index))

    def handle(self, event: object) -> None:
        """Draw another sample."""
        if not isinstance(event, SampleEvent):
            raise Refused("a heatmap shows one sample after the other, and nothing else")
        if not 0 <= event.index < len(self._result):
            raise Refused(_no_sample(len(self._result), event.index))
        self.sample = event.index


def _no_sample(count: int, index: int) -> str:
    if count == 1:
        return f"there is one sample, number 0; there is no sample {index}"
    return f"the samples are 0 to {count - 1:,}; there is no sample {index}"


def _of_sample(values: Tensor | None, sample: int) -> float | None:
    return None if values is None else float(values.numpy()[sample])


def _bytes(values: Array) -> bytes:
    return np.ascontiguousarray(values, np.dtype("<f4")).tobytes()


def _pictures(values: Tensor) -> tuple[Array, Dim, Dim]:
    """Return samples as pictures [N, rows, columns, channels], and the dims of rows and columns."""
    array, names = values.detach().numpy(), values.dim_labels
    if array.ndim == 1:
        array, names = array[:, None], (*names, None)
    if array.ndim == 2:
        array, names = array[:, None, :], (names[0], None, names[1])
    if array.ndim not in (3, 4):
        raise DimensionError(
            "a heatmap draws pictures: samples with H and W and at most one more dim, or lists of values",
            op="HeatmapModel",
            operands=(dims_of(values).operand("inputs"),),
        )
    row, column = array.ndim - 2, array.ndim - 1
    if "H" in names[1:] and "W" in names[1:]:
        row, column = names.index("H"), names.index("W")
    rest = [axis for axis in range(1, array.ndim) if axis not in (row, column)]
    if math.prod(array.shape[1:]) > MOST_CELLS:
        raise DimensionError(
            f"a picture of {math.prod(array.shape[1:]):,} values is more than the {MOST_CELLS:,} that are drawn",
            op="HeatmapModel",
            operands=(dims_of(values).operand("inputs"),),
        )
    dims = Dim(names[row], array.shape[row]), Dim(names[column], array.shape[column])
    pictures = array.transpose(0, row, column, *rest)
    return (pictures if rest else pictures[..., None]), *dims


def _range(pictures: Array) -> tuple[float, float]:
    """Return the least and the greatest finite value of all samples, so that they are drawn alike."""
    finite = np.isfinite(pictures)
    low = float(pictures.min(where=finite, initial=math.inf))
    high = float(pictures.max(where=finite, initial=-math.inf))
    if low > high:
        return 0.0, 1.0
    return (low, high) if high > low else (low, low + 1.0)


class HeatmapWidget(ViewWidget):
    """Attributions in a cell."""

    def __init__(self, result: AttributionResult, source: str = "", **traits: Any) -> None:
        super().__init__(HeatmapModel(result, source) if source else renderers.model_of(result), **traits)


def attribution(result: AttributionResult) -> HeatmapWidget:
    """Show `result` in this cell."""
    return HeatmapWidget(result)


heatmap = attribution
"""The same by what it draws."""


renderers.register(AttributionResult, HeatmapModel)
