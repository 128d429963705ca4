"""From a script to a graph of ops, with control flow where only a run decides."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from workbench.base.symbolic_size import SymbolicNumber
from workbench.core.dispatch import no_grad
from workbench.core.value import new
from workbench.graph import Graph, Value
from workbench.graph.arguments import tensors_in
from workbench.graph.blocks import filled
from workbench.graph.tracing import prepared
from workbench.graph.types import ListType, TensorType
from workbench.jit.boundary import State, given, handed
from workbench.jit.script_modules import ScriptFunction, ScriptModule
from workbench.onnx.errors import OnnxError
from workbench.onnx.scripts.branches import Thrown
from workbench.onnx.scripts.carried import NUMBERS
from workbench.onnx.scripts.follow import Follow
from workbench.onnx.scripts.rows import Items, row_of
from workbench.tensor import Tensor

__all__ = ["is_script", "scripted_graph"]


def is_script(model: Any) -> bool:
    """Say whether a model was made by `jit.script`: its graph is followed, and not what one run of it does."""
    return isinstance(model, ScriptFunction | ScriptModule) and "forward" in model._boundaries


def scripted_graph(script: Any, examples: tuple[Any, ...]) -> tuple[Graph, list[str]]:
    """Return the graph of a script for inputs like `examples`, and what the script would raise and a file does not.

    Tensors are inputs of the graph; numbers, text and None are what they are in the examples. A tensor without dims in
    the place of a number is an input, too.

    Raises `OnnxError` for what has no form in the format, at the line of the script.
    """
    names, boundary = script._arguments["forward"], script._boundaries["forward"]
    known = {name: value for name, value in boundary.defaults.items() if name in names}
    known |= dict(zip(names, examples, strict=False))
    if len(examples) > len(names) or len(known) < len(names):
        raise TypeError(f"the script takes {', '.join(names)}, got {len(examples)} examples")
    inputs = [name for name in names if any(True for _ in tensors_in(known[name]))]
    said: list[str] = []

    def called(owner: Any, tensors: tuple[Any, ...]) -> Any:
        values = {**known, **dict(zip(inputs, tensors, strict=True))}
        operands = [_given(kind, values[name]) for kind, name in zip(boundary.kinds, names, strict=True)]
        if boundary.stateful:
            operands.append(State(owner))
        run = Follow(script._graphs["forward"], owner)
        try:
            found = run.whole(tuple(operands))
        except Thrown as thrown:
            raise OnnxError(f"the script raises with these examples: {thrown.line}") from None
        said.extend(dict.fromkeys(run.room.said))
        return _returned(run, handed(boundary.result, found))

    with no_grad():
        tracer, follow = prepared(_function(script, inputs, called), [known[name] for name in inputs])
        follow()
    return _with_sequences(tracer.graph), said


def _given(kind: Any, value: Any) -> Any:
    """Return what a call is given; a tensor in the place of a number stays one."""
    return value if kind in NUMBERS and isinstance(value, Tensor) else given(kind, value)


def _function(script: Any, inputs: list[str], called: Callable[[Any, tuple[Any, ...]], Any]) -> Any:
    """Return what is traced: of a module one with the same parameters."""
    place = inspect.Parameter.POSITIONAL_ONLY
    signature = inspect.Signature([inspect.Parameter(name, place) for name in inputs])
    if isinstance(script, ScriptFunction):

        def function(*tensors: Any) -> Any:
            return called(None, tensors)

        function.__name__, function.__signature__ = script.name, signature  # type: ignore[attr-defined]
        return function
    members = {"forward": lambda self, *tensors: called(self, tensors), "__signature__": signature}
    twin: Any = object.__new__(type(script.original_name, (ScriptModule,), members))
    # All that it has, it has in common with the script.
    twin.__dict__ = script.__dict__
    return twin


_SEQUENCE = "wb.graph.narrow"
"""What stands for a sequence while a trace gathers what comes out: a trace knows tensors alone."""


def _returned(run: Any, value: Any) -> Any:
    """Return a result with tensors in the place of numbers, and of lists that are sequences."""
    room = run.room
    if isinstance(value, Items) and value.row is not None:
        row = row_of(room, value, value.row.kind)
        if row.value is None or row.kind is None:
            raise OnnxError("the script gives a list of which nothing says what it holds")
        return room.call(_SEQUENCE, [row.value], row.kind)
    if isinstance(value, bool | int | float | SymbolicNumber):
        return (
            new(room.number(value).payload)
            if isinstance(value, SymbolicNumber)
            else room.traced(room.number(value))
        )
    if isinstance(value, tuple | list):
        made = [_returned(run, one) for one in value]
        return (
            make(made)
            if (make := getattr(type(value), "_make", None))
            else tuple(made)
            if isinstance(value, tuple)
            else made
        )
    if isinstance(value, dict):
        return {key: _returned(run, one) for key, one in value.items()}
    if not isinstance(value, Tensor):
        raise OnnxError(f"the script gives {value!r}, and a file gives tensors, and lists of them")
    return value


def _with_sequences(graph: Graph) -> Graph:
    """Let sequences come out of the graph in the places of what stood for them; of their items the type is known."""

    def settled(value: Any) -> Any:
        node = value.node
        stands = node is not None and node.op is None and getattr(node.callee, "name", "") == _SEQUENCE
        if not stands:
            return value
        (row,) = node.inputs
        assert isinstance(row, Value) and isinstance(value.type, TensorType)
        row.type = ListType(value.type)
        return row

    graph.outputs = filled(graph.outputs, settled)
    return graph
