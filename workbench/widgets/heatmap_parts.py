"""Inputs and their attributions as what a heatmap draws: pictures, words, lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.live.messages import Dim, HeatmapPart
from workbench.tensor import Tensor

__all__ = ["Layout", "drawn_part", "heat_of", "layout_of", "picture_bytes"]

Array = np.ndarray[Any, Any]

MOST_CELLS = 1 << 22
"""Largest picture that is drawn, in cells and channels together."""

COLOURS = (1, 3, 4)
"""Numbers of channels that a picture can show; others are averaged where the input is drawn."""

LONGEST = 200
"""Most characters of a text that travel."""


@dataclass(frozen=True)
class Layout:
    """Where in one input the rows and columns of its picture lie."""

    form: Literal["picture", "tokens", "series"]
    row: int | None
    """An axis, as `column` is; None for a single row."""
    column: int | None
    rows: Dim
    columns: Dim

    def pictures(self, values: Array) -> Array:
        """Return samples as pictures [N, rows, columns, channels]."""
        kept = [axis for axis in (self.row, self.column) if axis is not None]
        rest = [axis for axis in range(1, values.ndim) if axis not in kept]
        moved = values.transpose(0, *kept, *rest)
        shape = self.rows.size, self.columns.size, -1
        return moved.reshape(len(values), *shape)


def layout_of(value: Tensor, tokens: bool = False) -> Layout:
    """Return how samples of `value` are drawn.

    Images have dims H and W by name, or as their last two; one more dim is that of the channels. With `tokens`, or a
    dim T, the columns are places in a sequence: of words, or of a series with a line for each entry of the other dim.
    Lists of values [N, features] are drawn as one row.

    Raises:
        DimensionError: the samples are no pictures, or too large for one.
    """
    names, sizes = value.dim_labels, value.shape
    if math.prod(sizes[1:]) > MOST_CELLS:
        raise _refused(
            value,
            f"a picture of {math.prod(sizes[1:]):,} values is more than the {MOST_CELLS:,} that are drawn",
        )
    one = Dim(None, 1)
    if value.ndim == 1:
        return Layout("picture", None, None, one, one)
    time = names.index("T") if "T" in names[1:] else 1
    if tokens and value.ndim in (2, 3):
        return Layout("tokens", None, time, one, Dim(names[time], sizes[time]))
    if value.ndim == 2:
        form: Literal["series", "picture"] = "series" if names[1] == "T" else "picture"
        return Layout(form, None, 1, one, Dim(names[1], sizes[1]))
    if value.ndim not in (3, 4):
        raise _refused(
            value,
            "a heatmap draws pictures: samples with H and W and at most one more dim, or lists of values",
        )
    row, column = value.ndim - 2, value.ndim - 1
    if "H" in names[1:] and "W" in names[1:]:
        row, column = names.index("H"), names.index("W")
    elif value.ndim == 3 and "T" in names[1:]:
        row, column = 3 - time, time
        return Layout("series", row, column, Dim(names[row], sizes[row]), Dim(names[column], sizes[column]))
    return Layout("picture", row, column, Dim(names[row], sizes[row]), Dim(names[column], sizes[column]))


def _refused(value: Tensor, words: str) -> DimensionError:
    return DimensionError(words, op="HeatmapModel", operands=(dims_of(value).operand("inputs"),))


def drawn_part(
    value: Tensor | None,
    rows: Sequence[int],
    found: tuple[Tensor, Sequence[int]] | None,
    other: Tensor | None,
    *,
    name: str = "",
    tokens: Sequence[str] | None = None,
    buffers: list[bytes],
) -> HeatmapPart:
    """Return the samples `rows` of `value` as one part, their mean where there are several; its arrays go to `buffers`.

    `found` are attributions and in which of their rows those samples stand; `other` those of another model, which has
    these samples alone. Without a `value`, which is of a layer, the attributions are drawn alone.
    """
    attribution = None if found is None else found[0]
    if value is None:
        return _without_input(attribution, found[1], other, name, buffers)  # type: ignore[arg-type,index]
    fits = attribution is None or attribution.shape[1:] == value.shape[1:]
    if not fits and not _spatial(value, attribution):
        return _without_input(attribution, found[1], other, name, buffers)  # type: ignore[arg-type,index]
    layout = layout_of(value, tokens is not None)
    array = value.detach().numpy(force=True)
    image = layout.pictures(array[list(rows)]).mean(axis=0)
    # All samples are drawn alike; channels that are no colours (features of a layer, say) can only be averaged.
    low, high = _range(array if image.shape[2] in COLOURS else image.mean(axis=2))
    if image.shape[2] not in COLOURS:
        image = image.mean(axis=2, keepdims=True)
    buffers.append(picture_bytes(image))
    at = len(buffers) - 1
    heat = None if found is None else _heat(found[0], found[1], layout, fits)
    beside = None if other is None else _heat(other, range(other.shape[0]), layout, fits)
    words = [one[:LONGEST] for one in (tokens or ())][: layout.columns.size]
    return HeatmapPart(
        name=name[:LONGEST],
        form=layout.form,
        height=layout.rows.size,
        width=layout.columns.size,
        channels=image.shape[2],
        input_buffer=at,
        input_low=low,
        input_high=high,
        attribution_buffer=_put(heat, buffers),
        other_buffer=_put(beside, buffers),
        row_dim=layout.rows,
        column_dim=layout.columns,
        # Texts are as long as the longest of their batch: what is over has no word.
        tokens=words + [""] * (layout.columns.size - len(words)) if layout.form == "tokens" else [],
    )


def _without_input(
    attribution: Tensor, rows: Sequence[int], other: Tensor | None, name: str, buffers: list[bytes]
) -> HeatmapPart:
    """Return attributions of a layer that has no picture: its channels side by side."""
    layout = layout_of(attribution)
    heat = _heat(attribution, rows, layout, True)
    beside = None if other is None else _heat(other, range(other.shape[0]), layout, True)
    buffers.append(b"")
    at = len(buffers) - 1
    return HeatmapPart(
        name=name[:LONGEST],
        form="picture",
        height=layout.rows.size,
        width=layout.columns.size,
        channels=0,
        input_buffer=at,
        input_low=0.0,
        input_high=1.0,
        attribution_buffer=_put(heat, buffers),
        other_buffer=_put(beside, buffers),
        row_dim=layout.rows,
        column_dim=layout.columns,
        tokens=[],
    )


def _put(values: Array | None, buffers: list[bytes]) -> int | None:
    if values is None:
        return None
    buffers.append(picture_bytes(values))
    return len(buffers) - 1


def _spatial(value: Tensor, attribution: Tensor | None) -> bool:
    """Whether attributions of a layer can be laid over pictures: both are images."""
    return attribution is not None and value.ndim == 4 and attribution.ndim == 4


def _heat(attribution: Tensor, rows: Sequence[int], layout: Layout, fits: bool) -> Array:
    """Return the mean of the samples' attributions [rows, columns]; those of channels are added up."""
    values = attribution.detach().numpy(force=True)[list(rows)]
    if fits:
        # Attributions of channels add up: what a pixel has done is their sum.
        return np.asarray(layout.pictures(values).sum(axis=3).mean(axis=0))
    coarse = values.sum(axis=1).mean(axis=0)
    return stretched(coarse, layout.rows.size, layout.columns.size)


