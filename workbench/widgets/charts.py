"""Small charts for static pictures: SVG and PNG as text, bounded in size however much there is to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.widgets.colours import CATEGORIES, MAPS, NAN
from workbench.widgets.png import data_uri, encode_png

__all__ = ["bars", "fitting", "lines", "painted", "points"]

Array = np.ndarray[Any, Any]

MOST_VALUES = 10_000
"""Most values of an image: as a PNG in text a value takes at most five bytes."""
MOST_STEPS = 300
MOST_BARS = 200


def bars(heights: Sequence[float | None], width: int, height: int) -> str:
    """Draw `heights`, 0 to 1, as bars side by side; neighbours beyond `MOST_BARS` share one as high as the highest."""
    values = np.nan_to_num(np.array([0.0 if one is None else one for one in heights], np.float64)).clip(0, 1)
    if not values.size:
        return ""
    stride = -(-values.size // MOST_BARS)
    values = np.maximum.reduceat(values, np.arange(0, values.size, stride))
    step = width / values.size
    path = "".join(
        f"M{place * step:.1f} {height}v{-max(1.0, float(share) ** 0.5 * height):.1f}h{step * 0.9:.1f}V{height}z"
        for place, share in enumerate(values)
        if share
    )
    return _svg(
        width, height, "how often values occur", f'<path d="{path}" fill="currentColor" opacity=".65"/>'
    )


def lines(x: Array, y: Array, width: int, height: int) -> str:
    """Draw `y` over `x` as a line, with gaps where a value is not finite; of many values the extremes stay."""
    kept = _extremes(y)
    x, y = x[kept], y[kept]
    finite = np.isfinite(y)
    if not finite.any():
        return ""
    low, high = float(y[finite].min()), float(y[finite].max())
    first, last = float(x[0]), float(x[-1])
    across = (x - first) / ((last - first) or 1.0) * width
    # Halved before they are subtracted, so that the ends of the type do not overflow.
    down = height - 2 - (y / 2 - low / 2) / ((high / 2 - low / 2) or 1.0) * (height - 4)
    path, pen = [], "M"
    for place, level, drawn in zip(across, down, finite, strict=True):
        if drawn:
            path.append(f"{pen}{place:.1f} {level:.1f}")
        pen = "L" if drawn else "M"
    line = f'<path d="{"".join(path)}" fill="none" stroke="currentColor" stroke-width="1.2"/>'
    return _svg(width, height, f"from {low:.3g} to {high:.3g}", line)


def _extremes(values: Array) -> Array:
    """Places of the least and the greatest value of each stretch, in order; all of them where they are few."""
    if values.size <= 2 * MOST_STEPS:
        return np.arange(values.size)
    kept = [0, values.size - 1]
    for part in np.array_split(np.arange(values.size), MOST_STEPS):
        inside = values[part]
        kept += [
            int(part[np.where(np.isnan(inside), np.inf, inside).argmin()]),
            int(part[np.where(np.isnan(inside), -np.inf, inside).argmax()]),
        ]
    return np.unique(kept)


def fitting(values: Array) -> Array:
    """Return every so many rows and columns of [tiles, H, W, channels]: at most about `MOST_VALUES` values."""
    tiles, height, width, channels = values.shape
    tiles = min(tiles, 16)
    most = max(1, MOST_VALUES // (tiles * channels))
    step = 1
    while -(-height // step) * -(-width // step) > most:
        step += 1
    return values[:tiles, ::step, ::step]


def painted(values: Array, low: float, high: float, palette: str, label: str) -> str:
    """Draw values [H, W, channels] as an image: three channels as they are, else the first through a colour map."""
    values = fitting(values[None])[0]
    height, width, channels = values.shape
    with np.errstate(invalid="ignore", over="ignore"):
        share = np.nan_to_num(np.clip((values / 2 - low / 2) / ((high / 2 - low / 2) or 1.0), 0, 1))
    if channels == 3:
        pixels = np.full((height, width, 4), 255, np.uint8)
        pixels[..., :3] = (share * 255).astype(np.uint8)
    else:
        pixels = MAPS[palette][(share[..., 0] * 255).astype(np.uint8)]
    pixels[np.isnan(values).any(axis=-1)] = (*NAN, 255)
    shown = max(1, min(24, 240 // max(1, height, width))) * width
    return (
        f'<img src="{data_uri(encode_png(pixels))}" width="{shown}" alt="{label}" '
        'style="image-rendering:pixelated;margin:4px 8px 0 0;max-width:100%;height:auto"/>'
    )


def points(places: Array, groups: Array | None) -> tuple[str, list[str]]:
    """Draw points [n, 2] as an image, each in the colour of its group; return it and the colours of the groups."""
    size = 240
    sheet = np.zeros((size, size, 4), np.uint8)
    table = np.array(
        [[*(int(colour[at : at + 2], 16) for at in (1, 3, 5)), 255] for colour in CATEGORIES], np.uint8
    )
    finite = np.isfinite(places).all(axis=1)
    if finite.any():
        kept = places[finite]
        low, high = kept.min(axis=0), kept.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        across, up = ((kept - low) / span * (size - 5) + 2).astype(np.intp).T
        chosen = np.zeros(kept.shape[0], np.intp) if groups is None else groups[finite]
        # A million points fall on few pixels: they become so many first.
        last = np.full((size, size), -1, np.intp)
        last[size - 1 - up, across] = chosen
        down, right = np.nonzero(last >= 0)
        ink = table[last[down, right] % len(CATEGORIES)]
        for aside in (-1, 0, 1):
            for below in (-1, 0, 1):
                sheet[down + below, right + aside] = ink
    image = (
        f'<img src="{data_uri(encode_png(sheet))}" width="{2 * size}" alt="the points, the first two components" '
        'style="display:block;margin-top:4px;max-width:100%;height:auto"/>'
    )
    many = 0 if groups is None or not groups.size else int(groups.max()) + 1
    return image, [CATEGORIES[place % len(CATEGORIES)] for place in range(many)]


def _svg(width: int, height: int, label: str, inside: str) -> str:
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}" '
        f'style="vertical-align:-2px;max-width:100%">{inside}</svg>'
    )
