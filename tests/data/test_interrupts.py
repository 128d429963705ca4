"""Ctrl-C at the worst moments of a loader with workers: it is raised, nothing is left, the next pass is whole."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from typing import Any

import numpy as np
import pytest

from workbench import data
from workbench.data import pool

armed: list[bool] = []


@pytest.fixture(autouse=True)
def no_worker_of_a_test_before() -> None:
    gc.collect()  # the traceback of an error has the loop that it ended


def interrupt_once() -> None:
    if armed:
        armed.clear()
        signal.raise_signal(signal.SIGINT)


os.register_at_fork(after_in_parent=interrupt_once)


def numbers(loader: Any) -> list[int]:
    return [int(one) for batch in loader for one in np.ravel(batch)]


def loader(**settings: Any) -> Any:
    return data.DataLoader(range(24), 4, num_workers=2, timeout=10, **settings)


def test_amid_a_fork_where_an_error_of_a_hook_is_only_printed() -> None:
    armed.append(True)
    with pytest.raises(KeyboardInterrupt):
        list(loader(multiprocessing_context="fork"))
    assert multiprocessing.active_children() == []
    assert numbers(loader()) == list(range(24))


def test_while_workers_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = iter(loader())
    next(batches)
    workers = multiprocessing.active_children()
    join = multiprocessing.Process.join

    def joined(self: Any, timeout: float | None = None) -> None:
        interrupt_once()
        join(self, timeout)

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "join", joined)
    armed.append(True)
    with pytest.raises(KeyboardInterrupt):
        list(batches)
    assert len(workers) == 2
    assert multiprocessing.active_children() == []


def test_amid_a_message_of_workers_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = loader(persistent_workers=True)
    assert numbers(kept) == list(range(24))
    batches = iter(kept)
    next(batches)
    read = os.read

    def cut(descriptor: int, size: int) -> bytes:
        chunk = read(descriptor, 5 if armed else size)
        interrupt_once()
        return chunk

    monkeypatch.setattr("workbench.data.pool.os.read", cut)
    armed.append(True)
    with pytest.raises(KeyboardInterrupt):
        list(batches)
    assert numbers(kept) == list(range(24))


@pytest.mark.parametrize("call", ["begin_pass", "submit"])
def test_while_a_pass_begins_with_workers_that_stay(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = loader(persistent_workers=True)
    assert numbers(kept) == list(range(24))
    original = getattr(pool.Pool, call)
    done = []

    def cut(*arguments: Any) -> Any:
        interrupt_once()
        done.append(original(*arguments))

    monkeypatch.setattr(pool.Pool, call, cut)
    armed.append(True)
    with pytest.raises(KeyboardInterrupt):
        list(kept)
    assert done  # what was begun came to its end
    assert numbers(kept) == list(range(24))


def test_a_start_that_fails_for_want_of_files_leaves_none_open() -> None:
    resource = pytest.importorskip("resource")
    list(loader(multiprocessing_context="fork"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = len(os.listdir("/dev/fd"))
    for more in range(1, 13):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + more, hard))
        try:
            with pytest.raises(OSError, match="Too many open files") as raised:
                list(loader(multiprocessing_context="fork"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert more == 1 or "of 2 was started" in raised.value.__notes__[0]
        del raised  # its traceback has the pool
        assert len(os.listdir("/dev/fd")) == before
    assert multiprocessing.active_children() == []
