"""Loaders with worker processes: what comes through, what goes wrong, and what is left behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.data import sets
from workbench import data
from workbench.data import pool
from workbench.data.shared import SlotWriter, anonymous_memory

METHODS = ("fork", "spawn", "forkserver")


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test ends with the processes and descriptors that it began with."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(64))
    before = descriptors()
    yield
    gc.collect()
    assert children() == []
    # A spawned process brings a tracker of resources, which stays.
    assert len(descriptors() - before) <= 2


def descriptors() -> set[str]:
    return {f"{one.name} {os.readlink(one)}" for one in Path("/proc/self/fd").iterdir() if one.exists()}


def children() -> list[int]:
    """Workers of this process that still are there."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if int(stat[1]) == os.getpid() and b"resource_tracker" not in line and b"forkserver" not in line:
                found.append(int(folder.name))
    return found


def numbers(loader: Any) -> list[int]:
    return [int(one) for batch in loader for one in np.ravel(batch)]


def tensors(count: int = 50) -> data.TensorDataset:
    images = wb.arange(count * 6, dtype="float32").reshape(count, 1, 2, 3).rename("N", "C", "H", "W")
    return data.TensorDataset(images, wb.arange(count, names=("N",)))


@pytest.mark.parametrize("method", METHODS)
def test_batches_arrive_as_they_would_be_made_here(method: str) -> None:
    here = list(data.DataLoader(tensors(), batch_size=8))
    there = list(data.DataLoader(tensors(), batch_size=8, num_workers=2, multiprocessing_context=method))
    assert len(here) == len(there) == 7
    for (x, labels), (y, others) in zip(here, there, strict=True):
        assert (y.names, y.dtype, others.names) == (x.names, x.dtype, labels.names)
        np.testing.assert_array_equal(x.numpy(), y.numpy())
        assert labels.tolist() == others.tolist()


@pytest.mark.parametrize("prefetch", [1, 2, 40])
def test_odd_batches_and_slots_that_grow(prefetch: int) -> None:
    loader = data.DataLoader(
        sets.Odd(), batch_size=1, num_workers=2, collate_fn=sets.odd_batch, prefetch_factor=prefetch
    )
    batches = list(loader)
    assert [batch["indices"] for batch in batches] == [[i] for i in range(12)]
    for i, batch in enumerate(batches):
        size = [3, 0, 50_000, 7][i % 4]
        assert batch["named"].names == ("T", "C")
        assert (batch["named"].numpy() == i).all() and batch["named"].shape == (size, 2)
        assert batch["plain"].tolist() == list(range(0, size, 2))
        assert (batch["half"].dtype, batch["half"].tolist()) == (wb.bfloat16, [1, 1])
        assert len(batch["text"]) == size
        assert batch["objects"].tolist() == [None, "a"]
        assert batch["record"].dtype.names == ("a", "b")
        assert batch["when"].dtype == "datetime64[D]"
        assert (batch["scalar"].item(), batch["scalar"].shape) == (1.5, ())
        assert batch["parameter"].requires_grad


def test_batches_stay_valid_however_long_they_are_kept_and_can_be_changed() -> None:
    loader = data.DataLoader(tensors(64), batch_size=4, num_workers=2, persistent_workers=True)
    kept = []
    for x, _ in loader:
        x += 1000
        kept.append(x)
    again = [x for x, _ in loader]
    for i, (first, second) in enumerate(zip(kept, again, strict=True)):
        expected = np.arange(i * 24, (i + 1) * 24, dtype=np.float32).reshape(4, 1, 2, 3)
        np.testing.assert_array_equal(second.numpy(), expected)
        np.testing.assert_array_equal(first.numpy(), expected + 1000)
    del loader
    gc.collect()
    assert again[0][0].sum().item() == 15


def lies_in_a_slot(x: wb.Tensor) -> bool:
    base = x.numpy()
    while isinstance(base.base, np.ndarray):
        base = base.base
    return type(base.base).__name__ == "_Lease"


