"""Embedding: rows of a table picked by whole numbers, one by one or summed up by bags."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import Dims, new_name
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.core.dispatch import numbers
from workbench.core.families import NOT_DIFFERENTIABLE, NOT_QUANTIZED, grid
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.value import dims_of, new

SECOND = DTypeRule("as the table", None, lambda dtype, params: dtype, skip=1)


def _rows_dims(indices: Dims, weight: Dims) -> Dims:
    if len(weight.sizes) != 2:
        raise DimensionError(
            f"'weight' must be 2-D: [count, features], got {list(weight.sizes)}",
            op="embedding",
            operands=(indices.operand("input"), weight.operand("weight")),
        )
    name = new_name(weight.names[1], indices.names, indices.names)
    return Dims((*indices.names, name), (*indices.sizes, weight.sizes[1]))


def _rows(indices: Any, weight: Any) -> Any:
    if indices.dtype == np.int64 and indices.size and indices.flags.c_contiguous:
        # Seen as numbers without a sign, negative ones are the largest.
        wrong = indices.view(np.uint64).max() >= weight.shape[0]
    else:
        wrong = indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0])
    if wrong:
        first = int(indices.min()) if indices.min() < 0 else int(indices.max())
        raise DimensionIndexError(
            f"index out of range in self: {first} is not in [0, {weight.shape[0]})", op="embedding"
        )
    return weight[indices]


EMBEDDING = Op(
    name="embedding",
    doc="Pick rows of a table by whole numbers.",
    equation="y[…, d] = w[i[…], d]",
    reference="elementary",
    dims=_rows_dims,
    rule="[…], [count, D] -> […, D]",
    dtype=SECOND,
    forward=_rows,
    vjp=lambda c, g: (
        None,
        ops.embedding_gradient(c.inputs[0], g, count=c.inputs[1]._array.shape[0]) if c.needs[1] else None,
    ),
    saves=Saves((0,), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        Sample((np.array([[0, 2], [2, 3]]), grid(4, 3)), names=(("N", "T"), (None, "C"))),
        Sample((np.array(1), grid(4, 3))),
    ],
    bad=lambda: [
        BadInput((np.array([4]), grid(4, 3)), {}, DimensionIndexError, "index out of range in self"),
        BadInput((np.array([1]), grid(4)), {}, DimensionError, "'weight' must be 2-D"),
    ],
    properties=frozenset({"moves"}),
)


def _rows_summed(indices: Any, g: Any, count: int) -> Any:
    width = g.shape[-1]
    out = np.zeros((count, width), g.dtype)
    flat, rows = indices.reshape(-1), g.reshape(indices.size, width)
    if flat.size:
        # Sums of sorted runs: much faster than adding row by row.
        order = np.argsort(flat, kind="stable")
        ordered = flat[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        out[ordered[starts]] = np.add.reduceat(rows[order], starts, axis=0)
    return out


EMBEDDING_GRADIENT = Op(
    name="embedding_gradient",
    doc="Add rows up by whole numbers, into a table: the transpose of embedding.",
    equation="y[k, d] = Σ g[…, d] over all places where i[…] = k",
    reference="elementary",
    dims=lambda indices, g, count: Dims((None, g.names[-1]), (count, g.sizes[-1])),
    rule="[…], […, D] -> [count, D]",
    dtype=SECOND,
    forward=_rows_summed,
    vjp=lambda c, u: (None, ops.embedding(c.inputs[0], u) if c.needs[1] else None),
    saves=Saves((0,), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(dims[1].numel),
    samples=lambda: [Sample((np.array([[0, 2], [2, 3]]), grid(2, 2, 3)), {"count": 4})],
    bad=list,
)


def _share(indices: Any, count: int, padding: int | None, by_frequency: bool, dtype: Any) -> Any:
    out = np.ones(indices.shape, dtype)
    if by_frequency:
        out /= np.bincount(indices.reshape(-1), minlength=count)[indices].astype(dtype)
    if padding is not None:
        out[indices == padding] = 0
    return out[..., None]


EMBEDDING_SHARE = Op(
    name="embedding_share",
    doc="What part of its gradient each picked row passes to the table: none for padding, less for frequent ones.",
    equation="y = [i ≠ padding] / (number of places with the same i)",
    reference="elementary",
    dims=lambda indices, count, padding, by_frequency, dtype: Dims(
        (*indices.names, None), (*indices.sizes, 1)
    ),
    rule="[…] -> […, 1]",
    dtype=DTypeRule("as asked", None, lambda dtype, params: np.dtype(params["dtype"])),
    forward=_share,
    vjp=NOT_DIFFERENTIABLE,
    saves=Saves((), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(out.numel),
    samples=lambda: [
        Sample(
            (np.array([0, 2, 2]),),
            {"count": 4, "padding": 0, "by_frequency": True, "dtype": np.dtype("f8")},
            names=(("N",),),
        )
    ],
    bad=list,
)


def _pass_share_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    return (ops.mul(g, c.inputs[1]) if c.needs[0] else None, None)


PASS_SHARE = Op(
    name="pass_share",
    doc="Pass values on and a share of their gradient back.",
    equation="y = x; the gradient is multiplied by the share",
    reference="elementary",
    dims=lambda x, share: x,
    rule="names and sizes pass through",
    dtype=DTypeRule("as the first input", None, lambda dtype, params: dtype),
    forward=lambda x, share: x.copy(),
    vjp=_pass_share_vjp,
    saves=Saves((1,), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [Sample((grid(3, 2), grid(3, 1, low=0.1, seed=2)), names=(("N", "C"), None))],
    bad=list,
    properties=frozenset({"estimate", "moves"}),
)

# -------------------------------------------------------------------------------------------------- bags


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
    return np.searchsorted(offsets[:bags], np.arange(count), side="right") - 1


BAG_OF = Op(
    name="bag_of",
    doc="The bag that each place of a row belongs to, from where each bag starts.",
    equation="y_i = max {b: offsets_b ≤ i}",
    reference="elementary",
    dims=lambda offsets, count, bags: Dims((None,), (count,)),
    rule="an unnamed row of the given size",
    dtype=DTypeRule("int64", None, lambda dtype, params: np.dtype(np.int64)),
    forward=_bag_of,
    vjp=NOT_DIFFERENTIABLE,
    saves=Saves((), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(out.numel),
    samples=lambda: [Sample((np.array([0, 2, 2]),), {"count": 5, "bags": 3})],
    bad=lambda: [
        BadInput((np.array([1, 2]),), {"count": 5, "bags": 2}, DimensionError, "offsets[0] has to be 0"),
        BadInput((np.array([0, 7]),), {"count": 5, "bags": 2}, DimensionError, "can not be greater"),
    ],
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
    found = ops.scatter_add(
        passed, ops.clamp(places, low=0, high=None), dim=0, sizes=c.inputs[0]._array.shape
    )
    return found, None, None


BAG_MAX = Op(
    name="bag_max",
    doc="Largest value of each column over the rows of each bag, and where it stands; 0 and -1 for empty bags.",
    equation="y[b, d] = max x[i, d] over i in bag b",
    reference="elementary",
    dims=lambda rows, bags, counted, count: (
        Dims((None, rows.names[1]), (count, rows.sizes[1])),
        Dims((None, rows.names[1]), (count, rows.sizes[1])),
    ),
    rule="[n, D], [n], [n] -> [bags, D]",
    dtype=DTypeRule("as the rows", None, lambda dtype, params: (dtype, np.dtype(np.int64))),
    forward=_bag_max,
    vjp=_bag_max_vjp,
    saves=Saves((), output=True, outputs=(1,)),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(4, 3), np.array([0, 0, 2, 2]), np.array([True, True, True, False])), {"count": 3})
    ],
    bad=list,
    outputs=2,
)

# ---------------------------------------------------------------------------------- the words people use


def _check_indices(op: str, indices: Any, label: str = "input") -> None:
    if indices._array.dtype.kind not in "iu":
        raise DTypeError(
            f"Expected tensor for argument '{label}' to have one of the following scalar types: Long, Int; but got "
            f"{indices.dtype.name} instead (while checking arguments for {op}). Cast them: {label}.long()"
        )


def _check_padding(padding: int | None, count: int) -> int | None:
    """Return the position of the row that stands for padding, counted from the start."""
    if padding is None:
        return None
    if not -count <= padding < count:
        raise ValueError(
            f"Padding_idx must be within num_embeddings: {padding} is not in [{-count}, {count})"
        )
    return padding % count


def _limit_norms(indices: Any, weight: Any, max_norm: float, norm_type: float) -> None:
    """Scale rows that will be picked and whose norm is above `max_norm` down to it, in place."""
    rows = np.unique(numbers(indices))
    table = numbers(weight)
    picked = _rows(rows, table)
    norms = np.linalg.norm(picked, ord=norm_type, axis=-1, keepdims=True)
    scale = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1)
    table[rows] = (picked * scale).astype(table.dtype)
    weight._version += 1


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Pick rows of `weight` [count, D] by whole numbers `input` […]: y = weight[input], […, D].

    The row `padding_idx` gets no gradient. With `max_norm`, rows picked whose `norm_type`-norm is above it are scaled
    down in place first. With `scale_grad_by_freq`, a row's gradient is divided by how often it is picked. `sparse`
    has no effect: gradients are dense.

    >>> import workbench as wb
    >>> wb.nn.functional.embedding(wb.tensor([1, 0]), wb.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3.0000, 4.0000],
            [1.0000, 2.0000]])
    """
    _check_indices("embedding", input)
    count = dims_of(weight).sizes[0] if dims_of(weight).sizes else 0
    padding = _check_padding(padding_idx, count)
    if max_norm is not None:
        _rows_dims(dims_of(input), dims_of(weight))
        _limit_norms(input, weight, max_norm, norm_type)
    return _picked(input, weight, padding, scale_grad_by_freq)


