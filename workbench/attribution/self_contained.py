"""Whether modules run nothing but one another, seen from what their code names: it is asked in every call, and of
nearly every model the answer is yes.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from workbench.graph.reaching import globals_in
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["Names", "holds_nothing", "is_ours", "is_self_contained", "names_of", "reached_by"]

Names = frozenset[str]

_PLAIN = (Tensor, np.ndarray, str, bytes, int, float, types.NoneType)
"""What runs nothing."""
_HERE = f"{Path(__file__).parents[1]}{os.sep}"
_PACKAGE = __name__.partition(".")[0]


def is_self_contained(modules: list[Module]) -> bool:
    """Say whether modules, a model and all its parts, run nothing of the user's beside these.

    Code of the house runs parts alone. Other code may run what it names: in its closure, as a global, a default, or an
    attribute of any of the modules or of its class, of which methods are code as well. False where it takes more than
    a look to tell.

    >>> from workbench import nn
    >>> is_self_contained([nn.ReLU()])
    True
    """
    own = [kind for kind in {type(one) for one in modules} if not is_ours(kind.forward)]
    if not own:
        return True
    known = set(map(id, modules))
    names = _names_in(own, known)
    return names is not None and not any(_lends(one, names, known) for one in modules)


def _names_in(kinds: list[Any], known: set[int]) -> Names | None:
    """Return the names in the code of classes; None where it reaches anything that is not `known`."""
    waiting = [kind.forward for kind in kinds]
    read: set[int] = set()
    names: Names = frozenset(("__wrapped__",))
    while waiting:
        for code in waiting:
            if not isinstance(code, types.FunctionType) or code.__dict__ or is_ours(code):
                return None
            if not all(id(one) in known or holds_nothing(one) for one in reached_by(code)):
                return None
            names |= names_of(code)
        read |= set(map(id, waiting))
        # Any of the names may be an attribute of any of the classes.
        held = [vars(place)[name] for place in _users(kinds) for name in names & vars(place).keys()]
        waiting = [one for one in held if id(one) not in read and not holds_nothing(one)]
    return names


def _users(kinds: list[Any]) -> list[Any]:
    """Return classes and what they are made of, without the house's and Python's own."""
    return [
        one for kind in kinds for one in kind.__mro__ if one is not object and not is_in_house(one.__module__)
    ]


def _lends(module: Module, names: Names, known: set[int]) -> bool:
    """Say whether a module has something beside its parts by one of these names."""
    held = vars(module)
    asked = held.keys() & names
    return bool(asked) and not all(id(held[name]) in known or holds_nothing(held[name]) for name in asked)


def holds_nothing(one: Any) -> bool:
    """Say at once, as of most that code names, that a thing runs nothing of the user's.

    >>> import workbench as wb
    >>> holds_nothing(3), holds_nothing(wb.nn.functional), holds_nothing(wb.flatten), holds_nothing(lambda x: x)
    (True, True, True, False)
    """
    if isinstance(one, types.FunctionType):
        return is_ours(one) and getattr(sys.modules.get(one.__module__), one.__name__, None) is one
    return isinstance(one, _PLAIN) or (isinstance(one, types.ModuleType) and is_in_house(one.__name__))


def is_in_house(module: str) -> bool:
    """Say whether a module of this name is of the house.

    >>> is_in_house("workbench.nn"), is_in_house("workbench_of_mine")
    (True, False)
    """
    return module.partition(".")[0] == _PACKAGE


def reached_by(function: types.FunctionType) -> Iterator[Any]:
    """Yield what the code of a function has in its closure, its defaults and, by its names, among its globals."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    if not is_ours(function):  # what is global here is nobody's model
        known = function.__globals__
        yield from (known[name] for name in globals_in(function.__code__) if name in known)


def names_of(function: Any) -> Names:
    """Return the names in a function's code, and its texts: by these a dict, or `getattr`, is asked."""
    return _in_code(function.__code__) if isinstance(function, types.FunctionType) else frozenset()


@functools.lru_cache(maxsize=1024)
def _in_code(code: types.CodeType) -> Names:
    texts = {one for one in code.co_consts if isinstance(one, str)}
    inner = [_in_code(one) for one in code.co_consts if isinstance(one, types.CodeType)]
    return frozenset({*code.co_names, *texts}.union(*inner))


def is_ours(function: Any) -> bool:
    """Say whether a function is code of the house."""
    code = getattr(function, "__code__", None)  # what is wrapped may have none
    return code is not None and bool(code.co_filename.startswith(_HERE))
