"""Random numbers on a GPU: they are drawn by the CPU's generator, whose seeds stay what they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.base import random
from workbench.cuda.devices import device_count, is_available, need

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
]  # fmt: skip


def manual_seed(seed: int) -> None:
    """Seed the current GPU: nothing without one, and nothing with one, since `wb.manual_seed` seeds all there is."""


def manual_seed_all(seed: int) -> None:
    """Seed every GPU: see `manual_seed`."""


def seed() -> None:
    """Seed the current GPU with something that nobody knows: see `manual_seed`."""


def seed_all() -> None:
    """Seed every GPU with something that nobody knows: see `manual_seed`."""


def initial_seed() -> int:
    """Return the seed of what is drawn. Raises UnavailableError without a GPU."""
    need("initial_seed")
    return random.initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    """Return the state of what is drawn. Raises UnavailableError without a GPU."""
    need("get_rng_state")
    return random.get_rng_state()


def get_rng_state_all() -> list[Any]:
    """Return a state for each GPU: none without one."""
    return [random.get_rng_state()] * device_count() if is_available() else []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Go on drawing from a state. Raises UnavailableError without a GPU."""
    need("set_rng_state")
    random.set_rng_state(new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Go on drawing from a state for each GPU: nothing where none is given."""
    for state in new_states:
        set_rng_state(state)
