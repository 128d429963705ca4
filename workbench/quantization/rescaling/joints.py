"""Joints of a model: values whose channels can be divided by numbers in one layer and multiplied in the next.

A joint is a value, and what becomes of it by ops that let positive factors through (f(x / s) = f(x) / s), from one
layer that makes it to layers that read it. Where nothing else reads it, the parameters of the first may be divided by
s and the weights of the others multiplied with it: y = W₂·f(W₁·x) = (W₂·s)·f((W₁ / s)·x).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.core.op import Op, ops
from workbench.graph import Graph, Node, Value
from workbench.graph.blocks import values_in
from workbench.graph.walk import users

__all__ = ["Joint", "Reader", "joints"]

Array = np.ndarray[Any, Any]

LAYERS = (ops.conv1d, ops.conv2d, ops.conv3d, ops.linear)
"""Ops whose weight has what they make first and what they read second, and whose bias follows."""
NORMS = (ops.layer_norm, ops.rms_norm)
"""Ops that end by multiplying with a weight and adding a bias."""
_ALIKE = (ops.relu, ops.leaky_relu)
"""Ops that let positive factors through, value by value."""
_OVER_PLACES = (
    ops.max_pool1d,
    ops.max_pool2d,
    ops.max_pool3d,
    ops.avg_pool1d,
    ops.avg_pool2d,
    ops.avg_pool3d,
)
"""Ops that do so within a channel, which is the second dim."""


@dataclass(frozen=True)
class Reader:
    """A layer that reads the value of a joint."""

    node: Node
    weight: Value
    groups: int
    repeat: int
    """How many of its inputs lie in one channel, where images became rows."""
    rows: tuple[int | None, int | None] = (None, None)
    """Begin and end of those of the weight that it reads: attention has several projections in one weight."""

    def by_channel(self, weight: Array) -> Array:
        """Return a view [groups, out / groups, channels / groups, the rest] of its weight."""
        weight = weight[slice(*self.rows)]
        outputs = weight.shape[0]
        inputs = weight.shape[1] // self.repeat
        return weight.reshape(self.groups, outputs // self.groups, inputs, -1)

    def multiply(self, weight: Array, scale: Array) -> None:
        """Multiply the weight, in place, with a factor for each channel."""
        view = self.by_channel(weight)
        view *= scale.reshape(self.groups, 1, -1, 1)

    def ranges(self, weight: Array) -> Array:
        """Return the largest size of a weight that each channel meets."""
        return np.asarray(np.abs(self.by_channel(weight)).max(axis=(1, 3)).reshape(-1))


@dataclass(frozen=True)
class Joint:
    """What is divided, channel by channel along its first dim, and who is multiplied."""

    value: Value
    """What the first layer makes."""
    made: tuple[Value, ...]
    """Parameters of the layer that makes it, its norm's if it has one, which are divided."""
    weight: Value
    """The weight whose range counts: the layer's own."""
    norm: Node | None = None
    """The batch normalisation behind the layer."""
    readers: list[Reader] = field(default_factory=list)


def joints(graph: Graph, makers: tuple[Op, ...]) -> list[Joint]:
    """Return the joints that begin at calls of `makers`, in the order of the graph."""
    reads = users(graph)
    kept = set(values_in(graph.outputs)) | set(graph.updates.values())
    found = [_joint(graph, node, reads, kept) for node in graph.nodes if node.op in makers]
    return [joint for joint in found if joint is not None]


def _joint(graph: Graph, node: Node, reads: dict[Value, list[Node]], kept: set[Value]) -> Joint | None:
    made = node.inputs[1:3]
    value = node.outputs[0]
    norm: Node | None = None
    following = reads.get(value, [])
    if len(following) == 1 and following[0].op is ops.batch_norm_inference and value not in kept:
        norm = following[0]
        made, value = norm.inputs[3:5], norm.outputs[0]
    if len(made) == 0 or not all(_own(graph, one, reads) for one in (*made, node.inputs[1])):
        return None
    if norm is not None and len(made) < 2:
        return None  # what such a norm makes cannot be divided
    joint = Joint(node.outputs[0], tuple(made), node.inputs[1], norm)
    channels = graph.parameters[made[0]].shape[0]
    # Convolutions make channels in the second dim, all others in the last.
    at = 1 if node.op in LAYERS and node.op is not ops.linear else len(value.tensor.dims.sizes) - 1
    told = _follow(graph, value, channels, at, reads, kept, joint.readers)
    return joint if told and joint.readers else None


