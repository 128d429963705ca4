"""What programs that gather gradients by hand take from `torch._utils`: many tensors as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.base.public import words
from workbench.ops import FUNCTIONS
from workbench.tensor import Tensor

__all__ = ["_flatten_dense_tensors", "_unflatten_dense_tensors"]


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """Return the values of tensors of one type behind one another: [sum of their sizes].

    >>> import workbench as wb
    >>> _flatten_dense_tensors([wb.ones(2), wb.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    return FUNCTIONS["cat"]([one.reshape(-1) for one in tensors])  # type: ignore[no-any-return]


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the parts of a vector, in the shapes of `tensors`: what `_flatten_dense_tensors` put together.

    >>> import workbench as wb
    >>> _unflatten_dense_tensors(wb.arange(3.0), [wb.ones(2), wb.zeros(1, 1)])
    (tensor([0., 1.]), tensor([[2.]]))
    """
    parts = flat.split([one.numel() for one in tensors])
    return tuple(part.reshape(tuple(one.shape)) for part, one in zip(parts, tensors, strict=True))


__getattr__, __dir__ = words(__name__, __all__)
