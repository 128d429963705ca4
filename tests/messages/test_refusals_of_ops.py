"""What an op cannot take is refused in words of our own: what was given, why it is wrong, what would work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
import workbench.nn.functional as F
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError

Case = tuple[Callable[[], Any], type[Exception], str]

X = wb.ones(2, 3, 4)
WHOLE, COMPLEX = wb.ones(3, dtype=wb.int64), wb.ones(2, 3, 4, dtype=wb.complex64)
BAGS = wb.tensor([0, 1, 1]), wb.tensor([0, 2])


def pivots(*rows: int) -> wb.Tensor:
    return wb.tensor(np.array(rows, np.int32))


def put(index: Any, values: Any) -> Any:
    return wb.zeros(2, 3).index_put(index, values, accumulate=True)


CONVOLUTIONS: list[Case] = [
    (lambda: F.conv1d(wb.ones(1, 2, 5), wb.ones(2, 2)), DimensionError, "3D weight to conv1d.*got 3D and 2D"),
    (lambda: F.conv2d(wb.ones(1, 2, 5, 5), wb.tensor(1.0)), DimensionError, "got 4D and 0D"),
    (lambda: F.conv2d(wb.ones(1, 2, 5, 5), wb.ones(2, 2), padding="same"), DimensionError, "got 4D and 2D"),
    (lambda: F.conv3d(wb.ones(1, 2, 5, 5, 5), wb.ones(2, 2, 1, 1)), DimensionError, "got 5D and 4D"),
    (lambda: F.conv2d(wb.ones(1, 2, 5, 5), wb.ones(0, 2, 1, 1)), DimensionError, "at least 1 at dimension 0"),
    (lambda: F.conv3d(wb.ones(1, 2, 5, 5, 5), wb.ones(0, 2, 1, 1, 1)), DimensionError, "at least 1 at dim"),
    (lambda: F.conv1d(wb.ones(1, 2, 5), wb.ones(2, 2, 0)), DimensionError, "greater than zero, but got .0."),
    (lambda: F.conv3d(wb.ones(1, 2, 5, 5, 5), wb.ones(2, 2, 0, 1, 1)), DimensionError, "greater than zero"),
    (lambda: F.conv2d(wb.ones(1, 0, 5, 5), wb.ones(2, 0, 1, 1)), DimensionError, "at least one channel"),
    (lambda: F.conv_transpose1d(wb.ones(1, 2, 5), wb.ones(2, 2)), DimensionError, "Expected 3D weight"),
    (
        lambda: F.conv_transpose2d(wb.ones(1, 2, 5, 5), wb.ones(2, 0, 1, 1)),
        DimensionError,
        "one channel each",
    ),
    (lambda: F.conv_transpose2d(wb.ones(1, 2, 5, 5), wb.ones(2, 2, 0, 0)), DimensionError, "than zero"),
    (lambda: F.conv_transpose3d(wb.ones(1, 2, 5, 5, 5), wb.ones(2, 0, 1, 1, 1)), DimensionError, "channel"),
]

NORMS: list[Case] = [
    (
        lambda: F.batch_norm(X, WHOLE, WHOLE, training=True),
        DTypeError,
        "running_mean must have a real.*int64",
    ),
    (lambda: F.batch_norm(X, WHOLE, WHOLE), DTypeError, "running_mean.float"),
    (lambda: F.batch_norm(X, wb.ones(4), wb.ones(4), training=True), DimensionError, "3 elements.*not .4."),
    (lambda: F.batch_norm(X, wb.ones(3, 1), wb.ones(3), training=True), DimensionError, r"not \[3, 1\]"),
    (lambda: F.batch_norm(X, wb.ones(3), wb.tensor(1.0), training=True), DimensionError, "running_var"),
    (lambda: F.batch_norm(COMPLEX, None, None, training=True), DTypeError, "complex64. Use input.real"),
    (lambda: F.instance_norm(X, WHOLE, WHOLE), DTypeError, "running_mean must have a real.*int64"),
    (lambda: F.instance_norm(X, wb.ones(4), wb.ones(4)), DimensionError, "3 elements.*not .4."),
    (lambda: F.instance_norm(COMPLEX, wb.ones(3), wb.ones(3)), DTypeError, "complex64. Use input.real"),
]

PLACES: list[Case] = [
    (
        lambda: F.grid_sample(wb.ones(1, 1, 2, 2, dtype=wb.int64), wb.zeros(1, 1, 1, 2), align_corners=False),
        DTypeError,
        "input must have a real floating point type, got int64. Use input.float",
    ),
    (
        lambda: F.grid_sample(wb.ones(1, 1, 2, 2), wb.zeros(1, 1, 1, 2, dtype=wb.int64), align_corners=False),
        DTypeError,
        "grid must have a real floating point type",
    ),
    (
        lambda: F.max_unpool1d(wb.ones(1, 1, 2), wb.zeros(1, 1, 2), 2),
        DTypeError,
        "int64 for indices, got float32",
    ),
    (lambda: F.max_unpool2d(wb.ones(1, 1, 2, 2), wb.zeros(1, 1, 2, 2), 2), DTypeError, "indices.long"),
    (lambda: F.max_unpool3d(wb.ones(1, 1, 1, 1, 1), wb.zeros(1, 1, 1, 1, 1), 2), DTypeError, "indices.long"),
    (
        lambda: F.multi_margin_loss(wb.ones(2, 3), wb.ones(2)),
        DTypeError,
        "int64 for target, got float32",
    ),
    (
        lambda: F.multi_margin_loss(wb.ones(1, 3), wb.tensor([0]), weight=wb.ones(2)),
        DimensionError,
        "expected 3",
    ),
    (lambda: F.multilabel_margin_loss(wb.ones(2, 3), wb.ones(2, 3)), DTypeError, "target.long"),
    *(
        (
            lambda reduce=reduce: wb.ones(3).scatter_reduce(0, wb.zeros(2), wb.ones(2), reduce),
            DTypeError,
            "scatter_reduce.*int64 for index, got float32",
        )
        for reduce in ("sum", "mean", "prod", "amin", "amax")
    ),
    *(
        (
            lambda reduce=reduce: wb.ones(3).index_reduce(0, wb.zeros(2), wb.ones(2), reduce),
            DTypeError,
            "index_reduce.*int64 for index, got float32",
        )
        for reduce in ("mean", "prod", "amin", "amax")
    ),
    (lambda: put((wb.tensor(7),), wb.ones(3)), DimensionIndexError, "index 7 is out of bounds"),
    (lambda: put((wb.tensor(1),), wb.ones(4)), DimensionError, "3.*4"),
    (lambda: put((wb.tensor(1.0),), wb.ones(3)), DTypeError, "got float32.*index.long"),
    (lambda: put(wb.tensor(1), wb.ones(3)), TypeError, "tuple of tensors.*got Tensor: give .index,."),
    (lambda: F.embedding_bag(BAGS[0], wb.tensor(1.0), BAGS[1]), ValueError, "weight has to be 2D.*got .."),
    (lambda: F.embedding_bag(BAGS[0], wb.ones(0, 3), BAGS[1]), DimensionIndexError, "not in .0, 0."),
    (lambda: F.embedding_bag(BAGS[0], wb.ones(3, 2), wb.tensor([0.0, 2.0])), DTypeError, "offsets.long"),
    (lambda: F.embedding(wb.tensor([7]), wb.ones(3, 2), max_norm=1.0), DimensionIndexError, "7 is not in"),
    (lambda: F.embedding(wb.tensor([0]), wb.tensor(1.0), max_norm=1.0), DimensionError, "must be 2-D"),
]

DIMS: list[Case] = [
    (lambda: wb.linalg.lu_solve(wb.eye(3), pivots(1, 2, 9), wb.ones(3, 1)), DimensionIndexError, "one is 9"),
    (lambda: wb.linalg.lu_solve(wb.eye(3), pivots(0, 2, 3), wb.ones(3, 1)), DimensionIndexError, "one is 0"),
    (
        lambda: wb.linalg.lu_solve(wb.eye(3), pivots(1, 2), wb.ones(3, 1)),
        DimensionError,
        "pivots has shape .2",
    ),
    (lambda: wb.lu_solve(wb.ones(3, 1), wb.eye(3), pivots(-1, 2, 3)), DimensionIndexError, "one is -1"),
    (
        lambda: wb.lu_unpack(wb.eye(3), pivots(1, 2, 4)),
        DimensionIndexError,
        "between 1 and .* 3, but one is 4",
    ),
    (lambda: wb.tensor(1.0).unflatten(0, (1, 1)), DimensionIndexError, "dim 0 is not there"),
    (lambda: wb.ones(4).unflatten(3, (2, 2)), DimensionIndexError, "out of range.*got 3"),
    (lambda: wb.ones(4).narrow(0, wb.tensor([1]), 2), DimensionError, "no dims, but has 1"),
    (lambda: wb.ones(4).narrow(0, wb.tensor(1.0), 2), DTypeError, "whole numbers, got float32"),
    (lambda: wb.ones(4).narrow(0, 1.5, 2), TypeError, "start must be a whole number, got 1.5"),
    (lambda: wb.ones(4).tensor_split(wb.tensor([[1, 2]])), DimensionError, "at most one dim, but has 2"),
    (lambda: wb.ones(4).tensor_split(wb.tensor([1.0])), DTypeError, "whole numbers, got float32"),
    (lambda: wb.ones(4).tensor_split(((1, 2), (2, 3))), TypeError, "whole number, got .1, 2."),
    (lambda: wb.fft.fftshift(wb.tensor(1.0)), DimensionIndexError, "the tensor has none.*unsqueeze"),
    (lambda: wb.fft.ifftshift(wb.tensor(1.0), dim=0), DimensionIndexError, "the tensor has none"),
    (lambda: wb.fft.fftshift(wb.ones(3), dim=()), DimensionIndexError, "no dim was given"),
]


@pytest.mark.parametrize(("call", "error", "words"), CONVOLUTIONS + NORMS + PLACES + DIMS)
def test_refused_in_words(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=f"(?s){words}"):
        call()


def test_a_refusal_changes_nothing() -> None:
    mean, var = wb.zeros(3), wb.ones(4)
    with pytest.raises(DimensionError):
        F.batch_norm(X, mean, var, training=True)
    table = wb.full((3,), 5.0)
    with pytest.raises(DimensionError):
        F.embedding(wb.tensor([1]), table, max_norm=1.0)
    assert mean.tolist() == [0.0] * 3 and table.tolist() == [5.0] * 3


def test_indices_without_dims_add_where_they_point() -> None:
    assert put((wb.tensor(1),), wb.ones(3)).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert put((wb.tensor(1), wb.tensor(2)), wb.tensor(3.0)).tolist() == [[0, 0, 0], [0, 0, 3]]
    assert put((wb.tensor(1), wb.tensor([0, 0])), wb.ones(2)).tolist() == [[0, 0, 0], [2, 0, 0]]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_rows_without_features_are_empty(mode: str) -> None:
    assert F.embedding_bag(BAGS[0], wb.ones(3, 0), BAGS[1], mode=mode).shape == (2, 0)
