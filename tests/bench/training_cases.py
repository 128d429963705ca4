"""Training steps, their memory, and optimizers, against PyTorch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import torch

import workbench as wb
from tests.bench.measure import Case, Timing, Work
from tests.bench.training_networks import ADAM, HALVES, NETWORKS, step

__all__ = ["training_cases"]


class MemoryCase(Case):
    """A row of peak memory, measured in processes of their own."""

    def run(self) -> Timing:
        """Run both in turn, and take the medians."""
        found: dict[str, list[float]] = {"ours": [], "theirs": []}
        name = self.name.removeprefix("peak memory, ")
        for _ in range(self.rounds):
            for side, seen in found.items():
                command = [sys.executable, "-m", "tests.bench.training_networks", name, side]
                done = subprocess.run(
                    [*command, str(wb.get_num_threads())], capture_output=True, text=True, check=True
                )
                seen.append(float(done.stdout))
        return Timing(float(np.median(found["ours"])), float(np.median(found["theirs"])))


def _both(name: str) -> tuple[Work, Work]:
    return step(wb, name), step(torch, name)


def _halves(name: str, other: str) -> tuple[Work, Work]:
    """A step in mixed precision against our own in float32, or against PyTorch's in mixed precision."""
    make = HALVES[name]
    return make(wb, half=True), make(wb) if other == "ours, float32" else make(torch, half=True)


def _none() -> tuple[Work, Work]:
    raise AssertionError("measured in processes of its own")


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
    yield Case(ADAM, "torch", 1.0, lambda: _both(ADAM), rounds=21)
    for name in (*NETWORKS, ADAM):
        yield MemoryCase(f"peak memory, {name}", "torch", 1.0, _none, rounds=3, unit="B")
