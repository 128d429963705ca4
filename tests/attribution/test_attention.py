"""Attention found in models by its ops, and its product through the layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import attention_rollout, attention_weights
from workbench.nn import functional as F

RANDOM = np.random.default_rng(0)


def rand(*sizes: int) -> Any:
    return wb.from_numpy(RANDOM.normal(size=sizes).astype(np.float32))


def by_hand(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return (scores if mask is None else scores.masked_fill(mask.logical_not(), -math.inf)).softmax(-1)


Q, K, V = rand(2, 3, 4, 5), rand(2, 3, 4, 5), rand(2, 3, 4, 6)
MASK = wb.from_numpy(np.tril(np.ones((4, 4), bool)))


@pytest.mark.parametrize(
    ("attend", "mask"),
    [
        (lambda q: F.scaled_dot_product_attention(q, K, V), None),
        (lambda q: F.scaled_dot_product_attention(q, K, V, is_causal=True), MASK),
        (lambda q: F.scaled_dot_product_attention(q, K, V, MASK), MASK),
        (lambda q: by_hand(q, K, V) @ V, None),
        (lambda q: F.dropout(by_hand(q, K, V, MASK), 0.5, training=False) @ V, MASK),
        (lambda q: by_hand(q, K, V).reshape(6, 4, 4) @ V.reshape(6, 4, 6), None),
        (lambda q: wb.einsum("nhqk,nhkd->nhqd", by_hand(q, K, V), V), None),
    ],
    ids=["fused", "causal", "masked", "by hand", "with dropout", "heads in the batch", "einsum"],
)
def test_weights_are_found_by_their_ops(attend: Any, mask: Any) -> None:
    (found,) = attention_weights(attend, Q)
    assert found.names == ("N", "head", "query", "key")
    np.testing.assert_allclose(found.numpy(), by_hand(Q, K, V, mask).numpy(), atol=1e-6)


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_layer_of_several_heads(need_weights: bool) -> None:
    layer = wb.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = rand(3, 5, 8)
    _, expected = layer(x, x, x, average_attn_weights=False)
    (found,) = attention_weights(lambda x: layer(x, x, x, need_weights=need_weights)[0], x)
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), atol=1e-6)


def test_samples_along_another_dim() -> None:
    layer = wb.nn.MultiheadAttention(8, 2).eval()
    x = rand(5, 3, 8).rename("T", "N", "E")
    (found,) = attention_weights(lambda x: layer(x, x, x)[0], x)
    assert found.shape == (3, 2, 5, 5)


def test_a_query_that_sees_nothing_has_no_weights() -> None:
    mask = wb.from_numpy(np.array([[True, False], [False, False]]))
    x = rand(1, 1, 2, 2)
    (found,) = attention_weights(lambda x: F.scaled_dot_product_attention(x, x, x, mask), x)
    assert found[0, 0].tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize("heads", ["mean", "max", "min"])
@pytest.mark.parametrize("residual", [0.0, 0.5, 1.0])
def test_rollout_is_the_product_of_the_layers(heads: Any, residual: float) -> None:
    model = wb.models.vit_small(size=8, channels=1).eval()
    x = rand(2, 1, 8, 8)
    weights = [one.numpy().astype(np.float64) for one in attention_weights(model, x)]
    assert len(weights) == 6 and weights[0].shape == (2, 3, 5, 5)
    expected: Any = np.eye(5)
    for one in weights:
        mixed = residual * np.eye(5) + (1 - residual) * getattr(one, heads)(axis=1)
        expected = mixed / mixed.sum(-1, keepdims=True) @ expected
    found = attention_rollout(model, x, residual=residual, heads=heads)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)
    two = attention_rollout(model, x, residual=residual, heads=heads, layers=slice(0, 2))
    assert residual == 1 or not np.allclose(two.numpy(), found.numpy())


def test_padding_receives_nothing() -> None:
    model = wb.models.BertEncoder(
        wb.models.BertSettings(words=50, features=8, layers=2, heads=4, hidden=16)
    ).eval()
    words = wb.tensor([[1, 2, 3, 0], [4, 5, 6, 7]])
    found = attention_rollout(model, words, words != 0)
    assert found[0, 0, 3].item() == 0 and found[1, 0, 3].item() > 0
    np.testing.assert_allclose(found.sum("key").numpy(), 1, atol=1e-6)


def test_a_model_in_training_is_warned_of_and_put_back() -> None:
    model = wb.nn.TransformerEncoderLayer(8, 2, dropout=0.9, batch_first=True)
    x = rand(1, 3, 8)
    with pytest.warns(wb.attribution.TrainingModeWarning):
        first = attention_rollout(model, x)
    assert model.training
    np.testing.assert_array_equal(first.numpy(), attention_rollout(model.eval(), x).numpy())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: attention_weights(lambda x: (x @ x).softmax(-1), rand(2, 2)), ValueError, "ran no attention"),
        (
            lambda: attention_weights(lambda q: by_hand(q, K, V).transpose(-1, -2) @ V, Q),
            ValueError,
            "ran no attention",
        ),
        (lambda: attention_weights(lambda x: x, 3), TypeError, "inputs are tensors"),
        (lambda: attention_rollout(lambda x: x, Q, residual=2), ValueError, "from 0 to 1, got 2"),
        (lambda: attention_weights(lambda x: x, rand(0, 2)), wb.DimensionError, "have no samples"),
        (lambda: attention_rollout(lambda x: x, Q, layers=1), TypeError, r"such as slice\(0, 2\), got 1"),
        (lambda: attention_rollout(lambda x: x, Q, heads="sum"), ValueError, "mean, max, min, not by 'sum'"),
        (
            lambda: attention_rollout(lambda q: F.scaled_dot_product_attention(q, K, V), Q, layers=slice(1, 1)),
            ValueError,
            "leaves none of 1 layers",
        ),
        (
            lambda: attention_rollout(lambda q: F.scaled_dot_product_attention(q[:, :, :2], K, V), Q),
            wb.DimensionError,
            "looks from 2 tokens at 4",
        ),
        (
            lambda: attention_weights(lambda x: F.scaled_dot_product_attention(x[:2], x[:2], x[:2]), rand(3, 1, 2, 2)),
            wb.DimensionError,
            "divided among 3 samples",
        ),
    ],
)  # fmt: skip
def test_refusals(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
