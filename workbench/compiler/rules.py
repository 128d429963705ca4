"""How ops become steps: one rule each, by the op's record."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.compiler.chains import type_name
from workbench.compiler.code_rules import code_rule
from workbench.compiler.codings import is_coded
from workbench.compiler.gradient_rules import GRADIENT_RULES, even_kernel
from workbench.compiler.groups import Group
from workbench.compiler.lowering import Lowering, NotLowered, Rule
from workbench.compiler.sequence_rules import SEQUENCE_RULES, attention_kept, layer_norm_kept
from workbench.core.op import Op, ops
from workbench.graph.blocks import Node

__all__ = ["RULES", "rule_of"]

After = tuple[str, float, float, int, bool]
"""What is done to a result: what, two numbers, the slot of what is added, and whether that may be written over."""

_SIMPLE: dict[Op, tuple[str, float, float]] = {
    ops.relu: ("relu", 0.0, 0.0), ops.sigmoid: ("sigmoid", 0.0, 0.0), ops.tanh: ("tanh", 0.0, 0.0),
    ops.gelu: ("gelu", 0.0, 0.0), ops.gelu_tanh: ("gelu_tanh", 0.0, 0.0), ops.silu: ("silu", 1.0, 0.0),
    ops.hardswish: ("hardswish", 1 / 6, 0.5), ops.hardsigmoid: ("hardsigmoid", 1 / 6, 0.5),
    ops.exp: ("exp", 0.0, 0.0), ops.sqrt: ("sqrt", 0.0, 0.0), ops.neg: ("linear", -1.0, 0.0),
}  # fmt: skip
"""Functions of one value, as steps call them."""


def _after(low: Lowering, group: Group) -> list[After]:
    """Return what is done to the result of a group's first node."""
    after: list[After] = []
    rank = len(low.shape(group.output))
    for node, added in group.behind:
        if added is not None and len(low.shape(added)) < rank:
            continue  # a bias, see `_weights`
        if added is not None:
            # Over what is added where nobody reads that afterwards: one block of memory less, and one pass.
            over = low.is_free(added) and not low.is_seen(added, group.nodes[0])
            after.append(("add", 1.0, 0.0, low.slot(added), over))
        elif node.op in _SIMPLE:
            after.append((*_SIMPLE[node.op], -1, False))
        else:
            after.append(("clip", float(node.params["low"]), float(node.params["high"]), -1, False))
    return after


def _weights(low: Lowering, group: Group) -> tuple[int, Any, int, Any]:
    """Return the weight and the bias of a layer, each with its number; the bias may be added by a node of its own."""
    node, rank = group.nodes[0], len(low.shape(group.output))
    weight, bias = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else None
    for _, added in group.behind:
        if added is not None and len(low.shape(added)) < rank:
            bias = added
    numbers = low.needed(weight), None if bias is None else low.needed(bias)
    return low.keys[weight], numbers[0], -1 if bias is None else low.keys[bias], numbers[1]


def _expect_float32(node: Node) -> None:
    """Refuse what only has a step in float32."""
    for value in node.values:
        if type_name(value) != "float32":
            raise NotLowered(f"so it has no step in {type_name(value)}")


def _given(low: Lowering, node: Node) -> tuple[int, int] | None:
    """Return where weight and bias of a layer are, if a run is given them or computes them: -1 for no bias."""
    weight, *bias = (one for one in node.inputs[1:3] if one is not None)
    if low.constant(weight) is not None:
        return None
    _expect_float32(node)
    return low.slot(weight), low.slot(bias[0]) if bias else -1


