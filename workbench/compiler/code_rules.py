"""How ops on codes become steps: one rule each, by the op's record; scales and zero points are told to the steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import qint8, quint8
from workbench.base.quantized_array import QuantizedArray
from workbench.compiler.code_value_rules import CODE_VALUE_RULES
from workbench.compiler.codings import Coding, is_coded
from workbench.compiler.groups import Group
from workbench.compiler.lowering import Lowering, NotLowered, Rule
from workbench.core.op import Op, ops
from workbench.graph.blocks import Node, Value
from workbench.graph.passes.fuse_codes import table_of
from workbench.ops.quantized.convolution import packed_convolution, split
from workbench.ops.quantized.engines import requantization
from workbench.ops.quantized.linear import packed_linear
from workbench.ops.quantized.requantize import fits_bias, fits_kernel
from workbench.ops.quantized.transposed import turned

__all__ = ["CODE_RULES", "code_rule"]

Sum = tuple[tuple[float, int, float, int, float, int, int, int, bool], bool]
"""Scale and zero point of both operands and of the sum, its bounds and whether it is rectified, as steps are told; and
whether it is one op on codes, which rounds otherwise than the ops that such a sum may be made of."""


def code_rule(node: Node) -> Rule | None:
    """Return the rule of a node that reads or gives codes; None where it has none."""
    found = None if node.op is None else CODE_RULES.get(node.op)
    if (
        found is None
        and node.op is not None
        and "elementwise" in node.op.properties
        and len(node.values) == 1
    ):
        return _table
    return found


def _quantize(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    told = node.params
    if told["dtype"] not in (quint8, qint8):
        raise NotLowered(f"it gives {told['dtype'].name}")
    return int(
        low.program.quantize(
            low.slot(node.inputs[0]), told["scale"], told["zero_point"], told["qmin"], told["qmax"], told["dtype"].name
        )
    )  # fmt: skip


def _dequantize(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    if len(group.nodes) > 1:
        terms = [one for one in group.nodes if one.op is ops.dequantize]
        both = [one.inputs[0] for one in terms]
        return int(low.program.sum_of_codes(*map(low.slot, both), _sum(low, group, *both)))
    coding = low.coded(node.inputs[0])
    return int(low.program.dequantize(low.slot(node.inputs[0]), coding.scale, coding.zero_point))


def _sum(low: Lowering, group: Group, own: Value, other: Value) -> Sum:
    """Return what a step is told of the sum that stands at the end of a group."""
    node = group.nodes[-1]
    last, one_op = node.params, node.op is ops.quantized_add
    one, two = low.coded(own), low.coded(other)
    relu = last["relu"] if one_op else any(node.op is ops.relu for node in group.nodes)
    pair = (
        one.scale, one.zero_point, two.scale, two.zero_point, last["scale"], last["zero_point"], last["qmin"],
        last["qmax"], relu,
    )  # fmt: skip
    return pair, one_op


def _weight(
    low: Lowering, node: Node, axis: int = 0, kind: str = "convolution"
) -> tuple[QuantizedArray, Any, Coding]:
    """Return the weight and the bias of a layer, and what the codes stand for that it reads."""
    value, weight, *bias = node.inputs
    held = low.constants.get(weight)
    numbers = [low.constants.get(one) for one in bias if one is not None]
    if not isinstance(held, QuantizedArray) or any(type(one) is not np.ndarray for one in numbers):
        raise NotLowered("its weights are no constants")
    coding = low.coded(value)
    empty = coding.array(np.empty(0, coding.dtype.numpy))
    if not fits_kernel(empty, held, axis):
        raise NotLowered("only unsigned codes of values, and signed ones of weights around zero, have a step")
    if not fits_bias(empty, held, numbers[0] if numbers else None, kind):
        raise NotLowered("its bias has more than 30 bits in steps of its sums")
    return held, numbers[0] if numbers else None, coding


def _told(coding: Coding, params: dict[str, Any], kind: str) -> tuple[Any, ...]:
    scale, zero = params["scale"], params["zero_point"]
    return (
        coding.scale, coding.zero_point, 1.0 if scale is None else scale, zero, params["relu"], params["qmax"],
        requantization(kind),
    )  # fmt: skip


def _convolution(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    if params["scale"] is None:
        raise NotLowered("it gives numbers")
    weight, bias, coding = _weight(low, node)
    geometry, _ = split(params)
    layer = packed_convolution(weight, bias, geometry).native
    added, told = -1, None
    if len(group.nodes) > 1:
        own, last = node.outputs[0], group.nodes[-1]
        terms = last.values if last.op is ops.quantized_add else [
            one.inputs[0] for one in group.nodes if one.op is ops.dequantize
        ]  # fmt: skip
        other = next(one for one in terms if one is not own)
        added, told = low.slot(other), _sum(low, group, own, other)
    codes = _told(coding, params, "convolution")
    return int(
        low.program.quantized_convolution(
            low.slot(node.inputs[0]), layer, codes, params["qmin"], params["pool"], told, added
        )
    )


def _in_line(low: Lowering, group: Group) -> int:
    """Lower a convolution of rows, which are images of height 1, or of volumes, whose planes are channels."""
    node = group.nodes[0]
    params = low.params(node)
    weight, bias, coding = _weight(low, node)
    geometry, _ = split(params)
    return _by_planes(
        low, node, low.slot(node.inputs[0]), low.shape(node.inputs[0]), weight, bias, coding, geometry
    )


def _spread(low: Lowering, group: Group) -> int:
    """Lower a transposed convolution: of codes among those of zero, with the weight turned around."""
    node = group.nodes[0]
    params = low.params(node)
    weight, bias, coding = _weight(low, node, 1)
    given, _ = split(params)
    sizes, kernel, groups = low.shape(node.inputs[0]), weight.shape[2:], given["groups"]
    before = [d * (k - 1) - p for d, k, p in zip(given["dilation"], kernel, given["padding"], strict=True)]
    full = [
        (size - 1) * s + 1 + 2 * b + more
        for size, s, b, more in zip(sizes[2:], given["stride"], before, given["output_padding"], strict=True)
    ]
    spread = [*sizes[:2], *full]
    slot = low.program.spread_codes(
        low.slot(node.inputs[0]), [1, 1, *given["stride"]], [0, 0, *before], spread, coding.zero_point
    )
    ones = (1,) * len(kernel)
    geometry = {
        "stride": ones,
        "padding": (0,) * len(kernel),
        "dilation": given["dilation"],
        "groups": groups,
    }
    return _by_planes(low, node, slot, tuple(spread), turned(weight, groups), bias, coding, geometry)


def _by_planes(
    low: Lowering, node: Node, slot: int, sizes: tuple[int, ...], weight: QuantizedArray, bias: Any, coding: Coding,
    geometry: dict[str, Any],
) -> int:  # fmt: skip
    """Add the steps of a convolution in one to three dims, which the kernel has in two."""
    params = low.params(node)
    if params["scale"] is None:
        raise NotLowered("it gives numbers")
    layer = packed_convolution(weight, bias, geometry).native
    told = layer, _told(coding, params, "convolution"), params["qmin"], False, None, -1
    program, result, rank = low.program, list(low.shape(node.outputs[0])), len(sizes) - 2
    if rank == 2:
        return int(program.quantized_convolution(slot, *told))
    if rank == 1:
        line = program.reshape(slot, [*sizes[:2], 1, sizes[2]])
        return int(program.reshape(program.quantized_convolution(line, *told), result))
    border = geometry["padding"][0]
    if border:
        padded = [*sizes[:2], sizes[2] + 2 * border, *sizes[3:]]
        slot = program.spread_codes(slot, [1] * 5, [0, 0, border, 0, 0], padded, coding.zero_point)
    depth, stride, dilation = weight.shape[2], geometry["stride"][0], geometry["dilation"][0]
    planes = program.planes_of_codes(slot, depth, stride, dilation, geometry["groups"])
    found = program.quantized_convolution(planes, *told)
    apart = program.reshape(found, [result[0], result[2], result[1], *result[3:]])
    return int(program.permute(apart, [0, 2, 1, 3, 4]))


def _linear(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    weight, bias, coding = _weight(low, node, kind="linear")
    codes = _told(coding, params, "linear")
    layer = packed_linear(weight, bias).native
    return int(
        low.program.quantized_linear(
            low.slot(node.inputs[0]), layer, codes, params["qmin"], params["scale"] is not None
        )
    )


def _max_pool(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    sizes = [tuple(params[one]) for one in ("kernel", "stride", "padding", "dilation")]
    if node.values[0].tensor.dtype is not quint8:
        raise NotLowered("only unsigned codes have a step")
    return int(low.program.quantized_max_pool(low.slot(node.inputs[0]), *sizes))


def _mean(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    if low.shape(node.outputs[0])[2:] != (1, 1):
        raise NotLowered("only means of whole planes of codes have a step")
    return int(low.program.mean_of_codes(low.slot(node.inputs[0]), low.coded(node.inputs[0]).zero_point))


def _table(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    (value,) = node.values
    if not is_coded(value) or not is_coded(node.outputs[0]) or node.outputs[0].tensor.dtype is not quint8:
        raise NotLowered("only functions from unsigned codes to such are tables")
    coding = low.coded(value)
    found = None
    if coding.dtype is quint8:
        found = table_of(node, low.params(node), coding.scale, coding.zero_point)
    result = low.coded(node.outputs[0])
    if found is None or (found.scale, found.zero_point) != (result.scale, result.zero_point):
        raise NotLowered("nobody says what it gives for each code")
    return int(low.program.look_up(low.slot(value), np.ascontiguousarray(found.codes)))


def _cat(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    if len({low.coded(one) for one in node.values}) > 1:
        raise NotLowered("the codes that it joins stand for different numbers")
    parts = [low.slot(one) for one in node.values]
    return int(low.program.concatenate(parts, low.params(node)["dim"] % len(low.shape(node.values[0]))))


CODE_RULES: dict[Op, Rule] = {
    ops.quantize_per_tensor: _quantize, ops.dequantize: _dequantize, ops.quantized_conv2d: _convolution,
    ops.quantized_linear: _linear, ops.max_pool2d: _max_pool, ops.quantized_max_pool2d: _max_pool,
    ops.adaptive_avg_pool: _mean, ops.cat: _cat, ops.quantized_conv1d: _in_line, ops.quantized_conv3d: _in_line,
    ops.quantized_conv_transpose1d: _spread, ops.quantized_conv_transpose2d: _spread,
    ops.quantized_conv_transpose3d: _spread, ops.quantized_add_scalar: _table, ops.quantized_mul_scalar: _table,
    **CODE_VALUE_RULES,
}  # fmt: skip
"""What has a step on codes, beside what moves them (`groups.MOVES`) and functions of one value, which are tables."""
