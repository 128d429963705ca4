"""Parameters, the tensors that a module learns, and buffers, those that it keeps beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import check_names
from workbench.tensor import Tensor

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A tensor that a module registers when it is assigned to an attribute, and that optimizers change.

    It shares the memory of `data`, and has its names unless `names` says others.

    >>> import workbench as wb
    >>> weight = Parameter(wb.zeros(2, 3), names=("out_features", "in_features"))
    >>> weight.requires_grad, weight.names
    (True, ('out_features', 'in_features'))
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True, *, names: Any = None) -> Parameter:
        """Make a parameter of a tensor, or an empty one."""
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(
                f"a Parameter is made of a tensor, got {type(data).__name__}: use wb.tensor(...) first"
            )
        parameter = super().__new__(cls)
        parameter._array = np.empty(0, np.float32) if data is None else data._array
        own = None if data is None else data._names
        parameter._names = check_names(names, len(parameter._array.shape)) if names is not None else own
        if requires_grad:
            parameter.requires_grad_()
        return parameter

    def __init__(self, data: Any = None, requires_grad: bool = True, *, names: Any = None) -> None:
        """Nothing is left to do: `__new__` has made it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """Return a parameter with memory of its own, without gradient."""
        copied = type(self).__new__(type(self), None, False)
        copied._array = self._array.copy()
        copied._names = self._names
        copied._requires_grad = self._requires_grad
        memo[id(self)] = copied
        return copied

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A tensor that a module registers as a buffer when it is assigned to an attribute; it is not learned.

    It shares the memory and the names of `data`, and is part of the state of the module if `persistent`.

    >>> import workbench as wb
    >>> module = wb.nn.Module()
    >>> module.seen = Buffer(wb.zeros(2))
    >>> list(module.state_dict())
    ['seen']
    """

    __slots__ = ()
    persistent: bool = True

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        """Make a buffer of a tensor, or an empty one."""
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(
                f"a Buffer is made of a tensor, got {type(data).__name__}: use wb.tensor(...) first"
            )
        buffer = super().__new__(cls)
        buffer._array = np.empty(0, np.float32) if data is None else data._array
        buffer._names = None if data is None else data._names
        buffer.persistent = persistent
        return buffer

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        """Nothing is left to do: `__new__` has made it."""