def heat_of(value: Tensor | None, attribution: Tensor, row: int) -> Array:
    """Return the heatmap [rows, columns] of one sample.

    Raises:
        DimensionError: as `layout_of`.
    """
    if value is None:
        value = attribution
    fits = attribution.shape[1:] == value.shape[1:]
    drawn = value if fits or _spatial(value, attribution) else attribution
    return _heat(attribution, [row], layout_of(drawn), fits or drawn is attribution)


def stretched(coarse: Array, height: int, width: int) -> Array:
    """Return a picture [h, w] at another size, linearly between its cells.

    >>> stretched(np.array([[0.0, 1.0]]), 1, 4).tolist()
    [[0.0, 0.25, 0.75, 1.0]]
    """
    columns = np.stack([np.interp(_centres(width, len(line)), np.arange(len(line)), line) for line in coarse])
    return np.stack(
        [np.interp(_centres(height, len(line)), np.arange(len(line)), line) for line in columns.T], axis=1
    )


def _centres(count: int, cells: int) -> Array:
    return np.asarray((np.arange(count) + 0.5) * cells / count - 0.5)


def picture_bytes(values: Array) -> bytes:
    """Return an array as little endian float32."""
    return np.ascontiguousarray(values, np.dtype("<f4")).tobytes()


def _range(pictures: Array) -> tuple[float, float]:
    """Return the least and the greatest finite value."""
    if pictures.dtype.kind != "f":  # whole numbers, words of a text say, have no infinity to begin from
        pictures = pictures.astype(np.float64)
    finite = np.isfinite(pictures)
    low = float(pictures.min(where=finite, initial=math.inf))
    high = float(pictures.max(where=finite, initial=-math.inf))
    if low > high:
        return 0.0, 1.0
    return (low, high) if high > low else (low, low + 1.0)
