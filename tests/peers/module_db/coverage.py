"""The coverage page: what came of every module, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.peers.module_db.known import KNOWN

__all__ = ["page", "read", "write"]

PAGE = Path(__file__).parent / "COVERAGE.md"

HEAD = """# Coverage of PyTorch's database of modules

Written by `python -m tests.peers.module_db`. Every entry of torch {version}'s `module_db`, with every one of its
float32 samples, in training and in use: keys, shapes and types of the state, outputs, gradients of inputs and of
parameters, and buffers afterwards, within the entry's own tolerance (at least 1e-5). Where torch's float32 result has
itself lost digits, its result in double precision decides; those samples are counted.

**{passed} of {modules} modules pass ({percent:.1f} %), {good} of {samples} samples.**

| module | samples | passed | by double precision | why the rest does not pass |
|---|---:|---:|---:|---|
"""


def page(results: Mapping[str, tuple[int, int, int]], version: str) -> str:
    """Return the page for ``module: (samples, passed, passed by double precision)``."""
    passed = sum(total == good for total, good, _ in results.values())
    head = HEAD.format(
        version=version,
        modules=len(results),
        passed=passed,
        percent=100 * passed / len(results),
        samples=sum(total for total, *_ in results.values()),
        good=sum(good for _, good, _ in results.values()),
    )
    return head + "".join(
        f"| `{name}` | {total} | {good} | {double or ''} | {KNOWN.get(name, '')} |\n"
        for name, (total, good, double) in sorted(results.items())
    )


def read() -> dict[str, tuple[int, int]]:
    """Return ``module: (samples, passed)`` as the page has it."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line.split("|") for line in lines if line.startswith("| `")]
    return {row[1].strip(" `"): (int(row[2]), int(row[3])) for row in rows}


def write(results: Mapping[str, tuple[int, int, int]], version: str) -> None:
    """Write the page."""
    PAGE.write_text(page(results, version), encoding="utf-8")
