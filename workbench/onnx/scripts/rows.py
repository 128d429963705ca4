"""Lists of a script: lists while it is known what they hold, sequences of the file where only a run knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.base.dtypes import int64
from workbench.base.symbolic_size import SymbolicNumber
from workbench.graph import Value
from workbench.onnx.errors import OnnxError
from workbench.onnx.scripts.room import Kind, Room
from workbench.onnx.values import type_code
from workbench.tensor import Tensor

__all__ = ["Items", "Row", "called", "row_of"]


@dataclass(frozen=True)
class Row:
    """A sequence of the file: its value, and what is known of each item; None while it has none."""

    value: Value | None
    kind: Kind | None


class Items(list[Any]):
    """A list of a script. Where `row` is there, it says what the list is, and the list itself is empty."""

    row: Row | None = None

    def become(self, row: Row) -> None:
        """Be a sequence from now on."""
        self.clear()
        self.row = row


def item_tensor(room: Room, one: Any) -> Any:
    """Return an item as a sequence holds it: a tensor."""
    if isinstance(one, Tensor | bool | int | float | SymbolicNumber):
        return one if isinstance(one, Tensor) else room.number(one)
    raise OnnxError(f"a sequence of the format holds tensors, and this list has a {type(one).__name__}")


def kind_of_items(room: Room, items: Items) -> Kind | None:
    """Return what all items of a list are; None where there are none."""
    if items.row is not None:
        return None if items.row.kind is None else room.seen(items.row.kind)
    kind: Kind | None = None
    for one in items:
        own = room.kind(item_tensor(room, one))
        kind = own if kind is None else kind.joined(own, "an item of a list")
    return kind


def row_of(room: Room, items: Items, kind: Kind | None) -> Row:
    """Return a list as a sequence of the file, of items of a kind."""
    if items.row is not None and items.row.value is not None:
        return items.row
    if items:
        tensors = [item_tensor(room, one) for one in items]
        own = kind_of_items(room, items)
        return Row(room.call("onnx.SequenceConstruct", tensors, None), own)
    if kind is None:
        return Row(None, None)
    return Row(room.call("onnx.SequenceEmpty", [], None, dtype=type_code(kind.dtype)), kind)


def called(room: Room, name: str, items: Items, inputs: list[Any], params: dict[str, Any]) -> Any:
    """Return what a function gives of a sequence, and let the list be what it has become."""
    row = items.row
    assert row is not None
    word = name.rpartition(".")[2]
    match name:
        case "builtins.len":
            if row.value is None:
                return 0
            return room.call("onnx.SequenceLength", [row.value], Kind(int64, (), (), ()))
        case "operator.getitem" if not isinstance(inputs[1], slice):
            return _item(room, row, inputs[1])
        case "list.append":
            _insert(room, items, inputs[1], None)
            return None
        case "list.insert":
            _insert(room, items, inputs[2], inputs[1])
            return None
        case "list.pop":
            place = inputs[1] if len(inputs) > 1 else -1
            found = _item(room, row, place)
            items.row = Row(
                room.call("onnx.SequenceErase", [row.value, room.number(place, int64)], None), row.kind
            )
            return found
        case "list.clear":
            items.row = row_of(room, Items(), row.kind)
            return None
        case "list.copy" | "builtins.list":
            made = Items()
            made.row = row
            return made
        case "list.extend" | "operator.iadd" | "operator.add":
            return _longer(room, name, items, inputs[1])
        case "operator.setitem":
            place = room.number(inputs[1], int64)
            without = room.call("onnx.SequenceErase", [row.value, place], None)
            items.row = Row(without, row.kind)
            _insert(room, items, inputs[2], inputs[1])
            return None
        case "operator.delitem":
            items.row = Row(
                room.call("onnx.SequenceErase", [row.value, room.number(inputs[1], int64)], None), row.kind
            )
            return None
    if (
        word in ("stack", "cat", "concat", "hstack", "vstack")
        and row.value is not None
        and row.kind is not None
    ):
        return _joined(room, row, word, inputs, params)
    raise OnnxError(
        f"{name} of a list that only a run knows has no form in the format: it may be indexed, appended to, popped, "
        "asked for its length, stacked and joined"
    )


def _item(room: Room, row: Row, place: Any) -> Any:
    if row.value is None or row.kind is None:
        raise OnnxError(
            "an item of a list is read, and nothing says what it holds: let it have one from the start"
        )
    return room.call("onnx.SequenceAt", [row.value, room.number(place, int64)], row.kind)


def _insert(room: Room, items: Items, one: Any, place: Any) -> None:
    row = items.row
    assert row is not None
    tensor = item_tensor(room, one)
    own = room.kind(tensor)
    kind = own if row.kind is None else row.kind.joined(own, "an item of a list")
    before = row.value
    if before is None:
        before = room.call("onnx.SequenceEmpty", [], None, dtype=type_code(own.dtype))
    where = [] if place is None else [room.number(place, int64)]
    items.row = Row(room.call("onnx.SequenceInsert", [before, tensor, *where], None), kind)


def _longer(room: Room, name: str, items: Items, more: Any) -> Any:
    if (isinstance(more, Items) and more.row is not None) or not isinstance(more, list | tuple):
        raise OnnxError("two lists that only a run knows are joined: append the items of one in a loop")
    target = items
    if name == "operator.add":
        target = Items()
        target.row = items.row
    for one in more:
        _insert(room, target, one, None)
    return None if name == "list.extend" else target


def _joined(room: Room, row: Row, word: str, inputs: list[Any], params: dict[str, Any]) -> Any:
    assert row.kind is not None
    stacked = word == "stack" or (word in ("hstack", "vstack") and not row.kind.sizes)
    dim = params.get("dim", inputs[1] if len(inputs) > 1 else 0)
    if word in ("hstack", "vstack") or type(dim) is not int:
        raise OnnxError(f"{word} of a list that only a run knows has no form: write stack or cat along a dim")
    rank = len(row.kind.sizes) + stacked
    if not -rank <= dim < rank:
        raise IndexError(f"dim {dim} is none of {rank}")
    dim %= rank
    sizes, names, hints = list(row.kind.sizes), list(row.kind.names), list(row.kind.hints)
    if stacked:
        names.insert(dim, None)
        hints.insert(dim, 2)
        sizes.insert(dim, None)
    # How many there are only a run knows.
    sizes[dim] = None
    made = Kind(row.kind.dtype, tuple(sizes), tuple(names), tuple(hints))
    return room.call("onnx.ConcatFromSequence", [row.value], made, axis=dim, new_axis=int(stacked))
