"""Cards of a log that show one tag of one run: a distribution over time, a picture, a text, a curve."""

from __future__ import annotations

import bisect
from itertools import pairwise
from typing import Any

import numpy as np
from PIL import Image

from workbench.live.messages import RunsDistribution, RunsLine, RunsPicture, RunsText
from workbench.tensorboard import Histogram, Run

__all__ = ["LONGEST", "cut", "distribution", "picture", "recall_line", "text"]

Array = np.ndarray[Any, Any]

LONGEST = 200
"""Most characters of a name that travel."""
MOST_BINS = 48
"""Bins into which all histograms of a tag are counted anew."""
MOST_STEPS = 40
"""Histograms of a tag that travel: evenly chosen, the first and the last among them."""
MOST_SIDE = 320
"""Height and width of a picture that travels; larger ones are made smaller."""
LONGEST_TEXT = 8_000
"""Most characters of a text that travel."""
MOST_THRESHOLDS = 1_000
"""Most points of a curve of precision and recall."""


def cut(text: str, most: int = LONGEST) -> str:
    """Return a text of at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _at(steps: list[int], step: int | None) -> int:
    """Return which entry to show at a step: the last one up to it, else the first; the latest where it is None."""
    if step is None or not steps:
        return len(steps) - 1
    if any(one > two for one, two in pairwise(steps)):
        earlier = [i for i, one in enumerate(steps) if one <= step]
        return max(earlier, key=lambda i: (steps[i], i), default=0)
    return max(0, bisect.bisect_right(steps, step) - 1)


def distribution(tag: str, number: int, run: Run, buffers: list[bytes]) -> RunsDistribution:
    """Return how the values of a tag were distributed over time, in equal bins from the least to the greatest."""
    series = run.histograms[tag]
    count = len(series.values)
    places = np.unique(np.linspace(0, count - 1, min(count, MOST_STEPS)).round().astype(int))
    chosen = [series.values[place] for place in places.tolist()]
    ends = [one.edges[[0, -1]] for one in chosen if one.counts.sum() > 0 and np.isfinite(one.edges).all()]
    low, high = (min(one[0] for one in ends), max(one[1] for one in ends)) if ends else (0.0, 1.0)
    if not high > low:
        room = abs(low) * 0.05 or 0.5
        low, high = low - room, high + room
    borders = np.linspace(low, high, MOST_BINS + 1)
    counts = np.array([recounted(one, borders) for one in chosen], "<f4").reshape(len(chosen), MOST_BINS)
    buffers.append(counts.tobytes())
    steps = [int(series.steps[place]) for place in places.tolist()]
    return RunsDistribution(
        cut(tag), number, steps, count, float(low), float(high), MOST_BINS, len(buffers) - 1
    )


def recounted(histogram: Histogram, borders: Array) -> Array:
    """Return the counts in other bins: those of a bin are spread over it evenly.

    >>> recounted(Histogram(np.array([0.0, 2.0]), np.array([4.0])), np.array([0.0, 1.0, 4.0])).tolist()
    [2.0, 2.0]
    """
    edges, counts = histogram.edges, histogram.counts
    wide = np.diff(edges)
    if len(counts) == 0 or not np.isfinite(edges).all() or not np.isfinite(counts).all():
        return np.zeros(len(borders) - 1)
    # A bin without width stands for one value, which lies where it lies.
    spread = wide > 0
    result = np.zeros(len(borders) - 1)
    if spread.any():
        sums = np.concatenate([[0.0], np.cumsum(counts[spread])])
        result = np.diff(np.interp(borders, edges[np.r_[True, spread]], sums))
    places = np.searchsorted(borders, edges[:-1][~spread], "right") - 1
    np.add.at(result, np.clip(places, 0, len(result) - 1), counts[~spread])
    return result


def picture(tag: str, number: int, run: Run, step: int | None, buffers: list[bytes]) -> RunsPicture:
    """Return a picture at a step, made smaller where it is large; one that cannot be read says why."""
    series = run.images[tag]
    place = _at(series.steps, step)
    pixels, full, trouble = np.zeros((0, 0, 1), np.uint8), (0, 0), ""
    try:
        array = series[place]
    # What is damaged, gone or too large is told where the picture would be; the others are drawn.
    except (OSError, ValueError, SyntaxError) as error:
        trouble = cut(str(error), 500)
    else:
        full = (array.shape[0], array.shape[1])
        pixels = _smaller(array)
    buffers.append(np.ascontiguousarray(pixels).tobytes())
    height, width, channels = pixels.shape
    return RunsPicture(
        cut(tag), number, int(series.steps[place]), place, len(series), height, width, channels, len(buffers) - 1,
        *full, trouble,
    )  # fmt: skip


def _smaller(array: Array) -> Array:
    height, width, channels = array.shape
    share = MOST_SIDE / max(height, width)
    if share >= 1:
        return array
    size = max(1, round(width * share)), max(1, round(height * share))
    image = Image.fromarray(array[:, :, 0] if channels == 1 else array)
    small = np.asarray(image.resize(size, Image.Resampling.BOX))
    return small.reshape(size[1], size[0], channels)


def text(tag: str, number: int, run: Run, step: int | None) -> RunsText:
    """Return a text at a step."""
    series = run.texts[tag]
    place = _at(series.steps, step)
    whole = series.values[place]
    return RunsText(
        cut(tag), number, int(series.steps[place]), place, len(series.values),
        whole[:LONGEST_TEXT], max(0, len(whole) - LONGEST_TEXT),
    )  # fmt: skip


def recall_line(tag: str, number: int, run: Run, step: int | None, buffers: list[bytes]) -> RunsLine:
    """Return precision over recall at a step."""
    series = run.pr_curves[tag]
    place = _at(series.steps, step)
    rows = series.values[place][:, :MOST_THRESHOLDS]
    recall, precision = rows[5], rows[4]
    thresholds = np.linspace(0, 1, len(recall)) if len(recall) else recall
    order = np.lexsort((-precision, recall))
    buffers.append(np.array([recall[order], precision[order], thresholds[order]], "<f8").tobytes())
    buffers.append(b"")
    missing = int((~np.isfinite(precision)).sum())
    return RunsLine(
        number,
        len(recall),
        len(buffers) - 2,
        0,
        len(buffers) - 1,
        missing,
        len(recall),
        int(series.steps[place]),
    )
