"""Going over a graph: its blocks and nodes in the order in which they run, who reads what, and until when.

Everything that looks at all of a graph is written with these, so that blocks inside blocks are nobody else's concern.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.graph.blocks import Block, Node, Value, filled, values_in

__all__ = ["blocks", "last_uses", "made", "reads", "replace", "users", "walk"]


def blocks(block: Block) -> Iterator[Block]:
    """Yield a block and all blocks inside it, each before those inside it."""
    yield block
    for node in block.nodes:
        for inner in node.blocks:
            yield from blocks(inner)


def walk(block: Block) -> Iterator[tuple[Node, Block]]:
    """Yield every node with the block that it stands in, in order; a node before those of its blocks.

    >>> import workbench as wb
    >>> [node.name for node, _ in walk(wb.graph.trace(lambda x: x.exp().sum(), wb.ones(2)))]
    ['exp', 'sum']
    """
    for node in block.nodes:
        yield node, block
        for inner in node.blocks:
            yield from walk(inner)


def made(block: Block) -> Iterator[Value]:
    """Yield what a block is given, and what it and the blocks inside it make."""
    for one in blocks(block):
        yield from one.inputs
        for node in one.nodes:
            yield from node.outputs


def reads(node: Node) -> Iterator[Value]:
    """Yield the values that a node reads from around it: its operands, and what its blocks read but do not make."""
    yield from node.values
    for block in node.blocks:
        # Of the outer block with all inside it: what a block reads from its neighbour in there is not from around.
        own = set(made(block))
        for inner in blocks(block):
            for one in (
                *(value for there in inner.nodes for value in there.values),
                *values_in(inner.outputs),
            ):
                if one not in own:
                    yield one


def users(block: Block) -> dict[Value, list[Node]]:
    """Return for each value that is made the nodes that read it, in order; what a block gives its node reads."""
    found: dict[Value, list[Node]] = {value: [] for value in made(block)}
    for node, _ in walk(block):
        given = (value for inner in node.blocks for value in values_in(inner.outputs))
        # Once for each value, however often the node reads it.
        for value in dict.fromkeys((*node.values, *given)):
            found.setdefault(value, []).append(node)
    return found


def replace(block: Block, old: Value, new: Value) -> None:
    """Let every node and block that reads `old` read `new`."""

    def other(value: Value) -> Value:
        return new if value is old else value

    for inner in blocks(block):
        inner.outputs = filled(inner.outputs, other)
        for node in inner.nodes:
            node.inputs, node.params = filled(node.inputs, other), filled(node.params, other)
            # They name operands, and follow them.
            node.writes = tuple(map(other, node.writes))


def last_uses(block: Block, needed: Iterable[Value] = ()) -> dict[Node | Block, list[Value]]:
    """Return for each node the values that nothing reads after it, and for each block those that end when it is left.

    What a block reads from around it is read by the node that has the block: it is needed for every turn of a loop.
    Those in `needed` are read when the outermost block is left.
    """
    last: dict[Value, Node | Block] = {}
    _follow(block, (), {}, last)
    last.update(dict.fromkeys(needed, block))
    ends: dict[Node | Block, list[Value]] = {}
    for value, place in last.items():
        ends.setdefault(place, []).append(value)
    return ends


def _follow(
    block: Block, above: tuple[Node, ...], level: dict[Value, int], last: dict[Value, Node | Block]
) -> None:
    """Note in `last` where values were read last so far; `level` says how deep the block of each value is."""
    here = len(above)
    for value in block.inputs:
        level[value], last[value] = here, block
    for node in block.nodes:
        path = (*above, node)
        for value in node.values:
            # What the graph holds has no level: it is never let go.
            if value in level:
                # The node on the way here that stands in the value's own block: a loop reads it again at its next
                # turn.
                last[value] = path[level[value]]
        for inner in node.blocks:
            _follow(inner, path, level, last)
        # Until somebody reads it, a value ends where it is made.
        for value in node.outputs:
            level[value], last[value] = here, node
    for value in values_in(block.outputs):
        if value in level:
            last[value] = block if level[value] == here else above[level[value]]
