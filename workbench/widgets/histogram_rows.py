"""Observers in a list: a line each, with a small histogram."""

from __future__ import annotations

import math

import numpy as np

from workbench.live.messages import ObserverRow
from workbench.quantization.calibration_entry import Entry

__all__ = ["finite", "row_of"]

SPARK = 24
"""Bins of the small histogram in a row."""


def finite(value: float | None) -> float | None:
    """Return a number that can be shown, or None."""
    return value if value is not None and math.isfinite(value) else None


def row_of(entry: Entry, judged: bool = True, damage: float | None = None) -> ObserverRow:
    """One line of the list; what takes time to find is left out unless `judged`."""
    observer = entry.observer
    names = entry.layer.weight.dim_labels if entry.layer is not None else observer.names
    each = "per channel" if observer.qscheme.per_channel else "per tensor"
    kind = "symmetric" if observer.qscheme.symmetric else "affine"
    return ObserverRow(
        id=entry.name,
        name=entry.name,
        dims=[name or "·" for name in names],
        dtype=observer.dtype.name,
        scheme=f"{each} · {kind}",
        batches=observer.batches,
        sqnr=finite(entry.sqnr()) if judged else None,
        spark=_spark(entry) if judged else [],
        nan=observer.nan_count,
        inf=observer.inf_count,
        overridden=observer.override is not None,
        damage=finite(damage),
    )


def _spark(entry: Entry) -> list[float]:
    """Heights by the square root, so that small bins show."""
    evidence = entry.evidence
    if evidence is None or evidence.density.total == 0:
        return []
    counts = evidence.density.coarse(SPARK).counts
    heights = np.sqrt(counts / counts.max())
    return [round(float(height), 3) for height in heights]
