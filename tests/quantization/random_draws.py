"""What random programs are drawn with."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Random", "chance", "pick", "whole"]

Random = np.random.Generator


def pick(random: Random, several: Any) -> Any:
    """Return one of several."""
    return several[int(random.integers(len(several)))]


def whole(random: Random, low: int, high: int) -> int:
    """Return a whole number from `low` to below `high`."""
    return int(random.integers(low, high))


def chance(random: Random, share: float = 0.5) -> bool:
    """Say yes in so many cases."""
    return bool(random.random() < share)
