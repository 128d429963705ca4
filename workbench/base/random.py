"""Random numbers: generators with seeds, and the default one."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Generator", "default_generator", "manual_seed"]


class Generator:
    """A stream of random numbers; the same seed gives the same stream.

    >>> a, b = Generator(7), Generator(7)
    >>> bool((a.numpy.random(3) == b.numpy.random(3)).all())
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        self.numpy: np.random.Generator = np.random.default_rng(seed)
        self._seed = seed

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed`."""
        if type(seed) is not int:
            raise TypeError(f"a seed is a whole number, got {seed!r}")
        self.numpy = np.random.default_rng(seed if seed >= 0 else [-seed, 1])
        self._seed = seed
        return self

    def initial_seed(self) -> int | None:
        """Return the seed that started the stream, or None if chance did."""
        return self._seed

    def get_state(self) -> dict[str, Any]:
        """Return where the stream is, for `set_state`."""
        return dict(self.numpy.bit_generator.state)

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a place that `get_state` returned."""
        self.numpy.bit_generator.state = state


default_generator = Generator()
"""What random factories and layers draw from when no generator is given."""


def manual_seed(seed: int) -> Generator:
    """Start the default generator on the stream of `seed` and return it."""
    return default_generator.manual_seed(seed)
