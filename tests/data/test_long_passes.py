"""Samplers whose pass is longer than memory: they draw piece by piece, and the same seed gives the same indices."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest

import workbench as wb
from workbench.data.sampler import BatchSampler, RandomSampler


@pytest.mark.parametrize("replacement", [True, False])
def test_a_pass_of_ten_billion_begins_at_once(replacement: bool) -> None:
    sampler = RandomSampler(
        range(1000), replacement=replacement, num_samples=10**10, generator=wb.Generator(0)
    )
    assert len(sampler) == 10**10
    tracemalloc.start()
    first = list(itertools.islice(sampler, 5000))
    batch = next(iter(BatchSampler(sampler, 64, drop_last=False)))
    loader = wb.data.DataLoader(wb.data.TensorDataset(wb.arange(1000)), batch_size=8, sampler=sampler)
    (values,) = next(iter(loader))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 29  # a piece, as an array and as a list
    assert len(batch) == 64 and values.shape == (8,)
    assert all(0 <= one < 1000 for one in first) and len(set(first)) > 900
    if not replacement:
        assert sorted(first[:1000]) == list(range(1000))


def test_the_same_seed_gives_the_same_long_pass() -> None:
    def beginning() -> list[int]:
        sampler = RandomSampler(range(10), replacement=True, num_samples=10**9, generator=wb.Generator(3))
        return list(itertools.islice(sampler, 100))

    assert beginning() == beginning()


def test_draws_by_weights_take_no_table() -> None:
    tracemalloc.start()
    drawn = wb.multinomial(wb.ones(20_000), 20_000, replacement=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 24
    assert drawn.max().item() > 15_000
    rows = wb.multinomial(wb.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), 50, replacement=True)
    assert rows[0].unique().tolist() == [1] and rows[1].unique().tolist() == [0]
