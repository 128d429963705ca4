"""Messages as bytes and back: protocol buffers, as much of them as the format uses.

A field is a number that says which it is and how it is written, and its value: a whole number in pieces of seven bits,
four or eight bytes, or a length with so many bytes behind it. Long values are not copied: they stay in the
bytes of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from workbench.base.errors import short
from workbench.onnx.errors import OnnxError
from workbench.onnx.messages import KINDS, Field, Message

__all__ = ["MOST_PARTS", "chunks", "parsed"]

MOST_PARTS = 1 << 22
"""Most messages and words of a file: an empty one takes two bytes there and a hundred here."""

_DEEPEST = 100
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_WIRES = {"int": _VARINT, "float": _FOUR, "double": _EIGHT}
_LETTERS = {"float": "<f4", "double": "<f8"}


# ------------------------------------------------------------------------------------------------ reading


def parsed(data: bytes, kind: str = "Model") -> Message:
    """Return the message that bytes are; raise `OnnxError` where they are none, or more than any model has."""
    return _Reader(data).message(Message(kind), 0, len(data), 0)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.view = memoryview(data)
        self.parts = 0

    def count(self) -> None:
        """Note one more message or word."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise OnnxError(
                f"the file has more than {MOST_PARTS} messages and words, and no model has so many"
            )

    def message(self, into: Message, at: int, end: int, depth: int) -> Message:
        """Read fields from a place to another into a message, and return it."""
        if depth > _DEEPEST:
            raise OnnxError(f"messages stand in messages more than {_DEEPEST} deep")
        data, fields = self.data, into.kind.numbered
        while at < end:
            tag = data[at]
            if tag < 0x80:
                at += 1
            else:
                tag, at = self.varint(at, end)
            wire, field = tag & 7, fields.get(tag >> 3)
            if not tag >> 3:
                raise OnnxError(f"byte {at} begins a field without a number")
            if wire == _BYTES:
                length, at = self.varint(at, end)
                if length > end - at:
                    raise OnnxError(f"byte {at} is said to begin {length} bytes, and {end - at} are left")
                if field is not None:
                    self.long(into, field, at, at + length, depth)
                at += length
                continue
            value, at = self.number(wire, at, end)
            if field is not None and _WIRES.get(field.kind) == wire:
                _put(into, field, _as(field.kind, value))
        return into

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """Return a number in pieces of seven bits, and where it ends."""
        found = shift = 0
        while at < end and shift < 70:
            byte = self.data[at]
            at += 1
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found & 0xFFFFFFFFFFFFFFFF, at
            shift += 7
        raise OnnxError(f"the number that ends at byte {at} has no end")

    def number(self, wire: int, at: int, end: int) -> tuple[Any, int]:
        """Return a number as it is written: whole, or so many bytes; and where it ends."""
        if wire == _VARINT:
            return self.varint(at, end)
        width = {_FOUR: 4, _EIGHT: 8}.get(wire)
        if width is None or width > end - at:
            raise OnnxError(f"byte {at} begins something that is no field")
        return self.data[at : at + width], at + width

    def long(self, into: Message, field: Field, at: int, end: int, depth: int) -> None:
        """Read what has a length into a field: a message, a word, bytes, a row of numbers."""
        if field.kind == "bytes":
            self.count()
            _put(into, field, self.view[at:end] if not field.many else bytes(self.view[at:end]))
        elif field.kind == "text":
            self.count()
            try:
                _put(into, field, str(self.view[at:end], "utf-8"))
            except UnicodeDecodeError as error:
                word = short(bytes(self.view[at:end]))
                raise OnnxError(f"{word}, the {field.name} of a {into.kind.name}, is no text") from error
        elif field.scalar:
            if field.many:
                self.row(into, field, at, end)
        else:
            self.count()
            # Written twice, what is there once is one message of both.
            known = into.__dict__.get(field.name) if not field.many else None
            made = self.message(known or Message(field.kind), at, end, depth + 1)
            if known is None:
                _put(into, field, made)

    def row(self, into: Message, field: Field, at: int, end: int) -> None:
        """Read numbers that stand one behind the other: values of a tensor as an array, others as a list."""
        if field.kind == "int":
            found: Any = _whole(self.view[at:end])
        else:
            width = 4 if field.kind == "float" else 8
            if (end - at) % width:
                raise OnnxError(f"{end - at} bytes are no whole number of {field.name}")
            found = np.frombuffer(self.view[at:end], _LETTERS[field.kind])
        if not len(found):
            return
        known = into.__dict__.get(field.name, ())
        # Values of a tensor may be many: as an array they take what they took in the file.
        plain = field.packed and not len(known)
        into.__dict__[field.name] = found if plain else [*known, *found.tolist()]


