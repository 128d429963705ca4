"""Workers that fail: the error says where, and the loop can go on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.data import datasets
from tests.data.processes import tensors
from workbench import data

pytestmark = pytest.mark.usefixtures("nothing_is_left")


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("kill", "SIGKILL ended it (the system does that where memory runs out)"),
        ("segfault", "SIGSEGV ended it"),
        ("exit", "it called exit with status 3"),
        ("_exit", "it called exit with status 0"),
    ],
)
@pytest.mark.parametrize("persistent", [True, False])
def test_a_worker_that_ends_is_an_error_that_says_where(way: str, words: str, persistent: bool) -> None:
    loader = data.DataLoader(datasets.Failing(way), 2, num_workers=2, persistent_workers=persistent)
    batches = iter(loader)
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(data.WorkerError) as caught:
        next(batches)
    assert "DataLoader worker 0 (pid " in str(caught.value)
    assert words in str(caught.value)
    assert "It was at batch 2 of samples [4, 5]" in str(caught.value)
    assert list(batches) == []
    loader.dataset.way = "error"
    assert next(iter(loader)).tolist() == [0, 1]  # another pass gets workers of its own


def test_a_worker_that_is_killed_from_outside_while_it_works(tmp_path: Path) -> None:
    loader = data.DataLoader(Slow(tmp_path), 1, num_workers=1)
    batches = iter(loader)
    while not (pids := list(tmp_path.iterdir())):
        time.sleep(0.01)
    os.kill(int(pids[0].name), signal.SIGKILL)
    with pytest.raises(data.WorkerError, match=r"worker 0 .*SIGKILL.*batch 0 of samples \[0\]"):
        next(batches)


class Slow(data.Dataset):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> int:
        (self.folder / str(os.getpid())).touch()
        time.sleep(600)
        return index


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_is_raised_as_it_is_with_its_place_and_the_loop_can_go_on(workers: int) -> None:
    batches = iter(data.DataLoader(datasets.Failing("error"), 2, num_workers=workers))
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="no such thing") as caught:
        next(batches)
    notes = "\n".join(caught.value.__notes__)
    assert "while the data set made its sample 5" in notes
    assert "batch 2 of samples [4, 5]" in notes
    if workers:
        assert "in DataLoader worker 0 (pid " in notes
        assert "datasets.py" in notes and "in __getitem__" in notes
    assert [one.tolist() for one in batches] == [[6, 7], [8, 9], [10, 11]]


@pytest.mark.parametrize("workers", [0, 1])
def test_errors_that_cannot_travel_or_would_end_the_loop(workers: int) -> None:
    with pytest.raises((data.WorkerError, datasets.UnpicklableError), match="1 and 2"):
        list(data.DataLoader(datasets.Failing("unpicklable"), num_workers=workers))
    with pytest.raises(RuntimeError, match=r"would (have )?end(ed)? the loop"):
        list(data.DataLoader(datasets.Failing("stop"), num_workers=workers))


def test_samples_of_unequal_size_are_refused_with_their_number() -> None:
    ragged = [wb.zeros(C=3), wb.zeros(C=3), wb.zeros(C=4)]
    for workers in (0, 1):
        loader = data.DataLoader(ragged, 2, sampler=[0, 2], num_workers=workers)
        with pytest.raises(wb.DimensionError, match="sample 1 of the batch differs") as caught:
            list(loader)
        assert "sample 0[C:3]" in str(caught.value).replace(">", "").replace("<", "")
        assert "sample 1[C:4]" in str(caught.value).replace(">", "").replace("<", "")
        assert "sample 1 of the batch is 2 of the data set" in "".join(caught.value.__notes__)


def test_a_worker_that_cannot_begin_says_why() -> None:
    loader = data.DataLoader(range(4), num_workers=2, worker_init_fn=datasets.refuse_to_start)
    with pytest.raises(OSError, match="worker 0 finds no disk") as caught:
        next(iter(loader))
    assert "while it was started" in "".join(caught.value.__notes__)


def test_what_cannot_be_pickled_for_a_spawned_worker_is_explained() -> None:
    loader = data.DataLoader(
        range(4), num_workers=2, collate_fn=lambda samples: samples, multiprocessing_context="spawn"
    )
    with pytest.raises((AttributeError, TypeError, Exception), match="pickle") as caught:
        iter(loader)
    assert "define what they use at the top of a module" in "".join(caught.value.__notes__)


def test_a_batch_that_takes_too_long_is_an_error() -> None:
    loader = data.DataLoader(datasets.Failing("hang"), 6, num_workers=1, timeout=0.3)
    with pytest.raises(data.WorkerError) as caught:
        list(loader)
    assert "timed out after 0.3 seconds, waiting for worker 0 (pid" in str(caught.value)
    assert "batch 0 of samples 0 to 5" in str(caught.value)


def test_a_lack_of_shared_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", refuse)
    with pytest.raises(MemoryError, match=r"no shared memory .*No space left.*use fewer workers"):
        list(data.DataLoader(tensors(), 8, num_workers=1))


def test_where_there_is_no_nameless_memory_a_deleted_file_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.memfd_create")
    assert len(list(data.DataLoader(tensors(), 8, num_workers=2))) == 7
