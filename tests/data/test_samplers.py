"""Samplers, data sets made of others, collating, and the progress bar."""

from __future__ import annotations

import collections
import io
import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from tqdm import std

import workbench as wb
from tests.data import datasets
from workbench import data
from workbench.base import renderer_lookup


def test_orders() -> None:
    assert list(data.SequentialSampler(range(4))) == [0, 1, 2, 3]
    shuffled = data.RandomSampler(range(50), generator=wb.Generator(1))
    first, second = list(shuffled), list(shuffled)
    assert sorted(first) == sorted(second) == list(range(50)) and first != second
    assert all(type(one) is int for one in first)
    many = list(data.RandomSampler(range(5), num_samples=13))
    assert len(many) == 13 and sorted(many[:5]) == sorted(many[5:10]) == list(range(5))
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=300))
    assert len(drawn) == 300 and set(drawn) == {0, 1, 2}
    few = data.RandomSampler(range(100), num_samples=7)
    assert len(few) == 7 and len(set(few)) == 7
    chosen = data.SubsetRandomSampler([5, 7, 9], generator=wb.Generator(0))
    assert sorted(chosen) == [5, 7, 9] and len(chosen) == 3
    named = data.SubsetRandomSampler(["a", "b"])
    assert sorted(named) == ["a", "b"]


def test_weights() -> None:
    sampler = data.WeightedRandomSampler([1, 0, 3], 4000, generator=wb.Generator(0))
    counts = np.bincount(list(sampler), minlength=3)
    assert counts[1] == 0 and 0.7 < counts[2] / 4000 < 0.8
    assert sampler.weights.dtype is wb.float64
    once = data.WeightedRandomSampler(wb.tensor([0.1, 0.9, 0.4]), 3, replacement=False)
    assert sorted(once) == [0, 1, 2]


def test_one_number_of_the_generator_starts_a_pass() -> None:
    generator = wb.Generator(4)
    before = generator.get_state()
    for sampler in (
        data.RandomSampler(range(9), generator=generator),
        data.RandomSampler(range(9), True, 5, generator),
        data.SubsetRandomSampler(range(9), generator),
        data.WeightedRandomSampler([1.0] * 9, 3, generator=generator),
    ):
        generator.set_state(before)
        first = list(sampler)
        drawn = generator.numpy.integers(0, 1 << 62)
        generator.set_state(before)
        generator.numpy.integers(0, 1 << 63)
        assert generator.numpy.integers(0, 1 << 62) == drawn
        generator.set_state(before)
        assert list(sampler) == first


def test_batches_of_indices() -> None:
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert [len(data.BatchSampler(range(5), 2, drop)) for drop in (False, True)] == [3, 2]
    loader = data.DataLoader(range(5), batch_sampler=[[4, 0], [2]])
    assert [one.tolist() for one in loader] == [[4, 0], [2]]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: data.RandomSampler(range(3), 1), TypeError, "replacement should be a boolean"),
        (lambda: data.RandomSampler([]), ValueError, "num_samples should be a positive integer"),
        (lambda: data.RandomSampler(range(3), num_samples=1.5), ValueError, "got num_samples=1.5"),
        (lambda: data.WeightedRandomSampler([1.0], True), ValueError, "got num_samples=True"),
        (lambda: data.WeightedRandomSampler([1.0], 1, 0), ValueError, "replacement should be a boolean"),
        (lambda: data.WeightedRandomSampler([[1.0]], 1), ValueError, r"weights have shape \(1, 1\)"),
        (lambda: list(data.WeightedRandomSampler([1.0], 2, False)), ValueError, "without replacement"),
        (lambda: list(data.Sampler()), TypeError, r"define __iter__\(self\)"),
        (lambda: list(data.IterableDataset()), TypeError, r"define __iter__\(self\)"),
        (lambda: data.ConcatDataset([]), ValueError, "should not be an empty iterable"),
        (lambda: data.ConcatDataset([range(2), datasets.Count()]), TypeError, "number 1 is Count: chain"),
        (lambda: data.ConcatDataset([range(2)])[2], IndexError, "index 2 is out of range: there are 2"),
        (lambda: list(data.ChainDataset([range(2)])), TypeError, "number 0 is range: join"),
        (lambda: data.StackDataset(), ValueError, "At least one dataset"),
        (lambda: data.StackDataset([1], a=[2]), ValueError, "both types are given"),
        (lambda: data.StackDataset([1], [2, 3]), ValueError, r"they have \[1, 2\] samples"),
        (lambda: data.TensorDataset(wb.arange(3)).batch([3]), IndexError, "index 3 is out of range"),
        (lambda: data.Subset(range(3), [0]).__getitems__([1]), IndexError, "out of bounds"),
    ],
)
def test_refusals(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_data_sets_of_others() -> None:
    both = data.ConcatDataset(["ab", "cde"])
    assert [both[i] for i in (0, 4, -1, -5)] == ["a", "e", "e", "a"]
    assert both.__getitems__([3, 0, 4]) == ["d", "a", "e"]
    assert len(data.ChainDataset([Sized(), Sized()])) == 4
    stacked = data.StackDataset("ab", range(2))
    assert (stacked[1], len(stacked)) == (("b", 1), 2)
    subset = data.Subset(data.TensorDataset(wb.arange(10, names=("N",))), [5, -1])
    assert subset[[0, 1]][0].tolist() == [5, 9]
    assert data.TensorDataset(wb.arange(4)).batch(np.array([-1, 0]))[0].tolist() == [3, 0]
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(1), [0.6, 0.4])


