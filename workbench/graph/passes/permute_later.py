"""Let products of rows read values in the order in which they are made, and permute what comes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.base.size_expressions import Size
from workbench.core.op import ops
from workbench.graph.blocks import Node, Value
from workbench.graph.effects import writes_anywhere
from workbench.graph.ir import Graph
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.rewriter import Rewriter
from workbench.graph.types import TensorType

__all__ = ["permute_later"]


def permute_later(graph: Graph) -> Graph:
    """Return a graph in which ``linear`` takes rows as they were before they were permuted.

    A product of rows is the same in any order of the rows: permuted afterwards, its result is what it was. So a
    permutation goes along until another undoes it, or until something needs it; reshapes that split dims, or put dims
    together, go with it. Attention whose sequences come first, inside a model whose batches do, is left without any
    that moves values. A graph that writes into memory stays as it is.

    >>> import workbench as wb
    >>> layer = wb.nn.Linear(4, 5)
    >>> graph = wb.graph.trace(lambda x: layer(x.permute(1, 0, 2)).permute(1, 0, 2), wb.ones(2, 3, 4))
    >>> [node.name for node in permute_later(graph).nodes]
    ['linear']
    """
    if any(map(writes_anywhere, (graph, *graph.functions.values()))):
        return dead_code(graph)
    return dead_code(_Later(graph).rewritten())


@dataclass(frozen=True)
class _Shown:
    """A value as another one shows it: each of its dims is some of that one's, put together."""

    base: Value
    groups: tuple[tuple[int, ...], ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The dims of the base in the order in which they are shown."""
        return tuple(one for group in self.groups for one in group)

    @property
    def moves(self) -> bool:
        """Say whether dims stand in another order than the base's."""
        return self.order != tuple(sorted(self.order))


class _Later(Rewriter):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._shown: dict[Value, _Shown] = {}

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        first = inputs[0] if inputs else None
        if not isinstance(first, Value) or not isinstance(first.type, TensorType):
            return self.again(node, inputs, params)
        found = None
        if node.op is ops.permute:
            found = self._permuted(first, params["dim"])
        elif node.op is ops.reshape:
            found = self._reshaped(node, first, params["sizes"])
        elif node.op is ops.rename and params["names"] is None:
            found = self._bare(node, first)
        elif node.op is ops.linear:
            found = self._multiplied(node, inputs)
        if found is None:
            return self.again(node, inputs, params)
        return (self._made(node, found),)

    def _of(self, value: Value) -> _Shown:
        return self._shown.get(value) or _Shown(value, tuple((i,) for i in range(len(value.tensor.sizes))))

    def _sizes(self, value: Value) -> list[Size]:
        return [self.sizes.settle(one) for one in value.tensor.sizes]

    def _made(self, node: Node, shown: _Shown) -> Value:
        """Write what is shown as a value of its own: dead code if nothing needs it so."""
        value, order = shown.base, shown.order
        if shown.moves:
            (value,) = self.insert(ops.permute, (value,), {"dim": order}, like=node)
        if any(len(group) != 1 for group in shown.groups):
            sizes = self._sizes(shown.base)
            whole = tuple(math.prod(sizes[one] for one in group) for group in shown.groups)
            (value,) = self.insert(ops.reshape, (value,), {"sizes": whole}, like=node)
        self._shown[value] = shown
        return value

    def _permuted(self, value: Value, dim: tuple[int, ...]) -> _Shown:
        shown = self._of(value)
        return _Shown(shown.base, tuple(shown.groups[one] for one in dim))

    def _bare(self, node: Node, value: Value) -> _Shown | None:
        shown = self._of(value)
        if not shown.moves:
            return None
        (base,) = self.insert(ops.rename, (shown.base,), {"names": None}, like=node)
        return _Shown(base, shown.groups)

    def _reshaped(self, node: Node, value: Value, sizes: tuple[Size, ...]) -> _Shown | None:
        """Return a permuted value in other sizes, where each dim is split or put together; None for anything else."""
        shown = self._of(value)
        if not shown.moves or any(value.tensor.dims.names):
            return None
        have = self._sizes(shown.base)
        parts = _matched([have[one] for one in shown.order], [self.sizes.settle(one) for one in sizes])
        if parts is None:
            return None
        # What each dim of the base is split into, and where its parts stand then.
        split: dict[int, list[Size]] = {i: [size] for i, size in enumerate(have)}
        for dims, wanted in parts:
            if len(wanted) > 1:
                split[shown.order[dims[0]]] = wanted
        starts = [sum(len(split[j]) for j in range(i)) for i in range(len(have))]
        base = shown.base
        if any(len(one) > 1 for one in split.values()):
            whole = tuple(size for i in range(len(have)) for size in split[i])
            (base,) = self.insert(ops.reshape, (base,), {"sizes": whole}, like=node)
        groups: list[tuple[int, ...]] = []
        for dims, wanted in parts:
            start = starts[shown.order[dims[0]]]
            if len(wanted) > 1:
                groups += [(start + i,) for i in range(len(wanted))]
            else:
                groups.append(tuple(starts[shown.order[one]] for one in dims))
        return _Shown(base, tuple(groups))

    def _multiplied(self, node: Node, inputs: tuple[Any, ...]) -> _Shown | None:
        """Return what a layer gives for rows in their own order."""
        shown = self._of(inputs[0])
        if any(inputs[0].tensor.dims.names):
            return None
        rows, inner = [one for group in shown.groups[:-1] for one in group], shown.groups[-1]
        if rows == sorted(rows):
            return None
        base, names = shown.base, sorted(rows)
        order = (*names, *inner)
        if order != tuple(range(len(order))):
            (base,) = self.insert(ops.permute, (base,), {"dim": order}, like=node)
        if len(inner) > 1:
            sizes = self._sizes(base)
            whole = (*sizes[: len(rows)], math.prod(sizes[len(rows) :]))
            (base,) = self.insert(ops.reshape, (base,), {"sizes": whole}, like=node)
        (made,) = self.insert(ops.linear, (base, *inputs[1:]), {}, like=node, names=[node.name])
        groups = (tuple(names.index(one) for one in group) for group in shown.groups[:-1])
        return _Shown(made, (*groups, (len(rows),)))


def _matched(have: list[Size], wanted: list[Size]) -> list[tuple[list[int], list[Size]]] | None:
    """Return which sizes become which: one several, or several one; None where it is neither.

    >>> _matched([2, 3, 8], [6, 2, 4])
    [([0, 1], [6]), ([2], [2, 4])]
    """
    found: list[tuple[list[int], list[Size]]] = []
    i = j = 0
    while i < len(have) and j < len(wanted):
        split, joined = _until(wanted[j:], have[i]), _until(have[i:], wanted[j])
        if split:
            found.append(([i], wanted[j : j + split]))
            i, j = i + 1, j + split
        elif joined:
            found.append((list(range(i, i + joined)), [wanted[j]]))
            i, j = i + joined, j + 1
        else:
            return None
    return found if i == len(have) and j == len(wanted) else None


def _until(sizes: list[Size], whole: Size) -> int:
    """Return how many sizes from the first on multiply to a whole; 0 where none do."""
    product: Size = 1
    for count, size in enumerate(sizes, 1):
        product = product * size
        if product == whole:
            return count
    return 0
