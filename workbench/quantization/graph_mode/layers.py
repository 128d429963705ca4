"""Functions with weights become layers, so that a graph of ops is quantized as one of modules."""

from __future__ import annotations

import inspect
import operator
from typing import Any

from workbench import nn
from workbench.core import dispatch
from workbench.core.op import Op, ops
from workbench.fx import GraphModule, Node
from workbench.fx.node import map_arg
from workbench.nn import Module, Parameter, functional

__all__ = ["as_layers", "held", "new_path"]

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_SPREAD = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


_PARTS = frozenset({operator.getitem, ops.index})
"""What takes a part of a weight."""


def new_path(module: Any, name: str) -> str:
    """Return a name that no part of `module` has yet."""
    count, path = 0, name
    while hasattr(module, path):
        count, path = count + 1, f"{name}_{count}"
    return path


def held(module: GraphModule, node: Any) -> Any:
    """Return the tensor that a node reads, or a part of it, as of the projections of attention; None for others."""
    if not isinstance(node, Node):
        return None
    if node.target in _PARTS and all(held(module, one) is not None for one in node.all_input_nodes):
        args, kwargs = map_arg((node.args, node.kwargs), lambda one: held(module, one))
        with dispatch.no_grad():
            return node.target(*args, **kwargs)
    if node.op != "get_attr":
        return None
    found: Any = module
    for part in str(node.target).split("."):
        found = getattr(found, part)
    return found


def _arguments(node: Node) -> dict[str, Any] | None:
    """Return the arguments of a call by the names of a function's parameters."""
    if isinstance(node.target, Op):
        return None
    try:
        bound = inspect.signature(node.target).bind(*node.args, **node.kwargs)
    except (TypeError, ValueError):
        return None
    bound.apply_defaults()
    return dict(bound.arguments)


def _with(layer: Any, weight: Any, bias: Any) -> Any:
    layer.weight = weight if isinstance(weight, Parameter) else Parameter(weight.detach())
    layer.bias = None if bias is None else bias if isinstance(bias, Parameter) else Parameter(bias.detach())
    return layer


def _linear(weight: Any, bias: Any) -> Module | None:
    if weight.ndim != 2:
        return None
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    return _with(made, weight, bias)  # type: ignore[no-any-return]


def _convolution(kinds: Any, weight: Any, bias: Any, settings: dict[str, Any]) -> Module:
    groups = settings["groups"]
    if kinds is _SPREAD:
        inner, outer = weight.shape[0], weight.shape[1] * groups
    else:
        inner, outer = weight.shape[1] * groups, weight.shape[0]
    kind = kinds[weight.ndim - 3]
    made = kind(inner, outer, tuple(weight.shape[2:]), bias=bias is not None, **settings)
    return _with(made, weight, bias)  # type: ignore[no-any-return]


def _norm(held: dict[str, Any], eps: float, ndim: int) -> Module:
    mean = held["running_mean"]
    kind = (nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[
        ndim
    ]
    made = kind(mean.shape[0], eps=eps)
    made.running_mean, made.running_var = mean.detach(), held["running_var"].detach()
    return _with(made, held["weight"], held["bias"])  # type: ignore[no-any-return]


_SETTINGS = ("stride", "padding", "dilation", "groups", "output_padding")


def _layer_of(module: GraphModule, node: Node, ndim: int) -> Module | None:
    """Return the layer that computes what a call does; None for other calls, and for weights that are computed."""
    if isinstance(node.target, Op):
        operands = [held(module, one) for one in node.args[1:]]
        if any(one is None for one in operands):
            return None
        weight, bias = [*operands, None, None][:2]
        name, settings = node.target.name, {key: node.kwargs[key] for key in _SETTINGS if key in node.kwargs}
        if node.target is ops.batch_norm_inference:
            words = ("running_mean", "running_var", "weight", "bias")
            return _norm(
                {**dict.fromkeys(words), **dict(zip(words, operands, strict=False))}, node.kwargs["eps"], ndim
            )
        if node.target is ops.matmul and weight is not None and weight.ndim == 2:
            return _linear(weight.detach().T, None)
    else:
        bound = _arguments(node)
        if bound is None:
            return None
        name = getattr(node.target, "__name__", "")
        if node.target is functional.batch_norm:
            words = ("running_mean", "running_var", "weight", "bias")
            kept = {key: held(module, bound[key]) for key in words}
            known = kept["running_mean"] is not None and bound.get("training") is False
            return _norm(kept, bound["eps"], ndim) if known else None
        weight, bias = held(module, bound.get("weight")), held(module, bound.get("bias"))
        if weight is None or (bound.get("bias") is not None and bias is None):
            return None
        settings = {key: bound[key] for key in _SETTINGS if key in bound}
    if name == "linear":
        return _linear(weight, bias)
    if name in ("conv1d", "conv2d", "conv3d"):
        return _convolution(_CONVOLUTIONS, weight, bias, settings)
    if name in ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"):
        return _convolution(_SPREAD, weight, bias, settings)
    return None


_WORDS = frozenset({
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "batch_norm",
    "batch_norm_inference", "matmul",
})  # fmt: skip


def as_layers(module: GraphModule, shapes: dict[Node, int]) -> None:
    """Put a layer in the place of each call that has a weight of its own, in place; `shapes` says how many dims."""
    for node in [*module.graph.nodes]:
        word = getattr(node.target, "name", None) or getattr(node.target, "__name__", "")
        if (
            node.op != "call_function"
            or word not in _WORDS
            or not node.args
            or not isinstance(node.args[0], Node)
        ):
            continue
        layer = _layer_of(module, node, shapes.get(node.args[0], 0))
        if layer is None:
            continue
        path = new_path(module, node.name + "_layer")
        module.add_submodule(path, layer.train(module.training))
        with module.graph.inserting_before(node):
            made = module.graph.call_module(path, (node.args[0],))
        made.meta.update(node.meta)
        made.meta["function"] = node.target
        shapes[made] = shapes.get(node, 0)
        node.replace_all_uses_with(made)
        module.graph.erase_node(node)
    module.graph.eliminate_dead_code()
    module.recompile()
