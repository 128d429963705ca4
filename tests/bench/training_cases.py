"""Training steps, their memory, and optimizers, against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import torch

import workbench as wb
from tests.bench.measure import Case, Work
from tests.bench.memory_cases import MemoryCase, apart
from tests.bench.training_networks import ADAM, COMPILED, HALVES, NETWORKS, step

__all__ = ["training_cases"]


def _both(name: str) -> tuple[Work, Work]:
    return step(wb, name), step(torch, name)


def _halves(name: str, other: str) -> tuple[Work, Work]:
    """A step in mixed precision against our own in float32, or against PyTorch's in mixed precision."""
    make = HALVES[name]
    return make(wb, half=True), make(wb) if other == "ours, float32" else make(torch, half=True)


def _compiled(name: str) -> tuple[Work, Work]:
    make = COMPILED[name]
    return make(wb, compiled=True), make(wb)


def training_cases() -> Iterator[Case]:
    """Every row of training."""
    for name, (_, target) in NETWORKS.items():
        yield Case(f"training step, {name}", "torch", target, lambda name=name: _both(name), rounds=15)  # type: ignore[misc]
    for name in HALVES:
        for other, target in (("ours, float32", 0.7), ("torch", 1.0)):
            yield Case(
                f"training step under autocast, {name}", other, target,
                lambda name=name, other=other: _halves(name, other), rounds=15,  # type: ignore[misc]
            )  # fmt: skip
    for name in COMPILED:
        yield Case(
            f"training step, compiled, {name}", "ours, eager", 0.85, lambda name=name: _compiled(name), rounds=15  # type: ignore[misc]
        )  # fmt: skip
    yield Case(ADAM, "torch", 1.0, lambda: _both(ADAM), rounds=21)
    for name in (*NETWORKS, ADAM):
        yield MemoryCase(
            f"peak memory, {name}", "torch", 1.0, apart, rounds=3, unit="B",
            module="tests.bench.training_networks",
        )  # fmt: skip
