"""What a cell shows of a tensor without any JavaScript: bounded in size and time, every text escaped.

Colours and fonts come from JupyterLab's variables, so light and dark themes both fit; only the data has
colours of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from workbench.base.number_format import byte_figure, figure, percent, si
from workbench.live.messages import Dim, Picture, Statistics, TensorState
from workbench.widgets.colours import MAPS, NAN, dim_colour
from workbench.widgets.png import data_uri, encode_png
from workbench.widgets.values import draw, statistics_of, tensor_state, values_of

__all__ = ["BOX", "CUT", "QUIET", "dim_chip", "picture_html", "state_line", "statistics_line", "tensor_html"]

Array = np.ndarray[Any, Any]

MOST_VALUES = 20_000
"""Most values in the static picture: at a byte each, and as text, it stays below 50 KB."""

GAP, WRONG = 254, 255
"""Places in the colour map that stand for the gap between images and for what is not a number."""

MOST_TEXT = 80
"""Longest name that is written in full."""

LONG = 24
"""Longer text may take more than a narrow cell has."""

BOX = (
    "font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);color:var(--jp-ui-font-color1,inherit);"
    "font-variant-numeric:tabular-nums;max-width:760px"
)
QUIET = "color:var(--jp-ui-font-color2,#777)"
CUT = "overflow:clip;text-overflow:ellipsis"
"""Of text on one line that is rather cut than let out: clipped, as hiding it would move it off the line of others."""


def dim_chip(dim: Dim) -> str:
    """One dim as a small box in its colour: ``C 64``; one without a name as ``·64``. A long one is cut."""
    name = dim.name if dim.name is None or len(dim.name) <= MOST_TEXT else dim.name[: MOST_TEXT - 1] + "…"
    text = f"·{dim.size}" if name is None else f"{escape(name)}&nbsp;{dim.size}"
    # Hundreds of them stand in a summary: what only a long one needs is said for those only.
    title, cut = (
        (f'title="{text}" ', f"box-sizing:border-box;max-width:100%;{CUT};") if len(text) > LONG else ("", "")
    )
    return (
        f'<span {title}style="display:inline-block;padding:0 6px;margin-right:4px;border-radius:3px;white-space:nowrap;'
        f"{cut}border-left:4px solid {dim_colour(dim.name)};"
        f'background:var(--jp-layout-color2,rgba(127,127,127,.12))">{text}</span>'
    )


def tensor_html(tensor: Any) -> str:
    """Return `tensor` as HTML: dims by name and size, type, range, counts of NaN and infinity, a picture."""
    state = tensor_state(tensor)
    values = values_of(tensor)
    body = ""
    if values is None:
        body = f'<div style="{QUIET}">{escape(_without(tensor))}</div>'
    elif values.size == 0:
        body = f'<div style="{QUIET}">no values: a dim has size 0</div>'
    else:
        statistics = statistics_of(values)
        body = statistics_line(statistics)
        drawn = draw(values, state.dims, {}, statistics, MOST_VALUES)
        body += "" if drawn is None else picture_html(drawn.picture, drawn.values)
    made = getattr(getattr(tensor, "grad_fn", None), "name", "")
    return f'<div class="wb-tensor-html" style="{BOX}">{state_line(state, made)}{body}{_gradient_line(tensor)}</div>'


def _without(tensor: Any) -> str:
    """Say why no values are drawn."""
    if str(tensor.device) != "cpu":
        return f"the values stay on {tensor.device}: x.cpu() brings them here"
    said = getattr(getattr(tensor, "payload", None), "called", "")
    return "no numbers: this value stands for one " + (
        "entry of a batch" if "batch" in said else "in a graph"
    )


def _gradient_line(tensor: Any) -> str:
    """Say what has gathered in ``.grad``."""
    gradient = getattr(tensor, "grad", None)
    values = None if gradient is None else values_of(gradient)
    if values is None or not values.size:
        return ""
    return f'<div style="{QUIET}">grad</div>{statistics_line(statistics_of(values))}'


def state_line(state: TensorState, made: str = "") -> str:
    """Return the line of type, dims and size; `made` names the op that gave the tensor, where that is recorded."""
    recorded = f"result of {made}, needs grad" if made else "needs grad"
    gradient = ("leaf, needs grad" if state.leaf else recorded) if state.requires_grad else ""
    plural = "" if state.count == 1 else "s"
    facts = [f"{si(state.count)} value{plural}", byte_figure(state.nbytes), state.device, gradient]
    chips = "".join(map(dim_chip, state.dims[:16]))
    more = f"… {len(state.dims) - 16} more dims " if len(state.dims) > 16 else ""
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:8px;align-items:baseline">'
        f'<code>{escape(state.dtype)}</code><span style="max-width:100%">{chips or "scalar"}{more}</span>'
        f'<span style="{QUIET};margin-left:auto">{escape(" · ".join(filter(None, facts)))}</span></div>'
    )


def statistics_line(found: Statistics) -> str:
    """Return the line of range, histogram, mean and what is not a number."""
    parts = []
    if found.minimum is not None and found.maximum is not None:
        parts.append(f"{figure(found.minimum)} {_spark(found.counts)} {figure(found.maximum)}")
        parts.append(f"mean {figure(found.mean)}")
        parts.append(f"std {figure(found.std)}")
    # As after a relu: their bin would leave nothing to see of the others.
    apart = ", not in the bars" if found.apart else ""
    parts.append(f"zeros {percent(found.zeros)}{apart}")
    for name, count in (("NaN", found.nan), ("inf", found.inf)):
        text = f"{name} {count:,}"
        parts.append(f'<b style="color:rgb{NAN}">{text}</b>' if count else text)
    if found.sampled:
        parts.append(f'<span style="{QUIET}">from a sample</span>')
    # A figure and its name stay on one line where the place is narrow.
    whole = (f'<span style="white-space:nowrap">{part}</span>' for part in parts)
    return f"<div>{' · '.join(whole)}</div>"


def _spark(counts: Sequence[int]) -> str:
    """A histogram a line high; heights go by the square root, so that small bins show."""
    most, step = max(1, *counts), 120 / max(1, len(counts))
    # A bin with anything in it is never invisible.
    path = "".join(
        f"M{place * step:.1f} 16v{-max(1.0, (count / most) ** 0.5 * 16):.1f}h{step - 0.4:.1f}V16z"
        for place, count in enumerate(counts)
        if count
    )
    return (
        '<svg width="120" height="16" viewBox="0 0 120 16" role="img" aria-label="histogram of the values" '
        f'style="vertical-align:-2px"><path d="{path}" fill="currentColor" opacity=".65"/></svg>'
    )


# ---------------------------------------------------------------------------------------------- picture


def picture_html(picture: Picture, values: Array) -> str:
    """Return `values` [tiles, height, width, channels] drawn as `picture` says; they may be fewer than it has."""
    if picture.kind == "scalar":
        return f'<div style="font-size:20px">{figure(float(values.reshape(-1)[0]))}</div>'
    if picture.kind == "line":
        return _line(picture, values)
    mosaic, gaps = _mosaic(values)
    width = min(720, mosaic.shape[1] * max(1, min(24, 240 // mosaic.shape[0])))
    uri = data_uri(_paint(mosaic, gaps, picture))
    return (
        f'<img src="{uri}" width="{width}" alt="{escape(_describe(picture), quote=True)}" '
        f'style="image-rendering:pixelated;display:block;margin-top:4px;max-width:100%;height:auto"/>{_legend(picture)}'
    )


def _mosaic(values: Array) -> tuple[Array, Array]:
    """Tiles side by side, up to eight a row, a pixel apart: [rows, columns, channels], and where the gaps are."""
    tiles, height, width, channels = values.shape
    columns = min(8, tiles)
    rows = -(-tiles // columns)
    sheet = np.zeros((rows * (height + 1) - 1, columns * (width + 1) - 1, channels), np.float32)
    gaps = np.ones(sheet.shape[:2], bool)
    for tile in range(tiles):
        top, left = tile // columns * (height + 1), tile % columns * (width + 1)
        sheet[top : top + height, left : left + width] = values[tile]
        gaps[top : top + height, left : left + width] = False
    return sheet, gaps


def _paint(mosaic: Array, gaps: Array, picture: Picture) -> bytes:
    low, high = picture.low, picture.high
    if picture.signed:
        high = max(-low, high)
        low = -high
    with np.errstate(invalid="ignore"):
        # In halves: the width between the largest numbers is not finite.
        share = np.nan_to_num(np.clip((mosaic / 2 - low / 2) / (high / 2 - low / 2), 0, 1))
    wrong = np.isnan(mosaic).any(axis=-1)
    if picture.channels in (3, 4):
        pixels = np.full((*gaps.shape, 4), 255, np.uint8)
        pixels[..., :3] = (share[..., :3] * 255).astype(np.uint8)
        pixels[wrong, :3] = NAN
        pixels[gaps] = 0
        return encode_png(pixels)
    name = "signed" if picture.signed else "grey" if picture.kind == "images" else "sequential"
    palette = MAPS[name].copy()
    palette[GAP], palette[WRONG] = (0, 0, 0, 0), (*NAN, 255)
    indices = (share[..., 0] * (GAP - 1)).astype(np.uint8)
    indices[wrong] = WRONG
    indices[gaps] = GAP
    return encode_png(indices, palette)


def _describe(picture: Picture) -> str:
    named = [dim.name or f"a dim of {dim.size}" for dim in (picture.row_dim, picture.column_dim) if dim]
    what = f"{picture.tiles} images" if picture.tiles > 1 else "picture"
    return f"{what} of {' by '.join(named)}"


def _legend(picture: Picture) -> str:
    shown = []
    for slider in picture.sliders[:8]:
        tiled = slider.dim == picture.tile_dim
        entries = f"0 to {picture.tiles - 1}" if tiled and picture.tiles > 1 else f"{slider.index}"
        shown.append(f"{dim_chip(slider.dim)} {entries} shown")
    if len(picture.sliders) > 8:
        shown.append(f"… and the first entry of {len(picture.sliders) - 8} more dims")
    axes = [dim_chip(dim) for dim in (picture.row_dim, picture.column_dim) if dim]
    order = f"rows {axes[0]} columns {axes[1]}" if len(axes) == 2 and picture.kind == "heatmap" else ""
    text = " ".join(filter(None, [order, *shown]))
    return f'<div style="{QUIET}">{text}</div>' if text else ""


def _line(picture: Picture, values: Array) -> str:
    values = values.reshape(-1)
    # No more values than there are pixels.
    values = values[:: max(1, -(-values.size // 600))].astype(np.float64)
    low, high = picture.low, picture.high
    x = np.linspace(0, 600, max(2, values.size))[: values.size]
    y = 76 - (values / 2 - low / 2) / (high / 2 - low / 2) * 72
    path, pen = [], "M"
    for across, down in zip(x, y, strict=True):
        if np.isfinite(down):
            path.append(f"{pen}{across:.1f} {down:.1f}")
            pen = "L"
        else:
            pen = "M"  # a gap where there is no number
    return (
        '<svg width="600" height="80" viewBox="0 0 600 80" role="img" aria-label="the values as a line" '
        f'style="display:block;margin-top:4px;max-width:100%"><path d="{"".join(path)}" fill="none" '
        'stroke="currentColor" stroke-width="1.2"/></svg>'
    )
