"""Loaders with worker processes: what comes through, and in which order."""

from __future__ import annotations

import gc
import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.data import datasets
from tests.data.processes import numbers, tensors
from workbench import data
from workbench.base.shared_memory import anonymous_memory
from workbench.data import pool
from workbench.data.shared_memory import SlotWriter

METHODS = ("fork", "spawn", "forkserver")

pytestmark = pytest.mark.usefixtures("nothing_is_left")


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
        datasets.Odd(), batch_size=1, num_workers=2, collate_fn=datasets.odd_batch, prefetch_factor=prefetch
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
        datasets.Slow(), batch_size=2, num_workers=1, prefetch_factor=4, persistent_workers=True
    )
    left = iter(loader)
    assert next(left).tolist() == [0, 1]
    time.sleep(0.3)  # until the batches that were asked for have come
    assert numbers(loader) == list(range(20))
    del left, loader


def test_a_tensor_that_asks_for_gradients_still_does() -> None:
    loader = data.DataLoader(
        range(4), num_workers=1, collate_fn=datasets.asking, multiprocessing_context="fork"
    )
    for one in loader:
        assert (one.requires_grad, one.names, one.tolist()) == (True, ("N",), [1.0, 1.0])


def test_a_forked_worker_keeps_no_pipe_of_another_loader() -> None:
    first = iter(data.DataLoader(range(4), num_workers=1, multiprocessing_context="fork"))
    ours = {os.readlink(f"/proc/self/fd/{one}") for one in pool._ours}
    assert len(ours) >= 2
    second = data.DataLoader(
        range(1), num_workers=1, collate_fn=datasets.open_pipes, multiprocessing_context="fork"
    )
    assert not ours & set(next(iter(second)))
    assert len(list(first)) == 4


def test_loaders_may_end_while_a_worker_is_about_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [iter(data.DataLoader(range(40), num_workers=1, multiprocessing_context="fork")) for _ in range(4)]
    ask = pool._want_two_pipes

    def ending() -> None:
        for one in left:
            one._pool.close()  # type: ignore[attr-defined]
        left.clear()
        ask()

    monkeypatch.setattr(pool, "_want_two_pipes", ending)
    assert numbers(data.DataLoader(range(4), num_workers=1, multiprocessing_context="fork")) == [0, 1, 2, 3]


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
    loader = data.DataLoader(datasets.Count(), 3, num_workers=3)
    assert [batch[0].tolist() for batch in loader] == [
        [0, 3, 6], [1, 4, 7], [2, 5, 8], [9, 12, 15], [10, 13, 16], [11, 14, 17], [18], [19],
    ]  # fmt: skip
    assert len(list(data.DataLoader(datasets.Count(), 3, num_workers=3, drop_last=True))) == 6
    # One that is not split comes once from every worker.
    assert sorted(numbers(data.DataLoader(Same(), num_workers=2, in_order=False))) == [0, 0, 1, 1, 2, 2]
    single = data.DataLoader(datasets.Count(3), None, num_workers=2)
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
        sums = datasets.Products()[0]  # the pools of threads are there when the workers are forked
        loader = data.DataLoader(
            datasets.Products(), 2, num_workers=2, multiprocessing_context="fork", timeout=60
        )
        for total, threads, half in loader:
            assert total.tolist() == [sums[0].item()] * 2
            assert threads.tolist() == [1, 1]
            assert half.tolist() == [0.5, 0.5]
    finally:
        wb.set_num_threads(before)
