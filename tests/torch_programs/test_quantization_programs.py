"""Programs as PyTorch's tutorials on quantization have them, unchanged, compute what they do there, as recorded.

What PyTorch 2.13 computes stands in ``results.json``: ``python tests/programs/scripts/quantization/drive.py FILE``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.quantization import sqnr

SCRIPTS = Path(__file__).resolve().parents[1] / "programs" / "scripts" / "quantization"
RECORDED: dict[str, dict[str, list[float]]] = json.loads((SCRIPTS / "results.json").read_text())

SAME, CLOSE, NEAR = 90.0, 24.0, 15.0
"""In dB: what is computed with the same codes; with ranges that are searched otherwise; after training with such."""

RATIOS = {
    "eager_static": {"float": SAME, "static": CLOSE, "aware float": NEAR, "aware": NEAR, "losses": CLOSE},
    "dynamic": dict.fromkeys(RECORDED["dynamic"], SAME),
    "graph_mode": {
        "float": SAME, "fused": SAME, "static": CLOSE, "partly": CLOSE, "losses": CLOSE, "aware float": CLOSE,
        "aware": CLOSE, "words float": SAME, "words dynamic": SAME, "suite float": SAME, "suite dynamic": SAME,
    },
}  # fmt: skip


def run(out: Path, *runner: str) -> dict[str, dict[str, list[float]]]:
    """Run the programs, and return what they computed."""
    done = subprocess.run(
        [sys.executable, *runner, str(SCRIPTS / "drive.py"), str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(out.read_text())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(tmp_path_factory.mktemp("quantization") / "results.json", "-m", "workbench.torch")


def test_each_program_is_recorded() -> None:
    names = sorted(one.stem for one in SCRIPTS.glob("*.py") if one.name != "drive.py")
    assert sorted(RECORDED) == sorted(RATIOS) == names


@pytest.mark.parametrize("name", sorted(RATIOS))
def test_a_program_computes_what_pytorch_does(name: str, results: dict[str, Any]) -> None:
    assert list(results[name]) == list(RECORDED[name]) and set(RATIOS[name]) == set(RECORDED[name])
    for key, ratio in RATIOS[name].items():
        theirs, ours = (np.array(one[name][key]) for one in (RECORDED, results))
        assert sqnr(theirs, ours) > ratio, key


@pytest.mark.parametrize(
    ("name", "key", "exact"),
    [
        ("eager_static", "static", "float"), ("eager_static", "aware", "aware float"),
        ("graph_mode", "static", "float"), ("graph_mode", "aware", "aware float"),
    ],
)  # fmt: skip
def test_codes_lose_no_more_than_there(name: str, key: str, exact: str, results: dict[str, Any]) -> None:
    theirs, ours = (sqnr(np.array(one[name][exact]), np.array(one[name][key])) for one in (RECORDED, results))
    assert ours > theirs - 2.0
