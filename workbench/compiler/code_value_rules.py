"""How ops on codes beside layers become steps: sums, products, borders, matrices, softmax and norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dtypes import quint8
from workbench.compiler.codings import Coding, is_coded
from workbench.compiler.groups import Group
from workbench.compiler.lowering import Lowering, NotLowered, Rule
from workbench.core.op import Op, ops
from workbench.graph.blocks import Node
from workbench.ops.quantized.code_arithmetic import powers_of_e

__all__ = ["CODE_VALUE_RULES"]

Out = tuple[float, int, int, int]
"""Scale and zero point of a result, its least and its greatest code, as steps are told."""


def _out(params: dict[str, Any]) -> Out:
    return params["scale"], params["zero_point"], params["qmin"], params["qmax"]


def _unsigned(low: Lowering, node: Node) -> list[Coding]:
    """Return what the codes stand for that a node reads; raise NotLowered unless all are unsigned, and the result."""
    codings = [low.coded(one) for one in node.values if is_coded(one)]
    if any(one.dtype is not quint8 or not one.scale > 0 for one in codings) or not codings:
        raise NotLowered("only unsigned codes have a step")
    return codings


def _pair(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    if len(node.values) != 2 or not all(map(is_coded, node.values)):
        raise NotLowered("only sums and products of two tensors of codes have a step")
    one, two = (low.coded(value) for value in node.values)
    _unsigned(low, node)
    params, sizes = low.params(node), low.shape(node.outputs[0])
    slots = [
        low.slot(value) if low.shape(value) == sizes else low.program.stretched(low.slot(value), list(sizes))
        for value in node.values
    ]
    told = (one.scale, one.zero_point, two.scale, two.zero_point, *_out(params), params["relu"])
    return int(low.program.combined_codes(*slots, told, node.op is ops.quantized_mul))


def _pad(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params, (value,) = low.params(node), node.values
    coding = low.coded(value)
    (code,) = coding.array(np.zeros(1, coding.dtype.numpy)).rounded(np.full(1, params["value"])).codes
    before = [one for one, _ in params["padding"]]
    if not before:
        raise NotLowered("a single code has no border")
    code = int(code.view(np.uint8))
    sizes = list(low.shape(node.outputs[0]))
    return int(low.program.spread_codes(low.slot(value), [1] * len(before), before, sizes, code))


def _matmul(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    one, two = _unsigned(low, node)
    left, right = (low.shape(value) for value in node.values)
    if min(len(left), len(right)) < 2 or (len(right) > 2 and left[:-2] != right[:-2]):
        raise NotLowered("only products of matrices, of as many on either side, have a step on codes")
    if left[-1] > 1 << 15:
        raise NotLowered("32 bits may not hold its sums")
    slots = map(low.slot, node.values)
    told = (one.scale, one.zero_point, two.scale, two.zero_point, _out(low.params(node)))
    return int(low.program.product_of_codes(*slots, *told))


def _softmax(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    (coding,), params = _unsigned(low, node), low.params(node)
    result = low.coded(node.outputs[0])
    told = _out(params) if "scale" in params else (result.scale, result.zero_point, 0, 255)
    sizes, powers = low.shape(node.inputs[0]), powers_of_e(coding.scale)
    if not sizes or not math.prod(sizes):
        raise NotLowered("there are no rows")
    dim, last = params["dim"] % len(sizes), len(sizes) - 1
    slot = low.slot(node.inputs[0])
    if dim == last:
        return int(low.program.softmax_of_codes(slot, powers, told))
    # The dim goes behind the others, and back: turning the two is its own inverse.
    order = [last if i == dim else dim if i == last else i for i in range(last + 1)]
    made = low.program.softmax_of_codes(low.program.permute(slot, order), powers, told)
    return int(low.program.permute(made, order))


def _factors(low: Lowering, node: Node) -> list[Any]:
    """Return weight and bias of a norm, as rows; None for those that are not there."""
    found = []
    for one in node.inputs[1:]:
        held = None if one is None else low.constants.get(one)
        if one is not None and type(held) is not np.ndarray:
            raise NotLowered("its weight and bias are no constants")
        found.append(None if held is None else np.ascontiguousarray(held, np.float32).reshape(-1))
    if len(found) == 2 and found[0] is None and found[1] is not None:
        raise NotLowered("a bias without a weight has no step")
    return [*found, None, None][:2]


def _norm(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    (coding,), params = _unsigned(low, node), low.params(node)
    sizes, (weight, bias) = low.shape(node.inputs[0]), _factors(low, node)
    if not math.prod(sizes):
        raise NotLowered("there are no values")
    if node.op is ops.quantized_group_norm:
        rows, run = sizes[0] * params["groups"], math.prod(sizes[2:])
    else:
        rows, run = math.prod(sizes[: len(sizes) - params["count"]]), 1
    count = math.prod(sizes) // rows
    if count > 1 << 22:
        raise NotLowered("64 bits may not hold its sums")
    factors = count // run if weight is None else weight.size
    told = (
        run,
        factors,
        node.op is not ops.quantized_rms_norm,
        params["eps"],
        coding.scale,
        coding.zero_point,
    )
    return int(
        low.program.normalised_codes(low.slot(node.inputs[0]), rows, weight, bias, *told, _out(params))
    )


def _function(low: Lowering, group: Group) -> int:
    """Lower a function of one value that is told its result's scale: what it gives for each code is a table."""
    node = group.nodes[0]
    assert node.op is not None
    (coding,) = _unsigned(low, node)
    rule: Any = node.op.quantized
    # So often that it is worth a table to the op itself, which computes all others the long way.
    every = coding.array(np.tile(np.arange(256, dtype=np.uint8), 4))
    found = rule.codes(node.op, every, **low.params(node))
    return int(low.program.look_up(low.slot(node.values[0]), np.ascontiguousarray(found.codes[:256])))


CODE_VALUE_RULES: dict[Op, Rule] = {
    ops.quantized_add: _pair, ops.quantized_mul: _pair, ops.pad: _pad, ops.quantized_matmul: _matmul,
    ops.softmax: _softmax, ops.quantized_softmax: _softmax, ops.quantized_layer_norm: _norm,
    ops.quantized_rms_norm: _norm, ops.quantized_group_norm: _norm, ops.quantized_clone: _function,
    ops.quantized_gelu: _function, ops.quantized_gelu_tanh: _function, ops.quantized_hardswish: _function,
    ops.quantized_leaky_relu: _function, ops.quantized_mish: _function, ops.quantized_silu: _function,
}  # fmt: skip
"""What has a step on codes beside layers."""
