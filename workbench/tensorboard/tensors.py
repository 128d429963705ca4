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
        numbers = np.frombuffer(tensor.tensor_content, kind)
    else:
        numbers = np.asarray(getattr(tensor, name), kind)
        if numbers.size == 1 and count > 1:
            # One number stands for all: no more than there would be bytes otherwise.
            raise ValueError(f"one number stands for a tensor of shape {shape}, which no summary needs")
    if min(shape, default=0) < 0 or numbers.size != count:
        raise ValueError(f"a tensor of shape {shape} has {numbers.size} numbers")
    return numbers.reshape(shape)
