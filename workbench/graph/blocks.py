"""What a graph is made of: values that are assigned once, nodes that call something, blocks of nodes.

Who works on graphs goes through `walk` and the methods of `Graph`; only those and the spec know how nodes are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from workbench.base.seams import Seam
from workbench.base.size_expressions import Size, Symbol, Symbolic
from workbench.base.size_guards import Guard
from workbench.core.op import Op
from workbench.graph.types import TensorType, Type, type_of_value

__all__ = [
    "NAME", "NAMED", "Block", "Control", "GraphError", "HeldFunction", "LeafModule", "NamedFunction", "Node",
    "SubGraph", "Value", "called", "filled", "operand_type", "values_in",
]  # fmt: skip

NAMED = Seam("finding a function by its name", "workbench.graph.vocabulary")

NAME = r"""[^\s,(){}\[\]:=%'"]+"""
"""What a value may be called: anything that the text of a graph does not use otherwise."""


class GraphError(RuntimeError):
    """A graph that is not legal, or a change that would make it so."""


# -------------------------------------------------------------------------------------------------- callees


class Control(Enum):
    """Control flow: what a node of blocks does with them."""

    IF = "if"
    """``if(condition)``: runs its first block where the condition holds, else its second; gives what that gives."""
    LOOP = "loop"
    """``loop(most, condition, *carried)``: runs its block with the number of the turn and what is carried, as long as
    the condition holds and at most `most` times (None: without end); the block gives the next condition and what is
    carried on, and the node what is carried at the end."""


@dataclass(frozen=True)
class LeafModule:
    """A module, or another callable, that was kept whole: the graph calls it and does not look inside."""

    path: str
    """Where it stands in `Graph.modules`, and in the module that was traced: ``features.0``."""


@dataclass(frozen=True)
class HeldFunction:
    """A function of the program's own that was kept whole: the graph holds it, calls it and does not look inside."""

    name: str
    """Where it stands in `Graph.held_functions`."""


@dataclass(frozen=True, eq=False)
class NamedFunction:
    """A function that Python or the workbench has under a name, called as people call it.

    `vocabulary.function` finds one by its name; a graph in which all of them were traced further has ops instead.
    """

    name: str
    """With a dot: ``operator.add``, ``nn.functional.relu``, ``Tensor.view``."""
    call: Callable[..., Any]
    writes: tuple[int, ...] = ()
    """Positions of the inputs whose memory it changes."""
    numbers: bool = False
    """True where numbers give numbers whose type depends on the types alone."""
    pure: bool = False
    """True where it is known to compute its results and to do nothing else."""

    def __repr__(self) -> str:
        return f"<function {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # By name: what is unpickled is the function of that process, and nothing of the file's is called.
        return NAMED, (self.name,)


# -------------------------------------------------------------------------------------------- values, nodes


@dataclass(eq=False)
class Value:
    """One value: its name in the graph, its type, and the node that makes it (None for what a block is given)."""

    name: str
    type: Type
    node: Node | None = None

    @property
    def tensor(self) -> TensorType:
        """The type of a value that is a tensor; raises `GraphError` for any other."""
        if isinstance(self.type, TensorType):
            return self.type
        raise GraphError(f"{self.name} is {self.type}, where a tensor is needed whose dims are known")

    def __repr__(self) -> str:
        return f"%{self.name} : {self.type}"


@dataclass(eq=False)
class Node:
    """One call. Operands are values and literals, also inside tuples, lists, dicts and slices.

    A literal may be an expression over sizes that are known before it, or a formula of them, which a run works out.
    """

    callee: Any
    """An `Op`, a `SubGraph` of this graph, a `LeafModule`, a `HeldFunction`, a `NamedFunction`, or `Control`."""
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    """Operands by keyword."""
    outputs: tuple[Value, ...]
    scope: tuple[str, ...] = ()
    """Path of the module that made the call, outermost first."""
    source: str = ""
    """Line of the user's code, as ``model.py:12`` or ``In[3]:4``."""
    blocks: tuple[Block, ...] = ()
    """What control flow runs."""
    writes: tuple[Value, ...] = ()
    """Values among the operands whose memory the call changes; whatever shares that memory changes with them."""

    @property
    def name(self) -> str:
        """Name of the first output."""
        return self.outputs[0].name

    @property
    def op(self) -> Op | None:
        """The op that is called; None where something else is."""
        return self.callee if isinstance(self.callee, Op) else None

    @property
    def values(self) -> tuple[Value, ...]:
        """The values among the operands, each as often as it stands there."""
        return (*values_in(self.inputs), *values_in(self.params))

    def __repr__(self) -> str:
        return f"<node {self.name}: {called(self.callee)}>"


@dataclass(eq=False)
class Block:
    """Nodes in the order in which they run, what they are given, and what comes out.

    What a block makes is known in it and in the blocks inside it, and nowhere else.
    """

    inputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: tuple[Any, ...] = ()
    """Operands: values or literals, also inside tuples, lists and dicts."""


@dataclass(eq=False)
class SubGraph(Block):
    """A block with a name: a function that nodes call. What it needs it is given; it holds nothing of its own."""

    name: str = "graph"
    single: bool = True
    """True if it returns its one output, False if it returns a tuple of its outputs."""
    guards: list[Guard] = field(default_factory=list)
    """What must hold of the sizes that a run binds, because the function decided by it what to do."""
    kind: str = ""
    """What was taken out of a graph to be done at once, as ``fused_convolution``; nothing for any other function."""
    learnt: dict[Symbol, Size] = field(default_factory=dict, repr=False)
    """Symbols that turned out to follow from others, for blocks that are put together and not put in yet."""


# What stands in front says which kind it is: the text is read back by it.
def called(callee: Any) -> str:
    """Return what a callee is called in the text of a graph."""
    match callee:
        case LeafModule(path=path):
            return f"modules[{path!r}]"
        case HeldFunction(name=name):
            return f"functions[{name!r}]"
        case Control():
            return str(callee.value)
        case Op() | NamedFunction():
            return callee.name
    return f"@{callee.name}"


# ------------------------------------------------------------------------------------------------- operands


def values_in(operand: Any) -> Iterator[Value]:
    """Yield the values in an operand, in order.

    >>> from workbench.graph.types import INT
    >>> list(values_in([1, (Value("i", INT), slice(None, Value("j", INT)))]))
    [%i : int, %j : int]
    """
    if isinstance(operand, Value):
        yield operand
    elif isinstance(operand, tuple | list):
        for one in operand:
            yield from values_in(one)
    elif isinstance(operand, dict):
        for one in operand.values():
            yield from values_in(one)
    elif isinstance(operand, slice):
        yield from values_in((operand.start, operand.stop, operand.step))


def filled(operand: Any, known: Callable[[Value], Any], size: Callable[[Symbolic], Any] | None = None) -> Any:
    """Return an operand with what `known` gives in the place of values, and `size` in that of sizes of any run.

    >>> from workbench.graph.types import INT
    >>> filled([1, (Value("i", INT),)], lambda value: value.name)
    [1, ('i',)]
    """
    if isinstance(operand, Value):
        return known(operand)
    if isinstance(operand, tuple):
        # A list first: for a few operands a generator costs more than they do.
        return tuple([filled(one, known, size) for one in operand])
    if isinstance(operand, list):
        return [filled(one, known, size) for one in operand]
    if isinstance(operand, dict):
        return {key: filled(one, known, size) for key, one in operand.items()}
    if isinstance(operand, slice):
        return slice(*[filled(one, known, size) for one in (operand.start, operand.stop, operand.step)])
    return size(operand) if size is not None and isinstance(operand, Symbolic) else operand


def operand_type(operand: Any) -> Type:
    """Return the type of an operand.

    >>> from workbench.graph.types import INT
    >>> print(operand_type((Value("i", INT), [], 2.5)))
    tuple[int, list[never], float]
    """
    return type_of_value(operand, lambda one: one.type if isinstance(one, Value) else None)
