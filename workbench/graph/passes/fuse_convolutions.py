"""Put a convolution, or a linear map, together with what is done to its result at once."""

from __future__ import annotations

from collections.abc import Callable, Container

from workbench.base.size_expressions import Size
from workbench.core.op import ops
from workbench.graph.blocks import Node, Value, values_in
from workbench.graph.ir import Graph
from workbench.graph.outlining import Outliner
from workbench.graph.types import TensorType
from workbench.graph.walk import walk

__all__ = ["CONVOLUTION", "LINEAR", "followed", "fuse_convolutions"]

CONVOLUTION, LINEAR = "fused_convolution", "fused_linear"
"""What kinds of functions come out."""


def fuse_convolutions(graph: Graph, takes: Callable[[Node], bool] = lambda node: True) -> Graph:
    """Return a graph in which a convolution is one call with what follows: what is added, and an activation.

    What is called is a function of the kind ``fused_convolution``, of a linear map or a product ``fused_linear``. In it
    stand, as far as they are there and in this order: ``conv1d``, ``conv2d``, ``conv3d``, ``linear`` or ``matmul``; an
    ``add`` of a vector for the last dim (behind ``linear`` and ``matmul``); an ``add`` of a tensor of the same sizes;
    ``relu``, ``hardtanh``, ``clamp``, ``hardswish``, ``silu``, ``sigmoid``, ``gelu``, ``gelu_tanh`` or ``tanh``; and in
    between ``rename``, which changes no number. What anything else reads too ends the group. `takes` says of a node
    whether whoever runs the functions can have it in one. Batch normalisation is folded before, by
    `fuse_conv_batch_norm`.

    >>> import workbench as wb
    >>> class Residual(wb.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = wb.nn.Linear(3, 3)
    ...     def forward(self, x):
    ...         return (self.linear(x) + x).relu()
    >>> graph = wb.graph.trace(Residual(), wb.ones(2, 3))
    >>> print(fuse_convolutions(graph))
    fused_linear(%x : f32[·:2, ·=3], %weight : f32[out_features=3, in_features=3], %bias : f32[out_features=3]):
      kind 'fused_linear'
      %linear : f32[·:2, ·:3] = linear(%x, %weight, %bias)  # ...
      %add : f32[·:2, ·:3] = add(%linear, %x)  # ...
      %relu : f32[·:2, ·:3] = relu(%add)  # ...
      return %relu
    <BLANKLINE>
    Residual(%x : f32[·:2, ·=3]):
      assert %x.shape[1] == 3  # ...
      %linear.weight : f32[out_features:3, in_features:3] = parameter()
      %linear.bias : f32[out_features:3] = parameter()
      %relu : f32[·:2, ·:3] = @fused_linear(%x, %linear.weight, %linear.bias)  # linear · ...
      return %relu
    """
    result = graph.copy()
    outliner = Outliner(result)
    taken: set[Node] = set()
    for function in (*result.functions.values(), result):
        # What was put together already is left as it is.
        nodes = [] if function.kind else [node for node, _ in walk(function)]
        # From the end on: of two convolutions that are added, the one that runs later takes the sum.
        groups = []
        for node in reversed(nodes):
            group = followed(node, outliner, taken, takes) if node.op in _STARTS and takes(node) else []
            if len(group) > 1:
                taken.update(group)
                groups.append(group)
        for group in reversed(groups):
            outliner.attempt(group, LINEAR if group[0].op in _PRODUCTS else CONVOLUTION)
    return result


_PRODUCTS = (ops.linear, ops.matmul)
_STARTS = (ops.conv1d, ops.conv2d, ops.conv3d, *_PRODUCTS)
_ACTIVATIONS = (
    ops.relu, ops.hardtanh, ops.clamp, ops.hardswish, ops.silu, ops.sigmoid, ops.gelu, ops.gelu_tanh, ops.tanh,
)  # fmt: skip

Fits = Callable[[Node, Value, Outliner], bool]
"""Whether a node can follow in a group that gives a value so far."""


def followed(
    node: Node,
    outliner: Outliner,
    taken: Container[Node] = (),
    takes: Callable[[Node], bool] = lambda node: True,
) -> list[Node]:
    """Return a convolution, or a product, and what can be done with it at once, where that is not `taken`."""
    group = [node]
    if node in taken or not isinstance(node.outputs[0].type, TensorType):
        return group
    steps: list[Fits] = [_adds_alike, _activates]
    if node.op is ops.matmul or (node.op is ops.linear and len(node.inputs) == 2):
        steps.insert(0, _adds_vector)
    for fits in steps:
        found = _named_otherwise(group[-1], outliner)
        value = found[-1].outputs[0]
        after = outliner.only_reader(value)
        if after is not None and after not in taken and takes(after) and fits(after, value, outliner):
            group += [*found[1:], after]
    return group


def _named_otherwise(node: Node, outliner: Outliner) -> list[Node]:
    """Return a node and those behind it that give its result other names, and change no number."""
    found = [node]
    while (after := outliner.only_reader(found[-1].outputs[0])) is not None and after.op is ops.rename:
        found.append(after)
    return found


def _activates(node: Node, value: Value, outliner: Outliner) -> bool:
    # One operand: bounds that are tensors are another op's.
    return (
        node.op in _ACTIVATIONS and node.inputs == (value,) and not any(True for _ in values_in(node.params))
    )


def _added(node: Node, value: Value, outliner: Outliner) -> tuple[Size, ...] | None:
    """Return the sizes, in every run, of what a node adds to a value; None where it does something else."""
    if node.op is not ops.add or node.params or len(node.inputs) != 2:
        return None
    others = [one for one in node.inputs if one is not value]
    # x + x is twice x, and nothing is added to it.
    if len(others) != 1 or not isinstance(others[0], Value) or not isinstance(others[0].type, TensorType):
        return None
    alike = others[0].type.dtype == value.tensor.dtype == node.outputs[0].tensor.dtype
    return outliner.sizes(node, others[0]) if alike else None


def _adds_alike(node: Node, value: Value, outliner: Outliner) -> bool:
    # In every run, and not only today: a size of 1 would be stretched.
    return _added(node, value, outliner) == outliner.sizes(node, value)


def _adds_vector(node: Node, value: Value, outliner: Outliner) -> bool:
    # A size of 1 would stretch what is there, too.
    found, last = _added(node, value, outliner), outliner.sizes(node, value)[-1:]
    return found is not None and found == last != (1,)
