"""The colours of data in static pictures, the same as in the live views."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["CATEGORIES", "MAPS", "NAN", "dim_colour"]

NAN = (224, 0, 122)
"""Drawn where a value is not a number."""

FIXED = {"N": "#7a7f87", "C": "#0072b2", "H": "#009e73", "W": "#e69f00", "T": "#b5629a"}
OTHERS = ("#56b4e9", "#d55e00", "#c9b800", "#b5629a", "#0072b2", "#009e73", "#e69f00")

CATEGORIES = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#b5629a", "#c9b800", "#7a7f87")
"""The colours of categories, in order."""

_seen: dict[str, str] = {}


def dim_colour(name: str | None) -> str:
    """Return the colour of a dim: fixed for the usual names, else in the order in which names appear.

    >>> dim_colour("H"), dim_colour(None)
    ('#009e73', '#7a7f87')
    """
    if name is None:
        return FIXED["N"]
    if name in FIXED:
        return FIXED[name]
    # A program that makes up names without end must not fill the memory with their colours.
    if name not in _seen and len(_seen) < 1000:
        _seen[name] = OTHERS[len(_seen) % len(OTHERS)]
    return _seen.get(name, OTHERS[0])


def _ramp(*stops: tuple[int, int, int]) -> np.ndarray[Any, Any]:
    """256 colours through the stops, evenly spaced."""
    places = np.linspace(0, len(stops) - 1, 256)
    table = np.array(stops, dtype=np.float64)
    channels = [np.interp(places, np.arange(len(stops)), table[:, channel]) for channel in range(3)]
    opaque = np.full(256, 255.0)
    return np.stack([*channels, opaque], axis=1).round().astype(np.uint8)


MAPS = {
    "grey": _ramp((0, 0, 0), (255, 255, 255)),
    "sequential": _ramp((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)),
    "signed": _ramp((0, 82, 147), (120, 178, 221), (255, 255, 255), (244, 190, 110), (200, 100, 0)),
}
"""The colour maps: 256 colours each, as red, green, blue and opacity."""
