"""Slices whose ends only a run knows."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import int64
from workbench.onnx.errors import OnnxError
from workbench.onnx.scripts.room import Kind, Room
from workbench.onnx.values import wb
from workbench.tensor import Tensor

__all__ = ["at", "is_open"]

_END = (1 << 63) - 1


def _is_open_slice(one: Any) -> bool:
    return isinstance(one, slice) and any(isinstance(end, Tensor) for end in (one.start, one.stop, one.step))


def is_open(key: Any) -> bool:
    """Say whether a key has a slice in it whose ends are numbers that only a run knows."""
    return any(map(_is_open_slice, key if isinstance(key, tuple) else (key,)))


def at(room: Room, name: str, x: Any, key: Any, *value: Any) -> Any:
    """Return, or set, what stands at a key with such slices."""
    parts = list(key if isinstance(key, tuple) else (key,))
    dims = _dims(parts, x.dim())
    if name == "operator.setitem":
        if sum(isinstance(one, Tensor) or _is_open_slice(one) for one in parts) > 1:
            raise OnnxError(
                "of a place that is set one index or slice may be known by runs alone: set it in two steps"
            )
        for i, one in enumerate(parts):
            if _is_open_slice(one):
                parts[i] = _cut(room, wb.arange(x.shape[dims[i]]), 0, one)
        x[tuple(parts)] = value[0]
        return None
    for i, one in enumerate(parts):
        if _is_open_slice(one):
            x, parts[i] = _cut(room, x, dims[i], one), slice(None)
    return (
        x
        if all(one == slice(None) for one in parts if not isinstance(one, Tensor))
        and not any(isinstance(one, Tensor) for one in parts)
        else x[tuple(parts)]
    )


def _dims(parts: list[Any], rank: int) -> list[int]:
    """Return which dim each part of a key speaks of."""
    taken = sum(1 for one in parts if one is not None and one is not Ellipsis)
    found, dim = [], 0
    for one in parts:
        found.append(dim)
        dim += rank - taken if one is Ellipsis else 0 if one is None else 1
    return found


def _cut(room: Room, x: Any, dim: int, part: slice) -> Any:
    if part.step not in (None, 1):
        raise OnnxError("a slice whose ends only a run knows has steps of one")
    ends = [0 if part.start is None else part.start, _END if part.stop is None else part.stop]
    rows = [room.number(one, int64).reshape(1) for one in ends]
    kind = room.kind(x)
    sizes = tuple(None if i == dim else one for i, one in enumerate(kind.sizes))
    axes = wb.tensor([dim], dtype=int64)
    return room.call("onnx.Slice_10", [x, *rows, axes], Kind(kind.dtype, sizes, kind.names, kind.hints))
