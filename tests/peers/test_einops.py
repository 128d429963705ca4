"""einops and einx in both libraries: values and gradients of the same patterns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.interop.test_einops import EINX, PATTERNS, REDUCED, REPEATED, X

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
einops = pytest.importorskip("einops", reason="einops is not installed")
einx = pytest.importorskip("einx", reason="einx is not installed")

CASES: dict[str, Any] = {
    **{f"rearrange {one}": lambda x, p=one: einops.rearrange(x, p, **PATTERNS[p]) for one in PATTERNS},
    **{
        f"reduce {one} {how}": lambda x, p=one, h=how: einops.reduce(x, p, h)
        for one in REDUCED
        for how in ("min", "max", "sum", "mean", "prod")
    },
    **{f"repeat {one}": lambda x, p=one: einops.repeat(x, p, **REPEATED[p]) for one in REPEATED},
    "einsum": lambda x: einops.einsum(x, x[0, 0], "b c h w, i w -> b c h i"),
    "pack": lambda x: einops.pack([x, x[..., 0]], "b c *")[0],
    **{f"einx {name}": function for name, function in EINX.items() if not name.endswith("_at")},
    "einx var": lambda x: einx.var("b [c] h w", x),
    "einx std": lambda x: einx.std("b [c h] w", x),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    ours, theirs = wb.tensor(X, requires_grad=True), torch.tensor(X, requires_grad=True)
    mine, other = CASES[name](ours), CASES[name](theirs)
    np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-12, atol=1e-12)
    assert mine.requires_grad == other.requires_grad
    if other.requires_grad:
        (mine * mine).sum().backward()
        (other * other).sum().backward()
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-10, atol=1e-10)
