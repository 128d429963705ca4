"""How ops take codes: a few rules for whole kinds of ops, in terms of an op's own array code.

A rule is called with the op, its inputs (payloads and numbers) and its parameters, and returns the payload(s) of the
result. See `core.quantization` for who has which.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import DTypeError
from workbench.base.quantized_array import PackedArray, QuantizedArray
from workbench.core.code_tables import LEAST, by_table

__all__ = ["compared", "computed", "fixed", "joined", "moved", "picked", "placed", "seen", "written"]


def moved(op: Any, q: QuantizedArray, *others: Any, **params: Any) -> Any:
    """Return the codes moved as values are; a view of them where the op returns one."""
    own = q.codes
    codes = np.asarray(op.forward(own, *others, **params))
    found = q.with_codes(codes) if q.axis is None else _moved_channels(op, q, codes, others, params)
    return q.seen_as(own, codes, found) if isinstance(q, PackedArray) else found


def _moved_channels(op: Any, q: QuantizedArray, codes: Any, others: Any, params: Any) -> QuantizedArray:
    """Return moved codes with the scales that went along, where each entry of a dim still has one."""
    if q.axis is None or q.group is not None:
        raise q.no_moves()
    # The channel of each value, moved as the values are: it says whose scale is whose.
    channels = np.broadcast_to(q.along_axis(np.arange(q.shape[q.axis])), q.shape)
    moved = op.forward(channels, *others, **params)
    found = _axis_of(moved, kept=moved.ndim >= q.ndim)
    if found is None:
        raise q.no_moves()
    axis, rows = found
    if axis is None and q.zero_point.dtype.kind == "i":
        return QuantizedArray(codes, q.scale[rows], q.zero_point[rows], q.dtype)
    if axis is None:
        raise q.no_moves()
    return QuantizedArray(codes, q.scale[rows], q.zero_point[rows], q.dtype, axis)


def _axis_of(channels: Any, kept: bool) -> tuple[int | None, Any] | None:
    """Return the dim along which channels change, and their order there; no dim where all values are of one.

    `kept` says that the dim of the channels may be one of one entry.
    """
    if not channels.size:
        return None
    if np.all(channels == channels.flat[0]):
        # Of one channel: along a dim of one entry where there is one, else for all values.
        one = [axis for axis, size in enumerate(channels.shape) if size == 1]
        return (one[0], channels.reshape(-1)[:1]) if one and kept else (None, int(channels.flat[0]))
    for axis in range(channels.ndim):
        others = tuple(i for i in range(channels.ndim) if i != axis)
        rows = channels[tuple(slice(None) if i == axis else 0 for i in range(channels.ndim))]
        if np.all(channels == np.expand_dims(rows, others)):
            return axis, rows
    return None


def seen(op: Any, q: QuantizedArray, **params: Any) -> QuantizedArray:
    """Return the codes as they are."""
    return q


def placed(op: Any, q: QuantizedArray, *others: Any, **params: Any) -> Any:
    """Return the codes moved among zeros, for which the zero point stands."""
    if q.axis is not None:
        raise q.no_moves()
    # Less the zero point, so that zero is zero to the op.
    numbers = op.forward(q.codes.astype(np.int64) - q.zero_point, *others, **params)
    return q.with_codes((numbers + q.zero_point).astype(q.codes.dtype))


def picked(op: Any, q: QuantizedArray, *others: Any, **params: Any) -> Any:
    """Return chosen codes, and what else the op returns: places, as they are."""
    if q.axis is not None:
        raise q.no_moves()
    out = op.forward(q.codes, *others, **params)
    if op.outputs == 1:
        return q.with_codes(np.asarray(out))
    return q.with_codes(out[0]), *out[1:]


def plain(value: Any) -> Any:
    """Return the numbers that codes stand for; anything else is plain already."""
    return value.dequantize() if isinstance(value, QuantizedArray) else value


def compared(op: Any, *inputs: Any, **params: Any) -> Any:
    """Return what the op says of the numbers that codes stand for."""
    with np.errstate(all="ignore"):
        return op.forward(*map(plain, inputs), **params)


def _is_tabled(op: Any, q: QuantizedArray, others: tuple[Any, ...]) -> bool:
    """Say whether all results there are fit a table that is smaller than the values."""
    return (
        "elementwise" in op.properties
        and not others
        and op.outputs == 1
        and q.size >= LEAST
        and q.per_tensor
        and q.dtype.bits == 8
    )


def computed(op: Any, q: QuantizedArray, *others: Any, **params: Any) -> Any:
    """Return what the op makes of the numbers, rounded to the codes of the first input."""
    if _is_tabled(op, q, others):
        return by_table(op, q, params, q.scale, q.zero_point)
    out = compared(op, q, *others, **params)
    if op.outputs == 1:
        return q.rounded(np.asarray(out))
    return q.rounded(out[0]), *out[1:]


def fixed(op: Any, q: QuantizedArray, *others: Any, **params: Any) -> Any:
    """Return what the op makes of the numbers, rounded to codes that the op says."""
    scale, zero_point = op.quantized.fixed(q.dtype)
    if _is_tabled(op, q, others):
        return by_table(op, q, params, scale, zero_point)
    out = compared(op, q, *others, **params)
    return QuantizedArray.quantized(np.asarray(out), scale, zero_point, q.dtype)


def joined(op: Any, *inputs: Any, **params: Any) -> Any:
    """Return values side by side, in the codes of the first that has some."""
    first = next(one for one in inputs if isinstance(one, QuantizedArray))
    codes = [
        _codes_like(op, first, one) if op.quantized.role(i) == "value" else one
        for i, one in enumerate(inputs)
    ]
    out = np.asarray(op.forward(*codes, **params))
    # Elementwise, and nothing was stretched: each value stands where it stood.
    alike = all(not isinstance(one, QuantizedArray) or one.shape == out.shape for one in inputs)
    return first.with_codes(out, same_places=alike and "elementwise" in op.properties)


_BETWEEN_LAYERS = {
    "add": "add(x, y)",
    "mul": "mul(x, y)",
    "matmul": "matmul(x, y)",
    "cat": "cat((x, y), dim)",
}
"""What a `FloatFunctional` computes on codes, with the scale that calibration finds."""


def by_function_module(name: str) -> str:
    """Say how a model that is prepared by layers has an op between them on codes; nothing where no module has it."""
    if name not in _BETWEEN_LAYERS:
        return ""
    return (
        " In a model that is prepared, self.f = wb.ao.nn.quantized.FloatFunctional() and "
        f"self.f.{_BETWEEN_LAYERS[name]} do it, also with a parameter in floating point; prepare_fx takes the model as "
        "it is."
    )


def _codes_like(op: Any, first: QuantizedArray, value: Any) -> Any:
    if not isinstance(value, QuantizedArray):
        if isinstance(value, np.ndarray) and value.ndim:
            raise DTypeError(
                f"{op.name} of codes and plain numbers, {value.dtype}: quantize all inputs, or call .dequantize()."
                f"{by_function_module(op.name)}"
            )
        # Among values that have scales of their own a number is another code at each.
        apart = not first.per_tensor and "elementwise" in op.properties
        return first.rounded(np.broadcast_to(value, first.shape) if apart else value).codes
    if value.same_map(first):
        return value.codes
    if value.dtype is first.dtype and value.dtype.bits == 8 and value.per_tensor and value.size >= LEAST:
        return by_table(None, value, {}, first.scale, first.zero_point).codes
    # The zero point of another is another code.
    return first.rounded(value.dequantize()).codes


def written(op: Any, q: Any, value: Any, *others: Any, **params: Any) -> Any:
    """Return codes with those of another value at some places, rounded to the codes that are there."""
    if not isinstance(q, QuantizedArray):
        raise DTypeError(
            f"{op.name}: Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize "
            "to get a float Tensor from a quantized Tensor"
        )
    if q.axis is None:
        number = plain(value)
        codes = value.codes if number is not value and value.same_map(q) else q.rounded(number).codes
        return q.with_codes(op.forward(q.codes, codes, *others, **params))
    # Each place has its scale: what is written is rounded where it stands.
    numbers = op.forward(q.dequantize(), plain(value), *others, **params)
    return q.rounded(numbers)
