"""Loaders: what they ask for, the same order and draws with any number of workers, and going on where one was."""

from __future__ import annotations

import dataclasses
import json
import random
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import workbench as wb
from tests.data import datasets
from workbench import data


def passes(workers: int, count: int = 2, **options: Any) -> list[Any]:
    """Some passes over samples that draw, as plain values."""
    loader = data.DataLoader(datasets.Drawing(), 4, num_workers=workers, **options)
    return [plain(loader) for _ in range(count)]


def plain(batches: Any) -> list[Any]:
    return [[part.tolist() for part in batch] for batch in batches]


@pytest.mark.parametrize("own", [True, False])
def test_the_seed_decides_order_and_draws_whatever_the_number_of_workers(own: bool) -> None:
    def run(workers: int, seed: int, **options: Any) -> Any:
        wb.manual_seed(seed)
        generator = wb.Generator(seed) if own else None
        return passes(workers, shuffle=True, generator=generator, **options)

    expected = run(0, 3)
    assert run(1, 3) == expected
    assert run(2, 3, prefetch_factor=3) == expected
    assert run(2, 3, persistent_workers=True) == expected
    assert run(0, 4) != expected
    assert expected[0] != expected[1]
    draws = np.array(
        [[one[0], *rest] for batch in expected[0] for one, *rest in zip(*batch[1:], strict=True)]
    )
    assert len(np.unique(draws)) == draws.size  # no two batches, and no two streams, are alike


def test_the_programs_own_draws_do_not_depend_on_what_a_loader_does() -> None:
    def run(loader: Any) -> list[float]:
        wb.manual_seed(1)
        np.random.seed(1)
        random.seed(1)
        drawn = []
        for _ in loader:
            drawn += [wb.rand(1).item(), np.random.rand(), random.random()]
        return drawn

    quiet = run(data.DataLoader(range(23), 4))
    assert len(quiet) == 18
    assert run(data.DataLoader(datasets.Drawing(), 4, True)) == quiet
    assert run(data.DataLoader(datasets.Drawing(), 4, True, num_workers=2)) == quiet
    assert run(data.DataLoader(datasets.Drawing(), 4, sampler=Shuffled(23), num_workers=1)) == quiet


