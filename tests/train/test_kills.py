"""A process killed while it saves or resumes loses nothing, and the next one goes on exactly."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.train.killed import EPOCHS, SAVE
from tests.train.parts import loader, same, trainer, weights
from workbench.train import checkpoint

PATIENCE = 120
"""Seconds until a process that hangs fails its test."""


def killed_at(point: str, folder: Path, root: Path) -> None:
    """Run a training until it stands still at a point, and kill it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.train.killed", str(folder), point],
        cwd=root, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    watchdog = threading.Timer(PATIENCE, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n", "the process ended before it came to that point"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        assert process.stdout is not None
        process.stdout.close()
        watchdog.cancel()


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    made = trainer(seed=3)
    made.fit(loader(), loader(), epochs=EPOCHS)
    return weights(made)


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.suffix == ".part"]


@pytest.mark.parametrize(
    ("point", "good", "leftovers"),
    [("writing", SAVE - 1, 1), ("replacing", SAVE - 1, 1), ("replaced", SAVE, 0)],
)
def test_killed_while_saving(
    point: str, good: int, leftovers: int, expected: dict[str, Any], tmp_path: Path, root: Path
) -> None:
    killed_at(point, tmp_path, root)
    stored = checkpoint.files(tmp_path)
    assert [one.step for one in stored] == [4 * (i + 1) for i in range(good)]
    for one in stored:
        checkpoint.load(one.path)
    assert len(left(tmp_path)) == leftovers
    made = trainer(seed=99, checkpoint=tmp_path)
    made.fit(loader(), loader(), epochs=EPOCHS, resume="last")
    assert made.resumed_from == stored[-1].path
    assert left(tmp_path) == []
    same(weights(made), expected)


@pytest.mark.parametrize("point", ["reading", "taking over"])
def test_killed_while_resuming(point: str, expected: dict[str, Any], tmp_path: Path, root: Path) -> None:
    first = trainer(seed=3, checkpoint=tmp_path)
    first.fit(loader(), loader(), epochs=2)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    killed_at(point, tmp_path, root)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    made = trainer(seed=99, checkpoint=tmp_path)
    made.fit(loader(), loader(), epochs=EPOCHS, resume="last")
    same(weights(made), expected)
