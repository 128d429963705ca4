"""Graphs as Python that runs; `workbench.graph.parse` reads it back without running it."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.graph.blocks import (
    Block,
    Control,
    GraphError,
    HeldFunction,
    LeafModule,
    NamedFunction,
    Node,
    SubGraph,
    Value,
    called,
)
from workbench.graph.ir import Graph
from workbench.graph.operand_text import size_names, written
from workbench.graph.printing import asserted, where, written_guards
from workbench.graph.walk import made, walk

__all__ = ["IMPORTS", "MORE_IMPORTS", "RESERVED", "python_text"]

IMPORTS = ("from numpy import array, dtype, empty, inf, nan", "from workbench.core import ops")
"""What the Python form stands on."""

MORE_IMPORTS = {
    "Tensor": "from workbench import Tensor",
    "builtins": "import builtins",
    "data_type": "from workbench.base.dtypes import as_dtype as data_type",
    "device": "from workbench import device",
    "fft": "from workbench import fft",
    "linalg": "from workbench import linalg",
    "math": "import math",
    "nn": "from workbench import nn",
    "noise": "from workbench.ops.random.noise import noise",
    "operator": "import operator",
    "seed_from": "from workbench.ops.random.counter_based import seed_from",
    "special": "from workbench import special",
    "wb": "import workbench as wb",
}
"""What it stands on where the graph calls functions by name, draws, or names a device: by the word that is used."""

_TAKEN = frozenset(
    {
        "array",
        "dtype",
        "empty",
        "inf",
        "nan",
        "ops",
        "parameters",
        "constants",
        "modules",
        "functions",
        "slice",
        "takes",
        "complex",
        "list",
    }
)
"""Names that mean something else in the Python form."""

RESERVED = _TAKEN | set(MORE_IMPORTS) | {"dict", "str"}
"""Names that no value may have in a graph that is to be written as Python, whatever it calls."""


def python_text(graph: Graph) -> str:
    """Return the graph as a Python function of mappings, from names to the tensors that it holds, and its inputs.

    A third mapping has its modules, where it calls some, and another the functions of the program's own that it holds.
    Functions of the graph stand in front.

    Raises `GraphError` where a name of the graph cannot be one in Python.

    >>> import workbench as wb
    >>> print(python_text(wb.graph.trace(lambda x: (x * 2).sum("C"), wb.ones(N=2, C=3))))
    from numpy import array, dtype, empty, inf, nan
    from workbench.core import ops
    <BLANKLINE>
    <BLANKLINE>
    def graph(parameters, constants, x: "f32[N:2, C:3]"):
        mul: "f32[N:2, C:3]" = ops.mul(x, 2)  # ...
        sum: "f32[N:2]" = ops.sum(mul, dim=(1,), keepdim=False)  # ...
        return sum
    """
    words = _words(graph) | set(graph.functions)
    parts = [_Writer(one, words).function([], [], [], []) for one in graph.functions.values()]
    parts.append(_whole(graph, words))
    # Known only now; inside a text in quotes it costs an import that nobody needs.
    words |= {word for word in ("data_type", "device") if any(f"{word}(" in part for part in parts)}
    imports = [*IMPORTS, *(line for word, line in MORE_IMPORTS.items() if word in words)]
    return "\n".join([*imports, *("\n\n" + part for part in parts)])


def _words(graph: Graph) -> set[str]:
    """Return the first words of the functions that are called by name."""
    found = {"noise" if value in graph.noise else "seed_from" for value in graph.seeds}
    for function in (graph, *graph.functions.values()):
        for node, _ in walk(function):
            if isinstance(node.callee, NamedFunction):
                found.add(node.callee.name.partition(".")[0])
    return found


def _whole(graph: Graph, words: set[str]) -> str:
    writer = _Writer(graph, words)
    writer.names |= {value: f"parameters[{value.name!r}]" for value in graph.parameters}
    writer.names |= {value: f"constants[{value.name!r}]" for value in graph.constants}
    head = [f'{writer.names[value]}: "{value.type}"' for value in graph.held()]
    head += [
        f'{writer.define(value)}: "{value.type}" = {writer.drawn(graph, value)}' for value in graph.seeds
    ]
    kept = {"modules": graph.modules, "functions": graph.held_functions}
    before = ["parameters", "constants", *(place for place, held in kept.items() if held)]

    def tail() -> Iterator[str]:
        for value, after in graph.updates.items():
            # A generator: the names of what is computed are known when the body has been written.
            yield f"{writer.names[value]}.copy_({writer.names[after]}.detach())"

    return writer.function(before, writer.takes(graph), head, tail())


class _Writer:
    """Writes one function."""

    def __init__(self, function: SubGraph, words: set[str]) -> None:
        self._function = function
        self._taken = _TAKEN | words
        # The graph's own functions may have their names, and no value may.
        self._functions = words - set(MORE_IMPORTS) - _TAKEN
        self._values = {one.name for one in made(function)}
        self.names: dict[Value, str] = {}
        self._sizes = size_names(function, lambda value: value.name)
        self._due = written_guards(function)

    def takes(self, graph: Graph) -> list[str]:
        """Return how the arguments of the traced function were put together."""
        if not graph.takes:
            return []
        return [f"takes = {written(graph.takes, lambda value: self._identifier(value.name), self._sizes)}"]

    def _asserted(self, values: Iterable[Value]) -> Iterator[str]:
        """Yield what must hold of the sizes of values that are known now, a line each."""
        for value in values:
            yield from asserted(self._due.get(value, ()), self._sizes)

    def drawn(self, graph: Graph, value: Value) -> str:
        """Return the call that draws a seed, or numbers."""
        drawn = graph.noise.get(value)
        return "seed_from()" if drawn is None else f"noise({self._arguments(drawn.operands, drawn.keywords)})"

    def define(self, value: Value) -> str:
        """Return what a value is called from here on."""
        self.names[value] = self._identifier(value.name)
        return value.name

    def _identifier(self, name: str) -> str:
        # Refused and not renamed: the text read back is to have the same names.
        if not name.isidentifier() or keyword.iskeyword(name) or name in self._taken:
            raise GraphError(f"{name!r} cannot be a name in Python: rename it, or write the graph as text")
        return name

    def function(self, before: list[str], takes: list[str], head: list[str], tail: Iterable[str]) -> str:
        """Return the function; `tail` is asked for when all names are known."""
        function = self._function
        inputs = [*before, *(f'{self.define(one)}: "{one.type}"' for one in function.inputs)]
        # As what says what a function is: it takes no name away.
        marked = [f'"""{function.kind}"""'] if function.kind else []
        lines = [*marked, *takes, *self._asserted(function.inputs), *head, *self._block(function), *tail]
        returned = self._operand(function.outputs[0] if function.single else function.outputs)
        body = "\n".join(f"    {line}" for line in [*lines, f"return {returned}"])
        name = function.name if function.name in self._functions else self._identifier(function.name)
        return f"def {name}({', '.join(inputs)}):\n{body}"

    def _operand(self, operand: Any) -> str:
        return written(operand, self.names.__getitem__, self._sizes)

    def _block(self, block: Block) -> Iterator[str]:
        for node in block.nodes:
            yield from self._node(node)
            yield from self._asserted(node.outputs)

    def _node(self, node: Node) -> Iterator[str]:
        writes = f" writes {', '.join(one.name for one in node.writes)}" if node.writes else ""
        typed = [f'{one.name}: "{one.type}{writes if i == 0 else ""}"' for i, one in enumerate(node.outputs)]
        if isinstance(node.callee, Control):
            # A name is annotated once, before the two blocks that assign it.
            yield from typed
            yield from self._if(node) if node.callee is Control.IF else self._loop(node)
            return
        call = f"{self._called(node.callee)}({self._arguments(node.inputs, node.params)}){where(node)}"
        targets = [self.define(one) for one in node.outputs]
        if len(typed) == 1:
            yield f"{typed[0]} = {call}"
        else:  # several targets take no types of their own
            yield from typed
            yield f"{', '.join(targets)} = {call}"

    def _called(self, callee: Any) -> str:
        if isinstance(callee, SubGraph):
            return callee.name
        return (
            called(callee)
            if isinstance(callee, NamedFunction | LeafModule | HeldFunction)
            else f"ops.{callee.name}"
        )

    def _arguments(self, operands: Iterable[Any], keywords: dict[str, Any]) -> str:
        pairs = (f"{key}={self._operand(value)}" for key, value in keywords.items())
        return ", ".join([*map(self._operand, operands), *pairs])

    def _if(self, node: Node) -> Iterator[str]:
        targets = ", ".join(self._identifier(one.name) for one in node.outputs)
        starts = f"if {self._operand(node.inputs[0])}:{where(node)}", "else:"
        for start, block in zip(starts, node.blocks, strict=True):
            yield start
            yield from (f"    {line}" for line in self._block(block))
            yield f"    {targets} = {', '.join(map(self._operand, block.outputs))}"
        for value in node.outputs:
            self.define(value)

    def _loop(self, node: Node) -> Iterator[str]:
        (body,) = node.blocks
        most, condition, *carried = map(self._operand, node.inputs)
        yield from (f'{self.define(one)}: "{one.type}"' for one in body.inputs)
        # Python's loop variables are the block's inputs; behind the loop they are what the node gives.
        turn, *inside = (one.name for one in body.inputs)
        goes = f"{node.name}_goes"
        # A name for the condition, which in the graph has none.
        while goes in self._values:
            goes += "_"
        targets = ", ".join([turn, goes, *inside])
        yield f"{targets} = {', '.join(['0', condition, *carried])}"
        yield f"while {goes}{'' if node.inputs[0] is None else f' and {turn} < {most}'}:{where(node)}"
        yield from (f"    {line}" for line in self._asserted(body.inputs))
        yield from (f"    {line}" for line in self._block(body))
        condition, *after = map(self._operand, body.outputs)
        yield f"    {targets} = {', '.join([f'{turn} + 1', condition, *after])}"
        yield f"{', '.join(self.define(one) for one in node.outputs)} = {', '.join(inside)}"
