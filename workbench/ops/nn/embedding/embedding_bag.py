"""Bags of rows of a table: their sum, mean or largest values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import Dims, new_name
from workbench.base.errors import DimensionError
from workbench.core.contribution import SELECTED
from workbench.core.families import NOT_DIFFERENTIABLE, grid
from workbench.core.index_types import check_index
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import PLAIN, WHOLE
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.nn.embedding.embedding import check_padding, limit_norms, picked
from workbench.ops.offer import offered
from workbench.ops.shape.creation import runs


def _bag_of(offsets: Any, count: int, bags: int) -> Any:
    if offsets.size and offsets[0] != 0:
        raise DimensionError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {int(offsets[0])}",
            op="embedding_bag",
        )
    if offsets.size and offsets[-1] > count:
        raise DimensionError(
            f"offsets[-1] can not be greater than input's length of {count}, but got offsets[-1] of "
            f"{int(offsets[-1])}",
            op="embedding_bag",
        )
    # An empty bag begins where the next one does: of both the last one counts.
    return np.searchsorted(offsets[:bags], np.arange(count), side="right") - 1


BAG_OF = Op(
    name="bag_of",
    doc="The bag that each place of a row belongs to, from where each bag starts.",
    equation="y_i = max {b: offsets_b ≤ i}",
    dims=lambda offsets, count, bags: Dims((None,), (count,)),
    rule="an unnamed row of the given size",
    dtype=DTypeRule("int64", None, lambda dtype, params: np.dtype(np.int64)),
    forward=_bag_of,
    vjp=NOT_DIFFERENTIABLE,
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: float(out.numel),
    samples=lambda: [Sample((np.array([0, 2, 2]),), {"count": 5, "bags": 3})],
    bad=lambda: [
        BadInput((np.array([1, 2]),), {"count": 5, "bags": 2}, DimensionError, "offsets[0] has to be 0"),
        BadInput((np.array([0, 7]),), {"count": 5, "bags": 2}, DimensionError, "can not be greater"),
    ],
    quantized=WHOLE,
)


def _bag_max(rows: Any, bags: Any, counted: Any, count: int) -> tuple[Any, Any]:
    values = np.zeros((count, rows.shape[1]), rows.dtype)
    places = np.full((count, rows.shape[1]), -1, np.int64)
    for bag in np.unique(bags[counted]):
        members = np.flatnonzero((bags == bag) & counted)
        places[bag] = members[np.argmax(rows[members], axis=0)]
        values[bag] = np.take_along_axis(rows, places[bag : bag + 1], 0)[0]
    return values, places


def _bag_max_vjp(c: Call, g: Any, g_places: Any) -> tuple[Any, ...]:
    if g is None:
        return None, None, None
    places = c.outs[1]
    passed = ops.where(ops.lt(places, 0), 0.0, g)
    # Of an empty bag a zero is added, wherever that goes.
    found = ops.scatter_add(
        passed, ops.clamp(places, low=0, high=None), dim=0, sizes=c.inputs[0].payload.shape
    )
    return found, None, None


BAG_MAX = Op(
    name="bag_max",
    contribution=SELECTED,
    doc="Largest value of each column over the rows of each bag, and where it stands; 0 and -1 for empty bags.",
    equation="y[b, d] = max x[i, d] over i in bag b",
    dims=lambda rows, bags, counted, count: (
        Dims((None, rows.names[1]), (count, rows.sizes[1])),
        Dims((None, rows.names[1]), (count, rows.sizes[1])),
    ),
    rule="[n, D], [n], [n] -> [bags, D]",
    dtype=DTypeRule("as the rows", None, lambda dtype, params: (dtype, np.dtype(np.int64))),
    forward=_bag_max,
    vjp=_bag_max_vjp,
    saves=Saves((), output=True, outputs=(1,)),
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(4, 3), np.array([0, 0, 2, 2]), np.array([True, True, True, False])), {"count": 3})
    ],
    outputs=2,
    quantized=PLAIN,
)


@offered("nn.functional")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Rows of `weight` [count, D] picked by whole numbers and brought together by bags: their sum, mean or max.

    `input` is [B, n], each row a bag, or one long row [n] with `offsets` [B], where each bag starts (with
    `include_last_offset` also where the last one ends). `per_sample_weights` weigh a sum. Rows at `padding_idx` do not
    count; a bag without rows gives zeros. With `sparse` the gradient of `weight` is a sparse tensor of picked rows.

    >>> import workbench as wb
    >>> table = wb.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> wb.nn.functional.embedding_bag(wb.tensor([[0, 1], [1, 1]]), table, mode="sum")
    tensor([[4., 6.],
            [6., 8.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    check_index("embedding_bag", input, label="input")
    if len(dims_of(weight).sizes) != 2:
        raise ValueError(f"weight has to be 2D: [count, features], but got {list(dims_of(weight).sizes)}")
    if offsets is not None:
        check_index("embedding_bag", offsets, "uint8/int8/int16/int32/int64", "offsets")
    check_bag_words(input, offsets, per_sample_weights, mode, include_last_offset, scale_grad_by_freq)
    sizes = dims_of(input).sizes
    total = math.prod(sizes)
    if len(sizes) == 2:
        given = dims_of(input).names
        bags = runs(sizes[0], sizes[1])
        count = sizes[0]
        input = ops.reshape(input, sizes=(total,))
        if per_sample_weights is not None:
            per_sample_weights = ops.reshape(per_sample_weights, sizes=(total,))
    else:
        given = dims_of(offsets).names
        # The last offset is then the end of the last bag, and begins none.
        count = dims_of(offsets).sizes[0] - include_last_offset
        bags = ops.bag_of(offsets, count=total, bags=count)
    padding = check_padding(padding_idx, dims_of(weight).sizes[0])
    if max_norm is not None:
        limit_norms(input, weight, max_norm, norm_type)
    if sparse and mode == "max":
        raise ValueError("embedding_bag: the mode 'max' has no sparse gradients: leave sparse away")
    rows = picked(input, weight, padding if sparse else None, scale_grad_by_freq, sparse)
    # No index is -1: without padding all of them count.
    counted = ops.ne(input, -1 if padding is None else padding)
    if mode == "max":
        out = ops.bag_max(rows, bags, counted, count=count)[0]
    else:
        out = _bag_sum(rows, bags, counted, count, mode, per_sample_weights, padding)
    batch = given[:1]
    return ops.rename(out, names=(*batch, new_name(dims_of(weight).labels[1], batch, given)))


def _bag_sum(
    rows: Any, bags: Any, counted: Any, count: int, mode: str, weights: Any, padding: int | None
) -> Any:
    places = rows.payload.shape[0]
    if weights is not None:
        rows = ops.mul(rows, ops.reshape(weights, sizes=(places, 1)))
    column = ops.reshape(counted, sizes=(places, 1))
    if padding is not None:
        rows = ops.where(column, rows, 0.0)
    # To add rows up by bags is what the gradient of a lookup does.
    out = ops.embedding_gradient(bags, rows, count=count)
    if mode == "sum":
        return out
    members = ops.embedding_gradient(bags, ops.to(column, dtype=rows.payload.dtype), count=count)
    # An empty bag is 0, and not 0/0.
    return ops.div(out, ops.clamp(members, low=1, high=None))


def check_bag_words(
    input: Any, offsets: Any, weights: Any, mode: str, include_last: bool, by_frequency: bool
) -> None:
    """Refuse what says nothing about where bags begin, or weighs what is not summed."""
    sizes = dims_of(input).sizes
    if weights is not None and dims_of(weights).sizes != sizes:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(dims_of(weights).sizes)}) is not None, then it must have the "
            f"same shape as the input ({list(sizes)})"
        )
    if weights is not None and mode != "sum":
        raise ValueError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode={mode!r})."
        )
    if mode == "max" and by_frequency:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if len(sizes) not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(sizes)}")
    if len(sizes) == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            "sequences."
        )
    if len(sizes) == 1 and (offsets is None or len(dims_of(offsets).sizes) != 1):
        raise ValueError("offsets has to be a 1D Tensor for 1D input: where each bag starts")
    if include_last and offsets is not None and dims_of(offsets).sizes[0] < 1:
        raise ValueError("include_last_offset: number of offsets should be at least 1")