def _convolution(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    sizes = [list(params[one]) for one in ("stride", "padding", "dilation")]
    given = _given(low, node)
    if given is not None:
        after = _after(low, group)
        x = low.slot(node.inputs[0])
        return int(low.program.convolution_with(x, *given, *sizes, params["groups"], after))
    key, weight, bias_key, bias = _weights(low, group)
    after = _after(low, group)
    x = low.slot(node.inputs[0])
    return int(low.program.convolution(x, key, weight, bias_key, bias, *sizes, params["groups"], after))


def _linear(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    given = _given(low, node)
    if given is not None:
        rectified = low.rectified(node.outputs[0])
        made = int(low.program.linear_with(low.slot(node.inputs[0]), *given, rectified is not None))
        if rectified is not None:
            low.give(rectified, made)
        return made
    key, weight, bias_key, bias = _weights(low, group)
    after = _after(low, group)
    return int(low.program.linear(low.slot(node.inputs[0]), key, weight, bias_key, bias, after))


def _max_pool(low: Lowering, group: Group) -> int | list[int]:
    node = group.nodes[0]
    params = low.params(node)
    sizes = [list(params[one]) for one in ("kernel", "stride", "padding", "dilation")]
    if node.outputs[1] in low.last:
        _expect_float32(node)
        return list(low.program.max_pool(low.slot(node.inputs[0]), *sizes))
    return int(low.program.pool(low.slot(node.inputs[0]), "max", *sizes))


def _average_pool(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    kind = "average_padded" if params.get("count_include_pad", True) else "average"
    if params.get("divisor_override") is not None:
        raise NotLowered("it divides by a number of its own")
    sizes = (params["kernel"], params["stride"], params["padding"], (1, 1))
    return int(low.program.pool(low.slot(node.inputs[0]), kind, *map(list, sizes)))


def _adaptive_average_pool(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    kernel = even_kernel(low.shape(node.inputs[0]), low.params(node)["sizes"])
    return int(low.program.pool(low.slot(node.inputs[0]), "average", kernel, kernel, [0, 0], [1, 1]))


_REDUCTIONS = {ops.sum: "sum", ops.mean: "mean", ops.amax: "amax", ops.amin: "amin"}


def _reduced(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params, sizes = low.params(node), low.shape(node.inputs[0])
    dim = sorted(one % len(sizes) for one in params["dim"])
    x = low.slot(node.inputs[0])
    if node.op is ops.mean and len(sizes) == 4 and dim == [2, 3]:
        plane = list(sizes[2:])
        slot = low.program.pool(x, "average", plane, plane, [0, 0], [1, 1])
        return int(slot if params["keepdim"] else low.program.reshape(slot, list(sizes[:2])))
    # Added up in float32, and rounded once.
    name = type_name(node.inputs[0])
    wide = low.program.cast(x, "float32")
    return int(
        low.program.cast(low.program.reduce(wide, _REDUCTIONS[node.callee], dim, params["keepdim"]), name)
    )


def _reshape(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    low.views(node.inputs[0], node.outputs[0])
    return int(low.program.reshape(low.slot(node.inputs[0]), list(low.shape(node.outputs[0]))))


def _same(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    low.views(node.inputs[0], node.outputs[0])
    # Places of planes stay as narrow as they are: whoever reads them otherwise asks for it.
    return low.places(node.inputs[0])


def _permute(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    low.views(node.inputs[0], node.outputs[0])
    rank = len(low.shape(node.inputs[0]))
    order = [one % rank for one in low.params(node)["dim"]]
    return int(low.program.permute(low.slot(node.inputs[0]), order))


def _lay_out(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    # Where the values lie so already, nothing is moved.
    low.views(node.inputs[0], node.outputs[0])
    return int(low.program.lay_out(low.slot(node.inputs[0]), list(node.params["order"])))


def _softmax(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    rank = len(low.shape(node.inputs[0]))
    return int(low.program.softmax(low.slot(node.inputs[0]), low.params(node)["dim"] % rank))


def _layer_norm(low: Lowering, group: Group) -> int | list[int]:
    node = group.nodes[0]
    params = low.params(node)
    held = len(node.inputs) == 3 and all(low.constant(one) is not None for one in node.inputs[1:])
    if params["count"] != 1 or not held or any(one in low.last for one in node.outputs[1:]):
        return layer_norm_kept(low, node)
    # The step reads them in float32 whatever it norms.
    scale, shift = (low.needed(one).astype(np.float32, copy=False) for one in node.inputs[1:3])
    keys = low.keys[node.inputs[1]], low.keys[node.inputs[2]]
    return int(
        low.program.layer_norm(low.slot(node.inputs[0]), keys[0], scale, keys[1], shift, params["eps"])
    )


def _cat(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    parts = [low.slot(one) for one in node.values]
    rank = len(low.shape(node.values[0]))
    return int(low.program.concatenate(parts, low.params(node)["dim"] % rank))


_TURNED = 1 << 30
"""Added to the number of a weight that is kept turned."""


_PAGE = 1024
"""Floats in a page: values so far apart meet in the same places of a cache."""


def _better_turned(left: Any, a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Say whether a product is computed as that of the transposes: where columns are read that lie pages apart.

    So it is of a layer's gradient for its weight where the layer widens: its rows are better the second operand.
    """
    columns = len(a) == 2 and left.node is not None and left.node.op is ops.permute
    return columns and a[0] % _PAGE == 0 and b[1] % _PAGE != 0 and a[0] > b[1]


def _product(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    left, right = node.inputs[:2]
    a, b = low.shape(left), low.shape(right)
    weight = low.constant(right)
    if weight is not None and len(b) == 2 and len(a) >= 2:
        # A layer, of which the weight lies the other way.
        key, _, bias_key, bias = _weights(low, group)
        turned, after = np.ascontiguousarray(weight.T), _after(low, group)
        return int(low.program.linear(low.slot(left), key + _TURNED, turned, bias_key, bias, after))
    narrow = type_name(left) == type_name(right) == "bfloat16"
    if len(b) == 2 and a and not narrow:
        if _better_turned(left, a, b):
            turned = low.program.product(
                *(low.program.permute(low.slot(one), [1, 0]) for one in (right, left))
            )
            return int(low.program.permute(turned, [1, 0]))
        return int(low.program.product(low.slot(left), low.slot(right)))
    if len(a) < 2 or len(a) != len(b) or a[:-2] != b[:-2]:
        raise NotLowered("only products of as many matrices have a step")
    return int(low.program.matmul(low.slot(left), low.slot(right), False, 1.0, []))


def _attention(low: Lowering, group: Group) -> int | list[int]:
    node = group.nodes[0]
    params = low.params(node)
    if params["dropout"] or node.outputs[1] in low.last:
        return attention_kept(low, node)
    mask = low.slot(node.inputs[3]) if len(node.inputs) > 3 and node.inputs[3] is not None else -1
    query, key, value = (low.slot(one) for one in node.inputs[:3])
    return int(low.program.attention(query, key, value, mask, params["scale"], params["causal"]))


def _pad(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params, sizes = low.params(node), low.shape(node.inputs[0])
    if params["value"] != 0 or math.copysign(1.0, params["value"]) < 0:
        raise NotLowered("its border is not of zeros")
    # Negative widths cut.
    start = [max(-before, 0) for before, _ in params["padding"]]
    left = [
        size - first - max(-after, 0)
        for size, first, (_, after) in zip(sizes, start, params["padding"], strict=True)
    ]
    if min(left) < 1:
        raise NotLowered("it cuts all there is")
    x = low.slot(node.inputs[0])
    x = x if tuple(left) == sizes else low.program.part(x, start, left)
    inside = [max(before, 0) for before, _ in params["padding"]]
    return int(low.program.placed(x, inside, list(low.shape(node.outputs[0]))))


def _cast(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    return int(low.program.cast(low.slot(node.inputs[0]), type_name(node.outputs[0])))


RULES: dict[Op, Rule] = {
    ops.conv2d: _convolution, ops.linear: _linear, ops.max_pool2d: _max_pool, ops.avg_pool2d: _average_pool,
    ops.adaptive_avg_pool: _adaptive_average_pool,
    ops.mean: _reduced, ops.sum: _reduced, ops.amax: _reduced, ops.amin: _reduced, ops.reshape: _reshape,
    ops.flatten: _reshape, ops.unflatten: _reshape, ops.squeeze: _reshape, ops.unsqueeze: _reshape, ops.rename: _same,
    ops.detach: _same, ops.permute: _permute, ops.softmax: _softmax, ops.layer_norm: _layer_norm, ops.lay_out: _lay_out,
    ops.cat: _cat, ops.matmul: _product, ops.attention: _attention, ops.to: _cast, ops.pad: _pad, **GRADIENT_RULES,
    **SEQUENCE_RULES,
}  # fmt: skip
"""What has a step, beside elementwise ops, which are chains. Every other op is run by its own kernel."""

_MOVED_CODES = (
    ops.reshape, ops.flatten, ops.unflatten, ops.squeeze, ops.unsqueeze, ops.rename, ops.detach, ops.permute,
    ops.lay_out,
)  # fmt: skip
"""What has the same step for codes as for any values; others would put zeros between them."""


def rule_of(node: Node) -> Rule | None:
    """Return the rule of a node; None where it has no step, or is a chain."""
    if node.op is None:
        return None
    if any(map(is_coded, (*node.values, *node.outputs))) and node.op not in _MOVED_CODES:
        return code_rule(node)
    return RULES.get(node.op)