def test_what_a_pass_that_was_left_still_sends_is_not_taken_for_the_next() -> None:
    loader = data.DataLoader(
        sets.Slow(), batch_size=2, num_workers=1, prefetch_factor=4, persistent_workers=True
    )
    left = iter(loader)
    assert next(left).tolist() == [0, 1]
    time.sleep(0.3)  # until the batches that were asked for have come
    assert numbers(loader) == list(range(20))
    del left, loader


def test_a_tensor_that_asks_for_gradients_still_does() -> None:
    loader = data.DataLoader(range(4), num_workers=1, collate_fn=sets.asking, multiprocessing_context="fork")
    for one in loader:
        assert (one.requires_grad, one.names, one.tolist()) == (True, ("N",), [1.0, 1.0])


def test_a_forked_worker_keeps_no_pipe_of_another_loader() -> None:
    first = iter(data.DataLoader(range(4), num_workers=1, multiprocessing_context="fork"))
    ours = {os.readlink(f"/proc/self/fd/{one}") for one in pool._ours}
    assert len(ours) >= 2
    second = data.DataLoader(
        range(1), num_workers=1, collate_fn=sets.open_pipes, multiprocessing_context="fork"
    )
    assert not ours & set(next(iter(second)))
    assert len(list(first)) == 4


