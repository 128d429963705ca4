"""What a public module offers, and says of words that it has not.

A module gets both from one line at its end, ``__getattr__, __dir__ = words(__name__, __all__)``. Python asks these only
where a name is not found, and where somebody wants a list, so that they cost nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.base.absent import NOTHING, absent
from workbench.base.lazy import imported
from workbench.base.module_types import Beyond, Gathered

__all__ = ["shown_from", "words"]


def words(
    module: str,
    offered: Iterable[str],
    *,
    later: Mapping[str, str] = NOTHING,
    files: Sequence[str] = (),
    elsewhere: Mapping[str, str] = NOTHING,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a module's ``__getattr__`` and ``__dir__``: what completion shows, and what is said of absent words.

    `offered` are names that the module has, `later` modules that are imported when they are first named, by their full
    names. `files` are modules that PyTorch has there: each has all that this module has, whether there is a
    file of that name here or not, since PyTorch divides its rooms otherwise.
    `elsewhere` says of other words of PyTorch's what they are called here, or why there are none.
    """

    for name in files:
        file = sys.modules.get(f"{module}.{name}")
        if file is not None:
            vars(file).setdefault("__getattr__", Beyond(file.__name__, sys.modules[module]))

    def __getattr__(name: str) -> Any:
        if name in later:
            return imported(later[name])
        if name in files:
            own = sys.modules[module]
            gathered = Gathered(f"{module}.{name}", own)
            # From now on it is found as any other name of the module's.
            setattr(own, name, gathered)
            return gathered
        raise absent(name, module, [*offered, *later], elsewhere)

    def __dir__() -> list[str]:
        return sorted(name for name in {*offered, *later} if not name.startswith("_"))

    return __getattr__, __dir__


def shown_from(module: str, target: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a module that shows the names of another, imported when one is asked.

    PyTorch has some of its rooms inside of others that are imported before them: ``nn.quantized`` is made of what
    stands above `nn`.
    """

    def __getattr__(name: str) -> Any:
        source = imported(target)
        if name == "__all__":
            return source.__all__
        if name.startswith("__"):
            raise absent(name, module, ())
        if not hasattr(source, name):
            raise absent(name, module, dir(source))
        found = getattr(source, name)
        # From now on it is found as any other name of the module's.
        setattr(sys.modules[module], name, found)
        return found

    def __dir__() -> list[str]:
        return dir(imported(target))

    return __getattr__, __dir__