class Sized(data.IterableDataset):
    def __len__(self) -> int:
        return 2


class Point(NamedTuple):
    x: Any
    label: Any


def test_collating_keeps_structure_and_names() -> None:
    batch = data.default_collate([Point(wb.ones(2, names=("C",)), {"a": i, "t": "s"}) for i in range(3)])
    assert isinstance(batch, Point)
    assert (batch.x.names, batch.x.shape) == ((None, "C"), (3, 2))
    assert (batch.label["a"].tolist(), batch.label["t"]) == ([0, 1, 2], ["s", "s", "s"])
    ordered = data.default_collate(
        [collections.OrderedDict(b=1, a=[1.5, True]), collections.OrderedDict(b=2, a=[2.5, False])]
    )
    assert isinstance(ordered, collections.OrderedDict)
    floats, truths = ordered["a"]
    assert (floats.dtype, truths.dtype, ordered["b"].dtype) == (wb.float64, wb.bool, wb.int64)
    assert data.default_collate([np.float32(1), np.float32(2)]).dtype is wb.float32
    assert data.default_collate([np.zeros(2), np.ones(2)]).names == (None, None)
    assert data.default_collate([b"a", b"b"]) == [b"a", b"b"]
    assert data.default_collate([1j, 2]).dtype.kind == "c"
    scalars = data.default_collate([wb.tensor(1.0), wb.tensor(2.0)])
    assert (scalars.tolist(), scalars.names) == ([1, 2], (None,))
    mixed = data.default_collate([wb.tensor([1]), wb.tensor([1.5])])
    assert (mixed.dtype, mixed.tolist()) == (wb.float32, [[1.0], [1.5]])
    turned = np.arange(6.0).reshape(2, 3).T
    assert data.default_collate([turned, turned])[1].tolist() == turned.tolist()
    assert data.default_collate([wb.zeros(0, 2), wb.zeros(0, 2)]).shape == (2, 0, 2)
    assert data.default_collate([wb.ones(2, dtype="bfloat16")]).dtype is wb.bfloat16


def test_names_that_some_samples_lack_come_from_the_others() -> None:
    batch = data.default_collate(
        [wb.ones(2, 3), wb.ones(2, 3, names=("T", None)), wb.ones(2, 3, names=(None, "C"))]
    )
    assert batch.names == (None, "T", "C")
    with pytest.raises(wb.DimensionError, match="equal names: sample 1 of the batch differs") as caught:
        data.default_collate([wb.ones(T=2), wb.ones(C=2)])
    assert "T:2" in str(caught.value) and "C:2" in str(caught.value)


