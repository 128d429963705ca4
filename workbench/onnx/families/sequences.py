"""Sequences, which are tuples here, and optional values, which are None or what they hold."""

from __future__ import annotations

from typing import Any

from workbench.onnx.errors import OnnxError
from workbench.onnx.table import operator
from workbench.onnx.values import Integers, as_tensor, numbers_in, wb

__all__: list[str] = []


def _place(value: Any, count: int, beyond: int = 0) -> int:
    found = numbers_in(value)
    place = int(found[0] if isinstance(found, list) else found)
    if not -count <= place < count + beyond:
        raise OnnxError(f"the sequence has {count} items, and none at {place}")
    return place + count if place < 0 else place


def _items(sequence: Any) -> tuple[Any, ...]:
    if not isinstance(sequence, tuple | list):
        raise OnnxError(f"a sequence is needed, and this is a {type(sequence).__name__}")
    return tuple(sequence)


@operator("SequenceConstruct", since=11, raw=True)
def _construct(*items: Any) -> Any:
    return tuple(map(as_tensor, items))


@operator("SequenceEmpty", since=11, raw=True)
def _empty(*, dtype: int = 1) -> Any:
    return ()


@operator("SequenceAt", since=11, raw=True)
def _at(sequence: Any, place: Any) -> Any:
    items = _items(sequence)
    return items[_place(place, len(items))]


@operator("SequenceLength", since=11, raw=True)
def _length(sequence: Any) -> Any:
    return Integers(len(_items(sequence)))


@operator("SequenceInsert", since=11, raw=True)
def _insert(sequence: Any, item: Any, place: Any = None) -> Any:
    items = _items(sequence)
    at = len(items) if place is None else _place(place, len(items), 1)
    return (*items[:at], as_tensor(item), *items[at:])


@operator("SequenceErase", since=11, raw=True)
def _erase(sequence: Any, place: Any = None) -> Any:
    items = _items(sequence)
    at = len(items) - 1 if place is None else _place(place, len(items))
    return items[:at] + items[at + 1 :]


@operator("ConcatFromSequence", since=11, raw=True)
def _concat(sequence: Any, *, axis: int, new_axis: int = 0) -> Any:
    items = _items(sequence)
    return wb.stack(items, dim=axis) if new_axis else wb.cat(items, dim=axis)


@operator("SplitToSequence", since=11, raw=True)
def _split(x: Any, sizes: Any = None, *, axis: int = 0, keepdims: int = 1) -> Any:
    x = as_tensor(x)
    if sizes is None:
        parts = wb.split(x, 1, dim=axis)
        return tuple(parts if keepdims else (one.squeeze(axis) for one in parts))
    lengths = numbers_in(sizes)
    return tuple(wb.split(x, lengths, dim=axis))


@operator("Optional", since=15, raw=True)
def _optional(value: Any = None, *, type: str = "") -> Any:
    return value


@operator("OptionalHasElement", since=15, raw=True)
def _has(value: Any = None) -> Any:
    return wb.tensor(value is not None)


@operator("OptionalGetElement", since=15, raw=True)
def _get(value: Any) -> Any:
    if value is None:
        raise OnnxError("an optional value is taken, and it holds nothing")
    return value
