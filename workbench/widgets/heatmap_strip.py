"""The strip of samples under a heatmap: small pictures, the wrongly predicted ones marked."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.study import Study
from workbench.base.errors import DimensionError
from workbench.live.messages import HeatmapStrip, StripSample
from workbench.tensor import Tensor
from workbench.widgets.heatmap_parts import COLOURS, layout_of

__all__ = ["strip_of"]

Array = np.ndarray[Any, Any]

MOST_SAMPLES = 40
"""So many samples around the one that is shown are in the strip."""

SIDE = 32
"""Greatest side of a small picture, in pixels."""

LONGEST = 60
"""Most characters of a class's name."""


def strip_of(study: Study, sample: int, index: int, buffers: list[bytes]) -> HeatmapStrip | None:
    """Return the samples around `sample`; None for one alone. Their pictures are put at `index` of `buffers`."""
    if study.samples < 2:
        return None
    # In windows that stay while one steps through them.
    start = sample // MOST_SAMPLES * MOST_SAMPLES
    rows = range(start, min(start + MOST_SAMPLES, study.samples))
    small = _small(study.inputs, rows, study.tokens is not None)
    if small is not None:
        buffers.append(small.tobytes())
    labels, predicted = study.labels, study.predictions
    wrong = None if labels is None or predicted is None else labels != predicted
    return HeatmapStrip(
        samples=[
            StripSample(
                row,
                "" if predicted is None else study.class_name(int(predicted[row]))[:LONGEST],
                "" if labels is None else study.class_name(int(labels[row]))[:LONGEST],
                bool(wrong is not None and wrong[row]),
            )
            for row in rows
        ],
        height=0 if small is None else small.shape[1],
        width=0 if small is None else small.shape[2],
        channels=0 if small is None else small.shape[3],
        buffer=None if small is None else index,
        wrong=0 if wrong is None else int(wrong.sum()),
    )


def _small(inputs: Any, rows: range, tokens: bool) -> Array | None:
    """Return the samples as small pictures uint8 [samples, height, width, 1 or 3]; None if they are none."""
    value = inputs[0] if isinstance(inputs, tuple) else inputs
    assert isinstance(value, Tensor)
    if tokens or value.ndim not in (3, 4):
        return None
    try:
        layout = layout_of(value)
    except DimensionError:
        return None
    if layout.form != "picture":
        return None
    step = -(-max(layout.rows.size, layout.columns.size) // SIDE)
    pictures = layout.pictures(value.detach().numpy(force=True)[rows.start : rows.stop])[:, ::step, ::step]
    if pictures.shape[3] not in COLOURS:
        pictures = pictures.mean(axis=3, keepdims=True)
    pictures = np.nan_to_num(pictures[..., : 3 if pictures.shape[3] >= 3 else 1].astype(np.float64))
    low, high = pictures.min(), pictures.max()
    scaled = (pictures - low) / (high - low if high > low else 1.0)
    return np.ascontiguousarray(np.round(scaled * 255).astype(np.uint8))
