"""Worker processes as tests see them, and what they are given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from workbench import data

__all__ = ["children", "descriptors", "numbers", "tensors"]


def descriptors() -> set[str]:
    """What this process holds open."""
    return {f"{one.name} {os.readlink(one)}" for one in Path("/proc/self/fd").iterdir() if one.exists()}


def children() -> list[int]:
    """Workers of this process that still are there."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if int(stat[1]) == os.getpid() and b"resource_tracker" not in line and b"forkserver" not in line:
                found.append(int(folder.name))
    return found


def numbers(loader: Any) -> list[int]:
    """All numbers of a pass, in order."""
    return [int(one) for batch in loader for one in np.ravel(batch)]


def tensors(count: int = 50) -> data.TensorDataset:
    """Small images, and their numbers."""
    images = wb.arange(count * 6, dtype="float32").reshape(count, 1, 2, 3).rename("N", "C", "H", "W")
    return data.TensorDataset(images, wb.arange(count, names=("N",)))