def test_a_process_that_is_forked_ends_no_workers_of_its_parent() -> None:
    loader = data.DataLoader(range(40), batch_size=2, num_workers=2)
    batches = iter(loader)
    found = [int(one) for one in next(batches)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which the child has no use for
        pid = os.fork()
    if pid == 0:
        batches._pool.close()  # type: ignore[attr-defined]
        os._exit(0)
    os.waitpid(pid, 0)
    assert found + numbers(batches) == list(range(40))


def test_a_view_of_a_slot_that_lies_otherwise_is_copied() -> None:
    descriptor = anonymous_memory()
    try:
        slot = SlotWriter(descriptor)
        slot.place(np.zeros(100))
        slot.begin()
        array = slot.empty((2, 3), np.int64)
        array[:] = np.arange(6).reshape(2, 3)
        assert (slot.place(array), slot.place(array.T) > 0) == (0, True)
        assert slot.place(array[:, 1:]) > slot.place(array[1:]) == 24
    finally:
        del slot, array
        os.close(descriptor)


def test_what_lies_in_a_slot_is_not_copied() -> None:
    loader = data.DataLoader(tensors(64), batch_size=4, num_workers=1)
    x, labels = next(iter(loader))
    assert lies_in_a_slot(x) and lies_in_a_slot(labels)
    assert not np.may_share_memory(x.numpy(), labels.numpy())


def test_slots_are_used_again_once_a_batch_is_garbage() -> None:
    assert all(lies_in_a_slot(x) for x, _ in data.DataLoader(tensors(), 2, num_workers=1))
    kept = list(data.DataLoader(tensors(), 2, num_workers=1))
    assert [lies_in_a_slot(x) for x, _ in kept] == [True] * 2 + [False] * 23


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("persistent", [True, False])
def test_every_sample_comes_once_a_pass(in_order: bool, persistent: bool) -> None:
    loader = data.DataLoader(
        tensors(), 8, True, num_workers=3, in_order=in_order, persistent_workers=persistent
    )
    passes = [[int(one) for _, labels in loader for one in labels.tolist()] for _ in range(3)]
    assert all(sorted(one) == list(range(50)) for one in passes)
    assert passes[0] != passes[1]


def test_persistent_workers_are_the_same_processes_and_others_are_not() -> None:
    persistent = data.DataLoader(Pids(), num_workers=2, persistent_workers=True)
    assert set(numbers(persistent)) == set(numbers(persistent))
    fresh = data.DataLoader(Pids(), num_workers=2)
    assert not set(numbers(fresh)) & set(numbers(fresh))
    first = iter(persistent)
    next(first)
    assert len(numbers(persistent)) == 8  # the pass that was left does not get in the way
    with pytest.raises(RuntimeError, match="a new pass over this DataLoader has begun"):
        next(first)


class Pids(data.Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        return os.getpid()


def test_a_worker_knows_what_it_is() -> None:
    def about(indices: list[int]) -> Any:
        worker = data.get_worker_info()
        assert worker is not None
        return worker.id, worker.num_workers, worker.seed, type(worker.dataset).__name__

    seen = list(data.DataLoader(range(4), num_workers=2, collate_fn=about))
    assert [one[:2] for one in seen] == [(0, 2), (1, 2), (0, 2), (1, 2)]
    assert seen[0][2] != seen[1][2] and seen[0][3] == "range"
    assert data.get_worker_info() is None


def test_iterable_data_sets_are_split_as_the_data_set_says() -> None:
    loader = data.DataLoader(sets.Count(), 3, num_workers=3)
    assert [batch[0].tolist() for batch in loader] == [
        [0, 3, 6], [1, 4, 7], [2, 5, 8], [9, 12, 15], [10, 13, 16], [11, 14, 17], [18], [19],
    ]  # fmt: skip
    assert len(list(data.DataLoader(sets.Count(), 3, num_workers=3, drop_last=True))) == 6
    # One that is not split comes once from every worker.
    assert sorted(numbers(data.DataLoader(Same(), num_workers=2, in_order=False))) == [0, 0, 1, 1, 2, 2]
    single = data.DataLoader(sets.Count(3), None, num_workers=2)
    assert [number for number, _ in single] == [0, 1, 2]


class Same(data.IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


@pytest.mark.parametrize("workers", [0, 2])
def test_samples_draw_the_same_whatever_numpys_random_stands_on(workers: int) -> None:
    def drawn() -> list[float]:
        loader = data.DataLoader(Drawing(6), 2, num_workers=workers, generator=wb.Generator(1))
        return [float(one) for batch in loader for one in batch]

    expected = drawn()
    before = np.random.get_bit_generator()
    np.random.set_bit_generator(np.random.PCG64(3))
    try:
        assert drawn() == expected
        assert isinstance(np.random.get_bit_generator(), np.random.PCG64)
    finally:
        np.random.set_bit_generator(before)


class Drawing(data.Dataset[float]):
    """Samples by chance, from NumPy's global stream."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> float:
        return float(np.random.random())


def test_kernels_and_blas_in_forked_workers_use_one_thread_and_do_not_hang() -> None:
    before = wb.get_num_threads()
    wb.set_num_threads(2)
    try:
        sums = sets.Products()[0]  # the pools of threads are there when the workers are forked
        loader = data.DataLoader(
            sets.Products(), 2, num_workers=2, multiprocessing_context="fork", timeout=60
        )
        for total, threads, half in loader:
            assert total.tolist() == [sums[0].item()] * 2
            assert threads.tolist() == [1, 1]
            assert half.tolist() == [0.5, 0.5]
    finally:
        wb.set_num_threads(before)


# --------------------------------------------------------------------------------------------- failures


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
    loader = data.DataLoader(sets.Failing(way), 2, num_workers=2, persistent_workers=persistent)
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
    batches = iter(data.DataLoader(sets.Failing("error"), 2, num_workers=workers))
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="no such thing") as caught:
        next(batches)
    notes = "\n".join(caught.value.__notes__)
    assert "while the data set made its sample 5" in notes
    assert "batch 2 of samples [4, 5]" in notes
    if workers:
        assert "in DataLoader worker 0 (pid " in notes
        assert "sets.py" in notes and "in __getitem__" in notes
    assert [one.tolist() for one in batches] == [[6, 7], [8, 9], [10, 11]]


@pytest.mark.parametrize("workers", [0, 1])
def test_errors_that_cannot_travel_or_would_end_the_loop(workers: int) -> None:
    with pytest.raises((data.WorkerError, sets.UnpicklableError), match="1 and 2"):
        list(data.DataLoader(sets.Failing("unpicklable"), num_workers=workers))
    with pytest.raises(RuntimeError, match=r"would (have )?end(ed)? the loop"):
        list(data.DataLoader(sets.Failing("stop"), num_workers=workers))


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
    loader = data.DataLoader(range(4), num_workers=2, worker_init_fn=sets.refuse_to_start)
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
    loader = data.DataLoader(sets.Failing("hang"), 6, num_workers=1, timeout=0.3)
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


# ------------------------------------------------------------------------------------------- what is left


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
