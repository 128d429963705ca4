"""Patches of an image as columns, and columns added up to an image again: im2col and col2im."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import OWN
from workbench.core.tape import Call
from workbench.core.typing import Size, Tensor
from workbench.core.value import dims_of
from workbench.ops.nn import batching
from workbench.ops.nn.conv.window_geometry import (
    LAYOUT,
    Sizes,
    batched,
    check_layout,
    columns,
    not_negative,
    output_size,
    overlap_add,
    positive,
    several,
    unbatched,
)
from workbench.ops.offer import offered


def _positions(sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    return tuple(map(output_size, sizes, kernel, stride, padding, dilation))


def _unfold_dims(x: Dims, kernel: Sizes, **params: Sizes) -> Dims:
    check_layout("unfold", x, len(kernel))
    out = _positions(x.sizes[2:], kernel, **params)
    if any(one < 1 for one in out):
        raise DimensionError(
            f"Given input with spatial size {list(x.sizes[2:])}, kernel_size={kernel}, "
            f"dilation={params['dilation']}, padding={params['padding']}, calculated shape of the array of sliding "
            f"blocks as {list(out)}, but its components must be at least one.",
            op="unfold",
            operands=(x.operand("input", range(2, len(x.sizes))),),
        )
    return Dims((x.names[0], None, None), (x.sizes[0], x.sizes[1] * math.prod(kernel), math.prod(out)))


def _unfold(x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    out = _positions(x.shape[2:], kernel, stride, padding, dilation)
    view = columns(x, kernel, stride, padding, dilation, out)
    result = view.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out))
    # Windows of one value need no copy to lie in a row, and the result is written to by itself.
    return result.copy() if np.may_share_memory(result, x) else result


def _unfold_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    return (ops.fold(g, sizes=c.inputs[0].payload.shape[2:], **c.params),)


def _fold_dims(x: Dims, sizes: Sizes, kernel: Sizes, **params: Sizes) -> Dims:
    if len(x.sizes) != 3:
        raise DimensionError(
            f"Expected 3D input [N, C·taps, positions], but got {len(x.sizes)}D.",
            op="fold",
            operands=(x.operand("input"),),
        )
    taps = math.prod(kernel)
    if x.sizes[1] % taps or x.sizes[1] == 0:
        raise DimensionError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={x.sizes[1]} and kernel_size={kernel}.",
            op="fold",
            operands=(x.operand("input", [1]),),
        )
    out = _positions(sizes, kernel, **params)
    # Several images may have that many positions: the one asked for must be among them.
    if any(one < 1 for one in out) or math.prod(out) != x.sizes[2]:
        raise DimensionError(
            f"Given output_size={sizes}, kernel_size={kernel}, dilation={params['dilation']}, "
            f"padding={params['padding']}, stride={params['stride']}, expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {' * '.join(map(str, out))} = {math.prod(out)}, but got "
            f"input.size(2)={x.sizes[2]}.",
            op="fold",
            operands=(x.operand("input", [2]),),
        )
    return Dims((x.names[0], None, *(None,) * len(sizes)), (x.sizes[0], x.sizes[1] // taps, *sizes))


def _fold(x: Any, sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    out = _positions(sizes, kernel, stride, padding, dilation)
    parts = x.reshape(x.shape[0], x.shape[1] // math.prod(kernel), *kernel, *out)
    return overlap_add(parts, sizes, stride, padding, dilation)


def _fold_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    return (ops.unfold_patches(g, **{key: value for key, value in c.params.items() if key != "sizes"}),)


def _params(kernel: Sizes, stride: int = 1, padding: int = 0, dilation: int = 1) -> dict[str, Sizes]:
    n = len(kernel)
    return {
        "kernel": kernel,
        "stride": (stride,) * n,
        "padding": (padding,) * n,
        "dilation": (dilation,) * n,
    }


UNFOLD = Op(
    name="unfold_patches",
    doc="Every window of an image as a column (im2col).",
    equation="y[n, (c, k), p] = x[n, c, p·s + k·d - pad]",
    dims=_unfold_dims,
    rule="N keeps its name; C and the taps become one dim, the positions another",
    dtype=KEEP,
    forward=_unfold,
    vjp=_unfold_vjp,
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        Sample((grid(2, 3, 4, 5),), _params((2, 3)), names=(LAYOUT[2],)),
        Sample((grid(1, 2, 5, 6),), _params((3, 2), 2, 1, 2)),
        Sample((grid(1, 2, 7),), _params((3,), 2)),
        Sample((grid(1, 2, 3, 2),), _params((1, 1))),
    ],
    bad=lambda: [
        BadInput((grid(2, 3, 2, 2),), _params((3, 3)), DimensionError, "must be at least one"),
        BadInput((grid(2, 2, 2),), _params((1, 1)), DimensionError, "Expected 4D input"),
    ],
    properties=frozenset({"linear", "moves"}),
    batch=batching.as_samples,
)

FOLD = Op(
    name="fold",
    doc="Columns added up to the image whose windows they are (col2im).",
    equation="y[n, c, p·s + k·d - pad] += x[n, (c, k), p]",
    dims=_fold_dims,
    rule="N keeps its name; the taps end, the positions become the dims of the image",
    dtype=KEEP,
    forward=_fold,
    vjp=_fold_vjp,
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(2, 12, 9),), {"sizes": (4, 4), **_params((2, 2))}, names=(("N", None, None),)),
        Sample((grid(1, 12, 6),), {"sizes": (6, 6), **_params((3, 2), 2, 1, 2)}),
        Sample((grid(1, 5, 2),), {"sizes": (6,), **_params((5,))}),
        Sample((grid(1, 2, 6),), {"sizes": (3, 2), **_params((1, 1))}),
    ],
    bad=lambda: [
        BadInput((grid(2, 13, 9),), {"sizes": (4, 4), **_params((2, 2))}, DimensionError, "to be divisible"),
        BadInput(
            (grid(2, 12, 8),), {"sizes": (4, 4), **_params((2, 2))}, DimensionError, "sliding blocks 3 * 3"
        ),
    ],
    properties=frozenset({"linear"}),
    batch=batching.as_samples,
    quantized=OWN,
)

# ---------------------------------------------------------------------------------- the words people use


def _settings(op: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> dict[str, Sizes]:
    return {
        "kernel": positive(several(kernel_size, 2, "kernel_size"), "kernel size", op),
        "stride": positive(several(stride, 2, "stride"), "stride", op),
        "padding": not_negative(several(padding, 2, "padding"), "padding", op),
        "dilation": positive(several(dilation, 2, "dilation"), "dilation", op),
    }


@offered("nn.functional")
def unfold(
    input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """Take every window of [N, C, H, W] or [C, H, W] as a column: [N, C·kH·kW, positions].

    >>> import workbench as wb
    >>> wb.nn.functional.unfold(wb.zeros(2, 3, 4, 5), (2, 3)).shape
    (2, 18, 9)
    """
    x, added = batched(input, 2, "unfold")
    return unbatched(
        ops.unfold_patches(x, **_settings("unfold", kernel_size, dilation, padding, stride)), added
    )


@offered("nn.functional")
def fold(
    input: Tensor,
    output_size: Size,
    kernel_size: Size,
    dilation: Size = 1,
    padding: Size = 0,
    stride: Size = 1,
) -> Tensor:
    """Add columns [N, C·kH·kW, positions] up to an image [N, C, H, W] of `output_size`.

    What several windows see is added: `fold(unfold(x))` counts each value as often as it was seen.

    >>> import workbench as wb
    >>> wb.nn.functional.fold(wb.ones(1, 4, 4), (3, 3), 2)[0, 0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    dims = dims_of(input)
    # Not by `batched`, which counts dims of images: these are columns.
    added = len(dims.sizes) == 2
    x = ops.unsqueeze(input, dim=0, name=None) if added else input
    sizes = positive(several(output_size, 2, "output_size"), "output size", "fold")
    return unbatched(
        ops.fold(x, sizes=sizes, **_settings("fold", kernel_size, dilation, padding, stride)), added
    )
