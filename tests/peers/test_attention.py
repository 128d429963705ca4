"""Attention against torch, where chance has no part in it, and its names and refusals: against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")


F: Any = wb.nn.functional


grad: Any = wb.autograd.grad


torch_functional: Any = torch.nn.functional


def floats(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def agree(got: Any, expected: Any, mine: list[Any], theirs: list[Any]) -> None:
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-5)
    found = grad(got.sum(), mine)
    wanted = torch.autograd.grad(expected.sum(), theirs)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-3, atol=1e-5)


MASK = np.array([[True, False, True, True], [True, True, True, False], [False, True, False, True]])


@pytest.mark.parametrize(
    "options",
    [{}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": MASK}, {"attn_mask": floats(3, 4, seed=9)}],
    ids=["plain", "causal", "scale", "bool", "numbers"],
)
def test_scaled_dot_product_attention(options: dict[str, Any]) -> None:
    arrays = [floats(2, 5, 3, 6), floats(2, 5, 4, 6, seed=1), floats(2, 5, 4, 7, seed=2)]
    mine = [wb.tensor(one, requires_grad=True) for one in arrays]
    theirs = [torch.tensor(one, requires_grad=True) for one in arrays]
    ours = {k: wb.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    other = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    got = F.scaled_dot_product_attention(*mine, **ours)
    agree(got, torch_functional.scaled_dot_product_attention(*theirs, **other), mine, theirs)


def test_heads_of_keys_are_shared() -> None:
    arrays = [floats(2, 6, 3, 4), floats(2, 2, 3, 4, seed=1), floats(2, 2, 3, 4, seed=2)]
    mine = [wb.tensor(one, requires_grad=True) for one in arrays]
    theirs = [torch.tensor(one, requires_grad=True) for one in arrays]
    got = F.scaled_dot_product_attention(*mine, enable_gqa=True)
    agree(got, torch_functional.scaled_dot_product_attention(*theirs, enable_gqa=True), mine, theirs)


@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_multi_head_attention(batched: bool, extra: bool, masked: bool) -> None:
    batch = (2,) if batched else ()
    arrays = [
        floats(3, *batch, 4), floats(5, *batch, 4, seed=1), floats(12, 4, seed=2), floats(12, seed=3),
        floats(1, 1, 4, seed=4), floats(1, 1, 4, seed=5), floats(4, 4, seed=6), floats(4, seed=7),
    ]  # fmt: skip
    padding = np.zeros((*batch, 5), np.bool_)
    padding[..., 4] = True
    mask = floats(3, 5, seed=8)

    def run(module: Any, make: Any) -> Any:
        query, key, weight, bias, bias_k, bias_v, out, out_bias = values = [make(one) for one in arrays]
        added = (bias_k, bias_v) if extra else (None, None)
        options: dict[str, Any] = {}
        if masked:
            tensor = torch.tensor if module is torch_functional else wb.tensor
            options = {"key_padding_mask": tensor(padding), "attn_mask": tensor(mask)}
            options["average_attn_weights"] = False
        result = module.multi_head_attention_forward(
            query, key, key, 4, 2, weight, bias, *added, extra, 0.0, out, out_bias, **options
        )
        used = values if extra else [*values[:4], *values[6:]]
        return (*result, used)

    got, weights, mine = run(F, lambda one: wb.tensor(one, requires_grad=True))
    expected, wanted, theirs = run(torch_functional, lambda one: torch.tensor(one, requires_grad=True))
    np.testing.assert_allclose(weights.detach().numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
    agree(got, expected, mine, theirs)
