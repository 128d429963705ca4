"""Operators that change shapes, and those that say what they are."""

from __future__ import annotations

import math
from typing import Any

from workbench.base.symbolic_size import SymbolicNumber
from workbench.onnx import integers
from workbench.onnx.errors import OnnxError
from workbench.onnx.table import operator
from workbench.onnx.values import Integers, bounded, wb
from workbench.tensor import Tensor

__all__ = ["listed", "placed"]


def listed(numbers: Any) -> list[Any]:
    """Return numbers as a list: some files write one axis as a number, and not as a row of one."""
    return list(numbers) if isinstance(numbers, list | tuple) else [numbers]


def placed(axis: int, rank: int) -> int:
    """Return an axis counted from the front; raise `OnnxError` where there is none."""
    if not -rank <= axis < max(rank, 1):
        raise OnnxError(f"the axis {axis} is none of {rank} dims")
    return axis % rank if rank else 0


def _sizes(x: Any) -> tuple[Any, ...]:
    if isinstance(x, Integers):
        return () if x.single else (len(x.numbers),)
    if not isinstance(x, Tensor):
        raise OnnxError(f"a tensor has a shape, and this is a {type(x).__name__}")
    return tuple(x.shape)


@operator("Shape", raw=True)
def _shape(x: Any, *, start: int = 0, end: int | None = None) -> Any:
    return Integers(list(_sizes(x)[slice(start, end)]))


@operator("Size", raw=True)
def _size(x: Any) -> Any:
    return Integers(math.prod(_sizes(x)))


def _reshaped(x: Any, shape: list[Any], *, allowzero: int = 0) -> Any:
    sizes = list(shape)
    if not allowzero:
        # 0 is the size that is there.
        sizes = [
            x.shape[i] if type(one) is int and one == 0 and i < x.dim() else one
            for i, one in enumerate(sizes)
        ]
    open_at = next((i for i, one in enumerate(sizes) if type(one) is int and one == -1), None)
    # What is left over of nothing is nothing: 0 values have no quotient.
    if open_at is not None and not isinstance(x.numel(), SymbolicNumber) and x.numel() == 0:
        rest = math.prod(one for i, one in enumerate(sizes) if i != open_at)
        sizes[open_at] = 0 if rest else 1
    return x.reshape(sizes)


operator("Reshape", since=5, numbers=(1,), integers=integers.row)(_reshaped)


@operator("Flatten")
def _flatten(x: Any, *, axis: int = 1) -> Any:
    axis = axis if axis >= 0 else axis + x.dim()
    if not 0 <= axis <= x.dim():
        raise OnnxError(f"the axis {axis} is none of {x.dim()} dims")
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@operator("Squeeze", integers=integers.squeezed)
def _squeeze_by_attribute(x: Any, *, axes: list[int] | None = None) -> Any:
    return _squeeze(x, axes)


@operator("Squeeze", since=13, numbers=(1,), integers=integers.squeezed)
def _squeeze(x: Any, axes: list[int] | None = None) -> Any:
    if axes is None:
        return x.squeeze()
    where = {placed(one, x.dim()) for one in listed(axes)}
    for one in where:
        if x.shape[one] != 1:
            raise OnnxError(f"dim {one} of {list(x.shape)} is no 1, and is to be taken out")
    return x.squeeze(tuple(sorted(where))) if where else x


@operator("Unsqueeze", integers=integers.unsqueezed)
def _unsqueeze_by_attribute(x: Any, *, axes: list[int]) -> Any:
    return _unsqueeze(x, axes)


@operator("Unsqueeze", since=13, numbers=(1,), integers=integers.unsqueezed)
def _unsqueeze(x: Any, axes: list[int]) -> Any:
    rank = x.dim() + len(listed(axes))
    for one in sorted(placed(axis, rank) for axis in listed(axes)):
        x = x.unsqueeze(one)
    return x


@operator("Concat", since=4, integers=integers.concat)
def _concat(*parts: Any, axis: int) -> Any:
    # An empty row is as long as nothing: it has a rank of its own only where others have it.
    return wb.cat(parts, dim=axis)


