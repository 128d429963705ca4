"""Which nodes become one step: a convolution or a product with what `passes.fuse_convolutions` put together with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.core.op import ops
from workbench.graph.blocks import Node, SubGraph, Value, filled
from workbench.graph.ir import Graph
from workbench.graph.passes.fuse_codes import CODES
from workbench.graph.passes.fuse_convolutions import CONVOLUTION, LINEAR, fuse_convolutions
from workbench.graph.sizes import is_symbolic
from workbench.graph.types import TensorType
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.processor import multiplies_bfloat16

__all__ = ["MOVES", "NARROW", "Group", "fuse_layers", "group_of", "in_stretches"]


MOVES = (
    ops.reshape, ops.flatten, ops.unflatten, ops.squeeze, ops.unsqueeze, ops.rename, ops.detach, ops.permute,
    ops.lay_out, ops.index, ops.place, ops.expand,
)  # fmt: skip
"""What moves values and computes nothing, so that their type does not matter."""


def fuse_layers(graph: Graph, given: bool = False) -> Graph:
    """Return a graph in which each layer that has a step is one call with what the step does to its result.

    With `given`, convolutions of which the weights are parameters too, that each run is given.

    >>> import workbench as wb
    >>> from workbench.graph.passes import freeze
    >>> layer = wb.nn.Linear(3, 2)
    >>> graph = freeze(wb.graph.trace(wb.nn.Sequential(layer, wb.nn.ReLU()), wb.ones(4, 3)))
    >>> [node.callee.kind for node in fuse_layers(graph).nodes]
    ['fused_linear']
    """
    # By name: the pass works on a copy. A weight that is no constant has no step: what follows had better be a chain.
    names = {value.name for value in graph.constants if _is_float(value)}
    more = {value.name for value in graph.parameters if _is_float(value)} if given else set()
    return fuse_convolutions(graph, lambda node: _fits(node, names, more))


def _fits(node: Node, constants: set[str], given: set[str]) -> bool:
    """Say whether a node can stand in the step of a layer."""
    if is_symbolic((node.inputs, node.params)) or not all(map(_is_float, node.values)):
        return False
    if node.op in (ops.conv2d, ops.linear, ops.matmul):
        weights = [one for one in node.inputs[1:] if one is not None]
        # Of two tensors that are multiplied each is the other's weight, and they may be stacks of matrices.
        plain = node.op is not ops.matmul or len(weights[0].tensor.sizes) == 2
        known = constants | given if node.op is ops.conv2d else constants
        return plain and all(isinstance(one, Value) and one.name in known for one in weights)
    if node.op in (ops.hardtanh, ops.clamp):
        low, high = node.params["low"], node.params["high"]
        return low is not None and high is not None and low <= high
    if node.op is ops.add:
        # What is added to each row is the bias of the step, which is packed with the weight.
        rank = len(node.outputs[0].tensor.sizes)
        return all(one.name in constants for one in node.values if len(one.tensor.sizes) < rank)
    return node.op not in (ops.conv1d, ops.conv3d)


def _is_float(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, TensorType) and kind.dtype in (
        (_FLOAT32, BFLOAT16) if multiplies_bfloat16() else (_FLOAT32,)
    )


_FLOAT32 = np.dtype(np.float32)

NARROW = (
    ops.conv2d, ops.linear, ops.matmul, ops.attention, ops.max_pool2d, ops.avg_pool2d, ops.mean, ops.softmax,
    ops.layer_norm, ops.cat, ops.sum, ops.amax, ops.amin, ops.pad,
)  # fmt: skip
"""What has a step in bfloat16, too, where the processor multiplies it."""


@dataclass(frozen=True)
class Group:
    """A node with what is done to its result at once: in the order in which they run, all in values of one graph."""

    nodes: tuple[Node, ...]

    @property
    def output(self) -> Value:
        """What the group gives."""
        return self.nodes[-1].outputs[0]

    @property
    def behind(self) -> tuple[tuple[Node, Value | None], ...]:
        """What is done to the first node's result, each with what is added to it; names are given elsewhere."""
        found, value = [], self.nodes[0].outputs[0]
        for node in self.nodes[1:]:
            other = next((one for one in node.values if one is not value), None)
            value = node.outputs[0]
            if node.op is not ops.rename:
                found.append((node, other))
        return tuple(found)


def group_of(node: Node) -> Group:
    """Return what a node calls as a group: the nodes of a layer's function, given what that is given; else itself."""
    function = node.callee
    if not isinstance(function, SubGraph) or function.kind not in (CONVOLUTION, LINEAR, CODES):
        return Group((node,))
    outer: dict[Value, Any] = dict(zip(function.inputs, node.inputs, strict=True))
    outer.update(zip(function.outputs, node.outputs, strict=True))

    def known(value: Value) -> Any:
        return outer.get(value, value)

    nodes = [
        Node(one.callee, filled(one.inputs, known), one.params, tuple(map(known, one.outputs)))
        for one in function.nodes
    ]
    # What is added to a layer's codes is brought to numbers in its step, too: the layer says which step it is.
    return Group(tuple(sorted(nodes, key=lambda one: one.op is not ops.quantized_conv2d)))


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
