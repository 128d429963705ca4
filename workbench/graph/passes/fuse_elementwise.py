"""Put ops together that compute each value from values at its own place: all of them are one pass over memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from workbench.base.size_expressions import Size
from workbench.core.op import ops
from workbench.graph.blocks import Block, Node, Value
from workbench.graph.effects import pure
from workbench.graph.ir import Graph
from workbench.graph.outlining import Outliner
from workbench.graph.types import TensorType
from workbench.graph.walk import blocks

__all__ = ["ELEMENTWISE", "fuse_elementwise"]

ELEMENTWISE = "fused_elementwise"
"""What kind of functions come out."""


_BY_PLACE = (ops.dropout,)
"""What draws a number for each place, besides the op's operands: who runs that must say so."""


def _draws_nothing(node: Node) -> bool:
    return node.op not in _BY_PLACE


def fuse_elementwise(graph: Graph, takes: Callable[[Node], bool] = _draws_nothing) -> Graph:
    """Return a graph in which elementwise ops that work on one another's results are one call.

    What is called is a function of the kind ``fused_elementwise``. All that is computed in it has the same sizes; what
    it is given may be stretched to them: a number, a value a channel. Which ops are elementwise, their records say;
    `takes` says of a node whether whoever runs the functions can have it in one. In between may stand ``rename`` and
    ``detach``, which change no number, and ``dropout`` where `takes` allows it.

    A function gives one result; or several, where something else reads what is computed on the way, and the rest would
    have to read it again. What stands in other fused functions stays there, and what changes memory, or what nobody
    knows, is not crossed.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x, w: ((x * w).exp() + x).sum("C"), wb.ones(N=2, C=3), wb.ones(C=3))
    >>> print(fuse_elementwise(graph))
    fused_elementwise(%x : f32[N:2, C:3], %w : f32[C:3]):
      kind 'fused_elementwise'
      assert %x.shape[1] == %w.shape[0]  # ...
      %mul : f32[N:2, C:3] = mul(%x, %w)  # ...
      %exp : f32[N:2, C:3] = exp(%mul)  # ...
      %add : f32[N:2, C:3] = add(%exp, %x)  # ...
      return %add
    <BLANKLINE>
    graph(%x : f32[N:2, C:3], %w : f32[C:3]):
      assert %x.shape[1] == %w.shape[0]  # ...
      %add : f32[N:2, C:3] = @fused_elementwise(%x, %w)  # ...
      %sum : f32[N:2] = sum(%add, dim=(1,), keepdim=False)  # ...
      return %sum
    """
    result = graph.copy()
    outliner = Outliner(result)
    for function in (*result.functions.values(), result):
        if not function.kind:
            for block in list(blocks(function)):
                _fuse(_Groups(outliner, block, takes))
    return result


_SAME_PLACES = (ops.rename, ops.detach)
"""Views in which each value stays at its place; nothing is gained by putting only them together."""


class _Groups:
    """The elementwise nodes of a block in groups that give one result each."""

    def __init__(self, outliner: Outliner, block: Block, takes: Callable[[Node], bool]) -> None:
        self.outliner = outliner
        self.group: dict[Node, list[Node]] = {}
        """The group of each node; from the end on, the node that gives the result first."""
        self.sizes: dict[Node, tuple[Size, ...]] = {}
        self._effects: dict[Node, int] = {}
        """How many nodes that do more than compute come behind each."""
        effects = 0
        # From the end on: who reads a value is in its group already.
        for node in reversed(block.nodes):
            effects += not pure(node)
            if not (_elementwise(node, outliner) and (node.op in _SAME_PLACES or takes(node))):
                continue
            self.sizes[node], self._effects[node] = outliner.sizes(node, node.outputs[0]), effects
            found = self._of_readers(node)
            self.group[node] = [] if found is None else found
            self.group[node].append(node)

    def _of_readers(self, node: Node) -> list[Node] | None:
        """Return the group in which all readers of a node are, and that has its sizes."""
        value = node.outputs[0]
        readers = self.outliner.readers(value)
        if not readers or value in self.outliner.needed:
            return None
        found = self.group.get(readers[0])
        if found is None or any(self.group.get(one) is not found for one in readers):
            return None
        return found if self._alike(found[0], node) else None

    def _alike(self, one: Node, other: Node) -> bool:
        return self.sizes[one] == self.sizes[other] and self._effects[one] == self._effects[other]

    def beside(self, group: list[Node]) -> Iterator[list[Node]]:
        """Yield the groups that read what a group makes, or make what it reads, and have its sizes."""
        for node in list(group):
            made_by = (value.node for value in node.values)
            for one in (*self.outliner.readers(node.outputs[0]), *made_by):
                other = None if one is None else self.group.get(one)
                if other is not None and other is not group and self._alike(other[0], group[0]):
                    yield other


def _fuse(groups: _Groups) -> None:
    outliner = groups.outliner
    # Each once, in the order in which they begin to be needed: so their functions are numbered.
    for group in reversed({id(one): one for one in groups.group.values()}.values()):
        if groups.group.get(group[0]) is not group:
            continue
        # What one makes and something else reads as well would be read once more by the other.
        while more := next((one for one in groups.beside(group) if _fit(one, group, outliner)), []):
            group += more
            groups.group.update(dict.fromkeys(more, group))
        for node in group:
            del groups.group[node]
        if sum(node.op not in _SAME_PLACES for node in group) > 1:
            # Left as it is where a loop knows only by a guard that two sizes are one: outside, nothing follows from it.
            outliner.attempt(group, ELEMENTWISE)


def _fit(one: list[Node], other: list[Node], outliner: Outliner) -> bool:
    return outliner.refusal([*one, *other]) is None


def _elementwise(node: Node, outliner: Outliner) -> bool:
    """Say whether a node computes plain numbers, each from those at its own place."""
    op = node.op
    if op is None or not (op in (*_SAME_PLACES, *_BY_PLACE) or "elementwise" in op.properties):
        return False
    if "random" in op.properties:
        return False
    values = [
        one for one in (*node.values, *node.outputs) if isinstance(one.type, TensorType) or not one.type.known
    ]
    return len(node.outputs) == 1 and all(map(_plain, values)) and outliner.shown_inside(node)


def _plain(value: Value) -> bool:
    # Codes of quantized tensors are no numbers by themselves.
    return isinstance(value.type, TensorType) and isinstance(value.type.dtype, np.dtype)
