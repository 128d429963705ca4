"""Losses with a margin: nothing is wrong that is right by far enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import Dims, unify_names
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import as_float
from workbench.core.batch_rules import as_it_is
from workbench.core.dtype_rules import PREDICATE
from workbench.core.families import NOT_DIFFERENTIABLE
from workbench.core.index_types import check_index
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import WHOLE
from workbench.core.typing import Tensor
from workbench.core.value import Value, dims_of
from workbench.ops.nn.loss.cross_entropy import chosen_reduction, reduce_loss
from workbench.ops.offer import offered
from workbench.ops.reduce.distance import pairwise_distance


def _at_least_zero(value: Any) -> Any:
    """max(value, 0), whose gradient passes where the value is 0."""
    return ops.clamp(value, low=0, high=None)


@offered("workbench", "nn.functional")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -t·(x₁ - x₂) + margin): x₁ is to be above x₂ where the target t is 1, below it where that is -1.

    >>> import workbench as wb
    >>> wb.nn.functional.margin_ranking_loss(wb.tensor([1.0]), wb.tensor([3.0]), wb.tensor([1.0])).item()
    2.0
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    operands = [dims_of(one) for one in (input1, input2, target)]
    if len({len(dims.sizes) for dims in operands}) > 1:
        raise DimensionError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            + ", ".join(
                f"{label}: {list(dims.sizes)}"
                for label, dims in zip(("input1", "input2", "target"), operands, strict=True)
            ),
            op="margin_ranking_loss",
            operands=tuple(
                dims.operand(label)
                for label, dims in zip(("input1", "input2", "target"), operands, strict=True)
            ),
        )
    wrong = ops.mul(ops.neg(target), ops.sub(input1, input2))
    return reduce_loss(_at_least_zero(ops.add(wrong, margin)), reduction)


@offered("workbench", "nn.functional")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Distance x where the target is 1, max(0, margin - x) where it is -1: distances of like and of unlike pairs.

    >>> import workbench as wb
    >>> wb.nn.functional.hinge_embedding_loss(wb.tensor([0.5, 0.5]), wb.tensor([1.0, -1.0])).item()
    0.5
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    # As in PyTorch a target that is neither 1 nor -1 counts as both.
    unlike = ops.where(ops.ne(target, 1), _at_least_zero(ops.sub(margin, input)), 0.0)
    like = ops.where(ops.ne(target, -1), input, 0.0)
    return reduce_loss(ops.add(unlike, like), reduction)


@offered("workbench", "nn.functional")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1. Shapes: [N, D] and [N], or [D] and [].

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> round(wb.nn.functional.cosine_embedding_loss(x, x, wb.tensor([1.0, -1.0])).item(), 4)
    0.5
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    a, b, t = (dims_of(one).sizes for one in (input1, input2, target))
    if len(t) not in (0, 1) or len(a) != len(t) + 1 or len(b) != len(t) + 1:
        raise DimensionError(
            f"{len(t)}D target tensor expects {len(t) + 1}D input tensors, but found inputs with sizes {list(a)} and "
            f"{list(b)}; vectors are [D] or [N, D].",
            op="cosine_embedding_loss",
        )
    last = len(a) - 1
    tiny = 1e-12  # Two vectors of length 0 are at no angle: this makes their cosine 0.

    def total(x: Any, y: Any) -> Any:
        return ops.sum(ops.mul(x, y), dim=(last,), keepdim=False)

    lengths = ops.mul(ops.add(total(input1, input1), tiny), ops.add(total(input2, input2), tiny))
    cosine = ops.div(total(input1, input2), ops.sqrt(lengths))
    like = ops.where(ops.eq(target, 1), ops.sub(1.0, cosine), 0.0)
    unlike = ops.where(ops.eq(target, -1), _at_least_zero(ops.sub(cosine, margin)), 0.0)
    return reduce_loss(ops.add(like, unlike), reduction)


@offered("workbench", "nn.functional")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with the p-norm of differences as distance d.

    Shapes: [N, D] or [D]. With `swap`, the positive may stand for the anchor where it is nearer to the negative.

    >>> import workbench as wb
    >>> a, b = wb.zeros(1, 2), wb.tensor([[3.0, 4.0]])
    >>> round(wb.nn.functional.triplet_margin_loss(a, b, a, margin=2.0).item(), 3)
    7.0
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    _check_triplet(anchor, positive, negative, margin)

    def distance(x: Any, y: Any) -> Any:
        return pairwise_distance(x, y, p, eps)

    return _triplet(distance, anchor, positive, negative, margin, swap, reduction)


@offered("nn.functional")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance, a function of two tensors; by default `pairwise_distance`."""
    reduction = chosen_reduction(None, None, reduction)
    _check_triplet(anchor, positive, negative, margin)
    return _triplet(
        distance_function or pairwise_distance, anchor, positive, negative, margin, swap, reduction
    )