class Shuffled(data.Sampler[int]):
    """Draws from the streams that the program shares."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[int]:
        for index in np.random.permutation(self.count).tolist():
            random.random()
            yield index

    def __len__(self) -> int:
        return self.count


class Remembering(Shuffled):
    """Has a state that each pass changes."""

    turn = 0

    def __iter__(self) -> Iterator[int]:
        self.turn += 1
        return iter([(i * 5 + self.turn) % self.count for i in range(self.count)])

    def state_dict(self) -> dict[str, int]:
        return {"turn": self.turn}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.turn = state["turn"]


def makers() -> dict[str, Any]:
    """Loaders of every kind, made anew by each call."""
    return {
        "in order": lambda workers: data.DataLoader(datasets.Drawing(), 4, num_workers=workers),
        "shuffled": lambda workers: data.DataLoader(datasets.Drawing(), 4, True, num_workers=workers),
        "generator": lambda workers: data.DataLoader(
            datasets.Drawing(), 4, True, num_workers=workers, generator=wb.Generator(5)
        ),
        "sampler": lambda workers: data.DataLoader(
            datasets.Drawing(),
            4,
            sampler=data.WeightedRandomSampler([1.0] * 23, 30, generator=wb.Generator(6)),
            num_workers=workers,
        ),
        "own sampler": lambda workers: data.DataLoader(
            datasets.Drawing(), 4, sampler=Shuffled(23), num_workers=workers
        ),
        "sampler with a state": lambda workers: data.DataLoader(
            datasets.Drawing(), 4, sampler=Remembering(23), num_workers=workers
        ),
        "batch sampler": lambda workers: data.DataLoader(
            datasets.Drawing(),
            batch_sampler=data.BatchSampler(data.SubsetRandomSampler(range(3, 20)), 3, True),
            num_workers=workers,
        ),
        "single samples": lambda workers: data.DataLoader(
            datasets.Drawing(),
            None,
            True,
            num_workers=workers,
            collate_fn=lambda one: [wb.tensor(x) for x in one],
        ),
        "tensors": lambda workers: data.DataLoader(
            data.TensorDataset(wb.arange(23)), 4, True, num_workers=workers
        ),
    }


@pytest.mark.parametrize(("before", "after"), [(0, 0), (2, 0), (0, 2)])
@pytest.mark.parametrize("kind", makers())
def test_going_on_gives_what_would_have_come(kind: str, before: int, after: int) -> None:
    wb.manual_seed(9)
    loader = makers()[kind](before)
    list(loader)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = json.loads(json.dumps(loader.state_dict()))
    assert state["position"] == 3
    program = wb.get_rng_state()
    expected = plain(batches), plain(loader)

    wb.manual_seed(100)
    resumed = makers()[kind](after)
    resumed.load_state_dict(state)
    assert resumed.state_dict() == state
    rest = plain(resumed)
    wb.set_rng_state(program)  # as a trainer does; the rest of the pass does not need it
    assert (rest, plain(resumed)) == expected


def test_a_state_between_passes_and_behind_the_last_batch() -> None:
    wb.manual_seed(2)
    loader = data.DataLoader(range(6), 2, True, generator=wb.Generator(1))
    fresh = loader.state_dict()
    assert (fresh["seed"], fresh["position"]) == (None, 0)
    first = [one.tolist() for one in loader]
    between = loader.state_dict()
    second = [one.tolist() for one in loader]
    again = data.DataLoader(range(6), 2, True, generator=wb.Generator(77))
    again.load_state_dict(between)
    assert [one.tolist() for one in again] == second
    again.load_state_dict(fresh)
    assert [[one.tolist() for one in again] for _ in range(2)] == [first, second]
    batches = iter(again)
    for _ in range(3):
        next(batches)
    again.load_state_dict(again.state_dict())
    assert list(again) == []


def test_batches_that_came_out_of_order_do_not_come_again() -> None:
    loader = data.DataLoader(Uneven(), 1, num_workers=2, in_order=False, prefetch_factor=1)
    batches = iter(loader)
    seen = [int(next(batches)) for _ in range(4)]
    state = json.loads(json.dumps(loader.state_dict()))
    assert state["ahead"] and state["position"] + len(state["ahead"]) == 4
    again = data.DataLoader(Uneven(), 1)
    again.load_state_dict(state)
    assert sorted(seen + [int(one) for one in again]) == list(range(10))


class Uneven(data.Dataset):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        if index == 0 and data.get_worker_info() is not None:
            time.sleep(0.5)
        return index


@pytest.mark.parametrize("workers", [0, 2])
def test_iterable_data_sets_go_on_as_well(workers: int) -> None:
    def make() -> Any:
        return data.DataLoader(datasets.Count(), 3, num_workers=workers)

    loader = make()
    batches = iter(loader)
    for _ in range(2):
        next(batches)
    state = loader.state_dict()
    rest = plain(batches)
    again = make()
    again.load_state_dict(state)
    assert plain(again) == rest
    assert len(rest) == (5 if workers == 0 else 6)
    other = data.DataLoader(datasets.Count(), 3, num_workers=workers + 1)
    with pytest.raises(
        ValueError, match=f"a loader with num_workers={workers}, and this one has {workers + 1}"
    ):
        other.load_state_dict(state)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loop_that_is_only_begun_does_not_use_the_place_up(workers: int) -> None:
    loader = data.DataLoader(range(6), 2, num_workers=workers)
    next(iter(loader))
    loader.load_state_dict(loader.state_dict())
    first, second = iter(loader), iter(loader)
    assert next(first).tolist() == [2, 3]
    assert loader.position == 0
    assert [one.tolist() for one in second] == [[2, 3], [4, 5]]
    assert [one.tolist() for one in loader] == [[0, 1], [2, 3], [4, 5]]


def test_a_failed_batch_counts_as_passed() -> None:
    loader = data.DataLoader(datasets.Failing("error"), 2)
    batches = iter(loader)
    for _ in range(2):
        next(batches)
    with pytest.raises(KeyError):
        next(batches)
    assert loader.state_dict()["position"] == 3


def test_states_of_something_else_are_refused_and_change_nothing() -> None:
    loader = data.DataLoader(range(6), 2, True)
    state = loader.state_dict()
    for wrong, words in [
        ({}, "this is no state of a DataLoader: expected"),
        ([], "got list"),
        ({**state, "version": 2}, "a state of version 2; this is version 1"),
        ({**state, "samples": 7}, "a loader with samples=7, and this one has 6"),
        ({**state, "batch_size": 3}, "a loader with batch_size=3, and this one has 2"),
        ({**state, "position": -1}, "position -1"),
        ({**state, "seed": "x"}, "seed 'x' is no number"),
        ({**state, "generators": {"generator": {}}}, r"at \['generator'\], this loader at \[\]"),
    ]:
        with pytest.raises(ValueError, match=words):
            loader.load_state_dict(wrong)
    assert loader.state_dict() == state
    secure = data.DataLoader(range(6), 2, True, generator=wb.Generator(secure=True))
    assert sorted(int(one) for batch in secure for one in batch.tolist()) == list(range(6))
    with pytest.raises(RuntimeError, match="generator is secure, so its order cannot be repeated"):
        secure.state_dict()
    unordered = data.DataLoader(datasets.Count(), num_workers=1, in_order=False)
    with pytest.raises(RuntimeError, match="Pass in_order=True"):
        unordered.state_dict()


# ------------------------------------------------------------------------------------- how samples are got


class Whole(data.Dataset):
    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> int:
        raise AssertionError

    def batch(self, indices: Any) -> Any:
        self.asked.append(indices)
        return wb.arange(5, names=("N",))[indices]


class Several(Whole):
    def __getitems__(self, indices: list[int]) -> list[int]:
        return [10 * index for index in indices]


class Single(Several):
    def __getitem__(self, index: int) -> int:
        return 100 * index


class Noisy(data.TensorDataset):
    def __getitem__(self, index: int) -> Any:
        return tuple(one + 0.5 for one in super().__getitem__(index))


def test_a_data_set_is_asked_in_the_way_that_its_class_says_last() -> None:
    whole = Whole()
    assert [one.tolist() for one in data.DataLoader(whole, 3)] == [[0, 1, 2], [3, 4]]
    assert whole.asked == [slice(0, 3, 1), slice(3, 5, 1)]
    assert [one.tolist() for one in data.DataLoader(Several(), 3)] == [[0, 10, 20], [30, 40]]
    assert [one.tolist() for one in data.DataLoader(Single(), 3)] == [[0, 100, 200], [300, 400]]
    noisy = Noisy(wb.arange(4.0))
    assert [one.tolist() for (one,) in data.DataLoader(noisy, 4)] == [[0.5, 1.5, 2.5, 3.5]]
    nested = data.StackDataset(a=data.Subset(noisy, [3, 1]), b=data.Subset(Whole(), [0, 2]))
    with pytest.raises(AssertionError):
        next(iter(data.DataLoader(nested, 2)))  # not every part gives whole batches
    stacked = data.StackDataset(data.TensorDataset(wb.arange(5)), Whole())
    (numbers,), whole = next(iter(data.DataLoader(stacked, 2)))
    assert (numbers.tolist(), whole.tolist()) == ([0, 1], [0, 1])


def test_batches_are_copies_of_the_data() -> None:
    x = wb.zeros(N=4, C=2)
    for shuffle in (False, True):
        for (batch,) in data.DataLoader(data.TensorDataset(x), 2, shuffle):
            batch += 1
    assert x.sum().item() == 0
    part = data.TensorDataset(x).batch(slice(0, 2))[0]
    part += 1
    assert x.sum().item() == 0


def test_batches_of_stacked_joined_and_chosen_data_sets() -> None:
    numbers = data.TensorDataset(wb.arange(6, names=("N",)))
    doubled = data.TensorDataset(2 * wb.arange(6, names=("N",)))
    stacked = data.DataLoader(data.StackDataset(n=numbers, d=data.Subset(doubled, range(6))), 4)
    first = next(iter(stacked))
    assert first["n"][0].tolist() == [0, 1, 2, 3] and first["d"][0].tolist() == [0, 2, 4, 6]
    joined = numbers + doubled
    assert isinstance(joined, data.ConcatDataset)
    assert [one.tolist() for (one,) in data.DataLoader(joined, 4)] == [
        [0, 1, 2, 3],
        [4, 5, 0, 2],
        [4, 6, 8, 10],
    ]
    chained = datasets.Count(2) + datasets.Count(3)
    assert isinstance(chained, data.ChainDataset) and len(list(chained)) == 5
    mixed = data.StackDataset(joined, range(12))
    assert [(int(a), b) for (a,), b in mixed.__getitems__([7, 0])] == [(2, 7), (0, 0)]


def test_without_batches_samples_come_as_they_are() -> None:
    loader = data.DataLoader([{"x": np.zeros(2), "t": "a"}], batch_size=None)
    (sample,) = loader
    assert isinstance(sample["x"], wb.Tensor) and sample["t"] == "a" and sample["x"].shape == (2,)
    assert len(loader) == 1
    assert list(data.DataLoader(datasets.Count(2), None, collate_fn=lambda one: one[0])) == [0, 1]


def test_lengths() -> None:
    assert len(data.DataLoader(range(7), 3)) == 3
    assert len(data.DataLoader(range(7), 3, drop_last=True)) == 2
    assert len(data.DataLoader(range(7), batch_sampler=[[1], [2, 3]])) == 2
    with pytest.raises(TypeError, match="does not say how many samples"):
        len(data.DataLoader(datasets.Count(7)))


def test_attributes_are_what_pytorch_calls_them() -> None:
    loader = data.DataLoader(range(7), 3, num_workers=2, pin_memory=True)
    assert (loader.batch_size, loader.num_workers, loader.prefetch_factor, loader.pin_memory) == (
        3,
        2,
        2,
        True,
    )
    assert isinstance(loader.sampler, data.SequentialSampler)
    assert isinstance(loader.batch_sampler, data.BatchSampler)
    assert loader.collate_fn is data.default_collate
    assert data.DataLoader(range(7), None).collate_fn is data.default_convert
    assert data.DataLoader(range(7)).prefetch_factor is None
    for name in ("batch_size", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(
            ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"
        ):
            setattr(loader, name, 1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
        ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, ValueError, "could only be specified in multiprocessing"),
        ({"prefetch_factor": 0, "num_workers": 1}, ValueError, "prefetch_factor option should be positive"),
        ({"persistent_workers": True}, ValueError, "needs num_workers > 0"),
        ({"shuffle": True, "sampler": [1]}, ValueError, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, ValueError, "mutually exclusive with drop_last"),
        ({"multiprocessing_context": "fork"}, ValueError, "can only be used with multi-process loading"),
        ({"multiprocessing_context": "x", "num_workers": 1}, ValueError, "a valid start method in"),
        ({"multiprocessing_context": 1, "num_workers": 1}, TypeError, "a valid context object"),
        ({"batch_size": 0}, ValueError, "batch_size should be a positive integer value"),
        ({"drop_last": 1}, ValueError, "drop_last should be a boolean value"),
        ({"dataset": datasets.Count(), "shuffle": True}, ValueError, "unspecified shuffle option"),
        ({"dataset": datasets.Count(), "sampler": [1]}, ValueError, "unspecified sampler option"),
        (
            {"dataset": datasets.Count(), "batch_sampler": [[1]]},
            ValueError,
            "unspecified batch_sampler option",
        ),
        (
            {"dataset": [], "shuffle": True},
            ValueError,
            "num_samples should be a positive integer value, .* the data set is empty",
        ),
    ],
)
def test_options_that_do_not_go_together(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        data.DataLoader(**{"dataset": range(4), **options})


def test_loaders_and_sets_of_tensors_say_what_they_hold() -> None:
    data = wb.data.TensorDataset(wb.zeros(N=8, C=3), wb.zeros(8, dtype=wb.int64))
    assert repr(data) == "<TensorDataset: 8 samples of float32[C:3], int64>"
    assert repr(wb.data.DataLoader(data, 4, shuffle=True, num_workers=2)) == (
        "<DataLoader: batches of 4, shuffled, 2 workers, of <TensorDataset: 8 samples of float32[C:3], int64>>"
    )
    assert repr(wb.data.DataLoader([1, 2, 3], None)) == "<DataLoader: samples one by one, of list>"
    by_hand: Any = [[0, 1], [2]]
    assert repr(wb.data.DataLoader([1, 2, 3], batch_sampler=by_hand)) == (
        "<DataLoader: batches of own sizes, of list>"
    )


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Sample:
    x: int = 0


@pytest.mark.parametrize(
    ("samples", "words", "part"),
    [
        ([(1, None), (2, None)], "found NoneType. Give every sample a value", "in part sample[1]"),
        ([{"a": {"b": [1, None]}}] * 2, "found NoneType", "in part sample['a']['b'][1]"),
        (
            [{"x": (wb.zeros(2),)}, {"x": (wb.zeros(3),)}],
            "sample 1 of the batch differs",
            "in part sample['x'][0]",
        ),
        ([Pair(1, {2}), Pair(1, {2})], "found set. Pass a collate_fn", "in part sample['second']"),
        ([Sample(), Sample()], r"found Sample. Have the data set return dataclasses.asdict\(sample\)", None),
        ([2**70, 1], "1180591620717411303424 is too large for int64", None),
    ],
)
@pytest.mark.parametrize("workers", [0, 1])
def test_what_cannot_be_stacked_says_where_in_a_sample_it_stands(
    samples: Any, words: str, part: str | None, workers: int
) -> None:
    with pytest.raises((TypeError, ValueError, wb.DimensionError), match=words) as raised:
        list(data.DataLoader(samples, 2, num_workers=workers))
    parts = [note for note in raised.value.__notes__ if note.startswith("in part")]
    assert parts == ([] if part is None else [part])


class Rows(data.Dataset[Any]):
    """Samples of which one part has names."""

    def __getitem__(self, index: int) -> Any:
        return {"x": wb.full((3,), float(index), names=("C",)), "pair": (np.float32(index), [index, "text"])}

    def __len__(self) -> int:
        return 5


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_have_the_names_that_were_asked_for(workers: int) -> None:
    for asked in (None, "N"):
        for batch in data.DataLoader(Rows(), 2, num_workers=workers, batch_dim=asked):
            assert batch["x"].names == (asked, "C")
            number, (index, texts) = batch["pair"]
            assert number.names == index.names == (asked,)
            assert set(texts) == {"text"}
        whole = data.DataLoader(data.TensorDataset(wb.ones(4, 2)), 2, num_workers=workers, batch_dim=asked)
        assert {one.names for (one,) in whole} == {(asked, None)}
    own = data.DataLoader(
        Rows(), 2, collate_fn=lambda rows: wb.stack([row["x"] for row in rows]), batch_dim="N"
    )
    assert {one.names for one in own} == {("N", "C")}


def test_a_name_for_the_batch_that_is_taken_is_refused() -> None:
    with pytest.raises(wb.DimensionError, match="the samples have a dim of that name"):
        next(iter(data.DataLoader(Rows(), 2, batch_dim="C")))
    with pytest.raises(wb.DimensionError, match="is called 'row' already"):
        next(iter(data.DataLoader(data.TensorDataset(wb.ones(row=4)), 2, batch_dim="N")))
    assert next(iter(data.DataLoader(data.TensorDataset(wb.ones(N=4)), 2, batch_dim="N")))[0].names == ("N",)
    with pytest.raises(ValueError, match="with batch_size=None there is none"):
        data.DataLoader(Rows(), None, batch_dim="N")
    with pytest.raises(wb.DimensionError, match="is not a valid dimension name"):
        data.DataLoader(Rows(), 2, batch_dim="a b")
