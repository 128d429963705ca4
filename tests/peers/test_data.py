"""Data sets, samplers and loaders against PyTorch's: the same signatures, batches and structure."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import workbench as wb
from workbench import data

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.utils.data")


class Pair(NamedTuple):
    x: Any
    y: Any


class Numbers:
    """Samples that both libraries take."""

    def __init__(self, samples: list[Any]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        return self.samples[index]


def count(base: Any, worker_info: Any) -> Any:
    """The same iterable data set, as a class of either library."""

    class Count(base):  # type: ignore[misc]
        def __init__(self, sizes: list[int]) -> None:
            self.sizes = sizes

        def __iter__(self) -> Iterator[int]:
            worker = worker_info()
            if worker is None:
                return iter(range(sum(self.sizes)))
            return iter([100 * worker.id + i for i in range(self.sizes[worker.id])])

    return Count


@pytest.mark.parametrize(
    "name",
    [
        "DataLoader", "RandomSampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler",
        "BatchSampler", "Subset", "ConcatDataset", "ChainDataset", "StackDataset", "random_split",
        "default_collate", "default_convert", "get_worker_info",
    ],
)  # fmt: skip
def test_signatures(name: str) -> None:
    ours, other = (inspect.signature(getattr(room, name)).parameters for room in (data, theirs))
    # Names are ours: what asks for them is given by word alone, and asks for none by itself.
    added = [ours[word] for word in ours if word not in other]
    assert [one.name for one in added] == (["batch_dim"] if name in ("DataLoader", "default_collate") else [])
    assert all(one.kind is one.KEYWORD_ONLY and one.default is None for one in added)
    assert [word for word in ours if word in other] == list(other)
    for parameter in other:
        assert ours[parameter].kind == other[parameter].kind, parameter
        if (name, parameter) != ("random_split", "generator"):  # None stands for the default one
            assert ours[parameter].default == other[parameter].default, parameter


def plain(value: Any) -> Any:
    """A batch with arrays in place of tensors, and its types by name."""
    if isinstance(value, torch.Tensor | wb.Tensor):
        return str(value.dtype).rpartition(".")[2], tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        # Text is a tuple there where it stood in a tuple, and always a list here.
        kind = type(value).__name__ if not value or not isinstance(value[0], str) else "text"
        return kind, [plain(one) for one in value]
    return value


@pytest.mark.parametrize(
    "samples",
    [
        [(np.ones((2, 3), np.float32), 1, 1.5, True, "a")] * 3,
        [{"a": np.float32(1), "b": [np.int8(2), (3, "x")]}] * 2,
        [Pair(np.zeros(2), {"k": (1, 2)}), Pair(np.ones(2), {"k": (3, 4)})],
        [np.arange(3), np.arange(3)],
        [1, 2.5],
        [2.5, 1],
        [True, False],
    ],
)
def test_collated_and_converted(samples: list[Any]) -> None:
    assert plain(data.default_collate(samples)) == plain(theirs.default_collate(samples))
    assert plain(data.default_convert(samples)) == plain(theirs.default_convert(samples))


@pytest.mark.parametrize(
    "options", [{}, {"drop_last": True}, {"batch_size": None}, {"sampler": [5, 0, 3, 3]}]
)
@pytest.mark.parametrize("workers", [0, 2])
def test_batches(options: dict[str, Any], workers: int) -> None:
    samples = Numbers([(np.full(2, i), i / 2, f"{i}") for i in range(7)])
    arguments = {"batch_size": 3, "num_workers": workers, **options}
    ours, other = data.DataLoader(samples, **arguments), theirs.DataLoader(samples, **arguments)
    assert [plain(one) for one in ours] == [plain(one) for one in other]
    assert len(ours) == len(other)


@pytest.mark.parametrize("sizes", [[7, 7], [0, 5], [10, 2], [3, 3]])
@pytest.mark.parametrize("drop", [False, True])
def test_the_order_in_which_workers_of_iterable_data_sets_take_turns(sizes: list[int], drop: bool) -> None:
    ours = count(data.IterableDataset, data.get_worker_info)(sizes)
    other = count(theirs.IterableDataset, theirs.get_worker_info)(sizes)
    for workers in (0, 2):
        batches = [
            [one.tolist() for one in room.DataLoader(dataset, 3, num_workers=workers, drop_last=drop)]
            for room, dataset in ((data, ours), (theirs, other))
        ]
        assert batches[0] == batches[1]


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"persistent_workers": True},
        {"shuffle": True, "sampler": [1]}, {"batch_sampler": [[1]], "batch_size": 2}, {"batch_size": 0},
        {"batch_size": None, "drop_last": True}, {"multiprocessing_context": "fork"}, {"drop_last": 2},
        {"multiprocessing_context": 1, "num_workers": 1},
    ],
)  # fmt: skip
def test_the_same_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)) as other:
        theirs.DataLoader(range(4), **options)
    with pytest.raises(other.type):
        data.DataLoader(range(4), **options)