@pytest.mark.parametrize(
    ("samples", "error", "words"),
    [
        ([wb.ones(2), 1], TypeError, "sample 0 of the batch is Tensor, sample 1 is int"),
        ([1, "a"], TypeError, "must all be numbers, found int, str"),
        ([{"a": 1}, {"b": 1}], KeyError, "sample 1 of the batch has no 'a'"),
        ([np.array(["a"])], TypeError, "found an array of <U1"),
        ([np.zeros(2), np.zeros((2, 1))], wb.DimensionError, "sample 1 of the batch differs"),
        ([[1, 2], [1, 2], [1]], wb.DimensionError, "sample 2 has 1 parts, sample 0 has 2"),
        ([None], TypeError, "found NoneType"),
    ],
)
def test_what_cannot_be_collated(samples: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        data.default_collate(samples)


def test_converting() -> None:
    point = data.default_convert(Point(np.zeros(2), [np.float32(1), "a", (np.array(["x"]), 3)]))
    assert isinstance(point, Point) and isinstance(point.x, wb.Tensor)
    number, text, (words, three) = point.label
    assert (number.item(), text, three) == (1, "a", 3) and isinstance(words, np.ndarray)


def test_progress_says_how_far_it_is() -> None:
    loader = data.DataLoader(range(40), 4)
    batches = iter(loader)
    for _ in range(4):
        next(batches)
    loader.load_state_dict(loader.state_dict())
    assert loader.position == 4
    screen = io.StringIO()
    bar = data.progress(loader, "epoch 2", file=screen, mininterval=0, ascii=True)
    assert (bar.n, bar.total) == (4, 10)
    assert len([bar.set_postfix(loss=1.5) for _ in bar]) == 6
    shown = screen.getvalue()
    assert "epoch 2:  40%" in shown and "10/10" in shown and "batch/s" in shown and "loss=1.5" in shown
    assert len(list(data.progress(data.DataLoader(datasets.Count(5), 2), file=io.StringIO()))) == 3
    assert loader.position == 0


def test_progress_is_text_in_notebooks_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bar of widgets is an error in a notebook that is opened again."""
    monkeypatch.setattr(renderer_lookup, "in_notebook", lambda: True)
    shown, drawn = [], []
    monkeypatch.setattr(
        renderer_lookup,
        "display_again",
        lambda line: shown.append(line) or (lambda: drawn.append(repr(line))),
    )
    bar = data.progress(data.DataLoader(range(4), 2), "epoch <1>", mininterval=0)
    assert type(bar) is std.tqdm
    for _ in bar:
        bar.set_postfix(loss=1.5)
    (line,) = shown
    assert re.fullmatch(r"epoch <1>: 100% 2/2, 00:00 left, [\d.]+batch/s, loss=1.5", drawn[-1])
    html = line._repr_mimebundle_()["text/html"]
    assert "epoch &lt;1&gt;" in html and 'aria-valuenow="100"' in html
    assert html.count("white-space:nowrap") == 5, "a name and four figures, each of which stays whole"
    said = capsys.readouterr()
    assert said.out == said.err == "", "text is broken anywhere in a narrow cell, and errors stand on red"


def test_progress_in_a_notebook_without_a_length_and_as_the_program_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renderer_lookup, "in_notebook", lambda: True)
    shown: list[object] = []
    monkeypatch.setattr(renderer_lookup, "display_again", lambda line: shown.append(line) or (lambda: None))
    assert list(data.progress(iter([1, 2, 3]))) == [1, 2, 3]
    assert re.fullmatch(r"3 batch, 00:00, ?[\d.?]+batch/s", repr(shown[0]))
    assert list(data.progress([1, 2], "gone", leave=False)) == [1, 2]
    assert repr(shown[1]) == ""
    assert list(data.progress([1, 2], bar_format="{desc} {n}", desc="own")) == [1, 2]
    assert len(shown) == 2 and "own 2" in capsys.readouterr().out


def test_progress_leaves_the_output_of_a_terminal_to_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(list(data.progress(data.DataLoader(range(4), 2), "epoch 1"))) == 2
    said = capsys.readouterr()
    assert said.out == "" and "epoch 1: 100%" in said.err
