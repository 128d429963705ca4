"""Colours of attributions: maps that colour-blind readers can tell apart, and Captum's."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.colors import Colormap, LinearSegmentedColormap

from workbench.base.dims import near_miss

__all__ = ["CAPTUM_MAPS", "MAPS", "NEGATIVE", "POSITIVE", "chosen_map"]

POSITIVE, NEGATIVE = "#c86400", "#005293"
"""What speaks for, and what speaks against: the ends of the views' map of signed values."""


def _ramp(name: str, *colours: str) -> Any:
    return LinearSegmentedColormap.from_list(name, colours)


MAPS: dict[str, Any] = {
    "all": _ramp("blue white orange", NEGATIVE, "#78b2dd", "#ffffff", "#f4be6e", POSITIVE),
    "positive": _ramp("white orange", "#ffffff", "#f4be6e", POSITIVE),
    "negative": _ramp("white blue", "#ffffff", "#78b2dd", NEGATIVE),
    "absolute_value": _ramp("white purple", "#ffffff", "#b3a2d2", "#4b2a83"),
}
"""The map of each sign where none is asked for; zero is white."""

CAPTUM_MAPS: dict[str, Any] = {
    "all": _ramp("red white green", "red", "white", "green"),
    "positive": "Greens",
    "negative": "Reds",
    "absolute_value": "Blues",
}
"""Captum's own maps, by sign: what ``cmap="captum"`` means."""


def chosen_map(cmap: Any, sign: str) -> Colormap:
    """Return the map that `cmap` names: None for the sign's own, ``"captum"`` for Captum's.

    Raises:
        ValueError: matplotlib has no map of that name.
    """
    if cmap is None:
        cmap = MAPS[sign]
    elif isinstance(cmap, str) and cmap == "captum":
        cmap = CAPTUM_MAPS[sign]
    if isinstance(cmap, Colormap):
        return cmap
    if cmap not in matplotlib.colormaps:
        near = near_miss(str(cmap), tuple(matplotlib.colormaps))
        raise ValueError(
            f"there is no colour map {cmap!r}"
            + (f"; did you mean {near!r}?" if near else "; matplotlib.colormaps lists them")
        )
    return matplotlib.colormaps[cmap]
