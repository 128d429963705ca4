"""What workers leave behind: nothing, however their program ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import workbench as wb
from tests.data.processes import children, tensors
from workbench import data

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def test_a_loop_that_is_left_ends_its_workers_at_once() -> None:
    for x, _ in data.DataLoader(tensors(), 2, num_workers=2):
        assert x.shape[0] == 2
        break
    assert children() == []
    with pytest.raises(ZeroDivisionError):
        [1 / 0 for _ in data.DataLoader(tensors(), 2, num_workers=2)]
    assert children() == []


SCRIPT = """
import os, sys, time
import workbench as wb
from workbench import data

class Set(data.Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        if index > {slow}:
            time.sleep(600)
        return wb.full((1000,), float(index))

before = set(os.listdir("/dev/shm"))
other = iter(data.DataLoader(Set(), 2, num_workers=1, persistent_workers=True, multiprocessing_context="{method}"))
next(other)
loader = data.DataLoader(Set(), 2, num_workers=2, multiprocessing_context="{method}")
batches = iter(loader)
next(batches)
from multiprocessing import active_children
print(*[child.pid for child in active_children()], flush=True)
assert set(os.listdir("/dev/shm")) - before == set(), "a name of shared memory"
{end}
"""


def run(end: str, slow: int = 100, method: str = "fork") -> tuple[subprocess.Popen[str], list[int]]:
    source = SCRIPT.format(slow=slow, method=method, end=end)
    source = f"if __name__ == '__main__':\n{''.join('    ' + line + chr(10) for line in source.splitlines())}"
    if method != "fork":  # a spawned worker looks for the class at the top of the module
        top, _, rest = SCRIPT.format(slow=slow, method=method, end=end).partition("before =")
        source = f"{top}\nif __name__ == '__main__':\n" + "".join(
            f"    {line}\n" for line in ("before =" + rest).splitlines()
        )
    folder = Path(os.environ["PYTEST_CURRENT_TEST_FOLDER"])
    path = folder / "script.py"
    path.write_text(source)
    process = subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(wb.__file__).parents[1])},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, errors = process.communicate()
        raise AssertionError(errors)
    return process, [int(pid) for pid in line.split()]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_CURRENT_TEST_FOLDER", str(tmp_path))


def gone(pids: list[int], seconds: float = 20) -> bool:
    """Wait until processes have ended; those that do not are ended, and the answer is False."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    for pid in filter(alive, pids):
        os.kill(pid, signal.SIGKILL)
    return False


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(("method", "slow"), [("fork", 100), ("fork", 3), ("spawn", 3), ("forkserver", 3)])
def test_workers_end_when_their_program_is_killed(method: str, slow: int) -> None:
    process, pids = run("time.sleep(600)", slow, method)
    assert len(pids) == 3
    process.kill()
    ended = gone(pids)
    process.communicate(timeout=60)
    assert ended


@pytest.mark.parametrize(
    ("end", "status", "slow"),
    [("sys.exit(7)", 7, 100), ("raise ValueError", 1, 3), ("pass", 0, 3), ("os._exit(5)", 5, 3)],
)
def test_workers_end_with_their_program(end: str, status: int, slow: int) -> None:
    process, pids = run(end, slow)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == status
    assert gone(pids)
    assert "leaked" not in errors
    assert ("ValueError" in errors) == (status == 1)


def test_an_interrupt_reaches_the_program_and_ends_the_workers() -> None:
    end = """
try:
    print("waiting", flush=True)
    while True:
        next(batches)
except KeyboardInterrupt:
    print("interrupted", len(active_children()), flush=True)
    del batches, other
    print(len(active_children()), flush=True)
"""
    process, pids = run(end, slow=3)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    time.sleep(0.2)
    for pid in [*pids, process.pid]:  # as a terminal does: to all of the group
        os.kill(pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert output.split() == ["interrupted", "1", "0"]
    assert (errors, process.returncode) == ("", 0)
    assert gone(pids)


def test_too_many_workers_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(1))
    with pytest.warns(UserWarning, match="will create 2 worker processes in total"):
        list(data.DataLoader(tensors(), 8, num_workers=2))
