"""Steps of small whole programs, against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import torch

import workbench as wb
from tests.bench.measure import Case, Work
from tests.bench.small_networks import PROGRAMS

__all__ = ["small_cases"]


def _both(name: str) -> tuple[Work, Work]:
    make = PROGRAMS[name]
    return make(wb), make(torch)


def small_cases() -> Iterator[Case]:
    """Every row of small programs."""
    for name in PROGRAMS:
        yield Case(f"small program, {name}", "torch", 1.0, lambda name=name: _both(name), rounds=15)  # type: ignore[misc]
