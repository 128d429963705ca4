"""Fold batch normalisation with fixed statistics into the convolution before it."""

from __future__ import annotations

from typing import Any

from workbench.core.dispatch import no_grad
from workbench.core.op import ops
from workbench.graph.ir import Graph, Node, Value
from workbench.graph.passes.dead_code import dead_code

__all__ = ["fuse_conv_batch_norm"]


def fuse_conv_batch_norm(graph: Graph) -> Graph:
    """Return a graph in which ``batch_norm_inference(conv2d(x, w, b), …)`` is one convolution.

    w' = w·γ/√(σ²+ε), b' = (b - μ)·γ/√(σ²+ε) + β. A convolution whose result something else reads too stays.
    """
    result = graph.copy()
    held = result.held()
    users = result.users()
    for node in list(result.nodes):
        if node.op is not ops.batch_norm_inference:
            continue
        source = node.inputs[0].node
        fits = source is not None and source.op is ops.conv2d and len(users[node.inputs[0]]) == 1
        if not fits or not all(one in held for one in (*source.values[1:], *node.values[1:])):
            continue
        if node.inputs[0] in result.outputs:
            continue
        _fold(result, held, source, node)
    return dead_code(result)


def _fold(graph: Graph, held: dict[Value, Any], conv: Node, norm: Node) -> None:
    mean, variance, gamma, beta = (held[one].detach().rename(None) for one in norm.values[1:])
    weight = held[conv.inputs[1]].detach()
    with no_grad():
        scale = gamma / (variance + norm.params["eps"]).sqrt()
        folded = (weight.rename(None) * scale.reshape(-1, 1, 1, 1)).rename(*weight.names)
        before = held[conv.inputs[2]].detach().rename(None) if len(conv.inputs) > 2 else mean * 0
        bias = ((before - mean) * scale + beta).rename(weight.names[0])
    base = conv.inputs[1].name
    made = {
        graph.hold(tensor, f"{base}_{what}"): tensor
        for tensor, what in ((folded, "folded"), (bias, "bias_folded"))
    }
    held.update(made)
    conv.inputs = (conv.inputs[0], *made)
    graph.replace(norm.outputs[0], conv.outputs[0])
