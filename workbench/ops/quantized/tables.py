"""Tables of embeddings in codes: rows are looked up, and only those that are become numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.dims import Dims
from workbench.base.dtypes import float32, quint4x2, quint8
from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.base.quantized_array import PackedArray, QuantizedArray, to_codes
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves
from workbench.core.quantization import integers
from workbench.ops.nn.embedding.embedding import EMBEDDING
from workbench.ops.quantized.requantize import NO_GRADIENT, output_type

__all__ = ["QUANTIZED_EMBEDDING", "QUANTIZED_EMBEDDING_BAG"]

_ROWS, _BAGS = kernels.lookup("rows_of_codes"), kernels.lookup("bags_of_codes")
MODES = ("sum", "mean", "max")


def _check(indices: Any, count: int) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        first = int(indices.min()) if indices.min() < 0 else int(indices.max())
        raise DimensionIndexError(
            f"index out of range in self: {first} is not in [0, {count})", op="embedding"
        )


def _rows(indices: Any, table: QuantizedArray) -> Any:
    """Return the rows of the table that are named, as float32."""
    _check(indices, table.shape[0])
    codes = table.codes[indices].astype(np.float32)
    if table.axis is None:
        return (codes - np.float32(table.zero_point)) * np.float32(table.scale)
    if table.axis != 0 or table.group is not None:
        return np.asarray(table.dequantize()[indices])
    scale, zero = (np.asarray(one, np.float32)[indices][..., None] for one in (table.scale, table.zero_point))
    return (codes - zero) * scale


def _stored(table: QuantizedArray) -> tuple[Any, ...] | None:
    """Return codes as they lie, scales, zero points, width and bits, as kernels read them; None of other tables."""
    fits = (
        table.dtype in (quint8, quint4x2)
        and table.ndim == 2
        and table.axis in (None, 0)
        and table.group is None
    )
    if not fits or (table.dtype is quint4x2 and table.shape[1] % 2):
        return None
    rows, width = table.shape
    held = table.cache.get("rows")
    if held is None:
        held = table.cache["rows"] = tuple(
            np.ascontiguousarray(np.broadcast_to(np.asarray(one, np.float32), (rows,)))
            for one in (table.scale, table.zero_point)
        )
    codes = table.packed.reshape(rows, -1) if isinstance(table, PackedArray) else table.codes
    return codes, *held, width, table.dtype.bits


def _check_edges(edges: Any, count: int) -> None:
    if edges.size and edges[0] != 0:
        raise DimensionError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {int(edges[0])}",
            op="embedding_bag",
        )
    if edges.size and (edges.max() > count or np.any(edges[1:] < edges[:-1])):
        raise DimensionError(
            f"offsets have to rise, up to the input's length of {count}, but got {edges.tolist()[:9]}",
            op="embedding_bag",
        )


def _coded(found: Any, scale: float | None, zero_point: int, qmin: int, qmax: int) -> Any:
    if scale is None:
        return found
    codes = to_codes(found, scale, zero_point, qmin, qmax, quint8)
    return QuantizedArray(np.asarray(codes), scale, zero_point, quint8)


def _embedding(indices: Any, table: Any, *, plainly: bool = True, **out: Any) -> Any:
    given = None if plainly or _ROWS is None else _stored(table)
    if given is None or not _ROWS.accepts(*given):  # type: ignore[union-attr]  # there is one, see above
        return _coded(_rows(indices, table), **out)
    _check(indices, table.shape[0])
    places = np.ascontiguousarray(indices, np.int64).reshape(-1)
    found = _ROWS.run(*given, places).reshape(*indices.shape, table.shape[1])  # type: ignore[union-attr]
    return _coded(found, **out)


def _embedding_of_codes(indices: Any, table: Any, **out: Any) -> Any:
    return _embedding(indices, table, plainly=False, **out)


def _bag_dims(
    indices: Dims, table: Dims, edges: Dims, weights: Dims | None = None, *, mode: str, padding: int
) -> Dims:
    if len(indices.sizes) != 1 or len(edges.sizes) != 1 or len(table.sizes) != 2:
        raise DimensionError(
            "bags are of one row of places [n], a table [count, D] and edges [bags + 1], got "
            f"{list(indices.sizes)}, {list(table.sizes)} and {list(edges.sizes)}",
            op="quantized_embedding_bag",
            operands=(indices.operand("input"), table.operand("weight")),
        )
    return Dims((None, table.names[1]), (edges.sizes[0] - 1, table.sizes[1]))


def _bags(indices: Any, table: Any, edges: Any, weights: Any = None, *, mode: str, padding: int) -> Any:
    _check_edges(edges, indices.size)
    rows = _rows(indices, table)
    if weights is not None:
        rows = rows * np.asarray(weights, np.float32)[:, None]
    out = np.zeros((edges.size - 1, table.shape[1]), np.float32)
    for bag, (begin, end) in enumerate(pairwise(edges)):
        own = rows[begin:end][indices[begin:end] != padding]
        if len(own):
            out[bag] = own.max(axis=0) if mode == "max" else own.sum(axis=0, dtype=np.float32)
            if mode == "mean":
                out[bag] /= np.float32(len(own))
    return out


def _bags_of_codes(
    indices: Any, table: Any, edges: Any, weights: Any = None, *, mode: str, padding: int
) -> Any:
    given = None if _BAGS is None else _stored(table)
    if given is None or not _BAGS.accepts(*given):  # type: ignore[union-attr]  # there is one, see above
        return _bags(indices, table, edges, weights, mode=mode, padding=padding)
    _check_edges(edges, indices.size)
    _check(indices, table.shape[0])
    places, ends = (np.ascontiguousarray(one, np.int64) for one in (indices, edges))
    factors = None if weights is None else np.ascontiguousarray(weights, np.float32)
    return _BAGS.run(*given, places, ends, factors, MODES.index(mode) + 1, padding)  # type: ignore[union-attr]


def _table(rows: int, width: int, dtype: Any = quint8, real: bool = True) -> QuantizedArray:
    random = np.random.default_rng([rows, width])
    codes = random.integers(0, 2**dtype.bits, (rows, width)).astype(np.uint8)
    zeros = random.uniform(0, 9, rows).astype(np.float32) if real else random.integers(0, 9, rows)
    return QuantizedArray(codes, random.uniform(0.01, 0.02, rows), zeros, dtype, 0)


_OUT: dict[str, Any] = {"scale": None, "zero_point": 0, "qmin": 0, "qmax": 255}

QUANTIZED_EMBEDDING = Op(
    name="quantized_embedding",
    doc="Pick rows of a table in codes by whole numbers.",
    equation="y[…, d] = (q[i[…], d] - z[i[…]])·s[i[…]]; clamp(rne(y / s) + z, qmin, qmax) where a scale is told",
    dims=lambda indices, table, **out: EMBEDDING.dims(indices, table),
    rule="[…], [count, D] -> […, D]",
    dtype=DTypeRule("float32; quint8 where an output scale is told", None, output_type, skip=1),
    forward=_embedding,
    vjp=NO_GRADIENT,
    saves=Saves(output=False),
    quantized=integers("quantized_embedding", _embedding_of_codes, "weighted", inputs=("plain", "weight"), axis=0),
    cost=lambda dims, out, **params: 2.0 * out.numel,
    samples=lambda: [
        Sample((np.array([[0, 2], [2, 3]]), _table(4, 6)), _OUT, names=(("N", "T"), (None, "C"))),
        Sample((np.array([1, 0]), _table(3, 8, quint4x2)), _OUT),
        Sample((np.array(1), _table(4, 3, real=False)), {**_OUT, "scale": 0.1, "zero_point": 3}),
    ],
    bad=lambda: [
        BadInput((np.array([4]), _table(4, 6)), _OUT, DimensionIndexError, "index out of range in self"),
        BadInput((np.array([-1]), _table(4, 6)), _OUT, DimensionIndexError, "-1 is not in"),
    ],
)  # fmt: skip

QUANTIZED_EMBEDDING_BAG = Op(
    name="quantized_embedding_bag",
    doc="Sums, means or greatest values of rows of a table in codes, by bags; those at `padding` do not count.",
    equation="y[b, d] = Σ w[i]·(q[k[i], d] - z[k[i]])·s[k[i]] over places i from edges[b] to edges[b + 1]",
    dims=_bag_dims,
    rule="[n], [count, D], [bags + 1] -> [bags, D]",
    dtype=DTypeRule("float32", None, lambda dtype, params: float32.numpy, skip=1),
    forward=_bags,
    vjp=NO_GRADIENT,
    saves=Saves(output=False),
    quantized=integers(
        "quantized_embedding_bag", _bags_of_codes, "ends", inputs=("plain", "weight", "plain"), axis=0
    ),
    cost=lambda dims, out, **params: 2.0 * dims[0].numel * dims[1].sizes[1],
    samples=lambda: [
        Sample((np.array([0, 2, 2, 3]), _table(4, 6), np.array([0, 1, 1, 4])), {"mode": mode, "padding": padding})
        for mode, padding in (("sum", -1), ("mean", 2), ("max", -1))
    ] + [
        Sample(
            (np.array([0, 2, 2]), _table(4, 8, quint4x2), np.array([0, 3]), np.array([0.5, 2, 1], np.float32)),
            {"mode": "sum", "padding": -1},
        )
    ],
    bad=lambda: [
        BadInput(
            (np.array([[1]]), _table(4, 6), np.array([0, 1])),
            {"mode": "sum", "padding": -1},
            DimensionError,
            "bags are of one row of places",
        ),
        BadInput(
            (np.array([1]), _table(4, 6), np.array([0, 2])),
            {"mode": "sum", "padding": -1},
            DimensionError,
            "offsets have to rise, up to the input's length of 1",
        ),
        BadInput(
            (np.array([1]), _table(4, 6), np.array([1, 1])),
            {"mode": "sum", "padding": -1},
            DimensionError,
            "offsets[0] has to be 0",
        ),
    ],
    tolerance=1e-6,
)  # fmt: skip
