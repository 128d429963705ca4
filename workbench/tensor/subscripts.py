"""``x[key]`` and ``x[key] = value``: the plain ones are compiled where they can be, and all others end here."""

from __future__ import annotations

from typing import Any

from workbench.core import dispatch
from workbench.core.bases import eager
from workbench.core.inplace import plainly, write
from workbench.core.stack import tell_written
from workbench.core.typing import Tensor
from workbench.core.value import Value
from workbench.ops.index import indexing

__all__ = ["delitem", "getitem", "setitem"]


def getitem(self: Any, key: Any) -> Tensor:
    """The part of a tensor that a key shows or picks, see `workbench.ops.index.indexing.getitem`."""
    return indexing.getitem(self, key)


def setitem(self: Any, key: Any, value: Any) -> None:
    """Write `value` at the places of `key`, in place."""
    # What has names is checked like any op.
    named = self._names is not None and getattr(value, "_names", None) is not None
    if plainly(self, value) and (not named or dispatch.computes_only()):
        source = dispatch.numbers(value) if isinstance(value, Value) else value
        tell_written(self, "__setitem__")
        indexing.assign(self.payload, key, source)
        self._version += 1
    else:
        write(self, "__setitem__", lambda old: indexing.written(old, key, value))


def delitem(self: Any, key: Any) -> None:
    """Refuse: a tensor has as many entries as its sizes say."""
    raise TypeError(f"{type(self).__name__!r} object doesn't support item deletion")


if eager is not None:
    eager.use_subscripts(indexing.INDEX, getitem, setitem)
