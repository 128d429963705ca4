"""Scalars out of many events at once.

An event is a message of protocol buffers of which, from one to the next of a tag, only time, step and number differ, at
the same bytes. So one event is taken apart, and all others that have its other bytes are read at the places found
there; what nobody has told to be a scalar is left to whoever reads message by message.

Source: the wire format of protocol buffers; ``event.proto``, ``summary.proto`` and ``tensor.proto`` of TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Scalars", "scalars"]

Array = np.ndarray[Any, Any]

FEWEST = 4
"""Events alike below which they are left to be read one by one."""
LONGEST = 400
"""Bytes of the longest event that is looked at: scalars are short."""
TRIES = 64
"""How many kinds of events of one length are looked for."""


class Scalars(NamedTuple):
    """Numbers of one tag."""

    tag: str
    records: Array
    """int64 [values]: the numbers of their records."""
    times: Array
    steps: Array
    values: Array


@dataclass(frozen=True)
class Layout:
    """Where in an event what differs lies, each as first byte and byte behind the last."""

    time: tuple[int, int]
    step: tuple[int, int]
    tag: tuple[int, int]
    value: tuple[int, int]

    def fixed(self, size: int) -> Array:
        """Return the places of the bytes that are the same in all events of this layout."""
        same = np.ones(size, bool)
        for begin, end in (self.time, self.step, self.tag, self.value):
            same[begin:end] = False
        return np.flatnonzero(same)


def scalars(data: Array, starts: Array, sizes: Array) -> tuple[list[Scalars], Array]:
    """Return the scalars among the events of `data`, and the numbers of the records that hold something else."""
    found: list[Scalars] = []
    left: list[Array] = []
    order = np.argsort(sizes, kind="stable")
    ends = np.flatnonzero(np.diff(sizes[order], append=-1)) + 1
    begin = 0
    for end in ends.tolist():
        group = order[begin:end]
        begin = end
        size = int(sizes[group[0]])
        if len(group) < FEWEST or size > LONGEST:
            left.append(group)
            continue
        left.append(_of_one_size(data, starts, group, size, found))
    rest = np.sort(np.concatenate(left)) if left else np.zeros(0, np.int64)
    return found, rest


def _of_one_size(data: Array, starts: Array, group: Array, size: int, found: list[Scalars]) -> Array:
    """Read the scalars of a group of records of one size, and return the records that are none."""
    rows = data[starts[group][:, None] + np.arange(size)]
    left: list[Array] = []
    for _ in range(TRIES):
        if len(group) == 0:
            break
        layout = _layout(rows[0].tobytes())
        if layout is None:
            # It and those that begin as it does are something else.
            alike = (rows == rows[0]).all(1) if size <= 16 else rows[:, -1] == rows[0, -1]
            alike &= _same(rows, np.arange(min(size, 10), min(size, 40)))
            alike[0] = True
            left.append(group[alike])
        else:
            alike = _same(rows, layout.fixed(size))
            if layout.step[1] - layout.step[0] > 1:
                # A varint's bytes but the last have the highest bit.
                tops = rows[:, layout.step[0] : layout.step[1]] >> 7
                alike &= tops[:, :-1].all(1) & (tops[:, -1] == 0)
            else:
                alike &= rows[:, layout.step[0] : layout.step[1]].max(1, initial=0) < 128
            found += _read(rows[alike], group[alike], layout)
        rows, group = rows[~alike], group[~alike]
    left.append(group)
    return np.concatenate(left)


def _same(rows: Array, places: Array) -> Array:
    """Say of each row whether it has the bytes of the first at these places."""
    same = np.ones(len(rows), bool)
    for place in places:
        same &= rows[:, place] == rows[0, place]
    return same


def _read(rows: Array, records: Array, layout: Layout) -> Iterator[Scalars]:
    times = _numbers(rows, layout.time, "<f8", 0.0)
    steps = np.zeros(len(rows), np.uint64)
    for i, place in enumerate(range(*layout.step)):
        steps |= (rows[:, place].astype(np.uint64) & np.uint64(127)) << np.uint64(7 * i)
    begin, end = layout.value
    values = _numbers(rows, layout.value, "<f4" if end - begin == 4 else "<f8", 0.0).astype(np.float64)
    for tag, own in _tags(rows[:, slice(*layout.tag)]):
        yield Scalars(tag, records[own], times[own], steps[own].view(np.int64), values[own])


def _numbers(rows: Array, place: tuple[int, int], kind: str, absent: float) -> Array:
    begin, end = place
    if begin == end:
        return np.full(len(rows), absent)
    return np.ascontiguousarray(rows[:, begin:end]).view(kind)[:, 0]


def _tags(names: Array) -> Iterator[tuple[str, Array]]:
    """Yield each tag with the numbers of the rows that have it, in their order."""
    mixed = np.zeros(len(names), np.uint64)
    for column in names.T:
        # Fowler, Noll and Vo's hash, of all rows at once.
        mixed = (mixed ^ column) * np.uint64(0x100000001B3)
    rest = np.arange(len(names))
    _, first, which = np.unique(mixed, return_index=True, return_inverse=True)
    order = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(len(first) + 1))
    for number in range(len(first)):
        rest = order[bounds[number] : bounds[number + 1]]
        while len(rest):
            # Two tags may have one hash.
            equal = (names[rest] == names[rest[0]]).all(1)
            yield names[rest[0]].tobytes().decode("utf-8", "replace"), rest[equal]
            rest = rest[~equal]


# ------------------------------------------------------------------------------- one event taken apart


class _Field(NamedTuple):
    number: int
    kind: int
    begin: int
    end: int


def _fields(data: bytes, begin: int, end: int) -> list[_Field]:
    """Return the fields of a message; raises ValueError where it is none."""
    found = []
    at = begin
    while at < end:
        key, at = _varint(data, at, end)
        number, kind = key >> 3, key & 7
        if kind == 0:
            behind = _varint(data, at, end)[1]
        elif kind == 1:
            behind = at + 8
        elif kind == 5:
            behind = at + 4
        elif kind == 2:
            length, at = _varint(data, at, end)
            behind = at + length
        else:
            raise ValueError("groups are not written any more")
        if behind > end:
            raise ValueError("a field ends behind its message")
        found.append(_Field(number, kind, at, behind))
        at = behind
    return found


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("a number does not end")


_TIME, _STEP, _SUMMARY = (1, 1), (2, 0), (5, 2)
_VALUE = (1, 2)
_TAG, _SIMPLE, _TENSOR, _METADATA = (1, 2), (2, 5), (8, 2), (9, 2)


def _layout(data: bytes) -> Layout | None:
    """Return where the parts of an event lie; None where it is not one that holds one scalar and nothing else."""
    try:
        event = {(one.number, one.kind): one for one in _alone(_fields(data, 0, len(data)))}
        summary = event[_SUMMARY]
        if not event.keys() <= {_TIME, _STEP, _SUMMARY}:
            return None
        (value,) = _fields(data, summary.begin, summary.end)
        if (value.number, value.kind) != _VALUE:
            return None
        parts = {(one.number, one.kind): one for one in _alone(_fields(data, value.begin, value.end))}
        if not parts.keys() <= {_TAG, _SIMPLE, _TENSOR, _METADATA} or _METADATA in parts:
            # What a value is for is said once, at its first: that event is read by itself.
            return None
        number = _span(parts[_SIMPLE]) if _SIMPLE in parts else _number_of_tensor(data, parts[_TENSOR])
        if number is None:
            return None
        return Layout(_span(event.get(_TIME)), _span(event.get(_STEP)), _span(parts[_TAG]), number)
    except (ValueError, KeyError):
        return None


def _alone(fields: list[_Field]) -> list[_Field]:
    if len({one.number for one in fields}) != len(fields):
        raise ValueError("a field is there twice")
    return fields


def _span(field: _Field | None) -> tuple[int, int]:
    return (0, 0) if field is None else (field.begin, field.end)


_FLOAT, _DOUBLE = 1, 2


def _number_of_tensor(data: bytes, tensor: _Field) -> tuple[int, int] | None:
    """Return where the one number of a tensor of floats lies."""
    parts = {one.number: one for one in _alone(_fields(data, tensor.begin, tensor.end))}
    kind = _varint(data, parts[1].begin, parts[1].end)[0]
    width = {_FLOAT: 4, _DOUBLE: 8}.get(kind)
    # The shape of a scalar is an empty message; the number is bytes, or a list of one.
    if (
        width is None
        or not parts.keys() <= {1, 2, 4, 5, 6}
        or (2 in parts and parts[2].begin != parts[2].end)
    ):
        return None
    numbers = [one for number, one in parts.items() if number in (4, 5, 6)]
    if len(numbers) != 1 or numbers[0].end - numbers[0].begin != width:
        return None
    return _span(numbers[0])
