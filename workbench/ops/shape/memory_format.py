"""The order in which the dims of a tensor lie in memory: ``contiguous(memory_format=…)`` and its relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.memory_formats import (
    MemoryFormat,
    check_format,
    contiguous_format,
    format_asked,
    preserve_format,
)
from workbench.base.quantized_array import QuantizedArray
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import Op, Sample, Saves, ops
from workbench.core.quantization import Quantization
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered

__all__ = ["emptied_so", "in_format", "lies_in", "places_of"]


def places_of(payload: Any) -> Any:
    """Return the array whose strides say where the values of a payload lie, codes too; None for what has no such."""
    if isinstance(payload, QuantizedArray):
        return payload.places
    return payload if isinstance(payload, np.ndarray) else None


def _laid_out(x: Any, order: tuple[int, ...]) -> Any:
    """Return a copy of an array whose dims lie in memory in the order given, the slowest first."""
    copy = np.array(x.transpose(order), order="C")
    return copy.transpose(np.argsort(order))


LAY_OUT = Op(
    name="lay_out",
    doc="Copy into memory in which the dims lie in another order.",
    equation="y = x",
    dims=lambda x, order: x,
    rule="names and sizes pass through",
    dtype=KEEP,
    forward=_laid_out,
    vjp=lambda c, g: (g,),
    saves=Saves((), output=False),
    quantized=Quantization(
        "same", lambda op, q, order: q.with_codes(_laid_out(q.codes, order), same_places=True)
    ),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        Sample((grid(2, 3, 4, 2),), {"order": (0, 2, 3, 1)}, names=(("N", "C", "H", "W"),)),
        Sample((grid(3, 4).T,), {"order": (0, 1)}),
    ],
    properties=frozenset({"linear", "moves"}),
)


def _order_of(asked: MemoryFormat, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)) if asked.order is None else asked.order


def lies_in(array: Any, asked: MemoryFormat) -> bool:
    """Say whether the values of an array lie in memory as a format has it, without gaps."""
    places = places_of(array)
    if places is None:
        return asked.order is None
    if asked.order is None:
        return bool(places.flags.c_contiguous)
    return places.ndim == len(asked.order) and bool(places.transpose(asked.order).flags.c_contiguous)


def in_format(op: str, input: Tensor, memory_format: Any, copy: bool = False) -> Tensor:
    """Return `input` with its values in memory as `memory_format` has it: itself where they lie so, unless `copy`."""
    asked = format_asked(op, memory_format, len(dims_of(input).sizes))
    if asked is None or asked is preserve_format:
        return ops.clone(input) if copy else input
    if not copy and lies_in(input.payload, asked):
        return input
    if asked is contiguous_format or places_of(input.payload) is None:
        return ops.clone(input)
    return ops.lay_out(input, order=_order_of(asked, len(input.payload.shape)))


def emptied_so(op: str, value: Any, memory_format: Any) -> Any:
    """Give a tensor that was just made memory in the order that a format asks for; its numbers go along."""
    asked = format_asked(op, memory_format, len(value.payload.shape))
    if asked is not None and asked.order is not None and isinstance(value.payload, np.ndarray):
        value.payload = _laid_out(value.payload, asked.order)
    return value


@offered("Tensor")
def is_contiguous(input: Tensor, memory_format: MemoryFormat = contiguous_format) -> bool:
    """True if the values lie in memory without gaps, in row-major order or in the one that a format has.

    >>> import workbench as wb
    >>> x = wb.zeros(1, 2, 3, 4).contiguous(memory_format=wb.channels_last)
    >>> x.is_contiguous(), x.is_contiguous(memory_format=wb.channels_last)
    (False, True)
    """
    check_format("is_contiguous", memory_format)
    return lies_in(input.payload, memory_format)


@offered("Tensor")
def contiguous(input: Tensor, memory_format: MemoryFormat = contiguous_format) -> Tensor:
    """Return the tensor if its values lie in memory as asked, else a copy for which that is so: row-major order, or
    ``channels_last``.

    Raises RuntimeError where the format is for another number of dims.

    >>> import workbench as wb
    >>> wb.zeros(1, 2, 3, 4).contiguous(memory_format=wb.channels_last).stride()
    (24, 1, 8, 2)
    """
    if memory_format is contiguous_format:
        places = places_of(input.payload)
        # Arrays of devices say it themselves.
        flags = getattr(input.payload if places is None else places, "flags", None)
        return input if flags is None or flags.c_contiguous else ops.clone(input)
    return in_format("contiguous", input, memory_format)
