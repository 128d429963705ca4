"""Who else may write into a value's memory, and so whether its count of changes tells all of them.

A change made by way of a value, or of a view of it, is counted by the value that owns the memory (`Value._version`).
What is written in another way is not: into an array that ``x.numpy()`` gave, by another library that got the memory by
DLPack, by way of ``x.data``, which counts for itself. Each door that memory goes out by, or comes in by, says so here.
Who keeps something made from numbers, such as packed weights, asks a `Stamp` whether they can have changed since.
"""

from __future__ import annotations

import weakref
from typing import Any

__all__ = ["Stamp", "lend", "share", "shares"]


class _Lending:
    """What is known of one piece of memory: whether it was given out for good, and which values own it together."""

    __slots__ = ("for_good", "owners", "times")

    def __init__(self) -> None:
        self.for_good = False
        self.owners: list[weakref.ref[Any]] = []
        self.times = 0
        """How often an owner came in. One that has gone again may have written before it did."""

    def join(self, owner: Any) -> None:
        """Take in another owner."""
        if len(self.owners) > 8:  # ``p.data`` in a loop leaves one behind each time
            self.owners = [one for one in self.owners if one() is not None]
        self.owners.append(weakref.ref(owner))
        owner._lending = self
        self.times += 1


_FOREVER = _Lending()
"""Of memory that was given out and has one owner: nothing more is to be known of it."""
_FOREVER.for_good = True


def _owner_of(value: Any) -> Any:
    return value if value._owner is None else value._owner


def lend(value: Any) -> None:
    """Note that the memory of a value is in other hands, which may write into it at any time from now on."""
    owner = _owner_of(value)
    if owner._lending is None:
        owner._lending = _FOREVER
    else:
        owner._lending.for_good = True  # all who share the memory learn of it


def share(value: Any, other: Any) -> None:
    """Note that two values own the same memory, and each counts its changes for itself."""
    first, second = _owner_of(value), _owner_of(other)
    if first is second:
        return
    one, another = first._lending, second._lending
    if one is None and another is None:
        known = _Lending()
        known.join(first)
        known.join(second)
    elif another is None and not one.for_good:
        one.join(second)
    elif one is None and not another.for_good:
        another.join(first)
    elif one is not another:
        # Given out already; or two circles of owners, which is rare and not worth joining them.
        lend(first)
        lend(second)


def shares(value: Any, other: Any) -> bool:
    """Say whether it is noted that two values share memory."""
    first, second = _owner_of(value)._lending, _owner_of(other)._lending
    return first is not None and first is second


class Stamp:
    """The state of a value's memory at one moment: which memory, and how often it had been changed.

    It holds neither the value nor the memory.

    >>> import workbench as wb
    >>> weight = wb.ones(2)
    >>> stamp = Stamp(weight)
    >>> stamp.holds(weight)
    True
    >>> weight[0].mul_(3)
    tensor(3.)
    >>> stamp.holds(weight)
    False
    """

    __slots__ = ("_changes", "_memory", "_owner", "_times")

    def __init__(self, value: Any) -> None:
        owner = _owner_of(value)
        self._owner, self._memory = weakref.ref(owner), weakref.ref(value.payload)
        self._changes = owner._changes
        self._times = _times(owner)

    def holds(self, value: Any) -> bool:
        """Say whether the value has the memory of then, with the numbers of then; False, too, where nobody can know."""
        owner = value if value._owner is None else value._owner
        return (
            self._changes == owner._changes
            and self._memory() is value.payload
            and self._owner() is owner
            and self._times is not None
            and self._times == _times(owner)
        )


def _times(owner: Any) -> int | None:
    """Return how often somebody else came to own the memory; None while anybody else may write into it."""
    lending = owner._lending
    if lending is None:
        return 0
    if lending.for_good or any(_is_another(one(), owner) for one in lending.owners):
        return None
    return int(lending.times)


def _is_another(found: Any, owner: Any) -> bool:
    return found is not None and found is not owner
