"""`Variable`, PyTorch's older word for a tensor on the tape."""

from __future__ import annotations

from typing import Any

from workbench.tensor import Tensor

__all__ = ["Variable"]


class _Tensors(type):
    """Has every tensor be an instance: that is what `Variable` has meant since it became one with the tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_Tensors):
    """Returns the tensor itself, off the tape, in shared memory: a leaf that asks for a gradient if `requires_grad`.

    `volatile` is taken and means nothing, as in PyTorch: ``with no_grad()`` took its place.

    >>> import workbench as wb
    >>> x = Variable(wb.ones(2), requires_grad=True)
    >>> isinstance(x, Variable), x.requires_grad, type(x).__name__
    (True, True, 'Tensor')
    """

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Variable data has to be a tensor, but got {type(data).__name__}: make one with tensor(…)"
            )
        return data.detach().requires_grad_(requires_grad)
