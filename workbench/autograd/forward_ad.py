"""Forward mode by hand: values with a direction, inside a level. PyTorch's `torch.autograd.forward_ad`.

>>> import workbench as wb
>>> from workbench.autograd import forward_ad
>>> with forward_ad.dual_level():
...     x = forward_ad.make_dual(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 0.0]))
...     forward_ad.unpack_dual(x * x).tangent
tensor([2., 0.])
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from workbench.autograd.forward import Dual, Forward
from workbench.base.errors import AutogradError
from workbench.base.public import words
from workbench.core.dispatch import interpreting
from workbench.core.tape import leaf_of
from workbench.tensor import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent; the tangent is None where the value does not move."""

    primal: Tensor
    tangent: Tensor | None


# Tuples, replaced and never changed: a context copied from this one keeps its own.
_levels: contextvars.ContextVar[tuple[Forward, ...]] = contextvars.ContextVar(
    "workbench_dual_levels", default=()
)


@contextmanager
def dual_level() -> Iterator[Forward]:
    """Open a level of forward mode; values made by `make_dual` move inside it. Levels nest."""
    level = Forward()
    token = _levels.set((*_levels.get(), level))
    try:
        with interpreting(level):
            yield level
    finally:
        _levels.reset(token)


_entered: contextvars.ContextVar[tuple[AbstractContextManager[Forward], ...]] = contextvars.ContextVar(
    "workbench_entered_levels", default=()
)


def enter_dual_level() -> Forward:
    """Open a level that `exit_dual_level` closes; ``with dual_level():`` closes itself."""
    opened = dual_level()
    level = opened.__enter__()
    _entered.set((*_entered.get(), opened))
    return level


def exit_dual_level(*, level: Forward | None = None) -> None:
    """Close the level that was opened last by `enter_dual_level`."""
    opened = _entered.get()
    if not opened:
        raise AutogradError("exit_dual_level: no level was entered")
    if level is not None and _levels.get()[-1] is not level:
        raise AutogradError(
            "exit_dual_level: levels are closed in reverse order; this is not the innermost one"
        )
    _entered.set(opened[:-1])
    opened[-1].__exit__(None, None, None)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: Forward | None = None) -> Tensor:
    """Return `tensor` moving along `tangent` at the innermost level (or `level`); both keep their places on the tape.

    Raises `AutogradError` without a level or for other sizes, `ValueError` for values that are not floating point.
    """
    level = level or _level()
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.dtype.is_floating_point or tangent.dtype.is_complex):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    check_direction(tensor, tangent)
    made: Tensor = level.make(tensor, tangent, tensor._names)
    if tensor._requires_grad:
        made._requires_grad = True
        if tensor._grad_fn is None:
            # Reverse mode goes on through the dual to what it was made of.
            made._leaf = leaf_of(tensor)
        else:
            made._grad_fn, made._output = tensor._grad_fn, tensor._output
    return made


def check_direction(primal: Tensor, tangent: Tensor) -> None:
    """Raise unless a value can move along `tangent`."""
    if primal.shape != tangent.shape:
        raise AutogradError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def unpack_dual(tensor: Tensor, *, level: Forward | None = None) -> UnpackedDualTensor:
    """Return a value and its tangent at the innermost level (or `level`)."""
    level = level or (_levels.get()[-1] if _levels.get() else None)
    if level is None or not isinstance(tensor.payload, Dual):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*level.parts(tensor))


def _level() -> Forward:
    levels = _levels.get()
    if not levels:
        raise AutogradError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    return levels[-1]


__getattr__, __dir__ = words(__name__, __all__)
