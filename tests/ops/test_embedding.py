"""Tables of vectors: what the database of ops does not ask of embedding and its bags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

F: Any = wb.nn.functional


grad: Any = wb.autograd.grad


TABLE = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)


PICKED = np.array([[1, 2, 2], [5, 1, 2]])


def test_frequent_rows_of_bags_get_as_much_as_rare_ones() -> None:
    # Not against torch, which divides by the counts of other rows (2.13).
    table = wb.tensor(TABLE, requires_grad=True)
    out = F.embedding_bag(wb.tensor(PICKED), table, mode="sum", scale_grad_by_freq=True)
    (gradient,) = grad(out.sum(), [table])
    np.testing.assert_allclose(gradient.numpy()[:, 0], [0, 1, 1, 0, 0, 1], rtol=1e-6)


def test_names() -> None:
    table = wb.tensor(TABLE, names=(None, "C"))
    assert F.embedding(wb.tensor(PICKED, names=("N", "T")), table).names == ("N", "T", "C")
    assert F.embedding_bag(wb.tensor(PICKED, names=("N", "T")), wb.tensor(TABLE)).names == ("N", None)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: F.embedding(wb.tensor([6]), t), IndexError, "index out of range in self"),
        (lambda t: F.embedding(wb.tensor([1.0]), t), RuntimeError, "Expected dtype int32/int64 for input"),
        (lambda t: F.embedding(wb.tensor([1]), t, padding_idx=6), ValueError, "within num_embeddings"),
        (lambda t: F.embedding_bag(wb.tensor([1]), t), ValueError, "offsets has to be a 1D Tensor"),
        (
            lambda t: F.embedding_bag(wb.tensor([[1]]), t, wb.tensor([0])),
            ValueError,
            "if input is 2D, then offsets has to be None",
        ),
        (
            lambda t: F.embedding_bag(wb.tensor([1]), t, wb.tensor([1])),
            RuntimeError,
            "offsets[0] has to be 0",
        ),
        (lambda t: F.embedding_bag(wb.tensor([[1]]), t, mode="min"), ValueError, "sum, mean or max"),
        (
            lambda t: F.embedding_bag(wb.tensor([[1]]), t, per_sample_weights=wb.ones(1, 1)),
            ValueError,
            "only supported for mode='sum'",
        ),
    ],
)
def test_refusals(call: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call(wb.tensor(TABLE))
    assert words in str(caught.value)


@pytest.mark.parametrize("weighted", [False, True])
def test_indices_of_other_whole_types_and_strides(weighted: bool) -> None:
    table = wb.randn(40, 16, requires_grad=True)
    shares = wb.linspace(0.5, 1.5, 40) if weighted else None
    wide = np.arange(80, dtype=np.int64) % 40
    found = []
    for index in (np.ascontiguousarray(wide[::2]), wide[::2], wide[::2].astype(np.int32)):
        offsets = wb.tensor(np.array([0, 10], index.dtype))
        bags = F.embedding_bag(wb.from_numpy(index), table, offsets, mode="sum", per_sample_weights=shares)
        (gradient,) = wb.autograd.grad(bags.square().sum(), [table])
        found.append(gradient.numpy())
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-5)
