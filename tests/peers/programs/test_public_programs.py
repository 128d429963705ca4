"""Programs that nobody here wrote run with the workbench in PyTorch's place, unchanged, and lose what they lose there.

A second run of PyTorch, with the last bit of each weight another, says from which step on a program is chaos: there its
own losses go apart as far. One bit of one weight would say too little: two libraries round differently everywhere.
Where rounding gives a value beside 0 another sign in front of a ReLU, that bit may say nothing, and losses go apart:
models run in float64 too, and there they must be the same for longer.
"""

from __future__ import annotations

import fcntl
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
DOUBLE = 1e-7
"""The same in float64, of programs some of which compute a table of sines in float32 even then."""
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
    own = tmp_path_factory.getbasetemp()
    # Processes that run tests beside one another share what one of them has run.
    shared = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    folder = own.parent / f"programs-{shared}" if shared else own / "programs"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = folder / "results.json"
        if not known.exists():
            known.write_text(json.dumps(_run_all(folder)))
    return json.loads(known.read_text())  # type: ignore[no-any-return]


def _run_all(folder: Path) -> dict[str, dict[str, Any]]:
    found = {
        "torch": _run(folder / "torch.json"),
        "workbench": _run(folder / "workbench.json", "--workbench"),
        "torch in float64": _run(folder / "torch64.json", "--double"),
        "workbench in float64": _run(folder / "workbench64.json", "--workbench", "--double"),
    }
    # Where the same losses come out nobody need ask for chaos.
    for kind, close, flags in (("", CLOSE, ()), (" in float64", DOUBLE, ("--double",))):
        one, other = found[f"torch{kind}"], found[f"workbench{kind}"]
        names = [name for name in one if not _same(one[name], other.get(name, {}), close)]
        found[f"nudged{kind}"] = (
            _run(folder / f"nudged{kind}.json", "--nudge", *flags, *names) if names else {}
        )
    return found


def _same(one: dict[str, Any], other: dict[str, Any], close: float) -> bool:
    pair = one.get("losses", []), other.get("losses", [])
    return len(pair[0]) == len(pair[1]) and all(step <= close for step in apart(*pair))


def _run(out: Path, *flags: str) -> dict[str, Any]:
    """Run all programs, or those that are named, and return what came out of each."""
    runner = ["-m", "workbench.torch"] if "--workbench" in flags else []
    rest = [one for one in flags if one != "--workbench"]
    done = subprocess.run(
        [sys.executable, *runner, str(DRIVE), str(sources.FOLDER), str(out), *rest],
        # The order of a set of words is part of what some programs do.
        env={**os.environ, "PYTHONHASHSEED": "0", "MPLBACKEND": "Agg"},
        cwd=sources.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(out.read_text())  # type: ignore[no-any-return]


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
    torch, ours = (results[one][name] for one in ("torch", "workbench"))
    assert "error" not in torch, torch["trace"]
    if name in EXPECTED:
        assert EXPECTED[name] in ours.get("error", ""), "it runs by now: take it out of the list"
        return
    assert "error" not in ours, ours["trace"]
    assert len(ours["losses"]) == len(torch["losses"]) > 0
    # Where PyTorch refuses, the program has float32 in its text.
    double = results["torch in float64"].get(name, {}).get("losses")
    if double:
        _check(results, name, " in float64", len(double), DOUBLE)
    # The second loss shows the first gradients, and comes before most chaos.
    _check(results, name, "", 2 if double else len(torch["losses"]), CLOSE)


def _check(results: dict[str, Any], name: str, kind: str, steps: int, close: float) -> None:
    torch, ours = (results[f"{one}{kind}"][name]["losses"][:steps] for one in ("torch", "workbench"))
    nudged = results[f"nudged{kind}"].get(name, {}).get("losses", torch)[:steps]
    assert agree(torch, nudged, ours, close), (torch, nudged, ours)


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
