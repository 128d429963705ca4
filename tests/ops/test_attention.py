"""Attention against torch, where chance has no part in it, and its names and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

F: Any = wb.nn.functional


def floats(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def test_a_query_that_may_look_at_nothing_gets_zeros() -> None:
    mask = wb.tensor([[False, False], [True, False]])
    out = F.scaled_dot_product_attention(wb.ones(2, 3), wb.ones(2, 3), wb.ones(2, 1), mask)
    assert out.tolist() == [[0.0], [1.0]]


def test_names_of_the_query_stay() -> None:
    x = wb.tensor(floats(2, 3, 4), names=("N", "T", "C"))
    assert F.scaled_dot_product_attention(x, x, x).names == ("N", "T", "C")


def test_weights_are_dropped_by_the_generator_given() -> None:
    x = wb.tensor(floats(2, 3, 4))
    first, second = (
        F.scaled_dot_product_attention(x, x, x, dropout_p=0.5, generator=wb.Generator(3)) for _ in range(2)
    )
    assert (first == second).all().item()
    assert not (first == F.scaled_dot_product_attention(x, x, x)).all().item()


def test_both_masks_at_once_are_refused() -> None:
    x = wb.zeros(2, 3)
    with pytest.raises(RuntimeError, match="should not be set when is_causal=True"):
        F.scaled_dot_product_attention(x, x, x, attn_mask=wb.zeros(2, 2), is_causal=True)
