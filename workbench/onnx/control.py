"""Control flow of a file: ``If`` is an `if` of the graph, ``Loop``, ``Scan`` and ``SequenceMap`` are loops of it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.base.dtypes import float32, int64
from workbench.graph import Block, Control, Value, called, named
from workbench.graph.types import ANY, INT
from workbench.onnx.errors import OnnxError
from workbench.onnx.holding import identifier
from workbench.onnx.values import wb
from workbench.tensor import Tensor

__all__ = ["WRITERS", "Writing", "plain_tensor"]


@dataclass
class Writing:
    """A node that is being written, and what is around it."""

    builder: Any
    node: Any
    around: Block
    """The block in which it stands."""
    scope: ChainMap[str, Any]
    versions: dict[str, int]
    given: Mapping[str, Any]
    attributes: dict[str, Any]

    def operands(self, least: int, most: int | None = None) -> list[Any]:
        """Return what the node reads; raise `OnnxError` where that is less than it needs, or more than it takes."""
        count = len(self.node.input)
        if count < least or (most is not None and count > most):
            raise OnnxError(f"it takes {least} inputs{'' if most == least else ' or more'}, and has {count}")
        return [self.builder.operand(name, self.scope, False) for name in self.node.input]

    def body(self, name: str) -> Any:
        """Return the graph that is an attribute."""
        found = self.attributes.get(name)
        if found is None or not hasattr(found, "node"):
            raise OnnxError(f"it lacks the block {name!r}")
        return found

    def block(self, name: str, inputs: dict[str, Any]) -> tuple[Block, tuple[Any, ...]]:
        """Return the block that an attribute is, and what it gives."""
        made, outputs = self.builder.block(self.body(name), self.scope, self.versions, self.given, inputs)
        return made, outputs

    def value(self, name: str, kind: Any = ANY) -> Value:
        """Return a new value that a block is given."""
        return Value(self.builder.graph.fresh(identifier(name)), kind)

    def call(
        self, callee: str, *inputs: Any, block: Block | None = None, kind: Any = ANY, **params: Any
    ) -> Value:
        """Write a call in front of the node, or at the end of `block`."""
        place = self.around if block is None else block
        made = self.builder.graph.insert(named(callee), *inputs, types=(kind,), block=place, **params)
        made.source = f"node {self.node.name or self.node.op_type}"
        value: Value = made.outputs[0]
        return value

    def loop(self, most: Any, condition: Any, body: Block, carried: list[Any]) -> tuple[Value, ...]:
        """Write the loop, and return what is carried at its end."""
        types = (ANY,) * len(carried)
        made = self.builder.graph.insert(
            Control.LOOP, most, condition, *carried, types=types, block=self.around, blocks=(body,)
        )
        return tuple(made.outputs)

    def element(self, proto: Any) -> tuple[int, list[int]]:
        """Return the code of the type and the sizes that the file says of an output: for a row of none."""
        tensor = proto.type.tensor_type
        return tensor.elem_type or 1, [dim.dim_value for dim in tensor.shape.dim]


def plain_tensor(values: Any, floating: bool) -> Tensor:
    """Return a tensor of numbers that stand in an attribute."""
    made: Tensor = wb.tensor(values, dtype=float32 if floating else int64)
    return made


def _if(writing: Writing) -> tuple[Any, ...]:
    (condition,) = writing.operands(1, 1)
    blocks = []
    for name in ("then_branch", "else_branch"):
        block, outputs = writing.block(name, {})
        block.outputs = outputs
        blocks.append(block)
    count = len(blocks[0].outputs)
    if len(blocks[1].outputs) != count or not count:
        raise OnnxError(f"its blocks give {count} and {len(blocks[1].outputs)} values")
    made = writing.builder.graph.insert(
        Control.IF,
        writing.call("onnx.truth", condition),
        types=(ANY,) * count,
        block=writing.around,
        blocks=tuple(blocks),
    )
    writing.builder.label(made.outputs, writing.node)
    return tuple(made.outputs)


def _loop(writing: Writing) -> tuple[Any, ...]:
    most, condition, *states = [*writing.operands(0), None, None][: max(2, len(writing.node.input))]
    proto = writing.body("body")
    if len(proto.input) != len(states) + 2 or len(proto.output) <= len(states):
        raise OnnxError(
            f"it carries {len(states)} values, and its block takes {len(proto.input)} and gives {len(proto.output)}"
        )
    turn, going, *names = [one.name for one in proto.input]
    inputs = [writing.value(turn, INT), *(writing.value(one) for one in names)]
    known = dict(zip([turn, *names], inputs, strict=True))
    # A turn is only begun where the condition holds.
    known[going] = writing.builder.held(wb.tensor(True))
    block, (again, *after) = writing.block("body", known)
    rows = [writing.value(f"{one.name}_rows") for one in proto.output[1 + len(states) :]]
    gathered = [
        writing.call("onnx.gathered", row, one, block=block)
        for row, one in zip(rows, after[len(states) :], strict=True)
    ]
    block.inputs = [*inputs, *rows]
    block.outputs = (
        writing.call("onnx.truth", again, block=block), *after[: len(states)], *gathered
    )  # fmt: skip
    limit = None if most is None else writing.call("onnx.count", most, kind=INT)
    start = True if condition is None else writing.call("onnx.truth", condition)
    ends = writing.loop(limit, start, block, [*states, *([()] * len(rows))])
    results = list(ends[: len(states)])
    for end, one in zip(ends[len(states) :], proto.output[1 + len(states) :], strict=True):
        code, sizes = writing.element(one)
        results.append(writing.call("onnx.stacked", end, axis=0, dtype=code, sizes=sizes))
    writing.builder.label(results, writing.node)
    return tuple(results)


def _scan(writing: Writing) -> tuple[Any, ...]:
    if writing.versions.get("", 0) < 9:
        raise OnnxError(
            "Scan of version 8, which has a batch, is not read: convert the file to version 9 or later"
        )
    count = writing.attributes.get("num_scan_inputs", 0)
    operands, proto = writing.operands(1), writing.body("body")
    if not isinstance(count, int):
        raise OnnxError("num_scan_inputs is no number")
    states, rows = operands[: len(operands) - count], operands[len(operands) - count :]
    if count < 1 or count > len(operands) or len(proto.input) != len(operands):
        raise OnnxError(
            f"it goes over {count} of {len(operands)} inputs, and its block takes {len(proto.input)}"
        )
    if len(proto.output) < len(states):
        raise OnnxError(f"it carries {len(states)} values, and its block gives {len(proto.output)}")
    made = len(proto.output) - len(states)
    axes = _each(writing, "scan_input_axes", count)
    back = _each(writing, "scan_input_directions", count)
    axes_out = _each(writing, "scan_output_axes", made)
    back_out = _each(writing, "scan_output_directions", made)
    turn = writing.value("turn", INT)
    names = [one.name for one in proto.input]
    carried = [writing.value(one) for one in names[: len(states)]]
    # Slices are taken in the block, in front of what it does.
    slices = Block()
    taken = [
        writing.call("onnx.slice_of", row, turn, block=slices, axis=axis, reverse=bool(reverse))
        for row, axis, reverse in zip(rows, axes, back, strict=True)
    ]
    block, outputs = writing.block("body", dict(zip(names, [*carried, *taken], strict=True)))
    block.nodes[:0] = slices.nodes
    gathers = [writing.value("rows") for _ in range(made)]
    gathered = [
        writing.call("onnx.gathered", row, one, block=block)
        for row, one in zip(gathers, outputs[len(states) :], strict=True)
    ]
    block.inputs = [turn, *carried, *gathers]
    block.outputs = (True, *outputs[: len(states)], *gathered)
    most = writing.call("onnx.length_of", rows[0], kind=INT, axis=axes[0])
    ends = writing.loop(most, True, block, [*states, *([()] * made)])
    results = list(ends[: len(states)])
    for i, end in enumerate(ends[len(states) :]):
        code, sizes = writing.element(proto.output[len(states) + i])
        results.append(
            writing.call(
                "onnx.stacked", end, axis=axes_out[i], dtype=code, sizes=sizes, reverse=bool(back_out[i])
            )
        )
    writing.builder.label(results, writing.node)
    return tuple(results)


def _each(writing: Writing, name: str, count: int) -> list[int]:
    """Return an attribute with a number for each of `count`: 0 where it is left out."""
    found = writing.attributes.get(name) or [0] * count
    if len(found) != count:
        raise OnnxError(f"its {name} are {len(found)} numbers, for {count} values")
    return list(found)


def _sequence_map(writing: Writing) -> tuple[Any, ...]:
    sequence, *others = writing.operands(1)
    proto = writing.body("body")
    if len(proto.input) != 1 + len(others):
        raise OnnxError(f"its block takes {len(proto.input)} values, and it has {1 + len(others)}")
    turn, places = writing.value("turn", INT), Block()
    known = {}
    for one, operand, info in zip(
        proto.input, [sequence, *others], [None, *writing.node.input[1:]], strict=True
    ):
        # What is a sequence is taken item by item; what is a tensor is the same at each turn.
        several = True if info is None else _is_sequence(writing, operand)
        if several is False:
            known[one.name] = operand
            continue
        word = "onnx.SequenceAt" if several else "onnx.item_or_all"
        known[one.name] = writing.call(word, operand, turn, block=places)
    block, outputs = writing.block("body", known)
    block.nodes[:0] = places.nodes
    rows = [writing.value("rows") for _ in outputs]
    grown = [
        writing.call("onnx.SequenceInsert", row, one, block=block)
        for row, one in zip(rows, outputs, strict=True)
    ]
    block.inputs, block.outputs = [turn, *rows], (True, *grown)
    # As other operators of the format do it: so it can be written again.
    most = writing.call("onnx.count", writing.call("onnx.SequenceLength", sequence), kind=INT)
    empty = [writing.call("onnx.SequenceEmpty", dtype=writing.element(one)[0]) for one in proto.output]
    results = writing.loop(most, True, block, empty)
    writing.builder.label(results, writing.node)
    return results


def _is_sequence(writing: Writing, operand: Any) -> bool | None:
    """Say whether an operand is a sequence, by what makes it; None where only a run knows."""
    if not isinstance(operand, Value):
        return False
    if operand.node is None:
        # A block is given anything; an input of the file that is no tensor is a sequence.
        return (
            operand.type == ANY
            if operand in writing.builder.graph.inputs
            else None
            if operand.type == ANY
            else False
        )
    name = called(operand.node.callee)
    if name.startswith("onnx.Sequence") or name == "onnx.SplitToSequence":
        return name not in ("onnx.SequenceAt", "onnx.SequenceLength")
    return None if operand.node.blocks or name in _HANDED_ON else False


_HANDED_ON = ("onnx.Identity", "onnx.Optional", "onnx.OptionalGetElement", "onnx.unknown")
"""Operators that give what they are given, whatever that is."""


WRITERS: dict[str, Callable[[Writing], tuple[Any, ...]]] = {
    "If": _if, "Loop": _loop, "Scan": _scan, "SequenceMap": _sequence_map,
}  # fmt: skip
"""What writes each operator that has blocks."""
