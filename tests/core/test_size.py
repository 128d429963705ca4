"""Sizes as a tuple that counts: the compiled type and the one in Python are the same to who uses them."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
from typing import Any

import pytest

import workbench as wb
from workbench.core.size import PlainSize, Size

KINDS = pytest.mark.parametrize("kind", [Size, PlainSize])


@KINDS
def test_it_is_a_tuple_that_counts(kind: Any) -> None:
    size = kind([2, 3, 4])
    assert size == (2, 3, 4) and isinstance(size, tuple) and hash(size) == hash((2, 3, 4))
    assert (size.numel(), kind().numel(), kind([0, 5]).numel()) == (24, 1, 0)
    assert (size[0], size[-1], list(size), len(size), repr(size)) == (2, 4, [2, 3, 4], 3, "(2, 3, 4)")
    a, b, c = size
    assert (a, b, c) == (2, 3, 4)
    with pytest.raises(IndexError):
        size[3]
    with pytest.raises(TypeError):
        size["a"]


@KINDS
def test_what_is_made_of_sizes_are_sizes(kind: Any) -> None:
    size = kind([2, 3, 4])
    for made, wanted in (
        (size[1:], (3, 4)),
        (size[:], (2, 3, 4)),
        (size[::-2], (4, 2)),
        (size[5:], ()),
        (size + (1,), (2, 3, 4, 1)),  # noqa: RUF005
        ((1,) + size, (1, 2, 3, 4)),  # noqa: RUF005
        (size * 2, (2, 3, 4, 2, 3, 4)),
        (2 * size[:1], (2, 2)),
        (size * 1, (2, 3, 4)),
        (size * 0, ()),
    ):  # fmt: skip
        assert type(made) is Size or type(made) is kind
        assert made == wanted
    for wrong in ([1], 1, "a"):
        with pytest.raises(TypeError):
            size + wrong
        with pytest.raises(TypeError):
            wrong + size
    with pytest.raises(TypeError):
        size * 1.5


@KINDS
def test_it_travels_and_can_be_subclassed(kind: Any) -> None:
    size = kind([2, 3])
    for again in (pickle.loads(pickle.dumps(size)), copy.deepcopy(size), copy.copy(size)):
        assert type(again) is Size and again == (2, 3)

    class Named(kind):  # type: ignore[misc]
        pass

    assert Named([2, 3]).numel() == 6


@KINDS
def test_numbers_of_any_kind_are_multiplied(kind: Any) -> None:
    assert kind([2**40, 2**40]).numel() == 2**80
    with pytest.raises(TypeError):
        kind(["a", "b"]).numel()


def test_tensors_have_them_and_nothing_is_kept() -> None:
    x = wb.zeros(2, 3)
    assert type(x.shape) is Size is wb.Size and type(x.size()) is Size
    assert x.flatten(1).shape[1:].numel() == 3
    item = object()
    before = sys.getrefcount(item)
    for _ in range(100):
        size: Any = Size([item, item])
        size[:], size + (item,), (item,) + size, size * 3, size[0], size.__reduce__()  # noqa: RUF005
    del size
    gc.collect()
    assert sys.getrefcount(item) == before
