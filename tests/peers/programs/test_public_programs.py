"""Programs that nobody here wrote run with the workbench in PyTorch's place, unchanged, and lose what they lose there.

A second run of PyTorch, with the last bit of each weight another, says from which step on a program is chaos: there its
own losses go apart as far. One bit of one weight would say too little: two libraries round differently everywhere.
Where rounding gives a value beside 0 another sign in front of a ReLU, that bit may say nothing, and losses go apart:
models run in float64 too, and there they must be the same for longer.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.peers.programs import sources
from tests.peers.programs.listing import OWN, PROGRAMS, REVISIONS

DRIVE = Path(__file__).with_name("drive.py")
RECORDED = sources.ROOT / "tests" / "programs" / "scripts" / "losses.json"
CLOSE = 1e-4
"""How far a loss may be from PyTorch's, in parts of it."""
DOUBLE = 1e-9
"""The same in float64."""
CHAOS = 30
"""How much more than one bit of each weight does: rounding differs in what is computed, too, and at every step."""
SHARE = 0.95

EXPECTED: dict[str, str] = {}
"""Programs that do not run, each with its reason."""


@pytest.fixture(scope="module")
def missing() -> dict[str, str]:
    pytest.importorskip("torch")
    return sources.fetch()


@pytest.fixture(scope="module")
def results(missing: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("programs")
    runs = {
        "torch": [],
        "nudged": ["--nudge"],
        "workbench": [],
        "torch in float64": ["--double"],
        "nudged in float64": ["--double", "--nudge"],
        "workbench in float64": ["--double"],
    }
    # The order of a set of words is part of what some programs do.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "MPLBACKEND": "Agg"}
    found: dict[str, dict[str, Any]] = {}
    for name, flags in runs.items():
        runner = ["-m", "workbench.torch"] if name.startswith("workbench") else []
        out = folder / f"{name}.json"
        done = subprocess.run(
            [sys.executable, *runner, str(DRIVE), str(sources.FOLDER), str(out), *flags],
            env=environment,
            cwd=sources.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found[name] = json.loads(out.read_text())
    return found


def apart(losses: list[float], others: list[float]) -> list[float]:
    """How far the losses of two runs are from each other, in parts of the first."""
    return [
        0.0
        if one == other or (math.isnan(one) and math.isnan(other))
        else abs(one - other) / max(abs(one), 1e-12)
        for one, other in zip(losses, others, strict=True)
    ]


def agree(torch: list[float], nudged: list[float], ours: list[float], close: float = CLOSE) -> bool:
    """Say whether losses are PyTorch's until chaos sets in."""
    for found, chaos in zip(apart(torch, ours), apart(torch, nudged), strict=True):
        if not math.isfinite(chaos) or CHAOS * chaos > 1:
            return True
        if not found <= max(close, CHAOS * chaos):
            return False
    return True


def test_there_are_sixty_of_them() -> None:
    assert len({one.name for one in PROGRAMS}) == len(PROGRAMS) >= 60
    assert {one.repository for one in PROGRAMS} == set(REVISIONS)


@pytest.mark.parametrize("name", [one.name for one in PROGRAMS + OWN])
def test_a_program_runs_unchanged(name: str, missing: dict[str, str], results: dict[str, Any]) -> None:
    repository = next(one.repository for one in PROGRAMS + OWN if one.name == name)
    if repository in missing:
        pytest.skip(f"{repository} cannot be had here: {missing[repository]}")
    torch, nudged, ours = (results[one][name] for one in ("torch", "nudged", "workbench"))
    assert "error" not in torch, torch["trace"]
    if name in EXPECTED:
        assert EXPECTED[name] in ours.get("error", ""), "it runs by now: take it out of the list"
        return
    assert "error" not in ours, ours["trace"]
    assert len(ours["losses"]) == len(torch["losses"]) > 0
    doubles = [results[f"{one} in float64"].get(name, {}) for one in ("torch", "nudged", "workbench")]
    # Where PyTorch refuses, the program has float32 in its text.
    double = "losses" in doubles[0]
    if double:
        assert agree(*(one["losses"] for one in doubles), close=DOUBLE), doubles
    # The second loss shows the first gradients, and comes before most chaos.
    losses = [one["losses"][: 2 if double else None] for one in (torch, nudged, ours)]
    assert agree(*losses), losses


def test_what_is_recorded_of_our_own_is_what_pytorch_says(results: dict[str, Any]) -> None:
    for name, losses in json.loads(RECORDED.read_text()).items():
        # Another processor may round otherwise.
        assert max(apart(losses, results["torch"][f"own/{name}"]["losses"])) < CLOSE


def test_nearly_all_run() -> None:
    assert len(EXPECTED) <= (1 - SHARE) * len(PROGRAMS)


def test_the_comparison_can_fail() -> None:
    line = [1.0, 0.5, 0.25]
    assert agree(line, line, line)
    assert not agree(line, line, [1.0, 0.5, 0.2501])
    assert agree(line, [1.0, 0.500001, 0.2501], [1.0, 0.50002, 0.252])
    assert not agree(line, [1.0, 0.500001, 0.2501], [1.0, 0.6, 0.26])
    assert not agree(line, line, [1.0, math.nan, 0.25])
