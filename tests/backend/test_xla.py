"""The device ``xla`` and graphs as programs of StableHLO: checked in a process of its own.

JAX starts threads, after which a process must not fork; other tests do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

CHECKS = Path(__file__).parent / "xla_checks.py"


@pytest.mark.skipif(find_spec("jax") is None, reason="JAX, of the extra `xla`, is not installed: make xla")
def test_what_xla_computes() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        str(CHECKS),
    ]
    done = subprocess.run(
        command,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
