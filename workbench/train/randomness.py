"""The random streams that a training draws from, taken down and put back."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from workbench.base.random import default_generator
from workbench.tensor import Tensor

__all__ = ["aside", "capture", "restore", "seed_all"]


def capture() -> dict[str, Any]:
    """Return where the default generator, Python's `random` and NumPy's global stream are."""
    kind, keys, place, has_gauss, gauss = np.random.get_state(legacy=True)
    return {
        "workbench": default_generator.get_state(),
        "python": random.getstate(),
        "numpy": [kind, np.asarray(keys).astype(np.int64), place, has_gauss, gauss],
    }


def restore(state: Mapping[str, Any]) -> None:
    """Let the streams go on from where `capture` found them."""
    kind, keys, place, has_gauss, gauss = state["numpy"]
    keys = np.asarray(keys.numpy() if isinstance(keys, Tensor) else keys).astype(np.uint32)
    version, numbers, rest = state["python"]
    default_generator.set_state(dict(state["workbench"]))
    random.setstate((version, tuple(numbers), rest))
    np.random.set_state((kind, keys, place, has_gauss, gauss))


@contextmanager
def aside() -> Iterator[None]:
    """Put the streams back at the end of this block, whatever was drawn in it."""
    state = capture()
    try:
        yield
    finally:
        restore(state)


def seed_all(seed: int) -> None:
    """Start all three streams from one seed."""
    default_generator.manual_seed(seed)
    random.seed(seed)
    # NumPy's older stream takes seeds of 32 bits only.
    np.random.seed(seed % 2**32)
