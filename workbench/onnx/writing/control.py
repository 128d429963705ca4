"""Calls of what is no op: control flow, operators of an opened file, and Python's own arithmetic with numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from workbench.base.dtypes import DType, as_dtype, bool_, float64, int64
from workbench.graph import Block, Control, NamedFunction, Value, called
from workbench.graph.blocks import values_in
from workbench.graph.types import ListType, TensorType
from workbench.onnx.errors import OnnxError
from workbench.onnx.messages import Message
from workbench.onnx.table import Version, find, operators
from workbench.onnx.values import type_code
from workbench.onnx.writing.bodies import Body, tensor_message
from workbench.onnx.writing.calls import NUMBERS

__all__ = ["NUMBERS", "written"]


def written(writer: Any, call: Any) -> tuple[str, ...]:
    """Write a call of what is no op, and return the names of its results."""
    callee = call.node.callee
    if callee is Control.IF:
        return _if(writer, call)
    if callee is Control.LOOP:
        return _loop(writer, call)
    if isinstance(callee, NamedFunction):
        if callee.name.startswith("onnx."):
            return _operator(call, callee.name)
        return (_arithmetic(call, callee.name),)
    raise OnnxError(f"{called(callee)} was kept whole: trace the module, so that the graph has what it does")


# ----------------------------------------------------------------------------------------------- control flow


def _graph(body: Body, outputs: Any, name: str, inputs: list[Message]) -> Message:
    """Return the graph that a block is: each output is made in it, and has a name of its own."""
    made = {one for node in body.nodes for one in node.output}
    names: list[str] = []
    for one in outputs:
        known = _operand(body, one)
        if known is None or known not in made or known in names:
            if isinstance(one, Value) and isinstance(one.type, ListType) and body.shared.opset < 14:
                raise OnnxError("a block hands a sequence on, which it can from version 14 on: pass opset=14")
            known_here = body.shared.fresh(f"{name}/output")
            body.add("Identity", [known], [known_here], name=f"{name}/Identity")
            known = known_here
        names.append(known)
    return Message(
        "Graph", node=body.nodes, name=name, input=inputs,
        output=[Message("ValueInfo", name=one) for one in names],
    )  # fmt: skip


def _if(writer: Any, call: Any) -> tuple[str, ...]:
    branches = {}
    for name, block in zip(("then_branch", "else_branch"), call.node.blocks, strict=True):
        body = Body(call.shared, call.body)
        writer.block(block, body)
        branches[name] = _graph(body, block.outputs, f"{call.node.name}/{name}", [])
    condition = _operand(call.body, call.inputs[0])
    return _several(call("If", condition, outputs=len(call.node.outputs), **branches))


def _loop(writer: Any, call: Any) -> tuple[str, ...]:
    """Write a loop: what only grows by a row at each turn is an output of the operator that gathers such rows."""
    most, condition, *carried = call.inputs
    (block,) = call.node.blocks
    again, *after = block.outputs
    rows = {
        i
        for i, (one, next_) in enumerate(zip(carried, after, strict=True))
        if one == () and _grows(block, i, next_)
    }
    states = [i for i in range(len(carried)) if i not in rows]
    body = Body(call.shared, call.body)
    turn, going = call.shared.fresh(block.inputs[0].name), call.shared.fresh("going")
    body.names[block.inputs[0]] = turn
    for i in states:
        body.names[block.inputs[1 + i]] = call.shared.fresh(block.inputs[1 + i].name)
    skipped = {after[i].node for i in rows}
    plain = Block(block.inputs, [node for node in block.nodes if node not in skipped], block.outputs)
    writer.block(plain, body)
    outputs = [again, *(after[i] for i in states), *(after[i].node.inputs[1] for i in sorted(rows))]
    inputs = [_scalar(turn, int64), _scalar(going, bool_)]
    for i in states:
        value = block.inputs[1 + i]
        known = value.type.known and (isinstance(value.type, TensorType) or value.type in NUMBERS)
        name = body.names[value]
        inputs.append(writer.info(name, value.type) if known else Message("ValueInfo", name=name))
    graph = _graph(body, outputs, f"{call.node.name}/body", inputs)
    first = [_operand(call.body, one) for one in (most, condition, *(carried[i] for i in states))]
    found = _several(call("Loop", *first, outputs=len(carried), body=graph))
    order = [*states, *sorted(rows)]
    return tuple(found[order.index(i)] for i in range(len(carried)))


def _scalar(name: str, dtype: DType) -> Message:
    """Return what a graph says of a number: runtimes ask it of the turn and the condition of a loop."""
    tensor = Message("TensorType", elem_type=type_code(dtype), shape=Message("Shape", dim=[]))
    return Message("ValueInfo", name=name, type=Message("Type", tensor_type=tensor))


def _grows(block: Block, i: int, after: Any) -> bool:
    node = after.node if isinstance(after, Value) else None
    return (
        node is not None and called(node.callee) == "onnx.gathered" and node.inputs[0] is block.inputs[1 + i]
    )


def _several(found: Any) -> tuple[str, ...]:
    return (found,) if isinstance(found, str) else tuple(found)


def _operand(body: Body, one: Any) -> str | None:
    """Return the name of an operand: a value, a number, a few whole numbers; None where there is none."""
    if one is None:
        return None
    if isinstance(one, Value):
        return body.name_of(one)
    if isinstance(one, bool | int | float):
        kind = bool_ if isinstance(one, bool) else int64 if isinstance(one, int) else float64
        return body.shared.constant(one, kind)
    if isinstance(one, list) and all(type(each) is int for each in one):
        return body.sizes(one)
    if hasattr(one, "evaluate"):
        return body.once("Squeeze", body.size(one), base="number")
    raise OnnxError(f"the format has no value like {one!r}")


# ------------------------------------------------------------------------------------ operators of opened files


@lru_cache(maxsize=1)
def _versions() -> dict[str, tuple[str, str, Version]]:
    """Return domain, name and record of each operator, by what graphs call it."""
    return {
        version.name: (one.domain, one.name, version)
        for one in operators()
        for version in one.versions.values()
    }


def _operator(call: Any, name: str) -> tuple[str, ...]:
    """Write a node as the file had it."""
    match name:
        case "onnx.truth" | "onnx.count" | "onnx.straight_through":
            found = _operand(call.body, call.inputs[0])
            assert found is not None
            return (found,)
        case "onnx.stacked":
            if call.params["axis"] != 0:
                raise OnnxError("rows that were gathered are stacked along the first dim")
            rows = str(_operand(call.body, call.inputs[0]))
            if call.params.get("reverse"):
                last, before, along = (call.constant([one]) for one in (-1, -(1 << 62), 0))
                rows = call("Slice", rows, last, before, along, last)
            return (rows,)
        case "onnx.length_of":
            return (_length(call, call.params["axis"]),)
        case "onnx.slice_of":
            turn = str(_operand(call.body, call.inputs[1]))
            if call.params["reverse"]:
                last = call("Sub", _length(call, call.params["axis"]), call.constant(1))
                turn = call("Sub", last, turn)
            return (call("Gather", _operand(call.body, call.inputs[0]), turn, axis=call.params["axis"]),)
    if name not in _versions():
        raise OnnxError("it is no operator of the format")
    domain, operator, version = _versions()[name]
    if domain == "" and find(operator, "", call.shared.opset) is not version:
        raise OnnxError(
            f"it is the operator as it is from version {version.since} on, and version {call.shared.opset} has "
            "another: pass the version that the file was written for as opset"
        )
    params = dict(call.params)
    count = params.pop("outputs", len(call.node.outputs))
    attributes = {key: _attribute(call, one) for key, one in params.items()}
    inputs = [_operand(call.body, one) for one in call.inputs]
    return _several(call(operator, *inputs, outputs=count, domain=domain, **attributes))


def _length(call: Any, axis: int) -> str:
    shape = call("Shape", _operand(call.body, call.inputs[0]))
    return str(call("Gather", shape, call.constant(axis), axis=0))


def _attribute(call: Any, value: Any) -> Any:
    """Return an attribute: a value is a tensor that the graph holds."""
    if not any(True for _ in values_in(value)):
        return value
    return tensor_message(call.shared.held[value])


# -------------------------------------------------------------------------------------------- numbers of Python

_TWO = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "mod": "Mod", "lt": "Less", "le": "LessOrEqual", "gt": "Greater",
    "ge": "GreaterOrEqual", "eq": "Equal", "and_": "And", "or_": "Or",
}  # fmt: skip


def _arithmetic(call: Any, name: str) -> str:
    """Write arithmetic with numbers; what is a function of tensors was not traced, and is refused."""
    room, _, word = name.partition(".")
    types = [one.type if isinstance(one, Value) else None for one in call.inputs]
    if room == "builtins" and word in ("bool", "int", "float") and len(types) == 1:
        found = _operand(call.body, call.inputs[0])
        return str(call("Reshape", call("Cast", found, to=_CODES[word]), call.row([])))
    if room != "operator" or any(one is not None and one not in NUMBERS for one in types):
        raise OnnxError(
            "it is a function by its name, of values whose types are not known: trace what is to be written"
        )
    kinds = [
        NUMBERS[one] if one is not None else _own(each) for one, each in zip(types, call.inputs, strict=True)
    ]
    wide = float64 if float64 in kinds else int64 if int64 in kinds else bool_
    names = [
        call.cast(_operand(call.body, one), kind, wide) for one, kind in zip(call.inputs, kinds, strict=True)
    ]
    if word in _TWO:
        return str(call(_TWO[word], *names))
    match word:
        case "ne":
            return str(call("Not", call("Equal", *names)))
        case "not_":
            return str(call("Not", call.cast(names[0], wide, bool_)))
        case "neg":
            return str(call("Neg", *names))
        case "floordiv" if wide == int64:
            return str(call("Div", call("Sub", names[0], call("Mod", *names)), names[1]))
        case "truediv":
            return str(call("Div", *(call.cast(one, wide, float64) for one in names)))
    raise OnnxError("the format has no operator for it")


_CODES = {"bool": 9, "int": 7, "float": 11}


def _own(number: Any) -> DType:
    return as_dtype(
        "bool" if isinstance(number, bool) else "float64" if isinstance(number, float) else "int64"
    )
