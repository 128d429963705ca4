"""What the sizes of all values are in every run, as they follow from the rules: a text does not say it."""

from __future__ import annotations

from dataclasses import replace

from workbench.base.size_guards import SizeScope
from workbench.core.op import Op
from workbench.graph.blocks import Block, SubGraph
from workbench.graph.ir import Graph
from workbench.graph.rules import results
from workbench.graph.symbols import learnt, settle, tell
from workbench.graph.types import TensorType

__all__ = ["with_sizes"]


def with_sizes(graph: Graph) -> Graph:
    """Return `graph` with the sizes that its values have in every run, as they follow from the rules.

    What the rules decide by sizes is guarded. It ends where a rule refuses what it is given: `check` says so.
    """
    for function in (*graph.functions.values(), graph):
        with SizeScope(function.guards) as sizes:
            _tell(function, function, sizes)
        settle(function, sizes)
    return graph


def _tell(function: SubGraph, block: Block, sizes: SizeScope) -> bool:
    """Give what the nodes of a block of a function make their sizes; say whether no rule refused."""
    for node in block.nodes:
        # What blocks give says what their node gives.
        if not all(_tell(function, inner, sizes) for inner in node.blocks):
            return False
        before = [one.type for one in node.outputs]
        try:
            found = results(node, sizes) if isinstance(node.callee, Op) else None
            tell(node, sizes)
        except (TypeError, ValueError, LookupError, RuntimeError):
            return False
        for value, given in zip(node.outputs, found or (), strict=False):
            if isinstance(value.type, TensorType) and isinstance(given, TensorType):
                value.type = replace(value.type, sizes=given.sizes)
        for value, written in zip(node.outputs, before, strict=True):
            # A text may say `y.shape[0]` for a size that follows from others.
            function.learnt |= learnt(value, written)
            for symbol, size in learnt(value, written).items():
                sizes.know(symbol, size)
    return True
