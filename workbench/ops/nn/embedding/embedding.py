"""Embedding: rows of a table picked by whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, new_name
from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.core import sparse_rules
from workbench.core.dispatch import numbers
from workbench.core.families import NOT_DIFFERENTIABLE, grid
from workbench.core.index_types import check_index
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import BAGS, GRADIENT, served
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of, new
from workbench.ops.offer import offered

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
    dims=_rows_dims,
    rule="[…], [count, D] -> […, D]",
    dtype=SECOND,
    forward=_rows,
    vjp=lambda c, g: (
        None,
        ops.embedding_gradient(c.inputs[0], g, count=c.inputs[1].payload.shape[0]) if c.needs[1] else None,
    ),
    saves=Saves((0,), output=False),
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
    quantized=served("embedding", BAGS),
)


def _sparse_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    indices, weight = c.inputs
    if not c.needs[1]:
        return None, None
    count, width = weight.payload.shape
    if type(indices.payload) is not np.ndarray:  # traced or batched: places are not known
        return None, ops.embedding_gradient(indices, g, count=count)
    flat = indices.payload.reshape(-1).astype(np.int64)
    rows = ops.reshape(g, sizes=(len(flat), width))
    if c.params["padding"] is not None:
        kept = np.flatnonzero(flat != c.params["padding"])
        flat, rows = flat[kept], ops.embedding(new(kept), rows)
    return None, sparse_rules.at(flat[None], rows, (count, width))


EMBEDDING_SPARSE = Op(
    name="embedding_sparse",
    doc="Pick rows of a table by whole numbers; the gradient of the table is sparse, the rows that were picked.",
    equation="y[…, d] = w[i[…], d]",
    dims=lambda indices, weight, padding: _rows_dims(indices, weight),
    rule="[…], [count, D] -> […, D]",
    dtype=SECOND,
    forward=lambda indices, weight, padding: _rows(indices, weight),
    vjp=_sparse_vjp,
    saves=Saves((0,), output=False),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        # Of whole numbers: a slope is a dense matrix, see tests/nn/test_embedding.py.
        Sample(
            (np.array([[0, 2], [2, 3]]), np.arange(12).reshape(4, 3)),
            {"padding": 2},
            names=(("N", "T"), None),
        ),
    ],
    bad=lambda: [
        BadInput(
            (np.array([4]), grid(4, 3)), {"padding": None}, DimensionIndexError, "index out of range in self"
        )
    ],
    properties=frozenset({"moves"}),
    quantized=BAGS,
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
    dims=lambda indices, g, count: Dims((None, g.names[-1]), (count, g.sizes[-1])),
    rule="[…], […, D] -> [count, D]",
    dtype=SECOND,
    forward=_rows_summed,
    vjp=lambda c, u: (None, ops.embedding(c.inputs[0], u) if c.needs[1] else None),
    saves=Saves((0,), output=False),
    cost=lambda dims, out, **params: float(dims[1].numel),
    samples=lambda: [Sample((np.array([[0, 2], [2, 3]]), grid(2, 2, 3)), {"count": 4})],
    quantized=GRADIENT,
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
    dims=lambda indices, count, padding, by_frequency, dtype: Dims(
        (*indices.names, None), (*indices.sizes, 1)
    ),
    rule="[…] -> […, 1]",
    dtype=DTypeRule("as asked", None, lambda dtype, params: np.dtype(params["dtype"])),
    forward=_share,
    vjp=NOT_DIFFERENTIABLE,
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: float(out.numel),
    samples=lambda: [
        Sample(
            (np.array([0, 2, 2]),),
            {"count": 4, "padding": 0, "by_frequency": True, "dtype": np.dtype("f8")},
            names=(("N",),),
        )
    ],
    quantized=GRADIENT,
)


def _pass_share_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    return (ops.mul(g, c.inputs[1]) if c.needs[0] else None, None)


PASS_SHARE = Op(
    name="pass_share",
    doc="Pass values on and a share of their gradient back.",
    equation="y = x; the gradient is multiplied by the share",
    dims=lambda x, share: x,
    rule="names and sizes pass through",
    dtype=DTypeRule("as the first input", None, lambda dtype, params: dtype),
    forward=lambda x, share: x.copy(),
    vjp=_pass_share_vjp,
    saves=Saves((1,), output=False),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [Sample((grid(3, 2), grid(3, 1, low=0.1, seed=2)), names=(("N", "C"), None))],
    properties=frozenset({"estimate", "moves"}),
    quantized=GRADIENT,
)


# ---------------------------------------------------------------------------------- the words people use


def check_padding(padding: int | None, count: int) -> int | None:
    """Return the position of the row that stands for padding, counted from the start."""
    if padding is None:
        return None
    if not -count <= padding < count:
        raise ValueError(
            f"Padding_idx must be within num_embeddings: {padding} is not in [{-count}, {count})"
        )
    return padding % count


def limit_norms(indices: Any, weight: Any, max_norm: float, norm_type: float) -> None:
    """Scale rows that will be picked and whose norm is above `max_norm` down to it, in place."""
    rows = np.unique(numbers(indices))
    table = numbers(weight)
    chosen = _rows(rows, table)
    norms = np.linalg.norm(chosen, ord=norm_type, axis=-1, keepdims=True)
    # PyTorch's 1e-7: what is scaled stays a little below the bound.
    scale = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1)
    # Past the tape, as in PyTorch: no gradient knows of the scaling.
    table[rows] = (chosen * scale).astype(table.dtype)
    weight._version += 1


@offered("nn.functional")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Pick rows of `weight` [count, D] by whole numbers `input` […]: y = weight[input], […, D].

    The row `padding_idx` gets no gradient. With `max_norm`, rows picked whose `norm_type`-norm is above it are scaled
    down in place first. With `scale_grad_by_freq`, a row's gradient is divided by how often it is picked. With
    `sparse` the gradient of `weight` is a sparse tensor of the rows that were picked.

    >>> import workbench as wb
    >>> wb.nn.functional.embedding(wb.tensor([1, 0]), wb.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    check_index("embedding", input, label="input")
    count = dims_of(weight).sizes[0] if dims_of(weight).sizes else 0
    padding = check_padding(padding_idx, count)
    if max_norm is not None:
        # Refused before the table is written to.
        _rows_dims(dims_of(input), dims_of(weight))
        limit_norms(input, weight, max_norm, norm_type)
    return picked(input, weight, padding, scale_grad_by_freq, sparse)


def picked(
    indices: Any, weight: Any, padding: int | None, by_frequency: bool, sparse: bool = False
) -> Tensor:
    """Return the rows; padding gets no gradient, and frequent rows a share of it."""
    if sparse:
        if by_frequency:
            raise ValueError("embedding: scale_grad_by_freq is not supported with sparse gradients")
        return ops.embedding_sparse(indices, weight, padding=padding)
    rows = ops.embedding(indices, weight)
    if padding is None and not by_frequency:
        return rows
    share = ops.embedding_share(
        indices,
        count=weight.payload.shape[0],
        padding=padding,
        by_frequency=by_frequency,
        dtype=weight.payload.dtype,
    )
    return ops.pass_share(rows, share)
