"""Distances of all pairs against what they are defined as, of so many pairs that columns are taken by stretches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import workbench as wb

ROWS = [(200, 100), (300, 300), (3, 2), (1, 1)]
"""By three columns, by single ones, and all at once."""


def _defined(x: Any, y: Any, p: float) -> Any:
    away = (x.unsqueeze(1) - y.unsqueeze(0)).abs()
    if p == 0:
        return away.ne(0).to(wb.float64).sum(-1)
    return away.amax(-1) if math.isinf(p) else away.pow(p).sum(-1).pow(1 / p)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("rows", ROWS)
def test_distances_and_their_gradients(rows: tuple[int, int], p: float) -> None:
    draw = np.random.default_rng(1)
    operands = [wb.tensor(draw.standard_normal((n, 7)), requires_grad=True) for n in rows]
    weights = wb.tensor(draw.standard_normal(rows))
    plainly = "donot_use_mm_for_euclid_dist"
    found, expected = wb.cdist(*operands, p=p, compute_mode=plainly), _defined(*operands, p)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    if p == 0:
        return
    ours = wb.autograd.grad((found * weights).sum(), operands)
    theirs = wb.autograd.grad((expected * weights).sum(), operands)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-11)
