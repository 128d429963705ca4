"""Types of values of a graph as views take them: a short name, dims, sizes of any run, how codes stand for numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.base.dtypes import dtype_of
from workbench.base.number_format import figure
from workbench.base.quantized_array import QuantizedArray
from workbench.base.size_expressions import Size, Symbol, Symbolic
from workbench.graph import Node, SubGraph, TensorType, Type
from workbench.graph.symbols import symbols
from workbench.live.messages import Dim

__all__ = [
    "LONGEST", "bits_of", "dims_of_type", "quantization_of", "quantization_of_node", "short_name", "size_names",
    "sizes_of_type", "texts",
]  # fmt: skip

LONGEST = 200
"""Most characters of a text that travel."""

UNKNOWN = "?"
"""How a size is written that only a run knows."""


def short_name(kind: Type) -> str:
    """Return how a view names what a value is: a data type such as ``f32``, or the type in words."""
    return dtype_of(kind).short if isinstance(kind, TensorType) else str(kind)[:LONGEST]


def dims_of_type(kind: Type) -> list[Dim]:
    """Return the dims of a type as views take them; none for what is no tensor."""
    if not isinstance(kind, TensorType):
        return []
    return [Dim(name, size) for name, size in zip(kind.dims.labels, kind.dims.sizes, strict=True)]


def bits_of(kind: Type) -> int:
    """Return the bits of one number; 0 for what is no tensor."""
    return 8 * kind.dtype.itemsize if isinstance(kind, TensorType) else 0


def size_names(function: SubGraph) -> dict[Symbol, str]:
    """Return what the sizes that differ from run to run are called in a picture.

    A size of an input goes by the name of its dim, in small letters; what is known only while it runs has none.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x, y: x + 1, wb.ones(N=2, C=3), wb.ones(4))
    >>> [*size_names(graph).values()]
    ['n', 'c', 's0']
    """
    names: dict[Symbol, str] = {}
    taken: set[str] = set()
    unnamed = 0
    for symbol, (value, dim) in symbols(function).items():
        if symbol.later:
            continue
        label = value.tensor.dims.labels[dim]
        name = label.lower() if label is not None else f"s{unnamed}"
        unnamed += label is None
        number = 1
        # Two inputs may have a dim of one name, each of its own size.
        while name in taken:
            number += 1
            name = f"{(label or 's').lower()}{number}"
        taken.add(name)
        names[symbol] = name
    return names


def sizes_of_type(kind: Type, names: Mapping[Symbol, str]) -> list[str]:
    """Return what the sizes of a type are in any run; nothing where all are numbers."""
    if not isinstance(kind, TensorType) or not any(isinstance(size, Symbolic) for size in kind.sizes):
        return []
    # An input's size stays a symbol where a guard wants one number of it, and is that number all the same.
    return [
        str(kind.dims.sizes[i]) if i in kind.fixed else _size(size, names)
        for i, size in enumerate(kind.sizes)
    ]


def _size(size: Size, names: Mapping[Symbol, str]) -> str:
    if not isinstance(size, Symbolic):
        return str(size)
    if any(symbol not in names for symbol in size.symbols()):
        return UNKNOWN
    # Most sizes are one symbol, which needs no writing out.
    symbol = size.symbol
    return size.written(names.__getitem__)[:LONGEST] if symbol is None else names[symbol]


def quantization_of(tensor: Any) -> str:
    """Return how the codes of a tensor stand for numbers, in words; nothing where it has none.

    >>> import workbench as wb
    >>> quantization_of(wb.quantize_per_tensor(wb.ones(2), 0.5, 3, wb.quint8))
    'scale 0.500 · zero point 3'
    """
    payload = tensor.payload
    if not isinstance(payload, QuantizedArray):
        return ""
    if payload.axis is None:
        return _affine(payload.scale, payload.zero_point)
    # With one scale a channel, their range says most in one line.
    scales = np.asarray(payload.scale)
    return f"{scales.size} scales, {figure(float(scales.min()))} to {figure(float(scales.max()))}, dim {payload.axis}"


def quantization_of_node(node: Node) -> str:
    """Return how the codes that a call gives stand for numbers; nothing where its parameters do not say it."""
    known = {key: node.params.get(key) for key in ("scale", "zero_point", "qmin", "qmax")}
    if not isinstance(known["scale"], int | float) or not isinstance(known["zero_point"], int):
        return ""
    text = _affine(known["scale"], known["zero_point"])
    if not isinstance(known["qmin"], int) or not isinstance(known["qmax"], int):
        return text
    levels = known["qmax"] - known["qmin"]
    return f"{text} · {levels.bit_length()} bit, {known['qmin']} … {known['qmax']}"


def _affine(scale: float, zero_point: int) -> str:
    return f"scale {figure(scale)} · zero point {zero_point}"


def texts(pairs: Iterable[tuple[str, Any]]) -> list[list[str]]:
    """Return parameters of a call as pairs of texts, none of them long."""
    return [[key, str(value)[:LONGEST]] for key, value in pairs]
