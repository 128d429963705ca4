"""The device ``xla`` and graphs as programs of StableHLO: checked in a process of its own.

JAX starts threads, after which a process must not fork; other tests do.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).parent / "xla_checks.py"


def installed() -> bool:
    """Say whether JAX is here; not by `find_spec`, since for this process there is none (see conftest)."""
    return any(one.name == "jax" for one in importlib.metadata.distributions())


@pytest.mark.skipif(not installed(), reason="JAX, of the extra `xla`, is not installed")
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
        env={**os.environ, "JAX_PLATFORMS": "cpu", "WORKBENCH_XLA": "1"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