def _whole(data: memoryview) -> Any:
    """Return the whole numbers that bytes are, in pieces of seven bits, as an array."""
    bytes_ = np.frombuffer(data, np.uint8)
    last = np.flatnonzero(bytes_ < 0x80)
    if not len(bytes_):
        return np.zeros(0, np.int64)
    if not len(last) or last[-1] != len(bytes_) - 1:
        raise OnnxError("the last of a row of numbers has no end")
    first = np.concatenate([[0], last[:-1] + 1])
    if (last - first).max() > 9:
        raise OnnxError("a number in a row of them has no end")
    place = np.arange(len(bytes_)) - np.repeat(first, last - first + 1)
    pieces = (bytes_ & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.bitwise_or.reduceat(pieces, first).view(np.int64)


def _as(kind: str, value: Any) -> Any:
    if kind == "int":
        return value - (1 << 64) if value >> 63 else value
    return struct.unpack("<f" if kind == "float" else "<d", value)[0]


def _put(into: Message, field: Field, value: Any) -> None:
    if not field.many:
        setattr(into, field.name, value)
        return
    row = getattr(into, field.name)
    if isinstance(row, np.ndarray):
        row = into.__dict__[field.name] = row.tolist()
    row.append(value)


# ------------------------------------------------------------------------------------------------ writing


def chunks(message: Message) -> list[Any]:
    """Return the bytes of a message in pieces, in order: long values are pieces of their own, and are not copied.

    >>> b"".join(chunks(Message("Dimension", dim_param="N"))).hex()
    '12014e'
    """
    return _written(message)[1]


def _written(message: Message) -> tuple[int, list[Any]]:
    """Return how many bytes a message has, and its pieces."""
    pieces: list[Any] = []
    total, small = 0, bytearray()

    def flush() -> None:
        nonlocal small
        if small:
            pieces.append(bytes(small))
            small = bytearray()

    for name, value in message.__dict__.items():
        if name == "kind":
            continue
        field = message.kind.named[name]
        if field.packed:
            packed = _packed(field.kind, value)
            if packed:
                small += _varint(field.number << 3 | _BYTES) + _varint(len(packed)) + packed
            continue
        for one in value if field.many else (value,):
            if field.kind == "int":
                small += _varint(field.number << 3 | _VARINT) + _varint(one)
            elif field.kind in ("float", "double"):
                wire = _WIRES[field.kind]
                small += _varint(field.number << 3 | wire) + _packed(field.kind, [one])
            else:
                length, inside = _long(field.kind, one)
                small += _varint(field.number << 3 | _BYTES) + _varint(length)
                if length < 1024 and len(inside) <= 1:
                    small += inside[0] if inside else b""
                else:
                    total += len(small) + length
                    flush()
                    pieces += inside
    total += len(small)
    flush()
    return total, pieces


def _long(kind: str, value: Any) -> tuple[int, list[Any]]:
    if kind in KINDS:
        return _written(value)
    data = value.encode() if isinstance(value, str) else value
    length = memoryview(data).nbytes
    return length, [data] if length else []


def _packed(kind: str, values: Iterable[Any]) -> bytes:
    if kind == "int":
        return b"".join(_varint(int(one)) for one in values)
    return np.asarray(list(values), _LETTERS[kind]).tobytes()


def _varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    if value < 0x80:
        return bytes((value,))
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
