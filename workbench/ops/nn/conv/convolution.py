"""The words people use for convolutions: sizes for all directions or each, padding by name, one example or a batch."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.typing import Size, Tensor
from workbench.core.value import dims_of
from workbench.ops.nn.conv.window_geometry import Sizes, batched, not_negative, positive, several, unbatched
from workbench.ops.offer import offered


def _border(x: Any, weight: Any, padding: Any, stride: Sizes, dilation: Sizes, op: str) -> tuple[Any, Sizes]:
    """Return the input and how far it is to be padded; what is more on one side is added to the input here."""
    n = len(stride)
    if not isinstance(padding, str):
        return x, not_negative(several(padding, n, "padding"), "padding", op)
    if padding == "valid":
        return x, (0,) * n
    if padding != "same":
        raise ValueError(
            f"{op}: invalid padding string {padding!r}, padding should be one of 'valid', 'same'"
        )
    if max(stride) > 1:
        raise DimensionError("padding='same' is not supported for strided convolutions.", op=op)
    kernel = dims_of(weight).sizes[2:]
    if len(kernel) != n:
        return x, (0,) * n  # the op refuses this weight
    total = tuple(d * (k - 1) for d, k in zip(dilation, kernel, strict=True))
    # As in PyTorch the odd one goes to the far side.
    if any(one % 2 for one in total):
        widths = ((0, 0), (0, 0), *((0, one % 2) for one in total))
        x = ops.pad(x, padding=widths, value=0.0)
    return x, tuple(one // 2 for one in total)


def _groups(groups: int, op: str) -> int:
    if groups < 1:
        raise DimensionError(f"non-positive groups is not supported, got {groups}.", op=op)
    return groups


def _convolve(
    n: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    op = f"conv{n}d"
    strides = positive(several(stride, n, "stride"), "stride", op)
    dilations = positive(several(dilation, n, "dilation"), "dilation", op)
    x, added = batched(input, n, op)
    x, widths = _border(x, weight, padding, strides, dilations, op)
    operands = (x, weight) if bias is None else (x, weight, bias)
    y: Tensor = getattr(ops, op)(
        *operands, stride=strides, padding=widths, dilation=dilations, groups=_groups(groups, op)
    )
    return unbatched(y, added)


@offered("workbench", "nn.functional")
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """One-dimensional cross-correlation.

    y[n, o, p] = b[o] + Σ_{c, i} x[n, c, p·s + i·d - pad]·w[o, c, i]

    Shapes: input [N, C, L] or [C, L], weight [O, C / groups, k], bias [O]. `padding` is also 'valid' or 'same'.

    >>> import workbench as wb
    >>> wb.conv1d(wb.ones(1, 1, 5), wb.ones(1, 1, 3)).tolist()
    [[[3.0, 3.0, 3.0]]]
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@offered("workbench", "nn.functional")
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Two-dimensional cross-correlation.

    y[n, o, p, q] = b[o] + Σ_{c, i, j} x[n, c, p·s + i·d - pad, q·s + j·d - pad]·w[o, c, i, j]

    Shapes: input [N, C, H, W] or [C, H, W], weight [O, C / groups, kH, kW], bias [O]. `padding` is also 'valid'
    or 'same'.

    >>> import workbench as wb
    >>> wb.conv2d(wb.ones(N=1, C=1, H=4, W=4), wb.ones(2, 1, 3, 3)).shape
    (1, 2, 2, 2)
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@offered("workbench", "nn.functional")
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Three-dimensional cross-correlation: `conv2d` with a depth.

    Shapes: input [N, C, D, H, W] or [C, D, H, W], weight [O, C / groups, kD, kH, kW], bias [O].

    >>> import workbench as wb
    >>> wb.conv3d(wb.ones(1, 1, 4, 4, 4), wb.ones(2, 1, 3, 3, 3)).shape
    (1, 2, 2, 2, 2)
    """
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)
