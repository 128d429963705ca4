"""Programs with what PyTorch made of them, kept in a file: the plain suite has no PyTorch.

`python -m tests.peers.random_programs --record 400` writes it.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.random_programs.program import Step

__all__ = ["FILE", "Recorded", "read", "write"]

FILE = Path(__file__).parent / "recorded.json.gz"


@dataclass
class Recorded:
    """One program and PyTorch's run of it."""

    steps: list[Step]
    outcomes: list[Any]
    left: dict[str, Any]
    layouts: list[Any]
    reasons: list[str] = field(default_factory=list)
    broken: bool = False

    def end(self) -> dict[str, Any]:
        """Return what the program left behind."""
        return self.left


def write(programs: list[Recorded], file: Path = FILE) -> None:
    """Write programs to the file."""
    rows = [
        {
            "steps": [step.as_list() for step in one.steps],
            "outcomes": one.outcomes,
            "layouts": one.layouts,
            "left": _plain(one.left),
        }
        for one in programs
    ]
    # No time of writing: the same programs give the same file.
    file.write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":")).encode(), mtime=0))


def read(file: Path = FILE) -> list[Recorded]:
    """Return the programs of the file."""
    rows = json.loads(gzip.decompress(file.read_bytes()))
    return [
        Recorded(
            [Step.from_list(step) for step in row["steps"]],
            row["outcomes"],
            {key: _arrays(value) if key != "facts" else value for key, value in row["left"].items()},
            row["layouts"],
            [""] * len(row["outcomes"]),
        )
        for row in rows
    ]


def _plain(value: Any) -> Any:
    """Return what JSON can hold: an array as its type, sizes and numbers."""
    if isinstance(value, np.ndarray):
        parts = np.stack([value.real, value.imag], -1) if value.dtype.kind == "c" else value
        digits = 8 if value.dtype.itemsize // (1 + (value.dtype.kind == "c")) == 4 else 12
        numbers = [float(f"{one:.{digits}g}") for one in parts.ravel().tolist()]
        return {"array": [value.dtype.name, list(value.shape), numbers]}
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _arrays(value: Any) -> Any:
    """Return what `_plain` made plain."""
    if isinstance(value, dict):
        name, shape, numbers = value["array"]
        parts = np.array(numbers, np.float64)
        if name.startswith("complex"):
            parts = parts.reshape(-1, 2)
            parts = parts[:, 0] + 1j * parts[:, 1]
        return parts.astype(name).reshape(shape)
    return [_arrays(one) for one in value] if isinstance(value, list) else value
