"""What a hook may put in a gradient's place: a tensor of its sizes, its type and on its device, or nothing new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.base.dtypes import dtype_of
from workbench.base.errors import AutogradError, DimensionError, DTypeError
from workbench.core.backend import device_of
from workbench.core.value import Value, dims_of

__all__ = ["replaced", "replaced_all"]


def replaced(hook: Callable[..., Any], before: Any, after: Any) -> Any:
    """Return the gradient that a hook leaves: `before` for None, else `after`, which has to be alike.

    Raises TypeError for what is no tensor, `DimensionError` for other sizes, `DTypeError` for another type,
    `AutogradError` for another device.
    """
    if after is None:
        return before
    name = getattr(hook, "__name__", type(hook).__name__)
    if not isinstance(after, Value):
        raise TypeError(f"expected a Tensor or None, but hook {name!r} returned {type(after).__name__!r}")
    if before is None:
        return after
    own, given = dims_of(before), dims_of(after)
    if tuple(own.sizes) != tuple(given.sizes):
        raise DimensionError(
            f"hook {name!r} has changed the size of value: return a gradient of shape {list(own.sizes)}",
            op="backward",
            operands=(own.operand("gradient"), given.operand("returned")),
        )
    if before.payload.dtype != after.payload.dtype:
        was, got = (dtype_of(one.payload).name for one in (before, after))
        raise DTypeError(
            f"hook {name!r} has changed the type of value (was {was} got {got}): return gradient.to(wb.{was})"
        )
    if device_of(before.payload) != device_of(after.payload):
        raise AutogradError(
            f"hook {name!r} has changed the device of value: from {device_of(before.payload)} to "
            f"{device_of(after.payload)}"
        )
    return after


def replaced_all(hook: Callable[..., Any], before: Sequence[Any], after: Any) -> list[Any]:
    """Return the gradients that a hook on a call leaves of several, one for each."""
    if after is None:
        return list(before)
    several = after if isinstance(after, tuple) else (after,)
    if len(several) != len(before):
        name = getattr(hook, "__name__", type(hook).__name__)
        raise AutogradError(
            f"hook {name!r} has returned an incorrect number of values (got {len(several)}, but expected {len(before)})"
        )
    for one in several:
        if one is not None and not isinstance(one, Value):
            replaced(hook, None, one)
    # None stands for no gradient here, as it does among those that the hook was given.
    return [None if b is None else replaced(hook, a, b) for a, b in zip(before, several, strict=True)]
