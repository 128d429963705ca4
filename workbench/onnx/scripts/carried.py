"""What goes into and comes out of blocks: tuples and dicts leaf by leaf, and what is known of each leaf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.base.dtypes import DType, bool_, float64, int64
from workbench.base.symbolic_size import SymbolicNumber
from workbench.core.value import new
from workbench.graph import Value
from workbench.graph.types import BOOL, FLOAT, INT
from workbench.onnx.errors import OnnxError
from workbench.onnx.scripts.room import Kind, Room, number_type
from workbench.onnx.scripts.rows import Items, Row, kind_of_items, row_of
from workbench.tensor import Tensor

__all__ = [
    "NUMBERS", "RowKind", "as_value", "copied", "flat", "given", "is_number", "joined", "kind_of", "put_together",
    "result_of",
]  # fmt: skip

NUMBERS: dict[Any, DType] = {INT: int64, FLOAT: float64, BOOL: bool_}
"""What numbers of a script are in a file: tensors without dims."""


@dataclass(frozen=True)
class RowKind:
    """What is known of a sequence: of its items, where it has had some."""

    items: Kind | None


def is_number(value: Any) -> bool:
    """Say whether a value is a number that is known, or a size."""
    return isinstance(value, bool | int | float | SymbolicNumber)


def flat(value: Any, leaves: list[Any]) -> Any:
    """Put what a value is made of into `leaves`, and return how it is put together."""
    if isinstance(value, tuple):
        return tuple(flat(one, leaves) for one in value)
    if isinstance(value, dict):
        return {key: flat(one, leaves) for key, one in value.items()}
    leaves.append(value)
    return None


def put_together(shape: Any, leaves: Iterator[Any]) -> Any:
    """Return what has this shape, of leaves in their order."""
    if isinstance(shape, tuple):
        return tuple(put_together(one, leaves) for one in shape)
    if isinstance(shape, dict):
        return {key: put_together(one, leaves) for key, one in shape.items()}
    return next(leaves)


def copied(value: Any) -> Any:
    """Return a value as it is now: a list or a tensor may change."""
    if isinstance(value, Items):
        made = Items(value)
        made.row = value.row
        return made
    return new(value.payload, value._names) if isinstance(value, Tensor) else value


def kind_of(room: Room, value: Any, static: Any = None) -> Any:
    """Return what is known of a leaf; `static` is the type that the script has for it.

    Raises `OnnxError` for what is no tensor, number or list.
    """
    if static in NUMBERS and (is_number(value) or isinstance(value, Tensor)):
        return Kind(NUMBERS[static], (), (), ())
    if isinstance(value, Tensor):
        return room.kind(value)
    if is_number(value):
        whole = isinstance(value, SymbolicNumber)
        return Kind(number_type(value.hint if whole else value), (), (), ())
    if isinstance(value, Items):
        return RowKind(kind_of_items(room, value))
    raise OnnxError(
        f"{value!r} is carried where only a run decides, and a file carries tensors, numbers and lists of "
        "them: give it a tensor from the start"
    )


def joined(room: Room, one: Any, other: Any, what: str) -> Any:
    """Return what both are, as it is known where the graph is written now."""
    if isinstance(one, RowKind) != isinstance(other, RowKind):
        raise OnnxError(f"{what} is a list one way and a tensor another")
    if isinstance(one, RowKind):
        kinds = [room.seen(each.items) for each in (one, other) if each.items is not None]
        if len(kinds) < 2:
            return RowKind(kinds[0] if kinds else None)
        return RowKind(kinds[0].joined(kinds[1], "an item of a list"))
    return room.seen(one).joined(room.seen(other), what)


def as_value(room: Room, value: Any, kind: Any) -> Any:
    """Return a leaf as the graph has it: the value of a tensor, or of a sequence."""
    if isinstance(kind, RowKind):
        found = row_of(room, value, kind.items)
        if found.value is None:
            raise OnnxError("a list is carried where only a run decides, and nothing says what it holds")
        return found.value
    if is_number(value) or not kind.sizes:
        value = room.number(value, kind.dtype)
    return room.operand(value)


def given(room: Room, base: str, kind: Any) -> Any:
    """Return what stands for a leaf that a block is given."""
    return result_of(room.given(base, kind if isinstance(kind, Kind) else None), kind)


def result_of(made: Any, kind: Any) -> Any:
    """Return what stands for what control flow gives: a tensor, or a list that is a sequence."""
    if not isinstance(kind, RowKind):
        return made
    assert isinstance(made, Value)
    found = Items()
    found.row = Row(made, kind.items)
    return found