def _check_triplet(anchor: Any, positive: Any, negative: Any, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    several = [dims_of(one) for one in (anchor, positive, negative)]
    a, b, c = (len(dims.sizes) for dims in several)
    if not a == b == c:
        raise DimensionError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {a}D, positive {b}D, and negative {c}D inputs",
            op="triplet_margin_loss",
            operands=tuple(
                dims.operand(label)
                for label, dims in zip(("anchor", "positive", "negative"), several, strict=True)
            ),
        )


def _triplet(
    distance: Any, anchor: Any, positive: Any, negative: Any, margin: float, swap: bool, reduction: str
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduce_loss(_at_least_zero(ops.sub(ops.add(near, margin), far)), reduction)


# -------------------------------------------------------------------------- margins between the classes


def _rows(op: str, input: Any, target: Any, target_sizes: Callable[[tuple[int, ...]], Any]) -> Any:
    """Return the scores as [N, C], the target as it goes with them, and whether there was an N."""
    x = dims_of(input)
    check_index(op, target, "int64", "target")
    if len(x.sizes) > 2 or (x.numel == 0 and x.sizes[1:] in ((), (0,))):
        raise DimensionError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(x.sizes)}",
            op=op,
            operands=(x.operand("input"),),
        )
    sizes = x.sizes if len(x.sizes) == 2 else (1, x.numel)
    wanted, given = target_sizes(sizes), dims_of(target).sizes
    if given != wanted and not (len(x.sizes) < 2 and math.prod(given) == math.prod(wanted)):
        raise DimensionError(
            f"inconsistent target size: {list(given)} for input of size: {list(x.sizes)}",
            op=op,
            operands=(x.operand("input"), dims_of(target).operand("target")),
        )
    if len(x.sizes) == 2:
        # The rows of both are the same; what lies along a target's other dim is a list of classes.
        rows = Dims(dims_of(target).names[:1], wanted[:1])
        unify_names(op, Dims(x.names[:1], sizes[:1]), rows)
        return input, target, True
    return ops.reshape(input, sizes=sizes), ops.reshape(target, sizes=wanted), False


def _by_row(loss: Any, batched: bool, reduction: str) -> Tensor:
    return reduce_loss(loss if batched else ops.reshape(loss, sizes=()), reduction)


@offered("nn.functional")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Σ over the classes i that are not t of w[t]·max(0, margin - x[t] + x[i])^p / C, for the class t of each row.

    Shapes: input [N, C] or [C], target [N] or [], weight [C]; p is 1 or 2.

    >>> import workbench as wb
    >>> wb.nn.functional.multi_margin_loss(wb.tensor([[1.0, 1.0]]), wb.tensor([0])).item()
    0.5
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    if weight is not None and len(dims_of(weight).sizes) != 1:
        raise ValueError(f"weight must be one-dimensional, got {list(dims_of(weight).sizes)}")
    rows, target, batched = _rows("multi_margin_loss", input, target, lambda sizes: sizes[:1])
    sizes = rows.payload.shape
    if weight is not None and dims_of(weight).sizes != sizes[1:]:
        raise DimensionError(
            f"inconsistent weight size, expected {sizes[1]} (one for each class) but got {list(dims_of(weight).sizes)}",
            op="multi_margin_loss",
            operands=(dims_of(input).operand("input"), dims_of(weight).operand("weight")),
        )
    column = ops.reshape(target, sizes=(sizes[0], 1))
    short = ops.relu(ops.add(ops.sub(rows, ops.gather(rows, column, dim=1)), margin))
    if p == 2:
        short = ops.mul(short, short)
    if weight is not None:
        short = ops.mul(short, ops.reshape(ops.gather(weight, target, dim=0), sizes=(sizes[0], 1)))
    own = ops.one_hot(ops.rename(target, names=None), count=sizes[1], dtype=np.dtype(np.bool_))
    loss = ops.sum(ops.where(own, 0.0, short), dim=(1,), keepdim=False)
    return _by_row(ops.div(loss, as_float(sizes[1])), batched, reduction)


