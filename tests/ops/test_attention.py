"""Attention against torch, where chance has no part in it, and its names and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.op import ops
from workbench.testing import assert_close

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


@pytest.mark.parametrize(("number", "taken"), [(-np.inf, True), (np.inf, False), (np.nan, False)])
def test_a_mask_beside_causality_is_compiled_unless_it_shows_what_is_left_out(
    number: float, taken: bool
) -> None:
    heads = [floats(1, 1, 4, 8, seed=k) for k in range(3)]
    mask = np.zeros((1, 1, 4, 4), np.float32)
    mask[..., 0, 3] = number  # a place that causality leaves out
    kernel = ops.attention.kernel
    if kernel is None:
        pytest.skip("the compiled kernels are not there")
    assert kernel.accepts(*heads, mask, scale=1.0, causal=True, dropout=0.0, seed=0) is taken


def test_both_masks_at_once_are_refused() -> None:
    x = wb.zeros(2, 3)
    with pytest.raises(RuntimeError, match="should not be set when is_causal=True"):
        F.scaled_dot_product_attention(x, x, x, attn_mask=wb.zeros(2, 2), is_causal=True)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("sizes", [(3, 5), (70, 70), (130, 37), (600, 130)])
def test_compiled_attention_is_the_plain_one(
    sizes: tuple[int, int], masked: bool, causal: bool, dropout: float
) -> None:
    """In blocks, from heads that lie between each other in memory, with what is dropped drawn alike."""
    queries, keys = sizes
    heads = [
        floats(length, 2, 3, 8, seed=k).transpose(1, 2, 0, 3)
        for k, length in enumerate((queries, keys, keys))
    ]
    mask = (
        [np.where(floats(2, 1, queries, keys, seed=5) > 0.8, -np.inf, 0.5).astype(np.float32)]
        if masked
        else []
    )
    params: dict[str, Any] = {"scale": 0.4, "causal": causal, "dropout": dropout, "seed": 2**31 + 5}
    kernel, plain = ops.attention.kernel, ops.attention.forward
    if kernel is None:
        pytest.skip("the compiled kernels are not there")
    assert kernel.accepts(*heads, *mask, **params)
    expected = plain(*heads, *mask, **params)
    got = kernel.run(*heads, *mask, **params)
    for one, other in zip(got, expected, strict=True):
        assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert got[0].transpose(2, 0, 1, 3).flags.c_contiguous
    gradient = floats(queries, 2, 3, 8, seed=7).transpose(1, 2, 0, 3)
    arguments = (gradient, *heads, *expected, *mask)
    found = ops.attention_gradient.kernel.run(*arguments, **params)
    for one, other in zip(found, ops.attention_gradient.forward(*arguments, **params), strict=True):
        assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_as_many_weights_are_dropped_as_are_asked_for() -> None:
    value = np.eye(64, dtype=np.float32)[None, None]
    query = np.zeros((1, 1, 512, 4), np.float32)
    params: dict[str, Any] = {"scale": 1.0, "causal": False, "dropout": 0.25}
    weights = [
        ops.attention.forward(query, query[:, :, :64], value, seed=seed, **params)[0] for seed in (1, 2)
    ]
    for one in weights:
        assert abs(float((one == 0).mean()) - 0.25) < 0.01
        assert_close(one.max(), 1 / 64 / 0.75, rtol=1e-5)
    assert abs(float(((weights[0] == 0) & (weights[1] == 0)).mean()) - 0.0625) < 0.01
