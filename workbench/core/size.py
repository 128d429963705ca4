"""Sizes of a tensor as a tuple that counts: PyTorch's `torch.Size`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from workbench.kernels.loader import native

__all__ = ["PlainSize", "Size"]


class PlainSize(tuple[int, ...]):
    """Sizes of dims: a tuple in every respect, which knows how many values a tensor of them has.

    What is cut out of one, or put together of several, is one again.

    >>> import workbench as wb
    >>> size = wb.Size([2, 3])
    >>> size.numel(), size == (2, 3), size + (4,), size[1:].numel()
    (6, True, (2, 3, 4), 3)
    """

    __slots__ = ()

    def numel(self) -> int:
        """Return the product of the sizes, 1 where there are none."""
        return math.prod(self)

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Size:
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (list(self),)


if TYPE_CHECKING:
    Size = PlainSize
else:
    # The same, compiled: x.shape[0] is asked for everywhere.
    Size = getattr(native, "Size", PlainSize)
