"""Words that are not there: what a module says of them, and what completion offers of those that are.

A module gets both from one line at its end, ``__getattr__, __dir__ = words(__name__, __all__)``. Python asks these only
where a name is not found, so that they cost nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from workbench.base.dims import near_miss
from workbench.base.errors import AbsentWordError, UnavailableError
from workbench.base.lazy import imported

__all__ = ["absent", "refusing", "words"]

NOTHING: Mapping[str, str] = MappingProxyType({})


def absent(
    name: str, module: str, known: Sequence[str], elsewhere: Mapping[str, str] = NOTHING
) -> AbsentWordError:
    """Return the error for a name that `module` has not: what stands `elsewhere` for it, or the nearest of `known`.

    >>> print(absent("Lineer", "workbench.nn", ["Linear", "Bilinear"]))
    module 'workbench.nn' has no attribute 'Lineer': did you mean 'Linear'?
    """
    text = f"module {module!r} has no attribute {name!r}"
    # What Python itself and notebooks look for, such as __path__, is no word that somebody misspelt.
    near = None if name.startswith("__") or name in elsewhere else near_miss(name, known)
    if name in elsewhere:
        text += f": {elsewhere[name]}"
    elif near:
        text += f": did you mean {near!r}?"
    return AbsentWordError(text, name=name, module=module)


def words(
    module: str,
    offered: Sequence[str],
    *,
    later: Mapping[str, str] = NOTHING,
    elsewhere: Mapping[str, str] = NOTHING,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a module's ``__getattr__`` and ``__dir__``: it offers `offered` and `later`, and says what it has not.

    `later` are modules that are imported when they are first named, by their full names; `elsewhere` says what other
    words, known from PyTorch, are called here, or why there are none.
    """

    def __getattr__(name: str) -> Any:
        if name in later:
            return imported(later[name])
        raise absent(name, module, [*offered, *later], elsewhere)

    def __dir__() -> list[str]:
        return sorted({*offered, *later})

    return __getattr__, __dir__


def refusing(name: str, reason: str) -> Callable[..., NoReturn]:
    """Return a function for a word that programs import at their top and may never call: it raises `UnavailableError`.

    >>> refusing("distributed.barrier", "there is one process here")()
    Traceback (most recent call last):
    workbench.base.errors.UnavailableError: distributed.barrier: there is one process here
    """

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnavailableError(f"{name}: {reason}")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Raise UnavailableError: {reason}."
    return refuse
