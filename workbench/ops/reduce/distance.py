"""Distances: between the rows of two tensors pair by pair, of each row to each, and by angle."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.base.dims import Dims, broadcast, dim_indices, unify_names
from workbench.base.dtypes import as_numbers
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, OWN
from workbench.core.tape import Call
from workbench.core.typing import Dim, Tensor
from workbench.core.value import dims_of, new
from workbench.ops.elementwise.complex import zeros
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.linalg.matrices import swap
from workbench.ops.offer import offered

# ------------------------------------------------------------------------------- of each row to each


def _columns(dims: Dims) -> tuple[int, ...]:
    return dims.sizes[-1:]


def _cdist_dims(x1: Dims, x2: Dims, p: float, product: bool) -> Dims:
    for label, dims in (("X1", x1), ("X2", x2)):
        if len(dims.sizes) < 2:
            raise DimensionError(
                f"cdist only supports at least 2D tensors, {label} got: {len(dims.sizes)}D; add a dim for the rows: "
                "x[None]",
                op="cdist",
                operands=(x1.operand("x1"), x2.operand("x2")),
            )
    if _columns(x1) != _columns(x2):
        raise DimensionError(
            f"X1 and X2 must have the same number of columns. X1: {x1.sizes[-1]} X2: {x2.sizes[-1]}",
            op="cdist",
            operands=(x1.operand("x1", [len(x1.sizes) - 1]), x2.operand("x2", [len(x2.sizes) - 1])),
        )
    batch = broadcast("cdist", Dims(x1.names[:-2], x1.sizes[:-2]), Dims(x2.names[:-2], x2.sizes[:-2]))
    unify_names("cdist", Dims(x1.names[-1:], x1.sizes[-1:]), Dims(x2.names[-1:], x2.sizes[-1:]))
    rows, others = x1.names[-2], x2.names[-2]
    taken = {name for name in (*batch.names, rows) if name}
    return Dims(
        (*batch.names, rows, None if others in taken else others), (*batch.sizes, x1.sizes[-2], x2.sizes[-2])
    )


def _squares(x1: Any, x2: Any) -> Any:
    """‖a‖² + ‖b‖² - 2·a·b by one matrix product, of rows that have their squares and ones as further columns."""
    first, second = (np.sum(x * x, -1, keepdims=True) for x in (x1, x2))
    left = np.concatenate([-2 * x1, first, np.ones_like(first)], -1)
    right = np.concatenate([x2, np.ones_like(second), second], -1)
    return np.matmul(left, np.swapaxes(right, -1, -2))


_AT_ONCE = 65536
"""Differences that are held at a time: those of all pairs in all columns would not fit into memory."""


def _some_columns(pairs: int, count: int) -> Iterator[slice]:
    step = max(1, _AT_ONCE // max(1, pairs))
    return (slice(first, first + step) for first in range(0, count, step))


def _cdist(x1: Any, x2: Any, p: float, product: bool) -> Any:
    if product:
        # Rounding may leave a little less than 0 for rows that are equal.
        return np.sqrt(np.maximum(_squares(x1, x2), 0))
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.zeros((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
    for columns in _some_columns(out.size, x1.shape[-1]):
        size = np.abs(x1[..., :, None, columns] - x2[..., None, :, columns])
        if p == 0:
            out += np.count_nonzero(size, axis=-1)
        elif math.isinf(p):
            np.maximum(out, size.max(-1), out=out)
        else:
            out += (size if p == 1 else size * size if p == 2 else size**p).sum(-1)
    return out if p in (0, 1) or math.isinf(p) else np.sqrt(out) if p == 2 else out ** (1 / p)


def _cdist_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x1, x2 = c.inputs
    p = c.params["p"]
    turned = swap(g)
    if c.params["product"]:
        # Where two rows are equal their distance has no slope, and PyTorch gives 0.
        zero = ops.eq(c.out, 0.0)
        share = ops.where(zero, 0.0, ops.div(g, ops.where(zero, 1.0, c.out)))
        first, second = _through_product(share, x1, x2), _through_product(swap(share), x2, x1)
    else:
        first = ops.cdist_gradient(g, x1, x2, c.out, p=p) if c.needs[0] else None
        second = ops.cdist_gradient(turned, x2, x1, swap(c.out), p=p) if c.needs[1] else None
    return (
        _fit(first, x1) if c.needs[0] else None,
        _fit(second, x2) if c.needs[1] else None,
    )


def _through_product(share: Any, x1: Any, x2: Any) -> Any:
    last = len(share.payload.shape) - 1
    return ops.sub(ops.mul(x1, ops.sum(share, dim=(last,), keepdim=True)), ops.matmul(share, x2))


def _fit(gradient: Any, value: Any) -> Any:
    sizes = value.payload.shape
    return gradient if gradient.payload.shape == sizes else ops.sum_to(gradient, sizes=sizes)


def _cdist_samples() -> list[Sample]:
    x1, x2 = grid(2, 3, 4, seed=1), grid(2, 5, 4, seed=2)
    names = (("B", "N", "C"), ("B", "M", "C"))
    several = [
        Sample((x1, x2), {"p": p, "product": False}, names=names) for p in (1.0, 1.5, 2.0, 3.0, math.inf)
    ]
    return [
        *several,
        Sample((x1, x2), {"p": 2.0, "product": True}, names=names),
        Sample((x1, x2[0]), {"p": 2.0, "product": False}),
        Sample((x1[0], x2), {"p": 2.0, "product": True}, names=(("N", "C"), ("B", "N", None))),
    ]


CDIST = Op(
    name="cdist",
    doc="Distance of each row of one tensor to each row of another.",
    equation="y[…, i, j] = (Σ_k |x₁[…, i, k] - x₂[…, j, k]|^p)^(1/p)",
    dims=_cdist_dims,
    rule="[…, P, M], […, R, M] -> […, P, R]; batch names unify",
    dtype=FLOAT,
    forward=_cdist,
    vjp=_cdist_vjp,
    saves=Saves(None, output=True),
    cost=lambda dims, out, **params: 3.0 * out.numel * dims[0].sizes[-1],
    samples=_cdist_samples,
    bad=lambda: [
        BadInput((grid(2, 3), grid(2, 4)), {"p": 2.0, "product": False}, DimensionError, "X1: 3 X2: 4"),
        BadInput((grid(3), grid(2, 3)), {"p": 2.0, "product": False}, DimensionError, "at least 2D tensors"),
    ],
    tolerance=1e-5,
    properties=frozenset({"wide"}),
    quantized=OWN,
)


def _cdist_gradient(g: Any, x1: Any, x2: Any, distance: Any, p: float) -> Any:
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.zeros((*batch, *x1.shape[-2:]), g.dtype)
    if p == 0:
        return out
    scale = g
    if p != 1 and not math.isinf(p):
        zero = distance == 0
        scale = np.where(zero, 0, g / np.where(zero, 1, distance) ** (p - 1))
    distance, scale = distance[..., None], scale[..., None]
    for columns in _some_columns(g.size, x1.shape[-1]):
        difference = x1[..., :, None, columns] - x2[..., None, :, columns]
        if p == 2:
            slope = difference
        elif math.isinf(p):
            slope = np.sign(difference) * (np.abs(difference) == distance)
        elif p == 1:
            slope = np.sign(difference)
        else:
            size = np.abs(difference)
            slope = np.sign(difference) * np.where(size == 0, 1, size) ** (p - 1)
        out[..., columns] = (slope * scale).sum(-2)
    return out


def _cdist_gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    """Second order, with the distance as an input of its own: all pairs and columns are laid out here."""
    g, x1, x2, distance = c.inputs
    p = c.params["p"]
    rank = len(g.payload.shape)

    def along(x: Any, at: int) -> Any:
        shape = x.payload.shape
        return ops.reshape(x, sizes=(*shape[: len(shape) + at + 1], 1, *shape[len(shape) + at + 1 :]))

    difference = ops.sub(along(x1, -2), along(x2, -3))
    weight, direction = along(g, -1), along(u, -2)
    spread = along(distance, -1)
    none = ops.eq(difference, 0.0)
    sign = ops.sign(difference)
    if p == 0:
        return tuple(zeros(one) if need else None for one, need in zip(c.inputs, c.needs, strict=True))
    if p == 1 or math.isinf(p):
        slope = sign if p == 1 else ops.mul(sign, ops.to(ops.eq(ops.abs(difference), spread), dtype=_type(g)))
        d_g = ops.sum(ops.mul(direction, slope), dim=(rank,), keepdim=False)
        rest = (zeros(one) for one in (x1, x2, distance))
        return tuple(one if need else None for one, need in zip((d_g, *rest), c.needs, strict=True))
    same = ops.eq(spread, 0.0)
    scale = ops.where(same, 0.0, ops.pow(ops.where(same, 1.0, spread), 1.0 - p))
    size = ops.where(none, 1.0, ops.abs(difference))
    slope = difference if p == 2 else ops.mul(sign, ops.pow(size, p - 1.0))
    pull = ops.mul(ops.mul(direction, slope), scale)
    d_g = ops.sum(pull, dim=(rank,), keepdim=False)
    bend = 1.0 if p == 2 else ops.where(none, 0.0, ops.mul(ops.pow(size, p - 2.0), p - 1.0))
    turn = ops.mul(ops.mul(ops.mul(direction, weight), scale), bend)
    d_x1 = _fit(ops.sum(turn, dim=(rank - 1,), keepdim=False), x1)
    d_x2 = _fit(ops.neg(ops.sum(turn, dim=(rank - 2,), keepdim=False)), x2)
    nothing = ops.eq(distance, 0.0)
    per = ops.where(nothing, 0.0, ops.div(1.0 - p, ops.where(nothing, 1.0, distance)))
    d_distance = ops.mul(ops.mul(d_g, g), per)
    found = (d_g, d_x1, d_x2, d_distance)
    return tuple(one if need else None for one, need in zip(found, c.needs, strict=True))


def _type(value: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = value.payload.dtype
    return dtype


CDIST_GRADIENT = Op(
    name="cdist_gradient",
    doc="Gradient of distances of each row to each, for the first rows.",
    equation="y[i, k] = Σ_j g[i, j]·sgn(δ)·|δ|^(p-1)·d[i, j]^(1-p), with δ = x₁[i, k] - x₂[j, k]",
    dims=lambda g, x1, x2, distance, p: Dims((None,) * len(g.sizes), (*g.sizes[:-1], x1.sizes[-1])),
    rule="an unnamed tensor: the batch of the distances, and rows and columns of the first operand",
    dtype=FLOAT,
    forward=_cdist_gradient,
    vjp=_cdist_gradient_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: 4.0 * dims[0].numel * dims[1].sizes[-1],
    samples=lambda: [
        Sample(
            (grid(2, 3, seed=1), grid(2, 4, seed=2), grid(3, 4, seed=3), grid(2, 3, low=0.5, seed=4)),
            {"p": p},
        )
        for p in (1.0, 1.5, 2.0, 3.0)
    ],
    tolerance=1e-5,
    quantized=GRADIENT,
)

# ---------------------------------------------------------------------------------- the words people use

_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@offered("workbench")
def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """Distance of each row to each: y[…, i, j] = (Σ_k |x₁[…, i, k] - x₂[…, j, k]|^p)^(1/p).

    Shapes: x1 [..., P, M], x2 [..., R, M] -> [..., P, R]. `compute_mode` says whether Euclidean distances are taken by
    a matrix product, which is faster and loses digits where rows are near each other: by default for more than 25 rows.

    >>> import workbench as wb
    >>> wb.cdist(wb.zeros(1, 2), wb.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if p < 0:
        raise DimensionError(f"cdist only supports non-negative p values, got {p}", op="cdist")
    mode = compute_mode or _MODES[0]
    if mode not in _MODES:
        raise ValueError(f"{mode} is not a valid value for compute_mode: use one of {list(_MODES)}")
    _refuse_other_types("cdist", x1, x2)
    many = max(one.payload.shape[-2] if len(one.payload.shape) > 1 else 0 for one in (x1, x2)) > 25
    product = p == 2 and (mode == _MODES[1] or (mode == _MODES[0] and many))
    return ops.cdist(x1, x2, p=float(p), product=product)


def _refuse_other_types(op: str, *values: Any) -> None:
    for value in values:
        if value.payload.dtype.kind not in "fV":
            raise DTypeError(
                f"{op} only supports floating-point dtypes, got {value.dtype.name}. Cast first: "
                f"{as_numbers('x', value.dtype)}"
            )


@offered("workbench", "nn.functional")
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """Distance of each row of `input` [N, M] to each later row, in one row of N·(N - 1)/2 values.

    >>> import workbench as wb
    >>> wb.pdist(wb.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    dims = dims_of(input)
    if len(dims.sizes) != 2:
        raise DimensionError(
            f"pdist only supports 2D tensors, got: {len(dims.sizes)}D", op="pdist", operands=(dims.operand(),)
        )
    if p < 0:
        raise DimensionError(f"pdist only supports non-negative p values, got {p}", op="pdist")
    _refuse_other_types("pdist", input)
    count = dims.sizes[0]
    rows, later = np.triu_indices(count, 1)
    if dims.names != (None, None):
        input = ops.rename(input, names=None)
    every = ops.reshape(ops.cdist(input, input, p=float(p), product=False), sizes=(count * count,))
    return ops.gather(every, new(rows * count + later), dim=0)


def norm_along(x: Any, p: float, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    """Return the p-norm over dims, whose gradient is 0 where the norm is 0."""
    if p == 2 and x.payload.dtype.kind != "c":
        total = ops.sum(ops.mul(x, x), dim=axes, keepdim=keepdim)
        return _root(total, lambda value: ops.sqrt(value))
    size = ops.abs(x)
    if math.isinf(p):
        return (ops.amax if p > 0 else ops.amin)(size, dim=axes, keepdim=keepdim)
    if p == 0:
        return ops.sum(ops.to(ops.ne(size, 0.0), dtype=_type(size)), dim=axes, keepdim=keepdim)
    if p == 1:
        return ops.sum(size, dim=axes, keepdim=keepdim)
    # Zeros are taken out before the power, whose slope at 0 is infinite or NaN for some orders.
    none = ops.eq(size, 0.0)
    powers = ops.pow(ops.where(none, 1.0, size), float(p))
    total = ops.sum(ops.where(none, 0.0 if p > 0 else math.inf, powers), dim=axes, keepdim=keepdim)
    return _root(total, lambda value: ops.pow(value, 1.0 / p))


def _root(total: Any, root: Any) -> Tensor:
    """Take a root that has no slope at 0."""
    none = ops.eq(total, 0.0)
    return ops.where(none, 0.0, root(ops.where(none, 1.0, total)))


@offered("workbench", "nn.functional")
@rounded_once
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Distance of rows pair by pair: the p-norm of x₁ - x₂ + ε over the last dim. [N, D], [N, D] -> [N].

    >>> import workbench as wb
    >>> wb.nn.functional.pairwise_distance(wb.zeros(1, 2), wb.tensor([[3.0, 4.0]]), eps=0.0)
    tensor([5.])
    """
    difference = ops.add(ops.sub(x1, x2), eps)
    last = len(dims_of(difference).sizes) - 1
    return norm_along(difference, p, (last,) if last >= 0 else (), keepdim)


@offered("workbench", "nn.functional")
@rounded_once
def cosine_similarity(x1: Tensor, x2: Tensor, dim: Dim = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between vectors along `dim`: x₁·x₂ / (max(‖x₁‖, ε)·max(‖x₂‖, ε)). Sizes broadcast.

    >>> import workbench as wb
    >>> wb.cosine_similarity(wb.tensor([[1.0, 0.0]]), wb.tensor([[1.0, 1.0]]), dim=1)
    tensor([0.7071])
    """
    _refuse_integers("cosine_similarity", x1, x2)
    common = broadcast("cosine_similarity", dims_of(x1), dims_of(x2))
    axes = dim_indices(common, dim, "cosine_similarity")

    def unit(x: Any) -> Any:
        if dims_of(x).sizes != common.sizes:
            x = ops.expand(x, sizes=common.sizes)
        length = norm_along(x, 2, axes, True)
        # The bound is no part of the gradient.
        bounded = ops.add(length, ops.detach(ops.sub(ops.clamp(length, low=eps, high=None), length)))
        return ops.div(x, bounded)

    return ops.sum(ops.mul(unit(x1), unit(x2)), dim=axes, keepdim=False)


def _refuse_integers(op: str, *values: Any) -> None:
    if all(value.payload.dtype.kind in "biu" for value in values):
        raise DTypeError(
            f"expected common dtype to be floating point, yet common dtype is {values[0].dtype.name}: {op} gives "
            "fractions. Cast first: x.float()"
        )
