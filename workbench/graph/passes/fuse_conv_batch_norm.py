"""Fold batch normalisation with fixed statistics into the convolution before it."""

from __future__ import annotations

from typing import Any

from workbench.core.dispatch import numbers
from workbench.core.op import ops
from workbench.core.value import labelled, new
from workbench.graph.blocks import Node, Value
from workbench.graph.ir import Graph
from workbench.graph.passes.dead_code import dead_code
from workbench.ops.nn.norm.folding import fold_batch_norm

__all__ = ["fuse_conv_batch_norm"]


def fuse_conv_batch_norm(graph: Graph) -> Graph:
    """Return a graph in which ``batch_norm_inference(conv2d(x, w, b), …)`` is one convolution.

    w' = w·γ/√(σ²+ε), b' = (b - μ)·γ/√(σ²+ε) + β. A convolution whose result something else reads too stays.
    """
    result = graph.copy()
    held = result.held()
    users = result.users()
    for node, _ in list(result.walk()):
        if node.op is not ops.batch_norm_inference:
            continue
        source = node.inputs[0].node
        fits = source is not None and source.op is ops.conv2d and len(users[node.inputs[0]]) == 1
        if not fits or not all(one in held for one in (*source.values[1:], *node.values[1:])):
            continue
        # What is returned has no reader among the nodes.
        if node.inputs[0] in result.returned():
            continue
        _fold(result, held, source, node)
    return dead_code(result)


def _fold(graph: Graph, held: dict[Value, Any], conv: Node, norm: Node) -> None:
    mean, variance, gamma, beta = (numbers(held[one]) for one in norm.values[1:])
    weight = held[conv.inputs[1]]
    before = numbers(held[conv.inputs[2]]) if len(conv.inputs) > 2 else None
    folded, bias = fold_batch_norm(numbers(weight), before, mean, variance, norm.params["eps"], gamma, beta)
    base = conv.inputs[1].name
    tensors = {
        f"{base}_folded": labelled(new(folded, weight._names), weight._labels),
        f"{base}_bias_folded": labelled(
            new(bias, weight._names and weight._names[:1]), weight._labels and weight._labels[:1]
        ),
    }
    made = {graph.hold(tensor, name): tensor for name, tensor in tensors.items()}
    # A second normalisation behind this one is folded in turn.
    held.update(made)
    conv.inputs = (conv.inputs[0], *made)
    graph.replace(norm.outputs[0], conv.outputs[0])
