"""How a weight finds its codes: to the nearest, by GPTQ, by AWQ, or by both.

All methods know a layer y = x·Wᵀ by its weight W [out_features, in_features] and, but for the nearest, by the Gram
matrix of what it is given, G = Σ xᵀ·x over the samples: the squared error that codes cause in the output is
Σ (x·(W - Ŵ)ᵀ)² = tr((W - Ŵ)·G·(W - Ŵ)ᵀ), so no sample has to be kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.quantized_array import QuantizedArray
from workbench.quantization.weight_only.descent import by_groups, inverse_factor
from workbench.quantization.weight_only.grid import Grid, Setting

__all__ = [
    "METHODS", "Found", "Method", "activation_aware", "nearest", "optimal", "output_error", "scaled_optimal",
]  # fmt: skip

Array = np.ndarray[Any, Any]

_DAMPING = 0.01
"""Part of the mean square of the inputs that is added to each, so that the Gram matrix has an inverse (GPTQ)."""
_BLOCK = 128
"""Columns whose errors are handed on together: what lies behind them is changed once a block."""
_STEPS = 20
"""Exponents that are tried between 0 and 1 (AWQ)."""
_SHRINKING = tuple(1 - 0.05 * k for k in range(11))
"""Parts of a group's range that are tried (AWQ)."""


@dataclass(frozen=True)
class Found:
    """What a method found: codes, and what inputs are divided by before they meet them."""

    codes: QuantizedArray
    input_scale: Array | None = None


def output_error(difference: Array, gram: Array) -> float:
    """Return the squared error of the output, tr(D·G·Dᵀ).

    >>> output_error(np.array([[1.0, 2.0]]), np.eye(2))
    5.0
    """
    return float(np.einsum("ij,ij->", difference @ gram, difference))


def nearest(weight: Array, gram: Array | None, setting: Setting) -> Found:
    """Round every weight to the nearest code of its group."""
    return Found(setting.grid(weight).codes(weight))


def optimal(weight: Array, gram: Array, setting: Setting) -> Found:
    """Round column after column, and let the columns that are left make up for the errors of those before (GPTQ).

    Columns that meet the largest inputs come first. With the upper Cholesky factor U of G⁻¹ (UᵀU = G⁻¹), column j is
    rounded, and (w_j - ŵ_j) / U_jj · U_jk is taken from each column k behind it. A group's range is that of its columns
    before any was changed, less what costs more than clipping it.

    E. Frantar and others, *GPTQ: Accurate post-training quantization for generative pre-trained transformers*, 2022.
    """
    grid = setting.grid(weight, _shrunk(weight, gram, setting))
    return Found(grid.codes(_in_turn(weight, gram, grid)))


def _in_turn(weight: Array, gram: Array, grid: Grid) -> Array:
    """Return a weight rounded to a grid, each column making up for those before it."""
    order = np.argsort(-np.einsum("ii->i", gram), kind="stable")
    work = weight[:, order].astype(np.float64)
    inverse = inverse_factor(gram[np.ix_(order, order)], _DAMPING)
    rounded = np.empty(weight.shape, np.float32)
    for start in range(0, len(order), _BLOCK):
        stop = min(start + _BLOCK, len(order))
        errors = np.empty((len(work), stop - start))
        for j in range(start, stop):
            near = rounded[:, order[j]] = grid.column(work[:, j], order[j])
            errors[:, j - start] = (work[:, j] - near) / inverse[j, j]
            work[:, j:stop] -= np.outer(errors[:, j - start], inverse[j, j:stop])
        # What lies behind the block is changed once for all of it.
        work[:, stop:] -= errors @ inverse[start:stop, stop:]
    return rounded


def activation_aware(weight: Array, gram: Array, setting: Setting) -> Found:
    """Give columns that meet large inputs a finer grid: s = a^α, W·s to the nearest, x / s (AWQ).

    `a` is the root of the mean square of each input. The exponent α in 0 … 1, and then the part of each group's
    range that is kept, are those with the least squared error of the output.

    J. Lin and others, *AWQ: Activation-aware weight quantization for LLM compression and acceleration*, 2023.
    """
    scale = _column_scale(weight, gram, setting)
    scaled, within = weight * scale, gram / np.outer(scale, scale)
    return Found(setting.grid(scaled, _shrunk(scaled, within, setting)).codes(scaled), scale)


def scaled_optimal(weight: Array, gram: Array, setting: Setting) -> Found:
    """Scale columns as AWQ does, round them in turn as GPTQ does with the best grid of each group, and go over them.

    What was rounded first then sees what came after: `by_groups` lessens the error of the output step by step.
    """
    scale = _column_scale(weight, gram, setting)
    scaled, within = weight * scale, gram / np.outer(scale, scale)
    points, grid = by_groups(scaled, within, setting, _DAMPING)
    return Found(grid.codes(points), scale)


def _column_scale(weight: Array, gram: Array, setting: Setting) -> Array:
    """Return what columns are multiplied by: the size of their inputs to the power with the least error."""
    size = np.sqrt(np.maximum(np.einsum("ii->i", gram), 0))
    size = np.where(size > 0, size, 1.0)
    best: tuple[float, Array] | None = None
    for k in range(_STEPS):
        scale = size ** (k / _STEPS)
        scale = np.maximum(scale / np.sqrt(scale.max() * scale.min()), 1e-4).astype(np.float32)
        scaled = weight * scale
        error = output_error(setting.grid(scaled).near(scaled) / scale - weight, gram)
        if best is None or error < best[0]:
            best = error, scale
    assert best is not None
    return best[1]


def _shrunk(weight: Array, gram: Array, setting: Setting) -> Array:
    """Return, for each row and group, the part of the range with the least error, other groups being exact."""
    rows, columns = weight.shape
    starts = range(0, columns, setting.group)
    best = np.full((rows, len(starts)), np.inf)
    kept = np.ones((rows, len(starts)))
    for part in _SHRINKING:
        difference = setting.grid(weight, part).near(weight) - weight
        for at, start in enumerate(starts):
            here = slice(start, start + setting.group)
            own = difference[:, here]
            error = np.einsum("ij,ij->i", own @ gram[here, here], own)
            better = error < best[:, at]
            best[better, at], kept[better, at] = error[better], part
    return kept


Method = Callable[[Array, Any, Setting], Found]

METHODS: dict[str, Method] = {
    "nearest": nearest,
    "gptq": optimal,
    "awq": activation_aware,
    "awq+gptq": scaled_optimal,
}
"""Name → method: those but the first want data."""