def _picked(indices: Any, weight: Any, padding: int | None, by_frequency: bool) -> Any:
    rows = ops.embedding(indices, weight)
    if padding is None and not by_frequency:
        return rows
    share = ops.embedding_share(
        indices,
        count=weight._array.shape[0],
        padding=padding,
        by_frequency=by_frequency,
        dtype=weight._array.dtype,
    )
    return ops.pass_share(rows, share)


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Rows of `weight` [count, D] picked by whole numbers and brought together by bags: their sum, mean or max.

    `input` is [B, n], each row a bag, or one long row [n] with `offsets` [B], where each bag starts (with
    `include_last_offset` also where the last one ends). `per_sample_weights` weigh a sum. Rows at `padding_idx` do not
    count; a bag without rows gives zeros.

    >>> import workbench as wb
    >>> table = wb.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> wb.nn.functional.embedding_bag(wb.tensor([[0, 1], [1, 1]]), table, mode="sum")
    tensor([[4.0000, 6.0000],
            [6.0000, 8.0000]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    _check_indices("embedding_bag", input)
    if len(dims_of(weight).sizes) != 2:
        raise ValueError(f"weight has to be 2D: [count, features], but got {list(dims_of(weight).sizes)}")
    if offsets is not None:
        _check_indices("embedding_bag", offsets, "offsets")
    _check_bag_words(input, offsets, per_sample_weights, mode, include_last_offset, scale_grad_by_freq)
    sizes = dims_of(input).sizes
    total = math.prod(sizes)
    if len(sizes) == 2:
        given = dims_of(input).names
        bags = new(np.repeat(np.arange(sizes[0]), sizes[1]))
        count = sizes[0]
        input = ops.reshape(input, sizes=(total,))
        if per_sample_weights is not None:
            per_sample_weights = ops.reshape(per_sample_weights, sizes=(total,))
    else:
        given = dims_of(offsets).names
        count = dims_of(offsets).sizes[0] - include_last_offset
        bags = ops.bag_of(offsets, count=total, bags=count)
    padding = _check_padding(padding_idx, dims_of(weight).sizes[0])
    if max_norm is not None:
        _limit_norms(input, weight, max_norm, norm_type)
    rows = _picked(input, weight, None, scale_grad_by_freq)
    counted = ops.ne(input, -1 if padding is None else padding)
    if mode == "max":
        out = ops.bag_max(rows, bags, counted, count=count)[0]
    else:
        out = _bag_sum(rows, bags, counted, count, mode, per_sample_weights, padding)
    batch = given[:1]
    return ops.rename(out, names=(*batch, new_name(dims_of(weight).names[1], batch, given)))


def _bag_sum(
    rows: Any, bags: Any, counted: Any, count: int, mode: str, weights: Any, padding: int | None
) -> Any:
    places = rows._array.shape[0]
    if weights is not None:
        rows = ops.mul(rows, ops.reshape(weights, sizes=(places, 1)))
    column = ops.reshape(counted, sizes=(places, 1))
    if padding is not None:
        rows = ops.where(column, rows, 0.0)
    out = ops.embedding_gradient(bags, rows, count=count)
    if mode == "sum":
        return out
    members = ops.embedding_gradient(bags, ops.to(column, dtype=rows._array.dtype), count=count)
    return ops.div(out, ops.clamp(members, low=1, high=None))


def _check_bag_words(
    input: Any, offsets: Any, weights: Any, mode: str, include_last: bool, by_frequency: bool
) -> None:
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


NN: dict[str, Any] = {"embedding": embedding, "embedding_bag": embedding_bag}
"""What `workbench.nn.functional` offers of this file."""
