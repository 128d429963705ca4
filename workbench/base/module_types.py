"""Modules of two special kinds: those that can be called, and those that show the names of others."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from workbench.base.absent import absent

__all__ = ["Beyond", "CallableModule", "Gathered"]


_MISSING = object()


class CallableModule(ModuleType):
    """A module that is a function, too: ``sys.modules[__name__].__class__ = CallableModule``, and a ``__call__`` in it.

    PyTorch has a function `embedding`, and the workbench a room of that name.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module's own function."""
        return vars(self)["__call__"](*args, **kwargs)


class Beyond:
    """The ``__getattr__`` of a file that has all names of the room it is in, besides its own."""

    def __init__(self, name: str, room: ModuleType) -> None:
        self.name, self.room = name, room

    def __call__(self, name: str) -> Any:
        found = _MISSING if name.startswith("__") else getattr(self.room, name, _MISSING)
        if found is _MISSING:
            raise absent(name, self.name, dir(self.room))
        return found


class Gathered(ModuleType):
    """A file of PyTorch's for which there is none here: it has the names of `sources`, the first that knows one.

    >>> import math
    >>> Gathered("torch.arithmetic", math).floor(2.5)
    2
    """

    def __init__(self, name: str, *sources: ModuleType) -> None:
        super().__init__(name, f"The names of {', '.join(one.__name__ for one in sources)}.")
        self.sources = sources
        # Whatever is looked for below it is gathered from the same sources.
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") or name == "__all__":
            for source in self.sources:
                found = getattr(source, name, _MISSING)
                if found is not _MISSING:
                    # Found from now on without this method.
                    setattr(self, name, found)
                    return found
        raise absent(name, self.__name__, self.__dir__())

    def __dir__(self) -> list[str]:
        return sorted({name for source in self.sources for name in dir(source)})
