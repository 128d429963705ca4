"""How a tensor prints: as PyTorch's do, with names, and in bounded time whatever the size."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.value import Abstract

__all__ = ["tensor_repr"]

THRESHOLD = 1000
"""Tensors of more values than this are summarised with their edges."""


def tensor_repr(tensor: Any) -> str:
    """Return ``tensor([[1.0000, 2.0000]], names=('N', 'C'), requires_grad=True)``."""
    array = tensor._array
    suffix = _suffix(tensor)
    if isinstance(array, Abstract):
        return (
            f"tensor(without numbers, size={tuple(array.shape)}" + "".join(", " + one for one in suffix) + ")"
        )
    if hasattr(array, "quantizer"):
        suffix = [*array.quantizer(), *suffix]
        array = array.dequantize()
    prefix = "tensor("
    if array.size == 0:
        body = "[]"
        suffix = [f"size={tuple(array.shape)}", *suffix]
    else:
        body = np.array2string(
            array,
            separator=", ",
            prefix=prefix,
            threshold=THRESHOLD,
            edgeitems=3,
            formatter=_formatter(array),  # type: ignore[arg-type]
            max_line_width=88,
        )
    return prefix + body + "".join(", " + one for one in suffix) + ")"


def _suffix(tensor: Any) -> list[str]:
    parts = []
    name = tensor.dtype.name
    if name not in ("float32", "int64", "bool"):
        parts.append(f"dtype=workbench.{name}")
    if tensor._names is not None:
        parts.append(f"names={tensor._names}")
    if tensor._grad_fn is not None:
        parts.append(f"grad_fn={tensor._grad_fn!r}")
    elif tensor._requires_grad:
        parts.append("requires_grad=True")
    return parts


def _formatter(array: Any) -> dict[str, Any] | None:
    """Four decimals, or exponents where the shown values span too far for that."""
    if array.dtype.kind != "f":
        return None
    shown = _edges(array)
    finite = np.abs(shown[np.isfinite(shown)])
    finite = finite[finite > 0]
    far = finite.size > 0 and (
        finite.max() >= 1e5 or finite.min() < 1e-4 or finite.max() / finite.min() > 1e6
    )
    texts = [f"{v:.4e}" if far else f"{v:.4f}" for v in shown.ravel().tolist()]
    width = max((len(text) for text in texts), default=0)
    pattern = f"{{:{width}.4e}}" if far else f"{{:{width}.4f}}"
    return {"float_kind": lambda value: pattern.format(float(value))}


def _edges(array: Any) -> Any:
    """Return the values that are shown: all, or those at the edges of every dim."""
    if array.size <= THRESHOLD:
        return array
    for axis in range(array.ndim):
        size = array.shape[axis]
        if size > 6:
            array = np.take(array, [0, 1, 2, size - 3, size - 2, size - 1], axis=axis)
    return array
