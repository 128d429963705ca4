"""Sizes of a tensor as a tuple that counts: PyTorch's `torch.Size`."""

from __future__ import annotations

import math
from typing import Any, SupportsIndex, overload

__all__ = ["Size"]


class Size(tuple[int, ...]):
    """Sizes of dims: a tuple in every respect, which knows how many values a tensor of them has.

    >>> Size([2, 3]).numel(), Size([2, 3]) == (2, 3), Size([2, 3]) + (4,), Size([2, 3])[1:].numel()
    (6, True, (2, 3, 4), 3)
    """

    __slots__ = ()

    def numel(self) -> int:
        """Return the product of the sizes, 1 where there are none."""
        return math.prod(self)

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

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
        return Size, (tuple(self),)
