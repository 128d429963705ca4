"""What people call, made from records: a function with a signature, an equation and an example."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from workbench.core.op import Op

__all__ = ["also", "offer"]

_RULES = {
    "names and sizes pass through": "Names and sizes pass through.",
    "names unify from the right, sizes broadcast": "Names unify from the right, sizes broadcast.",
}


def offer(
    op: Op, given: str | tuple[str, str], result: str, *, name: str = "", room: str = "workbench"
) -> Callable[..., Any]:
    """Return the function people call for an elementwise op: its operands and nothing else.

    `given` and `result` are the example of its documentation: the values of one operand or of both, as written in
    Python, and what is printed. `room` is the module that offers the function under `name` (the op's own by default).

    >>> import workbench as wb
    >>> wb.sin.__name__, wb.sin.__module__
    ('sin', 'workbench')
    """
    if isinstance(given, str):

        def function(input: Any) -> Any:
            return op(input)
    else:

        def function(input: Any, other: Any) -> Any:  # type: ignore[misc]
            return op(input, other)

    name = name or op.name
    operands = ", ".join(f"wb.tensor({one})" for one in ((given,) if isinstance(given, str) else given))
    function.__name__ = function.__qualname__ = name
    function.__module__ = room
    function.__doc__ = (
        f"{op.doc}\n\nEquation: {op.equation}. {_RULES[op.rule]}\n\n"
        f">>> import workbench as wb\n>>> {_path(room)}.{name}({operands})\n{result}\n"
    )
    return function


def also(function: Callable[..., Any], name: str, room: str = "workbench") -> Callable[..., Any]:
    """Return a function from `offer` under another name, or in another room, where pickle finds it.

    >>> import workbench as wb
    >>> wb.special.expit.__name__, wb.special.expit.__module__
    ('expit', 'workbench.special')
    """
    assert isinstance(function, types.FunctionType)
    other = types.FunctionType(function.__code__, function.__globals__, name, None, function.__closure__)
    other.__qualname__ = name
    other.__module__ = room
    other.__annotations__ = function.__annotations__
    old, new = (f">>> {_path(one.__module__)}.{one.__name__}(" for one in (function, other))
    other.__doc__ = (function.__doc__ or "").replace(old, new)
    return other


def _path(room: str) -> str:
    return "wb" + room.removeprefix("workbench")
