"""Words that are not there: what is said of them, and words that are there only to be named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from workbench.base.dims import near_miss
from workbench.base.errors import AbsentWordError, UnavailableError

__all__ = ["NOTHING", "absent", "refusing"]

NOTHING: Mapping[str, str] = MappingProxyType({})


def absent(
    name: str, module: str, known: Iterable[str], elsewhere: Mapping[str, str] = NOTHING
) -> AbsentWordError:
    """Return the error for a name that `module` has not: what stands `elsewhere` for it, or the nearest of `known`.

    >>> print(absent("Lineer", "workbench.nn", ["Linear", "Bilinear"]))
    module 'workbench.nn' has no attribute 'Lineer': did you mean 'Linear'?
    """
    text = f"module {module!r} has no attribute {name!r}"
    # What Python itself, notebooks and tests look for, such as __path__, is no word that somebody misspelt.
    near = None if name.startswith("_") or name in elsewhere else near_miss(name, known)
    if name in elsewhere:
        text += f": {elsewhere[name]}"
    elif near:
        text += f": did you mean {near!r}?"
    return AbsentWordError(text, name=name, module=module)


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
