"""What is compared of a node, as text in which nothing is called by a name of the graph's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from workbench.base.dtypes import dtype_of
from workbench.base.size_expressions import Expression, Symbol, Symbolic
from workbench.base.size_guards import Guard
from workbench.graph.blocks import GraphError, LeafModule, Node, SubGraph, Value, called, filled, values_in
from workbench.graph.ir import Graph
from workbench.graph.operand_text import written
from workbench.graph.symbols import symbols
from workbench.graph.types import TensorType, Type

__all__ = ["SLOT", "Facts", "Reader"]

SLOT = "·"
"""What stands for a value in the text of an operand."""


_PLAIN = (int, float, str, type(None))
"""Operands in which no value stands."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A node without names: what it calls, with what, and what it gives."""

    callee: str
    arguments: tuple[tuple[str, str], ...]
    """Operands by position or keyword, as text with `SLOT` for values."""
    reads: tuple[tuple[str, Value], ...]
    """The values among them, each with the operand that it stands in."""
    types: tuple[str, ...]


class Reader:
    """Reads facts of the nodes of one graph.

    `names` says what its functions and inputs are called in both graphs, so that sizes are called alike, too.
    """

    def __init__(self, graph: Graph, names: dict[Any, str]) -> None:
        self._graph = graph
        self._names = names
        self._sizes: dict[Symbolic, Any] = {}
        self._types: dict[Any, str] = {}
        self._symbols: dict[Symbol, Expression] = {}
        self._same: dict[Symbol, Expression] = {}

    def enter(self, function: SubGraph) -> None:
        """Read a function from now on: its sizes are its own."""
        self._sizes, self._types = {}, {}
        self._symbols = {
            symbol: Expression.of(Symbol(f"{self._shower(value)}.shape[{dim}]", symbol.hint))
            for symbol, (value, dim) in symbols(function).items()
        }
        self._same = self._guarded(function)

    def _guarded(self, function: SubGraph) -> dict[Symbol, Expression]:
        """Return what sizes are in types that a guard holds to be the same: of two, that which is shown first.

        Empty where no guard says so of any.
        """
        order = {symbol: i for i, symbol in enumerate(self._symbols)}
        same: dict[Symbol, Expression] = {}
        for guard in function.guards:
            sides = (side.symbol for side in (guard.left, guard.right) if isinstance(side, Expression))
            pair = [one for one in sides if one is not None and one in order]
            if guard.relation == "==" and len(pair) == 2:
                first, second = sorted(pair, key=order.__getitem__)
                same = same or dict(self._symbols)
                # All that was the second, by an earlier guard, is the first from now on.
                old = same[second]
                same.update({one: same[first] for one, known in same.items() if known == old})
        return same

    def _shower(self, value: Value) -> str:
        """Return what the value that shows a size is called: an input by its place, anything else by what makes it."""
        return self._names.get(value) or (self.callee(value.node.callee) if value.node else "block")

    def facts(self, node: Node) -> Facts:
        """Return what is compared of `node`."""
        arguments: list[tuple[str, str]] = []
        reads: list[tuple[str, Value]] = []
        # Of ten thousand nodes each one is read: most operands are values, and most others numbers.
        for key, one in chain(zip(map(str, count()), node.inputs, strict=False), sorted(node.params.items())):
            if isinstance(one, Value):
                arguments.append((key, SLOT))
                reads.append((key, one))
            else:
                arguments.append((key, self.operand(one)))
                if not isinstance(one, _PLAIN):
                    reads += [(key, value) for value in values_in(one)]
        return Facts(
            self.callee(node.callee),
            tuple(arguments),
            tuple(reads),
            tuple([self.type(value.type) for value in node.outputs]),
        )

    def callee(self, callee: Any) -> str:
        """Return what is called; a module by its class, since its path says where it is and not what."""
        if isinstance(callee, LeafModule) and callee.path in self._graph.modules:
            return type(self._graph.modules[callee.path]).__name__
        return self._names.get(callee, "") if isinstance(callee, SubGraph) else called(callee)

    def operand(self, operand: Any) -> str:
        """Return an operand as text."""
        # The usual ones first: a graph has ten of them for each that is written out.
        if isinstance(operand, Value):
            return SLOT
        if operand is None or isinstance(operand, int):
            return repr(operand)
        if self._symbols:
            operand = filled(operand, _itself, self._size)
        try:
            return written(operand, _slot)
        except GraphError:
            # A value of the program's own class is compared by what it prints as.
            return f"{type(operand).__name__} {operand!r}"

    def type(self, kind: Type) -> str:
        """Return a type with the sizes that it has in every run."""
        if not isinstance(kind, TensorType):
            return str(kind)
        # Kept, since a graph has thousands of values of few types.
        key = kind.dtype, kind.dims.labels, kind.sizes
        found = self._types.get(key)
        if found is None:
            sizes = [self._held_same(one) if isinstance(one, Symbolic) else one for one in kind.sizes]
            parts = [f"{label or SLOT}:{size}" for label, size in zip(kind.dims.labels, sizes, strict=True)]
            found = self._types[key] = f"{dtype_of(kind).short}[{', '.join(parts)}]"
        return found

    def _size(self, size: Symbolic) -> Any:
        """Return a size over symbols with other names; terms are put in order by those."""
        found = self._sizes.get(size)
        if found is None:
            found = self._sizes[size] = size.evaluate(self._named(size))
        return found

    def _held_same(self, size: Symbolic) -> Any:
        """Return a size by the names that types have for it: with a guard that makes two sizes one, by one name."""
        if not self._same:
            return self._size(size)
        return size.evaluate({one: self._same.get(one, Expression.of(one)) for one in size.symbols()})

    def _named(self, size: Symbolic) -> dict[Symbol, Any]:
        return {one: self._symbols.get(one, Expression.of(one)) for one in size.symbols()}

    def guards(self, function: SubGraph) -> Iterator[str]:
        """Yield what must hold of the sizes of a function that was entered."""
        for guard in function.guards:
            one = guard.over(lambda side: self._size(side) if isinstance(side, Symbolic) else side)
            # Equal is equal from both sides.
            even = one.relation in ("==", "!=") and str(one.right) < str(one.left)
            yield str(Guard(one.right, one.relation, one.left) if even else one)


def _itself(value: Value) -> Value:
    return value


def _slot(value: Value) -> str:
    return SLOT
