"""Scripts written for PyTorch, after papers, run unchanged and lose what they lose there, as recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVE = ROOT / "tests" / "peers" / "programs" / "drive.py"
SCRIPTS = ROOT / "tests" / "programs" / "scripts"
LOSSES: dict[str, list[float]] = json.loads((SCRIPTS / "losses.json").read_text())
"""What PyTorch 2.13 computes, on one thread."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("scripts") / "results.json"
    done = subprocess.run(
        # No folder of public programs: the scripts of our own are always there.
        [sys.executable, "-m", "workbench.torch", str(DRIVE), str(out.parent), str(out)],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(out.read_text())  # type: ignore[no-any-return]


def test_each_script_is_recorded() -> None:
    assert sorted(LOSSES) == sorted(one.stem for one in SCRIPTS.glob("*.py"))


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_script_runs_unchanged(name: str, results: dict[str, Any]) -> None:
    found = results[f"own/{name}"]
    assert "error" not in found, found["trace"]
    assert found["losses"] == pytest.approx(LOSSES[name], rel=1e-4)
