"""What a call does besides giving values: passes move, merge and drop only what does nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.core.op import Op
from workbench.graph.blocks import Block, NamedFunction, Node, SubGraph, Value, values_in
from workbench.graph.walk import walk

__all__ = ["pure", "writes_anywhere", "written_by"]


def pure(node: Node) -> bool:
    """Say whether a node only computes: it writes into nothing, draws nothing, and calls nothing unknown.

    Ops only compute: what they draw follows from a seed. A module kept whole may change its buffers.
    """
    if node.writes:
        return False
    if isinstance(node.callee, NamedFunction):
        # A function of the workbench may draw, or write into its input under a flag: it says so where it is known.
        return node.callee.pure
    # Before ops: control flow is as pure as what it runs.
    inside = [node.callee] if isinstance(node.callee, SubGraph) else list(node.blocks)
    if inside:
        return all(pure(one) for block in inside for one, _ in walk(block))
    return isinstance(node.callee, Op)


def written_by(callee: Any, inputs: tuple[Any, ...], params: Mapping[str, Any]) -> Iterator[Value]:
    """Yield the values that a call of a function by name writes into: what it says, ``out=``, and where ``inplace``."""
    if not isinstance(callee, NamedFunction):
        return
    # Only a literal True counts: what a value is, only a run knows.
    places = {*callee.writes, *((0,) if params.get("inplace") is True else ())}
    yield from dict.fromkeys(
        value
        for operand in (*(inputs[i] for i in sorted(places) if i < len(inputs)), params.get("out"))
        for value in values_in(operand)
    )


def writes_anywhere(block: Block) -> bool:
    """Say whether any node of a block, or of the blocks in it, writes into memory."""
    return any(node.writes for node, _ in walk(block))
