"""Tensors in events, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["array_of"]

Array = np.ndarray[Any, Any]

_KINDS: dict[int, tuple[str, str]] = {
    1: ("<f4", "float_val"),
    2: ("<f8", "double_val"),
    3: ("<i4", "int_val"),
    4: ("u1", "int_val"),
    6: ("i1", "int_val"),
    9: ("<i8", "int64_val"),
    10: ("?", "bool_val"),
}
"""NumPy's type, and the field in which numbers stand one by one, for the numbers of TensorFlow's types."""


def array_of(tensor: Any) -> Array:
    """Return the numbers of a ``TensorProto``.

    Raises ValueError where its type is none that summaries have, or where it has other numbers than its shape says.
    """
    known = _KINDS.get(tensor.dtype)
    if known is None:
        raise ValueError(f"tensors of TensorFlow's type number {tensor.dtype} are in no summary")
    kind, name = known
    shape = [int(dim.size) for dim in tensor.tensor_shape.dim]
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if tensor.tensor_content:
        if len(tensor.tensor_content) % np.dtype(kind).itemsize:
            raise ValueError(
                f"{len(tensor.tensor_content)} bytes are no whole number of {np.dtype(kind).name}"
            )
        numbers = np.frombuffer(tensor.tensor_content, kind)
    else:
        numbers = _one_by_one(getattr(tensor, name), kind)
        if numbers.size == 1 and count > 1:
            # One number stands for all: no more than there would be bytes otherwise.
            raise ValueError(f"one number stands for a tensor of shape {shape}, which no summary needs")
    if min(shape, default=0) < 0 or numbers.size != count:
        raise ValueError(f"a tensor of shape {shape} has {numbers.size} numbers")
    return numbers.reshape(shape)


def _one_by_one(written: Any, kind: str) -> Array:
    """Return numbers that stand each for itself; small types are written as int32, which holds others, too."""
    numbers = np.asarray(list(written), np.int64 if kind in ("u1", "i1") else kind)
    narrow = numbers.astype(kind)
    if (narrow != numbers).any() and narrow.dtype.kind != "f":
        raise ValueError(f"a tensor of {narrow.dtype.name} holds {numbers[narrow != numbers][0]}")
    return narrow
