"""What `import workbench` leaves to the first use: it is what a notebook waits for before anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LATER = (
    "IPython",
    "hashlib",
    "multiprocessing",
    "numpy.random",
    "pandas",
    "scipy",
    "secrets",
    "torch",
    "workbench.live",
)
"""Slow to import, and not needed until somebody draws numbers, loads, shows or converts."""


def test_importing_leaves_to_later_what_is_slow(root: Path) -> None:
    code = f"import sys, workbench; print([name for name in {LATER!r} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
