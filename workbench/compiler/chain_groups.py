"""Which elementwise ops become chains, and chains as steps of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.base.size_expressions import Symbolic
from workbench.compiler.chain_steps import NotAChain
from workbench.compiler.chains import chain_code, has_rule
from workbench.graph.blocks import Block, Node, SubGraph, Value
from workbench.graph.ir import Graph
from workbench.graph.passes.fuse_elementwise import ELEMENTWISE, fuse_elementwise
from workbench.graph.rewriter import Rewriter

__all__ = ["chain_of", "fuse_chains"]


def fuse_chains(graph: Graph) -> Graph:
    """Return a graph in which elementwise ops that a chain can run are functions; what `fuse_layers` made stays.

    >>> import workbench as wb
    >>> graph = fuse_chains(wb.graph.trace(lambda x: (x * 2).exp().sum(), wb.ones(3)))
    >>> [node.name for node in graph.nodes]
    ['exp', 'sum']
    """
    fused = fuse_elementwise(graph, _fits)
    refused = [one for one in fused.functions.values() if one.kind == ELEMENTWISE and not _runs(one)]
    return _Without(fused, refused).rewritten() if refused else fused


class _Without(Rewriter):
    """Puts what some functions do in the place of their calls."""

    def __init__(self, graph: Graph, functions: Sequence[SubGraph]) -> None:
        super().__init__(graph)
        self.refused = functions

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        function = node.callee
        if not isinstance(function, SubGraph) or function not in self.refused:
            return self.again(node, inputs, params)
        return self.place(function, inputs, function)


def _fits(node: Node) -> bool:
    """Say whether a chain can run a node on its own, or with others: it may compare floats and choose between them."""
    return has_rule(node) and _is_chain(chain_block(node))


def chain_block(node: Node) -> Block:
    """Return what a node computes as a function: that which it calls, or itself."""
    if isinstance(node.callee, SubGraph):
        return node.callee
    return Block(list(dict.fromkeys(node.values)), [node], node.outputs)


def _is_chain(block: Block) -> bool:
    try:
        chain_code(block)
    except NotAChain:
        return False
    return True


def _runs(function: SubGraph) -> bool:
    """Say whether a function is a step of a program, which takes tensors and gives tensors."""
    return all(isinstance(one, Value) for one in (*function.inputs, *function.outputs)) and _is_chain(
        function
    )


def chain_of(node: Node, number: Callable[[Symbolic], Any]) -> tuple[Any, list[Value]] | None:
    """Return the interpreter's chain for a node and what it reads, in order; None where it is no chain.

    `number` says what the sizes are that stand among its operands.
    """
    if not (isinstance(node.callee, SubGraph) or has_rule(node)):
        return None
    block = chain_block(node)
    values = list(node.inputs) if isinstance(node.callee, SubGraph) else block.inputs
    if not all(isinstance(one, Value) for one in values):
        return None
    try:
        return chain_code(block, number).built(), values
    except NotAChain:
        return None
