"""How far memory rises in this process; nothing else is brought here, so that each side is measured alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["rise"]


def _status(word: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(word)) << 10


def rise(work: Callable[[], Any]) -> int:
    """Return by how many bytes the peak of resident memory is above what is there before `work` is called."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before = _status("VmRSS")
    kept = work()
    peak = _status("VmHWM") - before
    del kept
    return peak