def _listed(target: Any) -> Any:
    """True up to each row's first -1."""
    return np.logical_and.accumulate(target >= 0, axis=1)


def _wanted(target: Any, count: int) -> Any:
    listed = _listed(target)
    if target.size and (target.min() < -1 or target.max() >= count):
        raise DimensionError(
            f"argument #2 'target' is out of range: classes are 0 to {count - 1}, and -1 ends a list.",
            op="multilabel_margin_loss",
        )
    out = np.zeros((target.shape[0], count), np.bool_)
    rows, places = np.nonzero(listed)
    out[rows, target[rows, places]] = True
    return out


CLASS_LIST = Op(
    name="class_list",
    doc="True where a list of classes goes on: up to the first -1 of each row.",
    equation="y[n, j] = [target[n, i] ≥ 0 for all i ≤ j]",
    dims=lambda target: target,
    rule="names and sizes pass through",
    dtype=DTypeRule("bool", None, PREDICATE.result),
    forward=_listed,
    vjp=NOT_DIFFERENTIABLE,
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: float(out.numel),
    samples=lambda: [Sample((np.array([[2, 0, -1], [1, -1, 2]]),), names=(("N", "C"),))],
    batch=as_it_is,
    quantized=WHOLE,
)

CLASS_SET = Op(
    name="class_set",
    doc="True for the classes that a list, ended by -1, has.",
    equation="y[n, c] = [c is listed in target[n]]",
    dims=lambda target, count: Dims(target.names, (target.sizes[0], count)),
    rule="names pass through",
    dtype=DTypeRule("bool", None, PREDICATE.result),
    forward=_wanted,
    vjp=NOT_DIFFERENTIABLE,
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: float(out.numel),
    samples=lambda: [Sample((np.array([[2, 0, -1], [1, -1, 2]]),), {"count": 3}, names=(("N", "C"),))],
    bad=lambda: [BadInput((np.array([[3, 0]]),), {"count": 3}, DimensionError, "out of range")],
    quantized=WHOLE,
)


@offered("nn.functional")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Σ over wanted classes j and others i of max(0, 1 - (x[j] - x[i])) / C.

    Shapes: input [N, C] or [C]; target the same, a list of wanted classes that ends at its first -1.

    >>> import workbench as wb
    >>> wb.nn.functional.multilabel_margin_loss(wb.tensor([0.5, 0.0]), wb.tensor([0, -1])).item()
    0.25
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    rows, target, batched = _rows("multilabel_margin_loss", input, target, lambda sizes: sizes)
    count = rows.payload.shape[1]
    names = rows._names if isinstance(rows, Value) else None
    rows, target = (ops.rename(one, names=None) if one._names else one for one in (rows, target))
    listed, wanted = ops.class_list(target), ops.class_set(target, count=count)
    picked = ops.gather(rows, ops.clamp(target, low=0, high=None), dim=1)
    short = ops.relu(
        ops.sub(ops.add(ops.unsqueeze(rows, dim=1, name=None), 1.0), ops.unsqueeze(picked, dim=2, name=None))
    )
    pairs = ops.logical_and(
        ops.unsqueeze(listed, dim=2, name=None),
        ops.logical_not(ops.unsqueeze(wanted, dim=1, name=None)),
    )
    loss = ops.div(ops.sum(ops.where(pairs, short, 0.0), dim=(1, 2), keepdim=False), as_float(count))
    if names is not None:
        loss = ops.rename(loss, names=names[:1])
    return _by_row(loss, batched, reduction)
