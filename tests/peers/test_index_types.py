"""Every function with an index among its operands, in all types of whole numbers: taken and refused as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore:indexing with dtype"),
    pytest.mark.filterwarnings("ignore:index_reduce.. is in beta"),
    pytest.mark.filterwarnings("ignore:where received a uint8 condition"),
]

TYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32")
X = np.arange(1.0, 13, dtype=np.float32).reshape(3, 4)
ROWS, PLACES, ONE = np.array([1, 0, 1]), np.array([[1, 0, 1, 0], [1, 1, 0, 0]]), np.array(1)
EYE, SCORES = np.eye(3, dtype=np.float32), np.zeros((5, 2, 3), np.float32)

Library = Any
Case = Callable[[Library, Any, Callable[[Any], Any]], Any]
"""What to call: with a library, its tensor of an array, and what makes an index of an array."""

CASES: dict[str, Case] = {
    "x[i]": lambda L, t, i: t(X)[i(ROWS)],
    "x[i, i]": lambda L, t, i: t(X)[i(ROWS), i(ROWS)],
    "x[one]": lambda L, t, i: t(X)[i(ONE)],
    "x[[]]": lambda L, t, i: t(X)[i(ROWS[:0])],
    "x[i] = y": lambda L, t, i: t(X).__setitem__(i(ROWS), t(X)[i(ROWS)]),
    "x[i] = 0": lambda L, t, i: t(X).__setitem__(i(ROWS), 0),
    "index_put": lambda L, t, i: t(X).index_put((i(ROWS),), t(X)),
    "index_put, added": lambda L, t, i: t(X).index_put((i(ROWS),), t(X), accumulate=True),
    "gather": lambda L, t, i: L.gather(t(X), 0, i(PLACES)),
    "gather, none": lambda L, t, i: L.gather(t(X), 0, i(PLACES[:0])),
    "scatter": lambda L, t, i: t(X).scatter(0, i(PLACES), t(X)),
    "scatter, number": lambda L, t, i: t(X).scatter(0, i(PLACES), 1.0),
    "scatter, add": lambda L, t, i: t(X).scatter(0, i(PLACES), t(X), reduce="add"),
    "scatter, multiply": lambda L, t, i: t(X).scatter(0, i(PLACES), t(X), reduce="multiply"),
    "scatter, none": lambda L, t, i: t(X).scatter(0, i(PLACES[:0]), t(X)),
    "scatter_": lambda L, t, i: t(X).scatter_(0, i(PLACES), t(X)),
    "scatter_add": lambda L, t, i: t(X).scatter_add(0, i(PLACES), t(X)),
    "scatter_add, none": lambda L, t, i: t(X).scatter_add(0, i(PLACES[:0]), t(X)),
    "scatter_reduce, sum": lambda L, t, i: t(X).scatter_reduce(0, i(PLACES), t(X), "sum"),
    "scatter_reduce, mean": lambda L, t, i: t(X).scatter_reduce(0, i(PLACES), t(X), "mean"),
    "scatter_reduce, amax": lambda L, t, i: t(X).scatter_reduce(0, i(PLACES), t(X), "amax"),
    "scatter_reduce, none": lambda L, t, i: t(X).scatter_reduce(0, i(PLACES[:0]), t(X), "sum"),
    "take_along_dim": lambda L, t, i: L.take_along_dim(t(X), i(PLACES), 0),
    "take_along_dim, flat": lambda L, t, i: L.take_along_dim(t(X), i(PLACES)),
    "take": lambda L, t, i: L.take(t(X), i(PLACES)),
    "take, none": lambda L, t, i: L.take(t(X), i(PLACES[:0])),
    "put": lambda L, t, i: t(X).put(i(PLACES), t(X[:2])),
    "put, added": lambda L, t, i: t(X).put(i(PLACES), t(X[:2]), accumulate=True),
    "index_select": lambda L, t, i: L.index_select(t(X), 0, i(ROWS)),
    "index_select, one": lambda L, t, i: L.index_select(t(X), 0, i(ONE)),
    "index_copy": lambda L, t, i: t(X).index_copy(0, i(ROWS), t(X)),
    "index_add": lambda L, t, i: t(X).index_add(0, i(ROWS), t(X)),
    "index_fill": lambda L, t, i: t(X).index_fill(0, i(ROWS), 1.0),
    "index_fill, tensor": lambda L, t, i: t(X).index_fill(0, i(ROWS), L.tensor(1.0)),
    "index_reduce, prod": lambda L, t, i: t(X).index_reduce(0, i(ROWS), t(X), "prod"),
    "index_reduce, mean": lambda L, t, i: t(X).index_reduce(0, i(ROWS), t(X), "mean"),
    "index_reduce, amax": lambda L, t, i: t(X).index_reduce(0, i(ROWS), t(X), "amax"),
    "embedding": lambda L, t, i: L.nn.functional.embedding(i(ROWS), t(X)),
    "embedding_bag": lambda L, t, i: L.nn.functional.embedding_bag(i(PLACES), t(X)),
    "embedding_bag, all": lambda L, t, i: L.nn.functional.embedding_bag(i(ROWS), t(X), i(np.array([0, 1]))),
    "embedding_bag, offsets": lambda L, t, i: L.nn.functional.embedding_bag(
        t(ROWS), t(X), i(np.array([0, 1]))
    ),
    "one_hot": lambda L, t, i: L.nn.functional.one_hot(i(ROWS)),
    "one_hot, 3": lambda L, t, i: L.nn.functional.one_hot(i(ROWS), 3),
    "bincount": lambda L, t, i: L.bincount(i(ROWS)),
    "nll_loss": lambda L, t, i: L.nn.functional.nll_loss(t(X), i(ROWS)),
    "nll_loss, one": lambda L, t, i: L.nn.functional.nll_loss(t(X[0]), i(ONE)),
    "nll_loss, places": lambda L, t, i: L.nn.functional.nll_loss(t(X[..., None]), i(ROWS[:, None])),
    "cross_entropy": lambda L, t, i: L.nn.functional.cross_entropy(t(X), i(ROWS)),
    "cross_entropy, smoothed": lambda L, t, i: L.nn.functional.cross_entropy(
        t(X), i(ROWS), label_smoothing=0.1
    ),
    "linear_cross_entropy": lambda L, t, i: L.nn.functional.linear_cross_entropy(t(X), t(X), i(ROWS)),
    "multi_margin_loss": lambda L, t, i: L.nn.functional.multi_margin_loss(t(X), i(ROWS)),
    "multilabel_margin_loss": lambda L, t, i: L.nn.functional.multilabel_margin_loss(t(X[:2]), i(PLACES)),
    "ctc_loss, targets": lambda L, t, i: L.nn.functional.ctc_loss(
        t(SCORES), i(np.ones((2, 2), np.int64)), (5, 5), (2, 2)
    ),
    "ctc_loss, lengths": lambda L, t, i: L.nn.functional.ctc_loss(
        t(SCORES), t(np.ones((2, 2), np.int64)), i(np.array([1, 1])), i(np.array([1, 1]))
    ),
    "max_unpool1d": lambda L, t, i: L.nn.functional.max_unpool1d(
        t(X[None, :2, :2]), i(PLACES[None, :, 1:3]), 2
    ),
    "max_unpool2d": lambda L, t, i: L.nn.functional.max_unpool2d(
        t(X[None, None, :1, :2]), i(PLACES[None, None, :1, 1:3]), (1, 2)
    ),
    "repeat_interleave": lambda L, t, i: L.repeat_interleave(t(X), i(ROWS), 0),
    "repeat_interleave, counts": lambda L, t, i: L.repeat_interleave(i(ROWS)),
    "tensor_split": lambda L, t, i: L.tensor_split(t(X), i(np.array([0, 1])))[1],
    "unravel_index": lambda L, t, i: L.unravel_index(i(ROWS), (3, 4))[0],
    "masked_fill": lambda L, t, i: t(X).masked_fill(i(X > 4), 0.0),
    "masked_select": lambda L, t, i: t(X).masked_select(i(X > 4)),
    "masked_scatter": lambda L, t, i: t(X).masked_scatter(i(X > 4), t(X)),
    "where": lambda L, t, i: L.where(i(X > 4), t(X), t(-X)),
    "narrow": lambda L, t, i: L.narrow(t(X), 0, i(ONE), 1),
    "select": lambda L, t, i: L.select(t(X), 0, i(ONE)),
    "lu_unpack": lambda L, t, i: L.lu_unpack(t(EYE), i(np.array([1, 2, 3])))[0],
    "lu_solve": lambda L, t, i: L.linalg.lu_solve(t(EYE), i(np.array([1, 2, 3])), t(X)),
    "ldl_solve": lambda L, t, i: L.linalg.ldl_solve(t(EYE), i(np.array([1, 2, 3])), t(X)),
    "searchsorted": lambda L, t, i: L.searchsorted(t(X[0]), t(X[1]), sorter=i(np.arange(4))),
}

DIFFERENCES = {
    (
        "x[i] = 0",
        "uint8",
    ): "PyTorch refuses one number where it takes a tensor of numbers; here bytes are a mask for both",
    (
        "embedding_bag, offsets",
        "bool",
    ): "PyTorch takes bools for places beside int64 indices: no place is true",
    (
        "ctc_loss, targets",
        "bool",
    ): "PyTorch takes what are no whole numbers and rounds: a class is a whole number",
    (
        "ctc_loss, targets",
        "float32",
    ): "PyTorch takes what are no whole numbers and rounds: a class is a whole number",
    ("select", "bool"): "PyTorch fails with an internal assertion; a bool is 0 or 1 for Python",
}


def outcome(library: Any, case: Case, dtype: str) -> Any:
    """Return the type and numbers of what a case gives, or the word that it was refused."""

    def tensor(array: Any) -> Any:
        return library.from_numpy(np.array(array))

    try:
        result = case(library, tensor, lambda array: tensor(np.asarray(array).astype(dtype)))
    except (RuntimeError, IndexError, TypeError, ValueError):  # of these kinds are PyTorch's refusals
        return "refused"
    return (
        None if result is None else (str(result.dtype).split(".")[-1], np.round(result.numpy(), 4).tolist())
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("case", CASES)
def test_taken_and_refused_as_in_torch(case: str, dtype: str) -> None:
    got, want = outcome(wb, CASES[case], dtype), outcome(torch, CASES[case], dtype)
    assert (got != want) == ((case, dtype) in DIFFERENCES), (got, want)


@pytest.mark.parametrize("case", CASES)
def test_some_type_is_taken(case: str) -> None:
    assert any(outcome(torch, CASES[case], dtype) != "refused" for dtype in TYPES)
