"""What a function reaches without being given it: by what it closes over, the globals that it names, and its object.

As far as that shows without running it: a name that is worked out in a run (`getattr`, `globals()`) is not followed.
"""

from __future__ import annotations

import dis
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

from workbench.tensor import Tensor

__all__ = ["functions_in", "globals_in", "named_by", "reached", "tells_otherwise"]

MOST = 20_000
"""Values that are looked at for one function; what lies behind them is not found."""


_OUTSIDE = frozenset(
    {
        "datetime",
        "numpy.random",
        "os",
        "posix",
        "random",
        "secrets",
        "socket",
        "time",
        "urllib.request",
        "uuid",
    }
)
"""Modules whose functions tell something else each time."""


_OF_GLOBALS = ("_GLOBAL", "_GLOBALS", "_NAME")
"""How the operations of Python's machine end that read or write a global."""


def functions_in(value: Any) -> Iterator[types.FunctionType]:
    """Yield the functions of Python's that a call of this value runs, as far as that shows."""
    if isinstance(value, types.FunctionType):
        yield value
    elif isinstance(value, types.MethodType):
        yield from functions_in(value.__func__)
    elif isinstance(value, partial):
        yield from functions_in(value.func)


def named_by(function: types.FunctionType) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what a function reaches by a name, what it closes over and the globals that it names: the name, a look."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield name, partial(_content, cell)
    known = function.__globals__
    for name in globals_in(code):
        if name in known:
            yield name, partial(known.get, name)
    for first, *rest in _chains(code):
        held, path = known.get(first), first
        for name in rest:
            # Of a module it is taken without running anything; ``np.random`` is one in another.
            if not isinstance(held, types.ModuleType):
                break
            look = partial(vars(held).get, name)
            held, path = look(), f"{path}.{name}"
            if isinstance(held, types.ModuleType):
                yield path, look


@lru_cache(maxsize=4096)
def globals_in(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of globals in code, and in what is written inside of it; builtins, too, are read as globals.

    An attribute has its name in `co_names` as well, and has nothing to do with a global that is called alike.

    >>> globals_in((lambda x: wb.relu(x.model) + len([one for one in model])).__code__)
    ('len', 'model', 'wb')
    """
    found = {str(one.argval) for one in dis.get_instructions(code) if one.opname.endswith(_OF_GLOBALS)}
    # Functions and comprehensions that are written inside.
    inner = [globals_in(one) for one in code.co_consts if isinstance(one, types.CodeType)]
    return tuple(sorted(found.union(*inner)))


@lru_cache(maxsize=4096)
def _chains(code: types.CodeType) -> tuple[tuple[str, ...], ...]:
    """Return the globals in code with the attributes that are asked of them in a row: ``np.random.rand``."""
    found: list[tuple[str, ...]] = []
    row: tuple[str, ...] = ()
    for one in dis.get_instructions(code):
        if row and one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            row = (*row, str(one.argval))
            continue
        if len(row) > 1:
            found.append(row)
        row = (str(one.argval),) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME") else ()
    inner = [chain for one in code.co_consts if isinstance(one, types.CodeType) for chain in _chains(one)]
    return tuple(dict.fromkeys((*found, *inner)))


def reached(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function or a module reaches, each once, with the way to it as one would write it.

    >>> import workbench as wb
    >>> layers = wb.nn.Sequential(wb.nn.Linear(2, 2))
    >>> [path for path, one in reached(layers) if isinstance(one, wb.Tensor)]
    ['0.weight', '0.bias']
    """
    seen: dict[int, Any] = {}
    waiting: deque[tuple[str, Any]] = deque([("", function)])
    while waiting and len(seen) < MOST:
        path, value = waiting.popleft()
        if id(value) in seen:
            continue
        # Held, so that nothing else gets its identity.
        seen[id(value)] = value
        yield path, value
        if not isinstance(value, Tensor):
            waiting.extend(_parts(path, value))


def tells_otherwise(value: Any) -> bool:
    """Say whether a function that names this may be told something else in each run: the time, noise, the outside.

    >>> import time
    >>> [tells_otherwise(one) for one in (time, time.perf_counter, len)]
    [True, True, False]
    """
    if isinstance(value, types.ModuleType):
        return value.__name__ in _OUTSIDE
    # What is written in C keeps in `__self__` whose method it is: the module, or the class `datetime`.
    owner = value if isinstance(value, type) else getattr(value, "__self__", None)
    room = getattr(value, "__module__", None) or getattr(owner, "__name__", "")
    return (
        isinstance(value, type | types.BuiltinFunctionType | types.FunctionType | types.MethodType)
        and room in _OUTSIDE
    )


def _parts(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what can be reached from a value in one step."""
    if isinstance(value, list | tuple | deque):
        yield from ((f"{path}[{i}]", one) for i, one in enumerate(value))
    elif isinstance(value, dict):
        yield from ((f"{path}[{key!r}]", one) for key, one in value.items())
    elif isinstance(value, partial):
        yield from ((path, one) for one in (value.args, value.keywords, value.func))
    elif isinstance(value, types.MethodType):
        yield from ((path or "self", value.__self__), (path, value.__func__))
    elif isinstance(value, types.FunctionType):
        if not _is_known(value.__module__):
            defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
            yield from ((path, one) for one in defaults)
            yield from ((name, look()) for name, look in named_by(value))
    elif isinstance(value, type):
        # What its methods name, and what all of its objects share.
        if not _is_known(value.__module__):
            yield from ((f"{path}.{name}", one) for name, one in vars(value).items() if name[:2] != "__")
            yield path, vars(value).get("__call__")
            yield from ((path, one) for one in value.__bases__)
    elif not isinstance(value, types.ModuleType) and hasattr(value, "__dict__"):
        # A module of the workbench's may hold one of the program's.
        yield from ((f"{path}.{name}".lstrip("."), one) for name, one in vars(value).items())
        yield path, type(value)


def _is_known(module: str | None) -> bool:
    """Say whether code is the package's own, or of Python and NumPy: it keeps no tensors of the program's."""
    room = (module or "").partition(".")[0]
    return room in ("workbench", "numpy") or (room in sys.stdlib_module_names and room != "__main__")


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
