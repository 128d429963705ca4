"""What a call gives: for each kind of callee, what it takes, which blocks it needs, and the types that come out.

`KINDS` is the table; the spec asks it about every node, and `Graph.insert` for the types of a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.base.size_expressions import Symbolic, hint_of
from workbench.base.size_guards import SizeScope
from workbench.core.dispatch import WithoutNumbers, interpreting
from workbench.core.op import Op, ops
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
    filled,
    operand_type,
)
from workbench.graph.sizes import shown
from workbench.graph.types import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    TENSOR,
    TEXT,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    common,
    type_of,
    type_of_value,
)
from workbench.graph.vocabulary import named

__all__ = ["KINDS", "Kind", "kind_of", "results"]

Types = tuple[Type, ...]


@dataclass(frozen=True)
class Kind:
    """What is legal for a kind of callee."""

    known: Callable[[Any, Any], bool]
    """``known(graph, callee)``: whether a graph can call it."""
    unknown: str
    """What it is not, where it is not known."""
    results: Callable[[Node, SizeScope | None], Types | None]
    """The types that come out, where the operands are right; None where what is written is a promise, which is checked
    when it runs. Raises where the operands are not right."""
    blocks: tuple[str, ...] = ()
    """What its blocks are called."""


def kind_of(callee: Any) -> Kind | None:
    """Return the kind of a callee; None for what a node cannot call."""
    if isinstance(callee, Control):
        return KINDS[callee]
    return next(
        (kind for key, kind in KINDS.items() if isinstance(key, type) and isinstance(callee, key)), None
    )


def results(node: Node, sizes: SizeScope | None = None) -> Types | None:
    """Return the types of what a node gives, or None where no rule says them; raise what the rules raise.

    With `sizes` they have the sizes of any run; what the rules decide by those is kept there.
    """
    kind = kind_of(node.callee)
    if kind is None:
        raise GraphError(f"a node cannot call {node.callee!r}")
    return kind.results(node, sizes)


# ------------------------------------------------------------------------------------------------------ ops

_EXAMPLES: dict[Type, tuple[Any, ...]] = {
    INT: (1, 0), FLOAT: (1.0, 0.0), BOOL: (True, True), COMPLEX: (1j, 0j), TEXT: ("", ""), NONE: (None, None),
}  # fmt: skip
"""Two values of each type, to ask a rule with where only the run knows one: a size is no 0, a place may be no 1."""


def _example(turn: int, sizes: SizeScope | None = None) -> Callable[[Value], Any]:
    def example(value: Value) -> Any:
        if isinstance(value.type, TensorType):
            return value.type.stand_in(sizes)
        return _example_of(value.type, turn)

    return example


def _example_of(kind: Type, turn: int) -> Any:
    match kind:
        case TensorType():
            return kind.stand_in()
        case TupleType(items=items):
            return tuple(_example_of(one, turn) for one in items)
        case ListType(item=item):
            return [_example_of(item, turn)]
        case DictType(key=key, value=value):
            return {_example_of(key, turn): _example_of(value, turn)}
        case OptionalType(item=item):
            return _example_of(item, turn)
    return _EXAMPLES[kind][turn]


def _of_op(node: Node, sizes: SizeScope | None) -> Types | None:
    """Follow the op's own rules. What is computed of an operand that is not known is some tensor."""
    op: Op = node.callee
    # Rules would refuse what has no dims, though it may be right when it runs.
    if not all(one.type.known for one in node.values):
        return (TENSOR,) * op.outputs
    if all(isinstance(one.type, TensorType) for one in node.values):
        return _asked(node, 0, sizes)
    try:
        return _asked(node, 0, sizes)
    except (TypeError, ValueError, LookupError, RuntimeError):
        # Refused for the first number, it may hold for the second; what is refused for both is wrong.
        return _asked(node, 1, sizes)


def _asked(node: Node, turn: int, sizes: SizeScope | None) -> Types:
    def size(one: Symbolic) -> Any:
        return one.hint if sizes is None else shown((one,), sizes)[0]

    example = _example(turn, sizes)
    # The rules of the op and nothing else: no tracer around this one takes note, no kernel runs.
    with interpreting(WithoutNumbers()):
        # A size among the inputs is a number like others.
        found = node.callee(*filled(node.inputs, example, hint_of), **filled(node.params, example, size))
    return tuple(type_of(one, sizes) for one in (found if isinstance(found, tuple) else (found,)))


# ------------------------------------------------------------------------------------- functions and modules


def _of_sub_graph(node: Node, sizes: SizeScope | None) -> Types:
    function: SubGraph = node.callee
    if node.params:
        raise TypeError(f"a function of the graph takes its inputs by position, not {sorted(node.params)}")
    if len(node.inputs) != len(function.inputs):
        raise TypeError(f"it takes {len(function.inputs)} inputs, not {len(node.inputs)}")
    for value, operand in zip(function.inputs, node.inputs, strict=True):
        _fits(f"its input {value.name}", value.type, operand)
    given = tuple(operand_type(one) for one in function.outputs)
    # A function of several results may be called for its tuple, as one value, or for its items.
    if function.single or (len(given) != 1 and len(node.outputs) != 1):
        return given
    return (TupleType(given),)


def _not_looked_into(node: Node, sizes: SizeScope | None) -> None:
    """What is kept whole is not looked into: what is written for its result is a promise."""


