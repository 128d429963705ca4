"""Rounding a weight group by group, each on the scale and zero point that serve it best, and going over them again.

For y = x·Wᵀ with the Gram matrix G = Σ xᵀ·x, codes cost E = tr((W - Ŵ)·G·(W - Ŵ)ᵀ), and no row knows of another.

1. The first time groups are rounded in turn as GPTQ rounds columns: the groups that are left make up for the errors of
   those before. A group's grid is chosen only then, among several, by what all its errors cost when they are made up.
2. Then groups are gone over. With all others as they are, E is a square form in group g, with the minimum
   t = ŵ_g + ((W - Ŵ)·G)_g · G_gg⁻¹: what is left to find is the point of a grid that is near t in the metric G_gg.
   Several grids are tried, and the best is taken where it beats what is there: E never grows.

K. Behdin and others, *QuantEase: Optimization-based quantization for language models*, 2023, go over single codes so;
P. Nair and A. S. Suggala, *CDQuant: Greedy coordinate descent for accurate LLM quantization*, 2024, over blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.quantized_array import code_range
from workbench.quantization.weight_only.grid import Grid, Setting

__all__ = ["by_groups", "inverse_factor"]

Array = np.ndarray[Any, Any]

_ROUNDS = 3
"""How often the groups are gone over."""
_MOVES = ((0, 0), (-1, 0), (1, 0), (-2, 0), (2, 0), (0, -1), (0, 1))
"""By how many thirds of a code a group's range grows, and by how many codes its zero point moves."""
_SHRINKING = tuple(1 - 0.05 * k for k in range(11))
"""Parts of the range of what a group should be that are tried at first."""
_OWN_DAMPING = 1e-4
"""Part of the mean square of a group's inputs that is added to each: inputs that are alike leave an inverse."""
_SIZE = 1 << 20
"""Numbers that are worked on at once: rows are taken in parts, as none knows of another."""


