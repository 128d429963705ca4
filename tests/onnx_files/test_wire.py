"""The bytes of messages: what is written is read, what is damaged is told, what is too much is refused."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import workbench as wb
from workbench.onnx import wire
from workbench.onnx.messages import KINDS, Message
from workbench.onnx.wire import chunks, parsed


def written(message):
    return b"".join(chunks(message))


def same(one, other):
    """Say whether two messages, rows or values are equal."""
    if isinstance(one, Message):
        names = {name for name in (*one.__dict__, *other.__dict__) if name != "kind"}
        return one.kind is other.kind and all(
            same(getattr(one, name), getattr(other, name)) for name in names
        )
    if isinstance(one, list | np.ndarray):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (math.isnan(one) and math.isnan(other))


def drawn(draw, kind, depth=0):
    """Return a message with fields that are drawn."""
    values = {
        "int": lambda: draw.choice((0, 1, -1, 127, 128, 300, 1 << 40, (1 << 63) - 1, -(1 << 63))),
        "float": lambda: float(np.float32(draw.gauss(0, 1))),
        "double": lambda: draw.gauss(0, 1),
        "text": lambda: draw.choice(("", "x", "größe", "a" * 200)),
        "bytes": lambda: draw.randbytes(draw.choice((0, 1, 127, 128, 2000))),
    }
    made = Message(kind)
    for field in KINDS[kind].named.values():
        if draw.random() < 0.4 or (not field.scalar and depth > 3):
            continue
        make = values.get(field.kind, lambda field=field: drawn(draw, field.kind, depth + 1))
        setattr(made, field.name, [make() for _ in range(draw.randrange(4))] if field.many else make())
    return made


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_is_written_is_read(kind):
    draw = random.Random(kind)
    for _ in range(20):
        message = drawn(draw, kind)
        assert same(parsed(written(message), kind), message)


def test_long_values_are_not_copied():
    values = np.arange(10_000, dtype=np.float32)
    pieces = chunks(Message("Tensor", raw_data=values))
    assert any(one is values for one in pieces)
    data = b"".join(pieces)
    assert np.shares_memory(np.frombuffer(parsed(data, "Tensor").raw_data), np.frombuffer(data, np.uint8))


def test_rows_are_read_packed_and_one_by_one():
    one_by_one = b"\x08\x02\x08\x83\x01"
    assert parsed(one_by_one, "Tensor").dims == [2, 131]
    assert parsed(b"\x0a\x03\x02\x83\x01", "Tensor").dims == [2, 131]
    both = written(Message("Tensor", float_data=[1.0, 2.0])) + b"\x25\x00\x00\x40\x40"
    assert list(parsed(both, "Tensor").float_data) == [1, 2, 3]


def test_of_two_that_exclude_each_other_the_last_holds():
    size = parsed(b"\x08\x05\x12\x01N", "Dimension")
    assert (size.WhichOneof(), size.dim_param, size.HasField("dim_value")) == ("dim_param", "N", False)


def test_what_is_not_known_is_passed_over():
    assert parsed(b"\xa0\x1f\x05\xaa\x1f\x02hi\x08\x07", "OperatorSet").HasField("version") is False
    assert parsed(b"\xa0\x1f\x05\x10\x07", "OperatorSet").version == 7


def test_a_field_that_is_not_there_is_told():
    with pytest.raises(AttributeError, match="Node has no field 'opset'"):
        Message("Node", opset=3)
    with pytest.raises(AttributeError, match="Node has no field 'dims'"):
        getattr(Message("Node"), "dims")  # noqa: B009


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x0a\x05x", "byte 2 is said to begin 5 bytes, and 1 are left"),
        (b"\x0a\x02\xff\xfe", "the op_type|the input of a Node, is no text"),
        (b"\x02\x01", "begins a field without a number"),
        (b"\x0b", "begins something that is no field"),
        (b"\xff" * 12, "has no end"),
        (b"\x0d\x01", "begins something that is no field"),
    ],
)
def test_damaged_bytes_are_refused(data, words):
    with pytest.raises(wb.onnx.OnnxError, match=words):
        parsed(data, "Node")


@pytest.mark.parametrize("row", [b"\x80", b"\x80" * 12 + b"\x01"])
def test_a_row_without_an_end_is_refused(row):
    with pytest.raises(wb.onnx.OnnxError, match="no end"):
        parsed(b"\x0a" + bytes([len(row)]) + row, "Tensor")


def test_messages_deep_in_messages_are_refused():
    data = b""
    for _ in range(300):
        # A type of items, which are of a type of items …
        data = written(Message("Type")) + b"\x22" + wire._varint(len(data)) + data
        data = b"\x0a" + wire._varint(len(data)) + data
    with pytest.raises(wb.onnx.OnnxError, match="more than 100 deep"):
        parsed(data, "ItemType")


def test_a_billion_nodes_are_refused_before_they_take_memory(monkeypatch):
    monkeypatch.setattr(wire, "MOST_PARTS", 1000)
    with pytest.raises(wb.onnx.OnnxError, match="more than 1000 messages and words"):
        wb.onnx.load(written(Message("Model", graph=Message("Graph", node=[Message("Node")] * 2000))))
