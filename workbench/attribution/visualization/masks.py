"""Regions of a picture, outlined and labelled: for features that are made of many pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colors

from workbench.base.errors import DimensionError
from workbench.tensor import Tensor

__all__ = ["draw_mask_border", "draw_mask_legend"]

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


def _region(mask: Any) -> Array:
    region = mask.detach().numpy() if isinstance(mask, Tensor) else np.asarray(mask)
    if region.ndim != 2:
        raise DimensionError(f"a region is a mask [H, W], got shape {list(region.shape)}", op="draw_mask")
    return region.astype(bool)
