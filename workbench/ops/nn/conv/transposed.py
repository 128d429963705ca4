"""Transposed convolution: the gradient of a convolution for its input, as a layer of its own."""

from __future__ import annotations

from typing import Any

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.dtype_rules import check_kinds
from workbench.core.op import ops
from workbench.core.typing import Size, Tensor
from workbench.core.value import dims_of
from workbench.ops.nn.conv.window_geometry import (
    batched,
    check_kernel,
    not_negative,
    positive,
    several,
    unbatched,
)
from workbench.ops.offer import offered


def check_channels(x: Dims, weight: Dims, bias: Dims | None, groups: int, n: int, op: str) -> None:
    """Refuse a weight [C, O / groups, ...] and a bias that do not go with an input of these dims."""
    if len(weight.sizes) != n + 2:
        raise DimensionError(
            f"Expected {n + 2}D weight to {op}, but got {len(weight.sizes)}D.",
            op=op,
            operands=(x.operand("input"), weight.operand("weight")),
        )
    if any(one < 1 for one in weight.sizes[:2]):
        raise DimensionError(
            f"expected a weight [C, O, ...] of at least one channel each, but got weight of size "
            f"{list(weight.sizes)}.",
            op=op,
            operands=(weight.operand("weight", [0, 1]),),
        )
    check_kernel(op, weight)
    if groups < 1:
        raise DimensionError(f"non-positive groups is not supported, got {groups}.", op=op)
    if x.sizes[1] != weight.sizes[0]:
        raise DimensionError(
            f"Given transposed=1, weight of size {list(weight.sizes)}, expected input{list(x.sizes)} to have "
            f"{weight.sizes[0]} channels, but got {x.sizes[1]} channels instead.",
            op=op,
            operands=(x.operand("input", [1]), weight.operand("weight", [0])),
        )
    if weight.sizes[0] % groups:
        raise DimensionError(
            f"in_channels ({weight.sizes[0]}) must be divisible by groups ({groups}).", op=op
        )
    out = weight.sizes[1] * groups
    if bias is not None and bias.sizes != (out,):
        raise DimensionError(
            f"expected bias to be 1-dimensional with {out} elements, but got bias of size {list(bias.sizes)} "
            "instead.",
            op=op,
            operands=(weight.operand("weight", [1]), bias.operand("bias", [0])),
        )


def _transposed(
    n: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    op = f"conv_transpose{n}d"
    strides = positive(several(stride, n, "stride"), "stride", op)
    dilations = positive(several(dilation, n, "dilation"), "dilation", op)
    widths = not_negative(several(padding, n, "padding"), "padding", op)
    extra = not_negative(several(output_padding, n, "output_padding"), "output_padding", op)
    # Smaller than one of the two is enough: PyTorch asks no more.
    if any(e >= s and e >= d for e, s, d in zip(extra, strides, dilations, strict=True)):
        raise DimensionError(
            f"output padding must be smaller than either stride or dilation, but got output_padding: {list(extra)} "
            f"stride: {list(strides)} dilation: {list(dilations)}.",
            op=op,
        )
    x, added = batched(input, n, op)
    dims, its = dims_of(x), dims_of(weight)
    check_channels(dims, its, None if bias is None else dims_of(bias), groups, n, op)
    sizes = tuple(
        (size - 1) * s - 2 * p + d * (k - 1) + e + 1
        for size, s, p, d, k, e in zip(
            dims.sizes[2:], strides, widths, dilations, its.sizes[2:], extra, strict=True
        )
    )
    if any(one < 1 for one in sizes):
        raise DimensionError(
            f"Given input size per channel: {list(dims.sizes[2:])}. Calculated output size per channel: "
            f"{list(sizes)}. Output size is too small.",
            op=op,
            operands=(dims.operand("input", range(2, n + 2)), its.operand("weight")),
        )
    more = tuple(e // s for e, s in zip(extra, strides, strict=True))
    if any(more):
        # The convolution whose transpose this is would see more positions: nothing comes from those.
        x = ops.pad(x, padding=((0, 0), (0, 0), *((0, one) for one in more)), value=0.0)
    channels = its.sizes[1] * groups
    y: Tensor = getattr(ops, f"conv{n}d_input_gradient")(
        x,
        weight,
        input_shape=(dims.sizes[0], channels, *sizes),
        stride=strides,
        padding=widths,
        dilation=dilations,
        groups=groups,
    )
    if bias is not None:
        check_kinds([y.payload.dtype, bias.payload.dtype])
        bare = ops.rename(bias, names=None) if bias._names is not None else bias
        # The op is a gradient, which has no bias.
        y = ops.add(y, ops.reshape(bare, sizes=(channels, *(1,) * n)))
    return unbatched(y, added)


@offered("workbench", "nn.functional")
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """One-dimensional transposed convolution.

    y[n, o, p·s + i·d - pad] += x[n, c, p]·w[c, o, i], plus b[o]

    Shapes: input [N, C, L] or [C, L], weight [C, O / groups, k], bias [O]; the output has size
    (L - 1)·stride - 2·padding + dilation·(k - 1) + output_padding + 1.

    >>> import workbench as wb
    >>> wb.conv_transpose1d(wb.ones(1, 1, 2), wb.ones(1, 1, 3), stride=2).tolist()
    [[[1.0, 1.0, 2.0, 1.0, 1.0]]]
    """
    return _transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@offered("workbench", "nn.functional")
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Two-dimensional transposed convolution, see `conv_transpose1d`.

    Shapes: input [N, C, H, W] or [C, H, W], weight [C, O / groups, kH, kW], bias [O].

    >>> import workbench as wb
    >>> wb.conv_transpose2d(wb.ones(N=1, C=1, H=2, W=2), wb.ones(1, 3, 2, 2), stride=2).shape
    (1, 3, 4, 4)
    """
    return _transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@offered("workbench", "nn.functional")
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Three-dimensional transposed convolution, see `conv_transpose1d`.

    Shapes: input [N, C, D, H, W] or [C, D, H, W], weight [C, O / groups, kD, kH, kW], bias [O].

    >>> import workbench as wb
    >>> wb.conv_transpose3d(wb.ones(1, 1, 2, 2, 2), wb.ones(1, 3, 2, 2, 2), stride=2).shape
    (1, 3, 4, 4, 4)
    """
    return _transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)