def _split(x: Any, sizes: Any, axis: int, outputs: int) -> Any:
    if sizes is None:
        size = -(-x.shape[axis] // outputs)
        left, sizes = x.shape[axis], []
        for _ in range(outputs):
            sizes.append(min(size, left))
            left = left - sizes[-1]
    return tuple(wb.split(x, list(sizes), dim=axis))


@operator("Split", since=2, integers=integers.split)
def _split_by_attribute(x: Any, *, split: list[int] | None = None, axis: int = 0, outputs: int) -> Any:
    return _split(x, split, axis, outputs)


@operator("Split", since=13, numbers=(1,), integers=integers.split)
def _split_by_input(x: Any, sizes: Any = None, *, axis: int = 0, num_outputs: int = 0, outputs: int) -> Any:
    return _split(x, sizes, axis, num_outputs or outputs)


@operator("Slice")
def _slice_by_attributes(x: Any, *, starts: list[int], ends: list[int], axes: list[int] | None = None) -> Any:
    return _slice(x, starts, ends, axes)


def _slice(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise OnnxError(f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps")
    index: list[Any] = [slice(None)] * x.dim()
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = placed(axis, x.dim())
        if step == 0:
            raise OnnxError("a step is no 0")
        if step < 0:
            x, start, end, step = _backwards(x, axis, start, end, step)
        index[axis] = slice(start, end, step)
    return x[tuple(index)]


def _backwards(x: Any, axis: int, start: Any, end: Any, step: int) -> tuple[Any, Any, Any, int]:
    """Turn a dim round, so that a slice that goes back goes forward."""
    size = x.shape[axis]
    start = min(start + size if start < 0 else start, size - 1)
    end = max(end + size if end < 0 else end, -1)
    return x.flip(axis), size - 1 - start, max(size - 1 - end, size - 1 - start), -step


operator("Slice", since=10, numbers=(1, 2, 3, 4), integers=integers.sliced)(_slice)


@operator("Transpose")
def _transpose(x: Any, *, perm: list[int] | None = None) -> Any:
    return x.permute(tuple(range(x.dim()))[::-1] if perm is None else tuple(perm))


@operator("Expand", since=8, numbers=(1,))
def _expand(x: Any, shape: list[Any]) -> Any:
    sizes = list(shape)
    rank = max(x.dim(), len(sizes))
    own = [1] * (rank - x.dim()) + list(x.shape)
    wanted = [1] * (rank - len(sizes)) + sizes
    # Either way: a 1 in the shape leaves what is there.
    return x.expand(
        bounded(
            there if type(one) is int and one == 1 else one for there, one in zip(own, wanted, strict=True)
        )
    )


@operator("Tile", since=6, numbers=(1,))
def _tile(x: Any, repeats: list[Any]) -> Any:
    if len(repeats) != x.dim():
        raise OnnxError(f"{len(repeats)} repeats, for {x.dim()} dims")
    bounded(size * one for size, one in zip(x.shape, repeats, strict=True))
    return wb.tile(x, tuple(repeats))


@operator("DepthToSpace")
def _depth_to_space(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    if mode == "CRD":
        x = x.reshape(n, c // blocksize**2, blocksize, blocksize, h, w).permute(0, 1, 4, 2, 5, 3)
    else:
        x = x.reshape(n, blocksize, blocksize, c // blocksize**2, h, w).permute(0, 3, 4, 1, 5, 2)
    return x.reshape(n, c // blocksize**2, h * blocksize, w * blocksize)


@operator("SpaceToDepth")
def _space_to_depth(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    x = x.permute(0, 1, 3, 5, 2, 4) if mode == "CRD" else x.permute(0, 3, 5, 1, 2, 4)
    return x.reshape(n, c * blocksize**2, h // blocksize, w // blocksize)


# -------------------------------------------------------------------------------------------------- pads


def _places(size: int, before: int, after: int, mode: str) -> Any:
    """Return for each place of a padded dim the place that it shows."""
    places = wb.arange(-before, size + after)
    if mode == "edge":
        return wb.clamp(places, 0, size - 1)
    if mode == "wrap":
        return wb.remainder(places, size)
    turn = max(2 * (size - 1), 1)
    found = wb.remainder(places, turn)
    return wb.where(found < size, found, turn - found)


def _padded(x: Any, pads: list[int], value: Any, axes: Any, mode: str) -> Any:
    axes = list(range(x.dim())) if axes is None else [placed(one, x.dim()) for one in axes]
    if len(pads) != 2 * len(axes):
        raise OnnxError(f"{len(pads)} pads, for {len(axes)} axes")
    widths = {axis: (pads[i], pads[i + len(axes)]) for i, axis in enumerate(axes)}
    bounded(
        max(size + sum(widths.get(i, (0, 0))), 0) if type(size) is int else size
        for i, size in enumerate(x.shape)
    )
    if mode == "constant":
        flat = [one for axis in reversed(range(x.dim())) for one in widths.get(axis, (0, 0))]
        fill = value[0] if isinstance(value, list) else value
        return wb.constant_pad_nd(x, flat, 0 if fill is None else fill)
    if mode not in ("edge", "reflect", "wrap"):
        raise OnnxError(f"Pad knows constant, edge, reflect and wrap, not {mode!r}")
    for axis, (before, after) in widths.items():
        if before or after:
            x = wb.index_select(x, axis, _places(x.shape[axis], before, after, mode))
    return x


@operator("Pad", since=2)
def _pad_by_attributes(x: Any, *, pads: list[int], mode: str = "constant", value: float = 0.0) -> Any:
    return _padded(x, pads, value, None, mode)


@operator("Pad", since=11, numbers=(1, 2, 3))
def _pad(x: Any, pads: list[int], value: Any = None, axes: Any = None, *, mode: str = "constant") -> Any:
    return _padded(x, pads, value, axes, mode)


@operator("CenterCropPad", since=18, numbers=(1,))
def _center_crop_pad(x: Any, shape: list[int], *, axes: list[int] | None = None) -> Any:
    for axis, wanted in zip(range(x.dim()) if axes is None else axes, shape, strict=True):
        size = x.shape[axis]
        if size > wanted:
            x = wb.narrow(x, axis, (size - wanted) // 2, wanted)
        elif size < wanted:
            before = (wanted - size) // 2
            x = _padded(x, [before, wanted - size - before], 0, [axis], "constant")
    return x


@operator("Trilu", since=14, numbers=(1,))
def _trilu(x: Any, k: Any = 0, *, upper: int = 1) -> Any:
    diagonal = k[0] if isinstance(k, list) else k or 0
    return wb.triu(x, diagonal) if upper else wb.tril(x, diagonal)


@operator("ReverseSequence", since=10, numbers=(1,))
def _reverse_sequence(x: Any, lengths: list[int], *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    rows = []
    for i, length in enumerate(lengths):
        row = x.select(batch_axis, i)
        axis = time_axis - (1 if time_axis > batch_axis else 0)
        rows.append(
            wb.cat(
                [
                    wb.narrow(row, axis, 0, length).flip(axis),
                    wb.narrow(row, axis, length, x.shape[time_axis] - length),
                ],
                dim=axis,
            )
        )
    return wb.stack(rows, dim=batch_axis)
