"""Sizes that only a run knows: where each becomes known, what follows from others, and which guards can then be asked.

A run *binds* the sizes of what a function or a block is given, and of what comes out of any call but that of an op.
What ops make follows from these by their rules. A function of the graph is a world of its own: its symbols, its guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace as replace_in
from typing import Any

from workbench.base.size_expressions import Expression, Size, Symbol, Symbolic, evaluate
from workbench.base.size_guards import Guard, SizeScope
from workbench.core.op import Op
from workbench.graph.blocks import Block, Control, GraphError, Node, SubGraph, Value, filled
from workbench.graph.types import TensorType, Type, symbolic
from workbench.graph.walk import blocks, made

__all__ = [
    "bare",
    "binders",
    "due",
    "follows",
    "learnt",
    "own",
    "replace",
    "settle",
    "sized",
    "symbols",
    "tell",
]


def bare(size: Any) -> Symbol | None:
    """Return the symbol that a size is, where it is one and nothing else."""
    return size.symbol if isinstance(size, Expression) else None


def binders(block: Block) -> Iterator[Value]:
    """Yield the values whose sizes a run binds, in the order in which they become known."""
    yield from block.inputs
    for node in block.nodes:
        for inner in node.blocks:
            yield from binders(inner)
        if not isinstance(node.callee, Op):
            yield from node.outputs


def symbols(function: SubGraph) -> dict[Symbol, tuple[Value, int]]:
    """Return the sizes that differ from run to run: for each, the value that shows it first, and the dim."""
    found: dict[Symbol, tuple[Value, int]] = {}
    for value in binders(function):
        for dim, size in enumerate(value.type.sizes if isinstance(value.type, TensorType) else ()):
            symbol = bare(size)
            if symbol is not None:
                found.setdefault(symbol, (value, dim))
    return found


def due(function: SubGraph) -> dict[Value, list[Guard]]:
    """Return the guards by the values with which they can be asked: those that show the last of their symbols.

    Raises `GraphError` where a guard asks for what no value shows.
    """
    known = symbols(function)
    order = {symbol: i for i, symbol in enumerate(known)}
    values = [value for value, _ in known.values()]
    found: dict[Value, list[Guard]] = {}
    for guard in function.guards:
        for symbol in guard.symbols():
            if symbol not in order:
                raise GraphError(f"the guard {guard} asks for {symbol}, which is the size of no value")
        last = max((order[one] for one in guard.symbols()), default=None)
        # One of numbers alone asks nothing.
        if last is not None:
            found.setdefault(values[last], []).append(guard)
    return found


def own(name: str, kind: Type, known: Sequence[Size | None] = ()) -> Type:
    """Return a type whose sizes are those that are known, and else symbols of the value `name`."""
    fresh = symbolic(name, kind, later=True)
    if not isinstance(fresh, TensorType):
        return fresh
    pairs = zip(known or [None] * len(fresh.sizes), fresh.sizes, strict=True)
    return replace_in(fresh, sizes=tuple(there if one is None else one for one, there in pairs))


def tell(node: Node, sizes: SizeScope) -> None:
    """Give the results of a call of no op their sizes: what follows from others, or symbols of their own."""
    if not isinstance(node.callee, Op):
        for value, known in zip(node.outputs, follows(node, sizes), strict=True):
            value.type = own(value.name, value.type, known)


def sized(operand: Any, shown: Mapping[Symbol, tuple[Value, int]]) -> Iterator[Value]:
    """Yield the values of calls whose sizes stand in an operand, or in guards; inputs are there anyhow."""
    if isinstance(operand, Symbolic):
        for symbol in operand.symbols():
            if symbol in shown and shown[symbol][0].node is not None:
                yield shown[symbol][0]
    elif isinstance(operand, Guard):
        yield from sized((operand.left, operand.right), shown)
    elif isinstance(operand, tuple | list):
        for one in operand:
            yield from sized(one, shown)
    elif isinstance(operand, dict):
        yield from sized(tuple(operand.values()), shown)
    elif isinstance(operand, slice):
        yield from sized((operand.start, operand.stop, operand.step), shown)


def settle(function: SubGraph, sizes: SizeScope) -> None:
    """Take over what `sizes` has decided: its guards, and what they say of the sizes in types and operands."""
    function.guards = list(sizes.guards)
    for symbol, size in function.learnt.items():
        sizes.know(symbol, size)
    _rewrite_guards(function, function.learnt)
    _rewrite(function, sizes.settle)
    # What is decided now may let the size of a call follow, of which nothing was known when it was put in.
    while facts := _told(function, sizes, symbols(function)):
        function.learnt |= facts
        _rewrite(function, sizes.settle)
        # By these alone: a guard that is put into itself says nothing.
        _rewrite_guards(function, facts)


def _told(block: Block, sizes: SizeScope, shown: Mapping[Symbol, tuple[Value, int]]) -> dict[Symbol, Size]:
    """Give calls of no op the sizes that follow by now; return what their symbols are, where there are any."""
    found: dict[Symbol, Size] = {}
    for node in block.nodes:
        for inner in node.blocks:
            found |= _told(inner, sizes, shown)
        before = [value.type for value in node.outputs]
        tell(node, sizes)
        for value, old in zip(node.outputs, before, strict=True):
            # Of its own only: what it had of others, those say.
            facts = {one: size for one, size in learnt(value, old).items() if shown[one][0] is value}
            for symbol, size in facts.items():
                # At once: what follows for the next calls may follow from this.
                sizes.know(symbol, size)
            found |= facts
    return found


def learnt(value: Value, before: Type) -> dict[Symbol, Size]:
    """Return what the symbols are that a value had before, where they follow from others now."""
    if not (isinstance(value.type, TensorType) and isinstance(before, TensorType)):
        return {}
    pairs = [(bare(old), new) for old, new in zip(before.sizes, value.type.sizes, strict=False) if old != new]
    return {symbol: size for symbol, size in pairs if symbol is not None and symbol.later}


def _rewrite_guards(function: SubGraph, facts: Mapping[Symbol, Size]) -> None:
    """Put into guards what symbols are; one of numbers alone asks nothing any more."""
    sizes = SizeScope()
    for symbol, size in facts.items():
        sizes.know(symbol, size)
    found = (one.over(sizes.settle) for one in function.guards)
    function.guards = []
    for guard in found:
        if any(True for _ in guard.symbols()) and not any(guard.says(one) for one in function.guards):
            function.guards.append(guard)


def replace(function: SubGraph, old: Value, new: Value) -> None:
    """Let what is computed of sizes that `old` shows be computed of those of `new`, which takes its place."""
    # What an op makes shows none: this is asked for each of many values.
    if old.node is None or isinstance(old.node.callee, Op):
        return
    if not (isinstance(old.type, TensorType) and isinstance(new.type, TensorType)):
        return
    shown, sizes = symbols(function), SizeScope()
    pairs = zip(map(bare, old.type.sizes), old.type.sizes, new.type.sizes, strict=False)
    facts = {
        one: there for one, here, there in pairs if one is not None and shown[one][0] is old and here != there
    }
    for symbol, size in facts.items():
        sizes.know(symbol, size)
    if facts:
        _rewrite(function, sizes.settle)
        _rewrite_guards(function, facts)


def _rewrite(function: SubGraph, rule: Callable[[Any], Any]) -> None:
    """Put what `rule` makes of sizes into the types and operands of a function."""
    shown = symbols(function)
    for value in made(function):
        if isinstance(value.type, TensorType):
            mine = [_shows(value, one, shown) for one in value.type.sizes]
            found = tuple(map(rule, value.type.sizes))
            # Who shows a symbol keeps it: by it a run knows the size. Where a guard says which it is, that is written.
            fixed = frozenset(
                dim for dim, one in enumerate(found) if mine[dim] and not isinstance(one, Expression)
            )
            kept = zip(value.type.sizes, found, mine, strict=True)
            value.type = replace_in(
                value.type, sizes=tuple(old if there else new for old, new, there in kept), fixed=fixed
            )
    for block in blocks(function):
        block.outputs = filled(block.outputs, _itself, rule)
        for node in block.nodes:
            # An expression that a guard fixed becomes a number, so that passes can fold what depends on it.
            node.inputs, node.params = filled((node.inputs, node.params), _itself, rule)


def _shows(value: Value, size: Size, shown: Mapping[Symbol, tuple[Value, int]]) -> bool:
    symbol = bare(size)
    return symbol is not None and symbol in shown and shown[symbol][0] is value


def _itself(value: Value) -> Value:
    return value


# ------------------------------------------------------------------- what follows for calls of no op


def follows(node: Node, sizes: SizeScope) -> list[tuple[Size | None, ...]]:
    """Return for each result of a call of no op its sizes as far as they follow from others; none for no tensor."""
    match node.callee:
        case Control.IF:
            return [
                _agreed(one, sizes) for one in zip(*(block.outputs for block in node.blocks), strict=True)
            ]
        case Control.LOOP:
            return _carried(node, sizes)
        case SubGraph() as function if len(node.outputs) == len(function.outputs) and _alone(node, function):
            return _returned(function, node, sizes)
    return [(None,) * len(_sizes(value)) for value in node.outputs]


def _alone(node: Node, function: SubGraph) -> bool:
    """Say whether a call's results are the function's, each for itself, and no tuple of them."""
    return function.single or len(node.outputs) != 1


def _sizes(operand: Any) -> tuple[Size, ...]:
    kind = operand.type if isinstance(operand, Value) else None
    return kind.sizes if isinstance(kind, TensorType) else ()


def _agreed(operands: tuple[Any, ...], sizes: SizeScope) -> tuple[Size | None, ...]:
    """Return the sizes that all of some operands have."""
    first, *others = (tuple(map(sizes.settle, _sizes(one))) for one in operands)
    if any(len(one) != len(first) for one in others):
        return ()
    return tuple(one if all(one == other[i] for other in others) else None for i, one in enumerate(first))


def _carried(node: Node, sizes: SizeScope) -> list[tuple[Size | None, ...]]:
    """Return what a loop gives: sizes that no turn changes are those from before the first."""
    (body,) = node.blocks
    found: list[tuple[Size | None, ...]] = []
    for value, before, after in zip(body.inputs[1:], node.inputs[2:], body.outputs[1:], strict=True):
        kept = _agreed((value, after), sizes)
        start = tuple(map(sizes.settle, _sizes(before)))
        if len(kept) != len(start):
            found.append((None,) * len(_sizes(value)))
            continue
        found.append(
            tuple(there if one is not None else None for one, there in zip(kept, start, strict=True))
        )
    return found


def _returned(function: SubGraph, node: Node, sizes: SizeScope) -> list[tuple[Size | None, ...]]:
    """Return what a function gives, with the sizes of the operands put in for those of its inputs."""
    given: dict[Symbol, Size] = {}
    for value, operand in zip(function.inputs, node.inputs, strict=True):
        for size, there in zip(_sizes(value), map(sizes.settle, _sizes(operand)), strict=False):
            symbol = bare(size)
            if symbol is not None:
                given[symbol] = there
    return [tuple(_put(size, given) for size in _sizes(one)) for one in function.outputs]


def _put(size: Size, given: Mapping[Symbol, Size]) -> Size | None:
    """Return a size of a function in the caller's sizes; None where only the call itself knows it."""
    if not isinstance(size, Expression):
        return size
    return evaluate(size, given) if all(one in given for one in size.symbols()) else None