def inverse_factor(gram: Array, damping: float) -> Array:
    """Return U, the upper Cholesky factor of the inverse Gram matrix: UᵀU = G⁻¹.

    A part `damping` of the mean of the diagonal is added to it, so that an input which is always 0 has an inverse, too:
    it says nothing of its column, which is rounded to the nearest and changes no other.

    >>> inverse_factor(np.array([[3.0, 0.0], [0.0, 0.0]]), 2 / 3)
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    matrix = gram.astype(np.float64)
    diagonal = np.einsum("ii->i", matrix)
    diagonal += damping * (diagonal.mean() or 1.0)
    return np.linalg.cholesky(np.linalg.inv(matrix)).T


def by_groups(weight: Array, gram: Array, setting: Setting, damping: float) -> tuple[Array, Grid]:
    """Return a weight [rows, columns] on a grid, and the grid; columns and groups with the largest inputs come first.

    `damping` is the part of the mean square of the inputs that is added to each where errors are made up (GPTQ's).

    >>> setting, weight = Setting(4, 2, False), np.array([[0.9, -0.7, 0.31, 0.12]])
    >>> gram, nearest = np.eye(4) + 1, setting.grid(weight).near(weight)
    >>> found, _ = by_groups(weight, gram, setting, 0.01)
    >>> error = [float((one - weight)[0] @ gram @ (one - weight)[0]) for one in (nearest, found)]
    >>> error[1] < 0.5 * error[0]
    True
    """
    rows, columns = weight.shape
    square, size = np.asarray(gram, np.float64), np.einsum("ii->i", gram)
    groups = np.split(np.arange(columns), range(setting.group, columns, setting.group))
    turns = np.argsort([-size[one].sum() for one in groups], kind="stable")
    sorted_groups = [groups[at][np.argsort(-size[groups[at]], kind="stable")] for at in turns]
    order = np.concatenate(sorted_groups)
    ends = np.cumsum([len(one) for one in sorted_groups])
    slices = [slice(end - len(one), end) for end, one in zip(ends, sorted_groups, strict=True)]
    square = square[np.ix_(order, order)]
    factor = inverse_factor(square, damping)
    own = [inverse_factor(square[here, here], _OWN_DAMPING) for here in slices]
    found = np.empty(weight.shape)
    scale, zero = np.empty((rows, len(groups)), np.float32), np.empty((rows, len(groups)), np.int64)
    step = max(1, _SIZE // (min(setting.group, columns) * (len(_MOVES) + len(_SHRINKING))))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        wanted = weight[part, order].astype(np.float64)
        points, scales, zeros = _in_turn(wanted, factor, slices, setting)
        _go_over(wanted, points, scales, zeros, square, slices, own, setting)
        found[part, order], scale[part, turns], zero[part, turns] = points, scales, zeros
    return found, Grid(setting, scale, zero)


def _in_turn(
    weight: Array, factor: Array, slices: list[slice], setting: Setting
) -> tuple[Array, Array, Array]:
    """Return points, scales and zero points [rows, groups]: groups are rounded in turn, the rest makes up for them."""
    work, points = weight.copy(), np.empty_like(weight)
    scale = np.empty((len(weight), len(slices)), np.float32)
    zero = np.empty(scale.shape, np.int64)
    every = np.arange(len(weight))
    for at, here in enumerate(slices):
        scales, zeros = _ranges(work[:, here], setting)
        points[:, here], errors, best = _rounded(work[:, here], factor[here, here], scales, zeros, setting)
        scale[:, at], zero[:, at] = scales[every, best], zeros[every, best]
        work[:, here.stop :] -= errors @ factor[here, here.stop :]
    return points, scale, zero


def _go_over(
    weight: Array,
    points: Array,
    scale: Array,
    zero: Array,
    gram: Array,
    slices: list[slice],
    own: list[Array],
    setting: Setting,
) -> None:
    """Change points, scales and zero points in place, one group after the other, where the error then is less."""
    slope = (weight - points) @ gram
    for turn in range(_ROUNDS):
        for at, here in enumerate(slices):
            square = gram[here, here]
            asked = np.einsum("ii->i", square) > 0
            # A group whose inputs are always 0 asks for no code, and a column of it for its own weight.
            if not asked.any():
                continue
            aim = points[:, here] + slope[:, here] @ (own[at].T @ own[at])
            target = np.where(asked, aim, weight[:, here])
            scales, zeros = _moved(scale[:, at], zero[:, at], setting)
            if turn == 0:
                others = _ranges(target, setting)
                scales, zeros = np.hstack([scales, others[0]]), np.hstack([zeros, others[1]])
            near, _, best = _rounded(target, own[at], scales, zeros, setting)
            change = near - points[:, here]
            # E changes by c·G_gg·cᵀ - 2·c·slope_g.
            gain = np.einsum("ij,ij->i", change, 2 * slope[:, here] - change @ square)
            better = np.nonzero(gain > 0)[0]
            points[better, here] = near[better]
            scale[better, at] = scales[better, best[better]]
            zero[better, at] = zeros[better, best[better]]
            slope[better] -= change[better] @ gram[here]


def _ranges(target: Array, setting: Setting) -> tuple[Array, Array]:
    """Return scales and zero points [rows, tried] of parts of a group's range."""
    grids = [setting.grid(target, part) for part in _SHRINKING]
    return np.hstack([one.scale for one in grids]), np.hstack([one.zero for one in grids])


def _moved(scale: Array, zero: Array, setting: Setting) -> tuple[Array, Array]:
    """Return scales and zero points [rows, tried] close to those of a group [rows]."""
    qmin, qmax = code_range(setting.dtype)
    moves = [move for move in _MOVES if not (setting.symmetric and move[1])]
    wider = [np.float32(1 + size / (3 * (qmax - qmin))) for size, _ in moves]
    scales = np.maximum(np.outer(scale, wider), np.finfo(np.float32).eps).astype(np.float32)
    return scales, np.clip(np.add.outer(zero, [shift for _, shift in moves]), qmin, qmax)


def _rounded(
    target: Array, factor: Array, scale: Array, zero: Array, setting: Setting
) -> tuple[Array, Array, Array]:
    """Return points of a group near to `target`, their errors, and which [rows] of the grids [rows, tried] has them.

    Columns are rounded in turn, and those that are left make up for those before: with UᵀU = G⁻¹ the error of column j
    is e_j = (w_j - ŵ_j) / U_jj, e_j·U_jk is taken from each column k behind it, and all cost Σ e².
    """
    qmin, qmax = code_range(setting.dtype)
    wide = scale.astype(np.float64)
    inverse, low, high = 1 / wide, (qmin - zero) * wide, (qmax - zero) * wide
    # Columns first: each step then works on values that lie together.
    work = np.repeat(np.ascontiguousarray(target.T)[:, :, None], scale.shape[1], axis=2)
    points, cost = np.empty_like(work), np.zeros(scale.shape)
    for j, (values, point) in enumerate(zip(work, points, strict=True)):
        np.clip(np.rint(values * inverse) * wide, low, high, out=point)
        np.divide(values - point, factor[j, j], out=values)
        cost += values * values
        for k in range(j + 1, len(work)):
            work[k] -= values * factor[j, k]
    best = cost.argmin(1)
    every = np.arange(len(best))
    return points[:, every, best].T, work[:, every, best].T, best
