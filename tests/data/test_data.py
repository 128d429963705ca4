"""Data sets, loaders, splits and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import data


def numbered(count: int = 7) -> data.TensorDataset:
    return data.TensorDataset(
        wb.arange(count * 2).reshape(count, 2).rename("N", "C"), wb.arange(count, names=("N",))
    )


class Squares(data.Dataset):
    """Samples made one by one."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> Any:
        return wb.full((2,), float(index), names=("C",)), index * index, f"<b>{index}</b>"


def test_batches_keep_order_names_and_the_rest() -> None:
    batches = list(data.DataLoader(numbered(), batch_size=3))
    assert [labels.tolist() for _, labels in batches] == [[0, 1, 2], [3, 4, 5], [6]]
    assert batches[0][0].names == ("N", "C")
    assert batches[1][0].tolist() == [[6, 7], [8, 9], [10, 11]]
    assert len(data.DataLoader(numbered(), batch_size=3)) == 3
    assert [len(x) for x, _ in data.DataLoader(numbered(), batch_size=3, drop_last=True)] == [3, 3]


def test_shuffling_visits_every_sample_once_and_anew_each_time() -> None:
    loader = data.DataLoader(numbered(50), batch_size=8, shuffle=True, generator=wb.Generator(1))
    first, second = ([int(i) for _, labels in loader for i in labels.numpy()] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    again = data.DataLoader(numbered(50), batch_size=8, shuffle=True, generator=wb.Generator(1))
    assert first == [int(i) for _, labels in again for i in labels.numpy()]
    for x, labels in loader:
        assert (x.numpy()[:, 0] == 2 * labels.numpy()).all()


def test_samples_made_one_by_one_are_stacked() -> None:
    x, squares, texts = next(iter(data.DataLoader(Squares(), batch_size=3)))
    assert (x.names, x.tolist()) == ((None, "C"), [[0, 0], [1, 1], [2, 2]])
    assert squares.tolist() == [0, 1, 4]
    assert texts == ["<b>0</b>", "<b>1</b>", "<b>2</b>"]
    doubled = data.DataLoader(Squares(), batch_size=5, collate_fn=lambda samples: [2 * s[1] for s in samples])
    assert list(doubled) == [[0, 2, 8, 18, 32]]
    assert data.default_collate([{"a": 1.5}, {"a": 2.5}])["a"].tolist() == [1.5, 2.5]
    named = data.default_collate([wb.zeros(N=2), wb.zeros(N=2)])
    assert (named.names, named.shape) == ((None, "N"), (2, 2))


def test_splits_and_subsets() -> None:
    parts = data.random_split(numbered(10), [0.5, 0.25, 0.25], wb.Generator(0))
    assert [len(part) for part in parts] == [6, 2, 2]
    seen = [int(label.item()) for part in parts for _, label in (part[i] for i in range(len(part)))]
    assert sorted(seen) == list(range(10))
    assert [len(part) for part in data.random_split(Squares(), [2, 3])] == [2, 3]
    subset = data.Subset(numbered(10), [9, 3, -1])
    assert [labels.tolist() for _, labels in data.DataLoader(subset, batch_size=2)] == [[9, 3], [9]]
    assert next(iter(data.DataLoader(data.Subset(Squares(), [4, 1]), batch_size=2)))[1].tolist() == [16, 1]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: data.TensorDataset(), ValueError, "at least one tensor"),
        (lambda: data.TensorDataset(np.ones(2)), TypeError, "number 0 is ndarray"),
        (
            lambda: data.TensorDataset(wb.zeros(2), wb.zeros(3)),
            wb.DimensionError,
            "Size mismatch between tensors",
        ),
        (lambda: data.DataLoader(numbered(), batch_size=0), ValueError, "should be a positive integer value"),
        (lambda: data.DataLoader(numbered(), batch_size=2.0), ValueError, "got batch_size=2.0"),
        (lambda: data.Dataset()[0], TypeError, "define __getitem__(self, index)"),
        (lambda: len(data.Dataset()), TypeError, "define __len__(self)"),
        (lambda: data.Subset(numbered(3), [3]), IndexError, "there are 3 samples"),
        (
            lambda: data.random_split(numbered(), [3, 3]),
            ValueError,
            "does not equal the length of the input dataset: 6 and 7",
        ),
        (lambda: data.random_split(numbered(), [0.5, 0.6]), ValueError, "must add up to 1"),
        (lambda: data.random_split(numbered(), [-1, 8]), ValueError, "not negative"),
        (
            lambda: data.default_collate([wb.zeros(2), wb.zeros(3)]),
            wb.DimensionError,
            "sample 1 of the batch differs",
        ),
        (lambda: data.default_collate([(1, 2), (1,)]), wb.DimensionError, "should be of equal size"),
        (lambda: data.default_collate([object()]), TypeError, "found object"),
    ],
)
def test_bad_input_is_refused_in_words(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)


def test_labels_are_text_whatever_they_look_like(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes("\ufeff<script>alert(1)</script>\r\nüben & mehr\n\n=1+1\n".encode())
    assert data.read_labels(path) == ["<script>alert(1)</script>", "üben & mehr", "", "=1+1"]
    with pytest.raises(data.DataError, match="has 4 labels, one a line, where 5 are needed"):
        data.read_labels(path, count=5)
    path.write_bytes(b"good\nbad \xff byte\n")
    with pytest.raises(data.DataError, match="not UTF-8 text: byte 9, on line 2"):
        data.read_labels(path)


def test_a_file_of_labels_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.data.labels.MAXIMUM_BYTES", 3)
    path = tmp_path / "labels.txt"
    path.write_text("1234")
    with pytest.raises(data.DataError, match="has 4 bytes; a file of labels has at most 3"):
        data.read_labels(path)
