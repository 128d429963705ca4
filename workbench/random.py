"""Seeds and states of the default generator, in PyTorch's words."""

from __future__ import annotations

from workbench.base.public import words
from workbench.base.random import (
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

__getattr__, __dir__ = words(__name__, __all__)
