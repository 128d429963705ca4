"""Attention in several heads and transformers: names that stay, masks, causal ones found, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.testing import assert_close


def sizes(**dims: int) -> Any:
    array = np.random.default_rng(0).standard_normal(tuple(dims.values())).astype(np.float32)
    return wb.from_numpy(array, names=tuple(dims))


def test_attention_is_its_equation() -> None:
    layer, x = nn.MultiheadAttention(6, 2, batch_first=True), sizes(N=2, T=3, E=6)
    y, weights = layer(x, x, x, average_attn_weights=False)
    w, b = layer.in_proj_weight.detach().numpy(), layer.in_proj_bias.detach().numpy()
    q, k, v = np.split(x.numpy() @ w.T + b, 3, axis=-1)
    heads = []
    for h in range(2):
        part = slice(3 * h, 3 * h + 3)
        scores = np.exp(q[..., part] @ k[..., part].swapaxes(1, 2) / np.sqrt(3))
        scores /= scores.sum(-1, keepdims=True)
        assert_close(weights[:, h], scores, rtol=1e-4)
        heads.append(scores @ v[..., part])
    out = layer.out_proj
    expected = np.concatenate(heads, -1) @ out.weight.detach().numpy().T + out.bias.detach().numpy()
    assert_close(y, expected, rtol=1e-4)
    assert_close(layer(x, x, x, need_weights=False)[0], expected, rtol=1e-4)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_residuals_keep_the_names_of_the_input(norm_first: bool, batch_first: bool) -> None:
    settings: dict[str, Any] = {"norm_first": norm_first, "batch_first": batch_first, "dim_feedforward": 12}
    x = sizes(N=2, time=3, E=6) if batch_first else sizes(time=3, N=2, E=6)
    memory = sizes(N=2, S=4, F=6) if batch_first else sizes(S=4, N=2, F=6)
    assert nn.TransformerEncoderLayer(6, 2, **settings)(x).names == x.names
    assert nn.TransformerDecoderLayer(6, 2, **settings)(x, memory).names == x.names
    assert nn.Transformer(6, 2, 1, 1, 12, batch_first=batch_first)(memory, x).names == x.names
    assert nn.TransformerEncoderLayer(6, 2, **settings)(sizes(time=3, E=6)).names == ("time", "E")
    assert nn.TransformerEncoderLayer(6, 2, **settings)(x.rename(None)).names == (None, None, None)


def test_places_that_are_masked_change_nothing() -> None:
    layer = nn.TransformerEncoderLayer(6, 2, 12, batch_first=True).eval()
    x = sizes(N=1, T=4, E=6)
    other = x.clone()
    other[0, 3] = 9.0
    padding = wb.tensor([[False, False, False, True]])
    causal = nn.Transformer.generate_square_subsequent_mask(4)
    for options in (
        {"src_key_padding_mask": padding},
        {"src_mask": causal},
        {"src_mask": causal, "is_causal": True},
    ):
        first, second = layer(x, **options), layer(other, **options)
        assert_close(first[:, :3], second[:, :3].detach(), rtol=1e-5)


def test_a_query_that_may_look_at_nothing() -> None:
    layer, x = nn.MultiheadAttention(4, 1, bias=False), sizes(T=2, E=4)
    mask = wb.tensor([[True, True], [False, True]])
    with_weights = layer(x, x, x, attn_mask=mask)[0]
    assert np.isnan(with_weights.detach().numpy()).all(1).tolist() == [True, False]
    without = layer(x, x, x, attn_mask=mask, need_weights=False)[0]
    assert without[0].tolist() == [0.0] * 4
    assert_close(without[1], with_weights[1].detach())


def test_layers_of_a_stack_are_copies() -> None:
    layer = nn.TransformerEncoderLayer(4, 1, 8)
    stack = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4))
    weights = [one.linear1.weight for one in stack.layers]
    assert weights[0] is not weights[1]
    assert_close(weights[0], weights[1].detach())
    assert [name for name, _ in stack.named_children()] == ["layers", "norm"]


def test_what_is_refused() -> None:
    with pytest.raises(AssertionError, match="divisible by num_heads"):
        nn.MultiheadAttention(6, 4)
    with pytest.raises(ValueError, match="greater than 0"):
        nn.MultiheadAttention(0, 1)
    with pytest.raises(RuntimeError, match="relu/gelu, not selu"):
        nn.TransformerEncoderLayer(4, 1, activation="selu")
    model = nn.Transformer(4, 1, 1, 1, 8)
    with pytest.raises(wb.DimensionError, match="batch number"):
        model(sizes(S=3, N=2, E=4), sizes(T=3, N=1, E=4))
    with pytest.raises(wb.DimensionError, match="equal to d_model, which is 4"):
        model(sizes(S=3, N=2, E=4), sizes(T=3, N=2, E=5))
