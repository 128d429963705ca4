"""What PyTorch's older constructors take: sizes, or values, of one type: ``FloatTensor(2, 3)``, ``Tensor([1, 2])``."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.devices import Device
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.sizes import check_memory
from workbench.core.size import Size
from workbench.core.value import Value

__all__ = ["check_device", "values_of"]


def check_device(op: str, asked: Any, own: str = "cpu") -> None:
    """Refuse a device that is not that of the type; None is the type's own.

    >>> check_device("FloatTensor", "cuda")
    Traceback (most recent call last):
    ...
    RuntimeError: FloatTensor(): legacy constructor expects device type: cpu but device type: cuda was passed
    """
    if asked is not None and Device(asked).type != Device(own).type:
        raise RuntimeError(
            f"{op}(): legacy constructor expects device type: {Device(own).type} but device type: "
            f"{Device(asked).type} was passed"
        )


def values_of(op: str, given: tuple[Any, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a new array of a type: with the values given, or of the sizes given with memory as it is.

    Whole numbers are sizes, and so is a `Size`; a list or a tuple has values.

    >>> values_of("Tensor", (2, 3), np.dtype("f4")).shape, values_of("Tensor", ((2, 3),), np.dtype("f4")).tolist()
    ((2, 3), [2.0, 3.0])
    """
    first = given[0] if given else ()
    if len(given) != 1 or _is_size(first) or isinstance(first, Size):
        return np.empty(_sizes(op, tuple(first) if isinstance(first, Size) else given or (0,)), dtype)
    if isinstance(first, bool | float | complex):
        raise DTypeError(
            f"{op}(): data must be a sequence (got {type(first).__name__}): one number is wb.tensor({first!r})"
        )
    if first is None or isinstance(first, str):
        raise DTypeError(f"a tensor is made of numbers, got {type(first).__name__}")
    source = first.detach().cpu().numpy() if isinstance(first, Value) else first  # type: ignore[attr-defined]
    if isinstance(source, list | tuple) and any(isinstance(one, Value) for one in source):
        source = [one.item() if isinstance(one, Value) and not one.payload.shape else one for one in source]  # type: ignore[attr-defined]
    try:
        return np.array(source, dtype)
    except (TypeError, ValueError):
        raise DTypeError(f"a tensor is made of numbers, got {type(first).__name__}") from None


def _is_size(one: Any) -> bool:
    # A size of a trace is no int and has __index__. An array without dims has it too, and is a value.
    if isinstance(one, bool) or (hasattr(one, "dtype") and not isinstance(one, np.integer)):
        return False
    return hasattr(one, "__index__")


def _sizes(op: str, given: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the sizes of a tensor that is to have memory as it is; refuse what are none."""
    for one in given:
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"{op}(): a size is a whole number, got {one!r}; values go into wb.tensor([…])")
        if one < 0:
            raise DimensionError(
                f"Trying to create tensor with negative dimension {one}: {list(given)}", op=op
            )
    sizes = tuple(int(one) for one in given)
    check_memory(op, sizes)
    return sizes
