"""The coverage page: what came of every entry, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.peers.op_db.known import KNOWN
from tests.peers.op_db.names import PLAIN

__all__ = ["PAGE", "page", "read", "write"]

PAGE = Path(__file__).parent / "COVERAGE.md"

HEAD = """# Coverage of PyTorch's op database

Written by `make peers`. Every entry of torch {version}'s `op_db` that takes and returns plain dense tensors, with every
one of its float32 samples: outputs (number, shapes, types, values) and, where the entry is differentiable, gradients
of all inputs, compared within the entry's own tolerance.

Where results differ by more than that because torch's float32 result has itself lost digits to rounding (about one
sample in 200, most of them decompositions of matrices), the workbench's is compared with torch's result in double
precision, and passes where it is about as near to that as torch's own.

**{passed} of {samples} samples pass ({percent:.2f} %), in {entries} entries; {strict} ({share:.2f} %) within the
entry's own tolerance, the others by double precision.**

Every entry is run as well in bool, uint8, int8, int16, int32, int64, float16, bfloat16, float64, complex64 and
complex128, where torch has it (8 samples spread over all, backward where torch has one), and in float32 and complex64
with the dims of its inputs reversed in memory, in every second place of it, in the middle of it, and with one part for
all (6 samples). What fails there stands in `known.py` with its reason.

| entry | samples | passed | by double precision | why the rest does not pass |
|---|---:|---:|---:|---|
"""


def page(results: Mapping[str, Sequence[int]], version: str) -> str:
    """Return the page for ``entry: (samples, passed, passed by double precision)``."""
    rows = sorted(results.items())
    samples, passed, doubled = (sum(counts[k] for _, counts in rows) for k in range(3))
    head = HEAD.format(
        version=version,
        samples=samples,
        passed=passed,
        percent=100 * passed / samples,
        entries=len(rows),
        strict=passed - doubled,
        share=100 * (passed - doubled) / samples,
    )
    lines = [
        f"| `{name}` | {total} | {good} | {double or ''} | {_reason(name)} |\n"
        for name, (total, good, double) in rows
    ]
    return head + "".join(lines)


def _reason(name: str) -> str:
    return KNOWN[name].reason if name in KNOWN else ""


def read() -> dict[str, tuple[int, int, int]]:
    """Return ``entry: (samples, passed, passed by double precision)`` as the page has it."""
    cells = [
        line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    return {row[1].strip(" `"): (int(row[2]), int(row[3]), int(row[4].strip() or 0)) for row in cells}


def write(results: Mapping[str, Any], version: str) -> bool:
    """Write the page if every entry was judged, and say whether it was."""
    if set(results) != set(PLAIN):
        return False
    PAGE.write_text(page(results, version), encoding="utf-8")
    return True
