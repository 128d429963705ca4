"""The coverage page: what came of every optimizer and schedule, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["PAGE", "page", "read"]

PAGE = Path(__file__).parent / "COVERAGE.md"

HEAD = """# Coverage of PyTorch's optimizer database

Written by `python -m tests.peers.optim_db`. Every optimizer of torch {version}'s `optim_db` in every configuration
that the database has for the CPU, for 50 steps:

* *given*: the same gradients in both libraries, for a vector, a matrix, a kernel of four dims and a single number, now
  and then without a gradient, in float32, float64 and complex64: weights, and the whole `state_dict` (keys, types,
  shapes, values);
* *net*: a small net in float64, each library with its own gradients;
* *resumed*: ours takes over torch's `state_dict` after 25 steps;
* *refusal*: what torch refuses is refused, with the same class of error, in words that the database looks for.

Weights agree to a relative 1e-7 in float64 and 2e-4 in float32 (Muon, which computes in bfloat16, to 1e-2); rates of
schedules, over 50 steps of two groups, to 1e-12.

**{passed} of {total} comparisons pass.**

| optimizer or schedule | comparisons | passed | not judged, because |
|---|---:|---:|---|
"""


def page(results: Mapping[str, tuple[int, int]], known: Mapping[str, str], version: str) -> str:
    """Return the page for ``name: (comparisons, passed)``, and for what is left out with its reason."""
    total, passed = (sum(counts[k] for counts in results.values()) for k in range(2))
    rows = {name: f"| `{name}` | {all_} | {good} | |\n" for name, (all_, good) in results.items()}
    rows |= {name: f"| `{name}` | | | {reason} |\n" for name, reason in known.items()}
    return HEAD.format(version=version, passed=passed, total=total) + "".join(rows.values())


def read() -> dict[str, tuple[int, int]]:
    """Return ``name: (comparisons, passed)`` as the page has it."""
    cells = [
        line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    return {row[1].strip(" `"): (int(row[2]), int(row[3])) for row in cells if row[2].strip()}