def _own(graph: Graph, value: Any, reads: dict[Value, list[Node]]) -> bool:
    """Say whether an operand is a parameter that is read once."""
    return isinstance(value, Value) and value in graph.parameters and len(reads.get(value, [])) == 1


def _follow(
    graph: Graph,
    value: Value,
    channels: int,
    at: int,
    reads: dict[Value, list[Node]],
    kept: set[Value],
    found: list[Reader],
) -> bool:
    """Note all readers of a value with channels in the dim `at`, and say whether each of them can be multiplied."""
    if value in kept:
        return False
    for node in reads.get(value, []):
        if node.inputs[0] is not value or value in node.inputs[1:]:
            return False
        after = _dim_after(node, at)
        if after is not None:
            if not _follow(graph, node.outputs[0], channels, after, reads, kept, found):
                return False
            continue
        reader = _reader(graph, node, value, channels, at, reads)
        if reader is None:
            return False
        found.append(reader)
    return True


def _dim_after(node: Node, at: int) -> int | None:
    """Return the dim of the channels behind an op that lets factors through; None for other ops."""
    if node.op is ops.permute:
        return list(node.params["dim"]).index(at)
    if node.op in _ALIKE:
        return at if float(node.params.get("slope", 0.0)) >= 0 else None
    if node.op in _OVER_PLACES:
        return 1 if at == 1 else None
    if node.op is ops.mean and not node.params["keepdim"] and at == 1:
        return 1 if min(node.params["dim"]) > 1 else None
    if node.op is ops.flatten and at == 1 and node.params["start"] == 1:
        # All places of a channel lie behind one another in a row.
        return 1 if node.params["end"] == len(node.inputs[0].tensor.dims.sizes) - 1 else None
    return None


def _reader(
    graph: Graph, node: Node, value: Value, channels: int, at: int, reads: dict[Value, list[Node]]
) -> Reader | None:
    """Return a layer that reads channels in the dim `at`; None for another op, or a weight that is not its own."""
    if node.op not in LAYERS:
        return None
    weight, rows = _rows(graph, node.inputs[1], reads)
    if weight is None:
        return None
    if at != (len(value.tensor.dims.sizes) - 1 if node.op is ops.linear else 1):
        return None
    groups = node.params.get("groups", 1)
    inputs = graph.parameters[weight].shape[1] * groups
    return None if inputs % channels else Reader(node, weight, groups, inputs // channels, rows)


def _rows(graph: Graph, value: Any, reads: dict[Value, list[Node]]) -> tuple[Value | None, Any]:
    """Return a parameter that is read once, or in parts that have no row in common, and the rows that a value has."""
    everything = None, None
    if _own(graph, value, reads):
        return value, everything
    node = value.node if isinstance(value, Value) else None
    if node is None or node.op is not ops.index or node.inputs[0] not in graph.parameters:
        return None, everything
    size = graph.parameters[node.inputs[0]].shape[0]
    parts = [_part(one, size) for one in reads[node.inputs[0]]]
    own = _part(node, size)
    taken = [row for part in parts if part is not None for row in range(*part)]
    if own is None or None in parts or len(set(taken)) < len(taken) or len(reads[value]) > 1:
        return None, everything
    return node.inputs[0], own


def _part(node: Node, size: int) -> tuple[int, int] | None:
    """Return begin and end of the rows that a node takes of what it reads; None where it does something else."""
    if node.op is not ops.index or len(node.params["key"]) != 1:
        return None
    (key,) = node.params["key"]
    if not isinstance(key, slice) or key.step not in (None, 1):
        return None
    return key.indices(size)[:2]
