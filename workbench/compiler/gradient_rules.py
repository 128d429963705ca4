"""How the ops of training become steps: normalisation by a batch, and gradients."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.compiler.groups import Group
from workbench.compiler.lowering import Lowering, NotLowered, Rule
from workbench.core.op import Op, ops
from workbench.graph.blocks import Node, Value
from workbench.ops.nn.pool.adaptive_mean import even_windows

__all__ = ["GRADIENT_RULES", "even_kernel"]

_GEOMETRY = ("stride", "padding", "dilation")


def _convolution_input_gradient(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    gradient, weight = (low.slot(one) for one in node.inputs[:2])
    sizes = [list(params[one]) for one in ("input_shape", *_GEOMETRY)]
    return int(low.program.convolution_input_gradient(gradient, weight, *sizes, params["groups"]))


def _convolution_weight_gradient(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    gradient, x = (low.slot(one) for one in node.inputs[:2])
    sizes = [list(params[one]) for one in ("weight_shape", *_GEOMETRY)]
    # oneDNN adds up the bias's gradient while it reads the same values.
    bias = _bias_gradient(low, node.values[0])
    made = low.program.convolution_weight_gradient(gradient, x, *sizes, params["groups"], bias is not None)
    if bias is not None:
        low.give(bias.outputs[0], made[1])
    return int(made[0])


def _bias_gradient(low: Lowering, gradient: Value) -> Node | None:
    """Return the node that adds a convolution's gradient up over all but the channels, if it is still to be made."""
    for node in low.graph.nodes:
        if node.op is ops.sum and node.values[0] is gradient and not low.params(node)["keepdim"]:
            dims = sorted(one % 4 for one in low.params(node)["dim"])
            return node if dims == [0, 2, 3] and node.outputs[0] not in low.all_made else None
    return None


def _max_pool_gradient(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    gradient, places = low.slot(node.inputs[0]), low.places(node.inputs[1])
    return int(low.program.max_pool_gradient(gradient, places, list(low.params(node)["input_shape"])))


def _average_pool_gradient(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    if params.get("divisor_override") is not None:
        raise NotLowered("it divides by a number of its own")
    sizes = [list(params[one]) for one in ("input_shape", "kernel", "stride", "padding")]
    if params.get("ceil_mode"):
        raise NotLowered("its last windows reach beyond the edge")
    padded = bool(params.get("count_include_pad", True))
    return int(low.program.average_pool_gradient(low.slot(node.inputs[0]), *sizes, padded))


def even_kernel(sizes: Sequence[int], outputs: Sequence[int]) -> list[int]:
    """Return the windows of an adaptive pooling, where all of them have one size."""
    windows = even_windows(tuple(sizes[2:]), tuple(outputs)) if len(outputs) == 2 else None
    if windows is None:
        raise NotLowered("its windows are of several sizes, or not of planes")
    return list(windows["kernel"])


def _adaptive_average_pool_gradient(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    kernel = even_kernel(params["input_shape"], params["sizes"])
    sizes = (list(params["input_shape"]), kernel, kernel, [0, 0])
    return int(low.program.average_pool_gradient(low.slot(node.inputs[0]), *sizes, True))


def _expect_planes(low: Lowering, x: Value) -> None:
    if len(low.shape(x)) not in (2, 4):
        raise NotLowered("only batch norms of [N, C] and of planes have a step")


def _batch_norm(low: Lowering, group: Group) -> list[int]:
    node = group.nodes[0]
    _expect_planes(low, node.values[0])
    x, weight, bias = (low.slot(one) for one in node.inputs)
    rectified = low.rectified(node.outputs[0])
    made = list(low.program.batch_norm(x, weight, bias, low.params(node)["eps"], rectified is not None))
    if rectified is not None:
        low.give(rectified, made[0])
    return made


def _batch_norm_gradient(low: Lowering, group: Group) -> list[int]:
    _expect_planes(low, group.nodes[0].values[0])
    return list(low.program.batch_norm_gradient(*(low.slot(one) for one in group.nodes[0].inputs)))


def _running_statistics(low: Lowering, group: Group) -> list[int]:
    node = group.nodes[0]
    params = low.params(node)
    if params["by_sample"] or params["momentum"] is None:
        raise NotLowered("only running statistics of a batch, with a momentum, have a step")
    slots = [low.slot(one) for one in node.inputs]
    count, eps, momentum = (params[one] for one in ("count", "eps", "momentum"))
    return list(low.program.running_statistics(*slots, count, eps, momentum))


GRADIENT_RULES: dict[Op, Rule] = {
    ops.conv2d_input_gradient: _convolution_input_gradient,
    ops.conv2d_weight_gradient: _convolution_weight_gradient,
    ops.max_pool2d_gradient: _max_pool_gradient,
    ops.avg_pool2d_gradient: _average_pool_gradient,
    ops.adaptive_avg_pool_gradient: _adaptive_average_pool_gradient,
    ops.batch_norm: _batch_norm,
    ops.batch_norm_gradient: _batch_norm_gradient,
    ops.running_statistics: _running_statistics,
}
"""What has a step in training only."""
