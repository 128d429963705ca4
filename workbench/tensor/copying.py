"""Copies of tensors: `copy`, `deepcopy` and pickle keep values, type, names and the wish for a gradient.

These are methods of `Tensor`, written as functions of it.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from workbench.base.errors import AutogradError
from workbench.core.bases import VALUE_FIELDS, attributes_of
from workbench.core.lending import lend, share
from workbench.core.value import Value

__all__ = ["deep", "parts", "rebuild", "reduced", "shallow"]

_OF_THE_MOMENT = VALUE_FIELDS | {
    "_origin",
    "_lending",
    "_told",
    "_turned",
    "_former",
    "_borrowed",
    "_hooks",
    "_after_gathering",
    "_retains_grad",
}
"""What a copy does not take along: how the original came about, where it was made, and who watches it."""


def rebuild(cls: type[Value], payload: Any, names: Any, requires_grad: bool, state: dict[str, Any]) -> Any:
    """Return a tensor from what a copy or a pickle kept of one."""
    value = cls.__new__(cls)
    value.payload = payload
    value._names = names
    value._requires_grad = requires_grad
    if isinstance(payload, np.ndarray) and not payload.flags.owndata:
        lend(value)  # a pickle whose buffers travel apart: the array lies in memory of who read it
    for key, one in state.items():
        setattr(value, key, one)
    return value


def _state(self: Value) -> dict[str, Any]:
    state = {key: value for key, value in attributes_of(self).items() if key not in _OF_THE_MOMENT}
    return state if self._labels is None else {**state, "_labels": self._labels}


def shallow(self: Value) -> Any:
    """Return another tensor on the same memory."""
    copied = rebuild(type(self), self.payload, self._names, self._requires_grad, _state(self))
    share(self, copied)
    return copied


def deep(self: Value, memo: dict[int, Any]) -> Any:
    """Return a copy with memory of its own."""
    if self._grad_fn is not None:
        raise AutogradError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
            "moment: this is the result of a recorded op. Copy x.detach().clone() instead."
        )
    state = copy.deepcopy(_state(self), memo)
    copied = rebuild(type(self), copy.deepcopy(self.payload, memo), self._names, self._requires_grad, state)
    memo[id(self)] = copied
    return copied


def reduced(self: Value, protocol: Any) -> tuple[Any, ...]:
    """Return what a pickle keeps of a tensor."""
    if self._grad_fn is not None:
        raise AutogradError(
            "a tensor that a recorded op made cannot be pickled, since its graph stays behind. Pickle x.detach()."
        )
    if protocol >= 5:
        lend(self)  # the memory itself may be handed to who writes the pickle
    cls, *rest = parts(self)
    return rebuild, (cls, self.payload, *rest)


def parts(self: Value) -> tuple[Any, ...]:
    """Return what `rebuild` makes a tensor of, besides its numbers."""
    return type(self), self._names, self._requires_grad, _state(self)
