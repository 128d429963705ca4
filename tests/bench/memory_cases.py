"""Rows of peak memory, measured in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import numpy as np

import workbench as wb
from tests.bench.measure import Case, Timing, Work

__all__ = ["MemoryCase", "apart"]


def apart() -> tuple[Work, Work]:
    """Stand in the place of what is measured here."""
    raise AssertionError("measured in processes of its own")


@dataclass(frozen=True)
class MemoryCase(Case):
    """A row of peak memory: `module` is run as a program with `name`, ``ours`` or ``theirs``, and threads."""

    module: str = ""

    def run(self) -> Timing:
        """Run both in turn, and take the medians."""
        found: dict[str, list[float]] = {"ours": [], "theirs": []}
        name = self.name.removeprefix("peak memory, ")
        for _ in range(self.rounds):
            for side, seen in found.items():
                command = [sys.executable, "-m", self.module, name, side, str(wb.get_num_threads())]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                seen.append(float(done.stdout))
        return Timing(float(np.median(found["ours"])), float(np.median(found["theirs"])))
