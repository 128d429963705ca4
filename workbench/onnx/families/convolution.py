"""Convolutions, and the pads that they share with pools."""

from __future__ import annotations

from typing import Any

from workbench.onnx.errors import OnnxError
from workbench.onnx.table import operator
from workbench.onnx.values import bounded, wb

__all__ = ["convolved", "each", "pads_of"]

_CONVOLUTIONS = {1: wb.conv1d, 2: wb.conv2d, 3: wb.conv3d}
_TRANSPOSED = {1: wb.conv_transpose1d, 2: wb.conv_transpose2d, 3: wb.conv_transpose3d}


def each(values: Any, rank: int, default: int, what: str) -> list[int]:
    """Return an attribute that has a number for each dim."""
    found = [default] * rank if not values else list(values)
    if len(found) != rank:
        raise OnnxError(f"{what} has {len(found)} numbers, for {rank} dims")
    return found


def pads_of(
    sizes: list[Any], kernel: list[int], strides: list[int], dilations: list[int], pads: Any, auto_pad: str
) -> tuple[list[Any], list[Any]]:
    """Return how many places are put in front of each dim, and behind it."""
    rank = len(sizes)
    if auto_pad in ("NOTSET", ""):
        found = each(pads, 2 * rank, 0, "pads")
        return found[:rank], found[rank:]
    if auto_pad == "VALID":
        return [0] * rank, [0] * rank
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise OnnxError(f"auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER, not {auto_pad!r}")
    before, after = [], []
    for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        whole = (-(-size // stride) - 1) * stride + (width - 1) * dilation + 1 - size
        total = max(whole, 0)
        half = total // 2
        first, last = (half, total - half) if auto_pad == "SAME_UPPER" else (total - half, half)
        before.append(first)
        after.append(last)
    return before, after


def padded(x: Any, before: list[Any], after: list[Any], value: Any) -> Any:
    """Return `x` with places around its last dims."""
    beyond = zip(x.shape[x.dim() - len(before) :], before, after, strict=True)
    bounded(
        [
            *x.shape[: x.dim() - len(before)],
            *(max(size + a + b, 0) if type(size) is int else size for size, a, b in beyond),
        ]
    )
    flat = [one for pair in reversed(list(zip(before, after, strict=True))) for one in pair]
    return wb.constant_pad_nd(x, flat, value) if any(type(one) is not int or one for one in flat) else x


def _check_extent(x: Any, more: list[Any]) -> None:
    """Raise `OnnxError` where an image that is as much larger is beyond all bounds."""
    bounded(
        [
            *x.shape[:2],
            *(
                max(size + one, 0) if type(size) is int else size
                for size, one in zip(x.shape[2:], more, strict=True)
            ),
        ]
    )


def convolved(
    x: Any, w: Any, bias: Any, auto_pad: str, dilations: Any, group: int, kernel: Any, pads: Any, strides: Any
) -> Any:
    """Return a convolution as the format says it."""
    rank = x.dim() - 2
    if rank not in _CONVOLUTIONS or w.dim() != x.dim():
        raise OnnxError(
            f"a convolution of {x.dim()} dims with weights of {w.dim()} is none: 3 to 5 dims are right"
        )
    shape = list(w.shape[2:])
    if kernel and list(kernel) != shape:
        raise OnnxError(f"kernel_shape is {kernel}, and the weights are {shape}")
    strides, dilations = each(strides, rank, 1, "strides"), each(dilations, rank, 1, "dilations")
    before, after = pads_of(list(x.shape[2:]), shape, strides, dilations, pads, auto_pad)
    _check_extent(x, [a + b for a, b in zip(before, after, strict=True)])
    if before != after or any(one < 0 for one in before):
        x, before = padded(x, before, after, 0), [0] * rank
    return _CONVOLUTIONS[rank](
        x, w, bias, stride=tuple(strides), padding=tuple(before), dilation=tuple(dilations), groups=group
    )


@operator("Conv")
def _conv(
    x: Any, w: Any, b: Any = None, *, auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1,
    kernel_shape: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    return convolved(x, w, b, auto_pad, dilations, group, kernel_shape, pads, strides)


@operator("ConvTranspose")
def _conv_transpose(
    x: Any, w: Any, b: Any = None, *, auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1,
    kernel_shape: Any = None, output_padding: Any = None, output_shape: Any = None, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    rank = x.dim() - 2
    if rank not in _TRANSPOSED:
        raise OnnxError(f"a convolution of {x.dim()} dims is none: 3 to 5 dims are right")
    strides, dilations = each(strides, rank, 1, "strides"), each(dilations, rank, 1, "dilations")
    extra = each(output_padding, rank, 0, "output_padding")
    _check_extent(
        x, [(size - 1) * strides[i] + w.shape[2 + i] * dilations[i] for i, size in enumerate(x.shape[2:])]
    )
    found = _TRANSPOSED[rank](x, w, None, stride=tuple(strides), dilation=tuple(dilations), groups=group)
    if any(extra):
        found = padded(found, [0] * rank, extra, 0)
    full = list(found.shape[2:])
    if output_shape:
        wanted = list(output_shape)[-rank:]
    elif auto_pad.startswith("SAME"):
        wanted = [size * stride for size, stride in zip(x.shape[2:], strides, strict=True)]
    else:
        wanted = None
    if wanted is None:
        own = each(pads, 2 * rank, 0, "pads") if auto_pad != "VALID" else [0] * 2 * rank
        before, after = own[:rank], own[rank:]
    else:
        total = [a - b for a, b in zip(full, wanted, strict=True)]
        # What is more than asked for is cut, mostly from the end, or from the front where it says so.
        before = [
            -((-one) // 2) if one < 0 else (one // 2 if auto_pad == "SAME_UPPER" else one - one // 2)
            for one in total
        ]
        after = [one - first for one, first in zip(total, before, strict=True)]
    found = padded(found, [-one for one in before], [-one for one in after], 0)
    return found if b is None else found + b.reshape([-1] + [1] * rank)


@operator("DeformConv", since=19)
def _deform_conv(
    x: Any, w: Any, offset: Any, b: Any = None, mask: Any = None, *, dilations: Any = None, group: int = 1,
    kernel_shape: Any = None, offset_group: int = 1, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    if x.dim() != 4:
        raise OnnxError(f"DeformConv of {x.dim()} dims is not here: images of 4 are")
    strides, dilations = each(strides, 2, 1, "strides"), each(dilations, 2, 1, "dilations")
    pads = each(pads, 4, 0, "pads")
    n, c, h, wide = x.shape
    kh, kw = w.shape[2:]
    oh, ow = offset.shape[2:]
    # Each place of the kernel looks at the image where its offset says, between the values there.
    shifts = offset.reshape(n, offset_group, kh * kw, 2, oh, ow)
    columns = []
    for i in range(kh * kw):
        top = wb.arange(oh).float().reshape(oh, 1) * strides[0] - pads[0] + (i // kw) * dilations[0]
        left = wb.arange(ow).float().reshape(1, ow) * strides[1] - pads[1] + (i % kw) * dilations[1]
        rows = []
        for g in range(offset_group):
            y = shifts[:, g, i, 0] + top
            z = shifts[:, g, i, 1] + left
            part = wb.narrow(x, 1, g * (c // offset_group), c // offset_group)
            grid = wb.stack([(z * 2 + 1) / wide - 1, (y * 2 + 1) / h - 1], dim=-1)
            seen = wb.grid_sample(part, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
            if mask is not None:
                seen = seen * mask.reshape(n, offset_group, kh * kw, oh, ow)[:, g, i].unsqueeze(1)
            rows.append(seen)
        columns.append(wb.cat(rows, dim=1))
    seen = wb.stack(columns, dim=2).reshape(n, group, (c // group) * kh * kw, oh * ow)
    weights = w.reshape(1, group, w.shape[0] // group, (c // group) * kh * kw)
    found = wb.matmul(weights, seen).reshape(n, w.shape[0], oh, ow)
    return found if b is None else found + b.reshape(-1, 1, 1)


@operator("Col2Im", since=18, numbers=(1, 2))
def _col2im(
    x: Any,
    image: list[int],
    block: list[int],
    *,
    dilations: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Any:
    rank = len(image)
    strides, dilations = each(strides, rank, 1, "strides"), each(dilations, rank, 1, "dilations")
    own = each(pads, 2 * rank, 0, "pads")
    whole = [size + own[i] + own[i + rank] for i, size in enumerate(image)]
    counts = [
        (size - dilation * (width - 1) - 1) // stride + 1
        for size, width, stride, dilation in zip(whole, block, strides, dilations, strict=True)
    ]
    places = wb.zeros([1] * 2 * rank, dtype=wb.arange(1).dtype)
    for i in range(rank):
        behind = 1
        for size in whole[i + 1 :]:
            behind *= size
        kernel = (wb.arange(block[i]) * dilations[i]).reshape([-1 if k == i else 1 for k in range(2 * rank)])
        start = (wb.arange(counts[i]) * strides[i]).reshape(
            [-1 if k == i + rank else 1 for k in range(2 * rank)]
        )
        places = places + (kernel + start) * behind
    total = 1
    for size in whole:
        total *= size
    n, channels = x.shape[0], x.shape[1] // max(1, _product(block))
    values = x.reshape(n, channels, -1)
    index = places.reshape(1, 1, -1).expand(n, channels, -1)
    found = wb.scatter_add(wb.zeros([n, channels, total], dtype=x.dtype), 2, index, values)
    found = found.reshape([n, channels, *whole])
    for i, size in enumerate(image):
        found = wb.narrow(found, 2 + i, own[i], size)
    return found


def _product(sizes: list[int]) -> int:
    total = 1
    for one in sizes:
        total *= one
    return total
