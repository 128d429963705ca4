"""Channels into space and back: rearrangements of [N, C, H, W]."""

from __future__ import annotations

from typing import Any

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered


def _image(input: Any, op: str) -> tuple[Dims, Any]:
    """Return the dims of an image and the image without names: they are put back at the end."""
    dims = dims_of(input)
    if len(dims.sizes) < 3:
        raise DimensionError(
            f"expects input to have at least 3 dimensions, but got input with {len(dims.sizes)} dimension(s).",
            op=op,
            operands=(dims.operand("input"),),
        )
    # Without names on the way: the reshape would drop those of dims that come back.
    return dims, ops.rename(input, names=None) if input._names is not None else input


def _named(value: Any, dims: Dims) -> Tensor:
    return ops.rename(value, names=dims.names) if any(dims.names) else value


def _moved(x: Any, apart: tuple[Any, ...], order: tuple[int, ...], sizes: tuple[Any, ...]) -> Any:
    """Return `x`, seen in the sizes `apart`, with its dims in another order and then in `sizes`, in new memory."""
    kept = [at for at in order if not (isinstance(apart[at], int) and apart[at] == 1)]
    # Where nothing changes places all of it would be views, and who writes into the result would write into `x`.
    given = ops.clone(x) if kept == sorted(kept) else x
    return ops.reshape(ops.permute(ops.reshape(given, sizes=apart), dim=order), sizes=sizes)


def _factor(factor: int, what: str, op: str) -> int:
    if factor < 1:
        raise DimensionError(f"{op} expects a positive {what}, but got {factor}.", op=op)
    return factor


@offered("workbench", "nn.functional")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange [*, C·r², H, W] to [*, C, H·r, W·r].

    y[c, h·r + i, w·r + j] = x[c·r² + i·r + j, h, w]

    >>> import workbench as wb
    >>> wb.pixel_shuffle(wb.arange(4.0).reshape(1, 4, 1, 1), 2).tolist()
    [[[[0.0, 1.0], [2.0, 3.0]]]]
    """
    dims, x = _image(input, "pixel_shuffle")
    r = _factor(upscale_factor, "upscale_factor", "pixel_shuffle")
    *batch, channels, height, width = dims.sizes
    if channels % (r * r):
        raise DimensionError(
            "expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}.",
            op="pixel_shuffle",
            operands=(dims.operand("input", [len(batch)]),),
        )
    k, out = len(batch), channels // (r * r)
    # From C, r, r, H, W to C, H, r, W, r.
    order = (*range(k), k, k + 3, k + 1, k + 4, k + 2)
    moved = _moved(x, (*batch, out, r, r, height, width), order, (*batch, out, height * r, width * r))
    return _named(moved, dims)


@offered("workbench", "nn.functional")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange [*, C, H·r, W·r] to [*, C·r², H, W]: the inverse of `pixel_shuffle`.

    >>> import workbench as wb
    >>> wb.pixel_unshuffle(wb.arange(4.0).reshape(1, 1, 2, 2), 2).flatten().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    dims, x = _image(input, "pixel_unshuffle")
    r = _factor(downscale_factor, "downscale_factor", "pixel_unshuffle")
    *batch, channels, height, width = dims.sizes
    for i, (side, size) in enumerate((("height", height), ("width", width))):
        if size % r:
            raise DimensionError(
                f"expects {side} to be divisible by downscale_factor, but input.size({i - 2})={size} is not divisible "
                f"by {r}.",
                op="pixel_unshuffle",
                operands=(dims.operand("input", [len(batch) + 1 + i]),),
            )
    k = len(batch)
    apart = (*batch, channels, height // r, r, width // r, r)
    # From C, H, r, W, r to C, r, r, H, W.
    order = (*range(k), k, k + 2, k + 4, k + 1, k + 3)
    return _named(_moved(x, apart, order, (*batch, channels * r * r, height // r, width // r)), dims)


@offered("workbench", "nn.functional")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave `groups` groups of the channels of [N, C, …].

    y[n, i·g + j] = x[n, j·C/g + i]

    >>> import workbench as wb
    >>> wb.channel_shuffle(wb.arange(4.0).reshape(1, 4, 1), 2).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """
    dims, x = _image(input, "channel_shuffle")
    batch, channels, *rest = dims.sizes
    if _factor(groups, "number of groups", "channel_shuffle") and channels % groups:
        raise DimensionError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.",
            op="channel_shuffle",
            operands=(dims.operand("input", [1]),),
        )
    apart = (batch, groups, channels // groups, *rest)
    return _named(_moved(x, apart, (0, 2, 1, *range(3, len(rest) + 3)), tuple(dims.sizes)), dims)