def _of_named(node: Node, sizes: SizeScope | None) -> Types | None:
    function: NamedFunction = node.callee
    if len(node.inputs) < len(function.writes):
        raise TypeError("it writes into its first input, and has none")
    # The one function that takes containers apart: its result depends on types that numbers do not have.
    if function.name == "operator.getitem" and len(node.inputs) == 2:
        return _item(*node.inputs)
    if function.name == "operator.mod" and node.inputs and operand_type(node.inputs[0]) == TEXT:
        return (TEXT,)  # a template, of which only a run knows what fits it
    operands = (*node.inputs, *node.params.values())
    # Only plain numbers are tried: what is called is Python's own, and does nothing else.
    if function.numbers and all(operand_type(one) in _EXAMPLES for one in operands):
        return _by_example(node)
    return None


def _by_example(node: Node) -> Types | None:
    """Let a function of numbers say of which type its result is; None where it has none for the examples."""
    for turn in (0, 1):
        inputs, params = filled((node.inputs, node.params), _example(turn), hint_of)
        try:
            return (type_of_value(node.callee.call(*inputs, **params)),)
        except (ArithmeticError, ValueError):
            continue
    return None


def _item(container: Any, key: Any) -> Types | None:
    """Return the type of an item; of a tuple's, where its place is written in the graph."""
    match operand_type(container):
        case TupleType(items=items) if type(key) is int:
            if not -len(items) <= key < len(items):
                raise TypeError(f"there are {len(items)} items, and none at {key}")
            return (items[key],)
        case ListType(item=item) if operand_type(key) == INT:
            return (item,)
        case DictType(key=kind, value=value):
            _fits("a key", kind, key)
            return (value,)
    return None


# --------------------------------------------------------------------------------------------- control flow


def _condition(operand: Any) -> None:
    kind = operand_type(operand)
    one = isinstance(kind, TensorType) and kind.dims.numel == 1
    if not (one or kind in (BOOL, TENSOR, ANY)):
        raise TypeError(f"a condition is a bool or a tensor of one value, not {kind}")


def _of_if(node: Node, sizes: SizeScope | None) -> Types:
    if len(node.inputs) != 1 or node.params:
        raise TypeError("it takes one condition and nothing else")
    _condition(node.inputs[0])
    for block in node.blocks:
        _given(block, ())
    first, second = (tuple(operand_type(one) for one in block.outputs) for block in node.blocks)
    if len(first) != len(second):
        raise TypeError(f"its blocks give {len(first)} and {len(second)} values")
    if node.outputs and len(node.outputs) != len(first):
        return first
    # A front end may promise a wider type than both blocks have; without one it is the narrowest of both.
    written = tuple(one.type for one in node.outputs) or tuple(map(common, zip(first, second, strict=True)))
    for i, kind in enumerate(written):
        for block in node.blocks:
            _fits(f"output {i} of a block", kind, block.outputs[i])
    return written


def _of_loop(node: Node, sizes: SizeScope | None) -> Types:
    if len(node.inputs) < 2 or node.params:
        raise TypeError("it takes how often it runs at most, a condition, and what is carried")
    most, condition, *carried = node.inputs
    if not OptionalType(INT).accepts(operand_type(most)):
        raise TypeError(f"how often it runs at most is an int or None, not {operand_type(most)}")
    _condition(condition)
    (body,) = node.blocks
    # What is known in the block decides: before the first turn and after each it must fit the same type.
    kinds = (INT, *(one.type for one in body.inputs[1:]))
    _given(body, kinds)
    if len(carried) != len(body.inputs) - 1 or len(body.outputs) != len(body.inputs):
        raise TypeError(
            f"{len(carried)} values are carried in, {len(body.inputs) - 1} are known in the block, and "
            f"{len(body.outputs) - 1} carried on"
        )
    _condition(body.outputs[0])
    for value, before, after in zip(body.inputs[1:], carried, body.outputs[1:], strict=True):
        _fits(f"{value.name} before the first turn", value.type, before)
        _fits(f"{value.name} after a turn", value.type, after)
    return kinds[1:]


def _given(block: Block, kinds: Types) -> None:
    own = tuple(one.type for one in block.inputs)
    if len(own) != len(kinds) or any(not a.accepts(b) for a, b in zip(own, kinds, strict=False)):
        raise TypeError(
            f"a block of it is given ({', '.join(map(str, kinds))}), and this one says ({', '.join(map(str, own))})"
        )


def _fits(what: str, wanted: Type, operand: Any) -> None:
    given = operand_type(operand)
    if not wanted.accepts(given):
        raise TypeError(
            f"{what} is {wanted}, not {given}; wb.graph.narrow makes the wider type the narrower one"
        )


KINDS: dict[Any, Kind] = {
    # By identity: an op of the same name from another table is another op.
    Op: Kind(lambda graph, op: getattr(ops, op.name, None) is op, "an op of the table", _of_op),
    SubGraph: Kind(
        lambda graph, one: graph.functions.get(one.name) is one, "a function of the graph", _of_sub_graph
    ),
    LeafModule: Kind(
        lambda graph, one: one.path in graph.modules, "a module that the graph holds", _not_looked_into
    ),
    HeldFunction: Kind(
        lambda graph, one: one.name in graph.held_functions,
        "a function that the graph holds",
        _not_looked_into,
    ),
    NamedFunction: Kind(lambda graph, one: named(one.name) is one, "a function that is offered", _of_named),
    Control.IF: Kind(lambda graph, one: True, "", _of_if, ("then", "else")),
    Control.LOOP: Kind(lambda graph, one: True, "", _of_loop, ("body",)),
}
"""Which callees there are."""
