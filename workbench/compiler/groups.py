"""Which nodes become one step: a convolution or a linear map, what is added to it, and its activation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.core.op import ops
from workbench.graph.blocks import Node, Value
from workbench.graph.ir import Graph

__all__ = ["ACTIVATIONS", "MOVES", "Group", "groups", "in_stretches"]

ACTIVATIONS = (
    ops.relu, ops.hardtanh, ops.hardswish, ops.silu, ops.sigmoid, ops.gelu, ops.gelu_tanh, ops.tanh,
)  # fmt: skip
"""What a step can do to its result while that is in registers."""

MOVES = (
    ops.reshape, ops.flatten, ops.unflatten, ops.squeeze, ops.unsqueeze, ops.rename, ops.detach, ops.permute,
)  # fmt: skip
"""What moves values and computes nothing, so that their type does not matter."""

_STARTS = (ops.conv2d, ops.linear)


@dataclass(frozen=True)
class Group:
    """A node with what follows it at once: something of its sizes that is added, and an activation."""

    nodes: tuple[Node, ...]
    added: Value | None = None
    activation: Node | None = None

    @property
    def output(self) -> Value:
        """What the group gives."""
        return self.nodes[-1].outputs[0]


def groups(graph: Graph) -> list[Group]:
    """Return the nodes of a graph without blocks as groups, in an order in which they can run.

    A group runs where its last node stood: what is added is known by then.
    """
    readers = graph.users()
    returned = set(graph.returned())

    def only_reader(value: Value) -> Node | None:
        found = readers[value]
        return found[0] if len(found) == 1 and value not in returned else None

    by_last: dict[Node, Group] = {}
    taken: set[Node] = set()
    for node in graph.nodes:
        if node.op not in _STARTS or node in taken:
            continue
        nodes, added = [node], None
        after = only_reader(node.outputs[0])
        if after is not None and after not in taken and after.op is ops.add and not after.params:
            added = _other(after, node.outputs[0])
            if added is not None:
                nodes.append(after)
                after = only_reader(after.outputs[0])
        activation = None
        if after is not None and after not in taken and after.op in ACTIVATIONS and len(after.values) == 1:
            activation = after
            nodes.append(after)
        taken.update(nodes)
        by_last[nodes[-1]] = Group(tuple(nodes), added, activation)
    return [
        by_last[node] if node in by_last else Group((node,))
        for node in graph.nodes
        if node in by_last or node not in taken
    ]


def _other(add: Node, value: Value) -> Value | None:
    """Return what `add` adds to `value`, where that has the same sizes in every run."""
    others = [one for one in add.inputs if one is not value]
    if len(others) != 1 or not isinstance(others[0], Value):
        return None
    other = others[0]
    alike = other.tensor.dtype == value.tensor.dtype and other.tensor.sizes == value.tensor.sizes
    return other if alike else None


def in_stretches(found: list[Group], given: set[Value], has_step: Callable[[Group], bool]) -> list[Group]:
    """Return groups in another order: as few changes as can be between those that have a step and those that have none.

    At each change a program ends, and what the next one reads has to lie row by row. `given` is known beforehand.
    """
    known, waiting, order = set(given), list(found), []
    kinds = {group: has_step(group) for group in found}
    wanted = False
    while waiting:
        rest = []
        for group in waiting:
            own = {value for node in group.nodes for value in node.outputs}
            if kinds[group] == wanted and all(
                one in known or one in own for node in group.nodes for one in node.values
            ):
                order.append(group)
                known |= own
            else:
                rest.append(group)
        waiting, wanted = rest, not wanted
    return order
