"""Regions of a picture, outlined and labelled: for features that are made of many pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps, colors

from workbench.attribution.visualization.figures import axes_of, finish
from workbench.base.errors import DimensionError
from workbench.tensor import Tensor

__all__ = ["draw_mask_border", "draw_mask_legend", "draw_mask_overlay"]

Array = np.ndarray[Any, Any]


def draw_mask_border(ax: Any, mask: Any, border_width: int = 1, border_color: Any = "black") -> None:
    """Draw the inner border of a region [H, W], `border_width` pixels wide, over what the axes show.

    Raises:
        DimensionError: `mask` is no region.
        ValueError: a width below one.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> draw_mask_border(axes, np.ones((3, 3), bool))
    >>> axes.get_images()[0].get_array()[:, :, 3].tolist()
    [[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    """
    region = _region(mask)
    if border_width < 1:
        raise ValueError(f"a border is at least one pixel wide, got border_width={border_width!r}")
    if not region.any():
        return
    border = region & ~_eroded(region, border_width)
    ax.imshow(border[:, :, None] * np.asarray(colors.to_rgba(border_color)))


def _eroded(region: Array, times: int) -> Array:
    """Return what of a region is more than `times` steps away from everything else, and from the picture's edge."""
    inner = region
    for _ in range(times):
        wide = np.pad(inner, 1)
        inner = inner & wide[:-2, 1:-1] & wide[2:, 1:-1] & wide[1:-1, :-2] & wide[1:-1, 2:]
    return inner


def draw_mask_legend(
    ax: Any,
    mask: Any,
    label: str,
    fontsize: int = 10,
    text_color: str = "white",
    bbox_facecolor: str = "black",
    bbox_alpha: float = 0.6,
) -> None:
    """Write a label at the centre of mass of a region [H, W].

    Raises:
        DimensionError: `mask` is no region.
    """
    region = _region(mask)
    if not region.any():
        return
    rows, columns = np.nonzero(region)
    box = {"boxstyle": "round,pad=0.2", "facecolor": bbox_facecolor, "alpha": bbox_alpha}
    ax.text(
        columns.mean(), rows.mean(), label, color=text_color, fontsize=fontsize, ha="center", va="center", bbox=box,
        parse_math=False,
    )  # fmt: skip


def draw_mask_overlay(
    image: Any,
    masks: Sequence[Any],
    labels: Sequence[str] | None = None,
    *,
    border_width: int = 0,
    use_pyplot: bool = False,
) -> tuple[Any, Any]:
    """Draw regions [H, W], each in its own colour, over a picture [H, W] or [H, W, channel]; return (figure, axes).

    With `labels` each has one in its middle, with `border_width` a border.

    Raises:
        DimensionError: a mask is no region.
        ValueError: there are not as many labels as masks.

    >>> _, axes = draw_mask_overlay(np.zeros((2, 4)), [np.eye(2, 4), 1 - np.eye(2, 4)], ["a", "b"])
    >>> len(axes.get_images()), [one.get_text() for one in axes.texts]
    (3, ['a', 'b'])
    """
    if labels is not None and len(labels) != len(masks):
        raise ValueError(f"{len(labels)} labels for {len(masks)} masks: give one for each")
    regions = [_region(one) for one in masks]
    figure, axes = axes_of(None, use_pyplot, (6, 6))
    axes.imshow(np.asarray(image), cmap="gray")
    for place, region in enumerate(regions):
        # Twenty colours, of which the first ten are the strong ones.
        colour = colormaps["tab20"]((2 * place + place // 10) % 20)[:3]
        axes.imshow(region[:, :, None] * np.array([*colour, 0.6]))
        if border_width:
            draw_mask_border(axes, region, border_width, (*colour, 0.8))
        if labels is not None:
            draw_mask_legend(axes, region, labels[place])
    axes.set_axis_off()
    finish(use_pyplot)
    return figure, axes


def _region(mask: Any) -> Array:
    region = mask.detach().numpy() if isinstance(mask, Tensor) else np.asarray(mask)
    if region.ndim != 2:
        raise DimensionError(f"a region is a mask [H, W], got shape {list(region.shape)}", op="draw_mask")
    return region.astype(bool)
