"""Gradients of a tensor: asking for them, hooks on the way back, and the same values off the tape.

These are methods of `Tensor`, written as functions of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from workbench.base.dims import Dims, unify_names
from workbench.base.dtypes import as_numbers, dtype_of
from workbench.base.errors import AutogradError, DimensionError, DTypeError
from workbench.core import dispatch
from workbench.core.bases import next_serial
from workbench.core.lending import share, shares
from workbench.core.mirrors import Mirrors
from workbench.core.op import ops
from workbench.core.tape import Handle, Keep, alias, move
from workbench.core.value import Abstract, Value, dims_of, new
from workbench.core.views import asks, shows_another

if TYPE_CHECKING:
    from workbench.tensor.tensor import Tensor

__all__ = [
    "check", "data", "detach", "detach_", "register_hook", "register_post_accumulate_grad_hook",
    "requires_grad_", "retain_grad", "set_data",
]  # fmt: skip


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask `backward` to put a gradient here; only floating point and complex tensors have one."""
    if requires_grad and self.payload.dtype.kind not in "fcV":
        raise DTypeError(
            f"only Tensors of floating point and complex dtype can require gradients, this is {self.dtype.name}. "
            f"Cast it first: {as_numbers('x', self.dtype)}.requires_grad_()"
        )
    if requires_grad and self._inference and not dispatch.inference():
        raise AutogradError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. Clone it first."
        )
    if not requires_grad and self._grad_fn is not None:
        raise AutogradError(
            "you can only change requires_grad flags of leaf variables: use .detach() for a value without"
        )
    if requires_grad and (self._borrowed or not self._requires_grad):
        self._since = next_serial()
    self._requires_grad = bool(requires_grad)
    if self._borrowed:
        self._borrowed = False
    return self


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> Handle:
    """Call ``hook(gradient)`` when the gradient of this tensor is known; what it returns replaces it.

    The gradient has the names of this tensor, and so must what is returned: `DimensionError` otherwise. Returns a
    handle whose ``remove()`` takes the hook away.
    """
    if not asks(self):
        raise AutogradError("cannot register a hook on a tensor that doesn't require gradient")
    if self._names is not None:
        hook = _under_names(hook, dims_of(self))
    if self._grad_fn is not None:
        hooks = self._grad_fn.hooks = self._grad_fn.hooks or []
        return Handle(hooks, (self._output, hook))
    self._hooks = self._hooks or []
    return Handle(self._hooks, hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> Handle:
    """Call ``hook(tensor)`` each time `backward` has added to ``.grad`` of this leaf.

    Raises `AutogradError` for a tensor that is no leaf: its gradient does not gather in ``.grad``.
    """
    if not asks(self) or self._grad_fn is not None:
        raise AutogradError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    self._after_gathering = self._after_gathering or []
    return Handle(self._after_gathering, hook)


def retain_grad(self: Tensor) -> None:
    """Have `backward` keep the gradient of this tensor in ``.grad`` although it is no leaf."""
    if not asks(self):
        raise AutogradError("can't retain_grad on Tensor that has requires_grad=False")
    if self._grad_fn is None or self._retains_grad:
        return
    self._retains_grad = True

    def keep(gradient: Tensor) -> None:
        # The walk goes on with this memory, and others may hold it.
        own = alias(gradient, self._names)
        if not own._requires_grad and type(own.payload) is np.ndarray:
            own = new(own.payload.copy(), self._names)
        self.grad = own if self.grad is None else self.grad + own

    hooks = self._grad_fn.hooks = self._grad_fn.hooks or []
    hooks.append((self._output, Keep(self, keep)))


def detach(self: Tensor) -> Tensor:
    """Return the same values off the tape; memory is shared."""
    if isinstance(self.payload, Abstract):
        # A graph must know that gradients end here; and as a view of what asks for one it would ask, too.
        return ops.detach(_off_tape(self))
    return _off_tape(self)


def _off_tape(self: Tensor) -> Tensor:
    """Return a tensor with the same memory, that asks for nothing."""
    other: Tensor = new(self.payload, self._names)
    if self._labels is not None:
        other._labels = self._labels
    other._owner = self if self._owner is None else self._owner
    other._inference = self._inference
    return other


def detach_(self: Tensor) -> Tensor:
    """Take this tensor off the tape; views cannot be."""
    if shows_another(self):
        raise AutogradError("Can't detach views in-place. Use detach() instead.")
    if self._grad_fn is not None:
        # Calls recorded before go on to see it where it was.
        move(self.detach(), self)
    self._requires_grad, self._view = False, None
    return self


def data(self: Tensor) -> Tensor:
    """Return the same values off the tape, which count their changes for themselves."""
    other = detach(self)
    if other is not self and not isinstance(self.payload, Abstract):
        # It counts its changes for itself.
        owner = self if self._owner is None else self._owner
        if owner._mirrors is None and self.payload.dtype.kind == "c":
            owner._mirrors = Mirrors()  # of conjugates to come
        other._mirrors = owner._mirrors
        other._owner = None
        share(owner, other)
    return other


def set_data(self: Tensor, value: Tensor) -> None:
    """Put other memory of the same shape and type in the place of the memory of a tensor."""
    if not isinstance(value, Value):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    here, there = self.payload, value.payload
    if value is self or (there is here and self._owner is None and shares(self, value)):
        return  # as after ``p.data += …``
    if (type(here), here.dtype, tuple(here.shape)) != (type(there), there.dtype, tuple(there.shape)):
        raise DTypeError(
            "Attempted to set the data of a tensor to an incompatible tensor type: it has shape "
            f"{list(here.shape)}, type {self.dtype.name} on {self.device}, the new data {list(there.shape)}, "
            f"{value.dtype.name} on {value.device}. Make a new tensor, or cast the data first."
        )
    if shows_another(self):
        raise AutogradError(
            "this tensor is a view of another, whose memory it shows: write into it with copy_() instead"
        )
    self.payload = there
    share(self, value)


def check(value: Tensor, gradient: object) -> None:
    """Refuse what cannot be the gradient of `value`."""
    if gradient is value:
        raise AutogradError("can't assign Variable as its own grad: assign a clone() of it")
    if not isinstance(gradient, Value):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type {type(gradient).__name__}"
        )
    own, given = dims_of(value), dims_of(gradient)
    if own.sizes != given.sizes:
        raise DimensionError(
            "assigned grad has data of a different size.",
            op="grad",
            operands=(own.operand("tensor"), given.operand("gradient")),
        )
    there = dtype_of(gradient.payload)
    if value.dtype != there:
        raise DTypeError(
            f"assigned grad has data of a different type: {there.name}, where the tensor is {value.dtype.name}"
        )
    unify_names("grad", own, given)


def _under_names(hook: Callable[[Tensor], Tensor | None], dims: Dims) -> Callable[[Tensor], Tensor | None]:
    """Return a hook that sees gradients under the names of the tensor it is on, and is held to them."""

    def named(gradient: Tensor) -> Tensor | None:
        changed = hook(alias(gradient, dims.names))
        if isinstance(changed, Value):
            unify_names("hook", dims, dims_of(changed))
        return changed

    return named
