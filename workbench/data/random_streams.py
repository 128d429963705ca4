"""The random streams that samples may draw from, started anew for each batch.

A loader seeds every batch from the pass's seed and the batch's number, and gives the program its own streams back
afterwards. So a sample sees the same numbers whichever process makes it, and the program's own draws do not depend on
how its data is loaded.
"""

from __future__ import annotations

import random
from typing import Any

from workbench.base.lazy import Lazy
from workbench.base.random import default_generator

__all__ = ["Once", "Streams", "mixed", "own_twister", "start"]

legacy = Lazy("numpy.random")

_WORD = (1 << 64) - 1


def mixed(seed: int, number: int) -> int:
    """Return 63 bits that `seed` and `number` decide (SplitMix64: Steele, Lea and Flood, 2014)."""
    word = (seed + (number + 1) * 0x9E3779B97F4A7C15) & _WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return (word ^ (word >> 31)) >> 1


def start(seed: int) -> None:
    """Start all three streams: the workbench's default generator, ``numpy.random`` and ``random``.

    ``numpy.random`` must stand on a Mersenne Twister, as it does unless somebody changed that.
    """
    fields = default_generator.__dict__
    fields.pop("numpy", None)  # made again when somebody draws
    fields["_seed"] = seed
    # NumPy's older stream takes seeds of 32 bits only.
    legacy.seed(seed & 0xFFFFFFFF)
    random.seed(seed)


def own_twister() -> None:
    """Have ``numpy.random`` stand on a Mersenne Twister of its own, whatever the program had put there."""
    legacy.set_bit_generator(legacy.MT19937(0))


_spare: list[Any] = []
"""Mersenne Twisters that no block uses: making one takes longer than seeding it."""


class Streams:
    """Within ``with streams:`` draws come from streams that `seed` started; the next ``with`` goes on there."""

    def __init__(self, seed: int) -> None:
        self._seed: int | None = seed
        self._own: tuple[Any, dict[str, Any], Any] | None = None
        self._outer: tuple[Any, dict[str, Any], Any] | None = None

    def __enter__(self) -> None:
        fields = default_generator.__dict__
        # The whole generator and not its state: drawing goes on with the very same objects.
        self._outer = (random.getstate(), dict(fields), legacy.get_bit_generator())
        if self._own is None:
            legacy.set_bit_generator(_spare.pop() if _spare else legacy.MT19937(0))
            assert self._seed is not None
            start(self._seed)
        else:
            state, own, twister = self._own
            random.setstate(state)
            fields.clear()
            fields.update(own)
            legacy.set_bit_generator(twister)

    def __exit__(self, *_: object) -> None:
        self._own = (random.getstate(), dict(default_generator.__dict__), legacy.get_bit_generator())
        self._leave()

    def _leave(self) -> None:
        assert self._outer is not None
        state, fields, twister = self._outer
        random.setstate(state)
        default_generator.__dict__.clear()
        default_generator.__dict__.update(fields)
        legacy.set_bit_generator(twister)
        self._outer = None


class Once(Streams):
    """Streams for one block."""

    def __exit__(self, *_: object) -> None:
        _spare.append(legacy.get_bit_generator())
        self._leave()
