"""Reads what torch's database of modules says of ours, recorded by `tests.peers.module_db.record`."""

from __future__ import annotations

from pathlib import Path

from tests.ops.recorded import Recorded

FILE = Path(__file__).parent / "recorded.npz"
MODULES = Recorded(FILE)
