"""Where the names of a value's dims came from: asked for when a refusal is put into words, and noted by who names.

A line of the program is noted where a tensor is made or renamed. Beyond that a name is followed down the tape, to the
input that brought it: a named tensor, or a parameter, which says what its dims are called.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from workbench.base.source_location import calling_frame, place
from workbench.core.value import Value, dims_of

__all__ = ["labels_of", "note_line", "origins_of"]

LONGEST_WAY = 10_000
"""So many calls of the tape a name is followed at most."""


def note_line(value: Any) -> Any:
    """Note that the dims of `value` got their names on the line of the program that is running; return it."""
    frame = calling_frame() if value._names is not None else None
    if frame is not None:
        value._origin = (frame.f_code.co_filename, frame.f_lineno)
    return value


def origins_of(value: Any) -> tuple[str, ...]:
    """Say for each dim of a value where its name, or else its size, came from; nothing where that is not known.

    >>> import workbench as wb
    >>> origins_of(wb.nn.Linear(2, 3).weight)
    ('label of a parameter', 'label of a parameter')
    """
    if not isinstance(value, Value):
        return ()
    dims = dims_of(value)
    return tuple(_of_size(value) if name is None else _of_name(value, name) for name in dims.labels)


def _of_size(value: Value) -> str:
    noted = _noted(value)
    return noted or (f"result of {value._grad_fn.name}" if value._grad_fn is not None else "")


def _noted(value: Value) -> str:
    origin = value._origin
    return "" if origin is None else origin if isinstance(origin, str) else place(*origin)


def _of_name(value: Value, name: str) -> str:
    for _ in range(LONGEST_WAY):
        # Without a name of its own its dim was found by a label, which only parameters have.
        if value._names is None:
            return _parameter(value)
        node = value._grad_fn
        if value._origin is not None or node is None:
            return _noted(value)
        brought = (one for one in node.inputs or () if isinstance(one, Value) and name in dims_of(one).labels)
        source = next(brought, None)
        if source is None:
            return f"result of {node.name}"
        value = source
    return ""


def _parameter(value: Value) -> str:
    """Say which parameter of which module this is, as far as a function that is running knows the module."""
    frame: FrameType | None = calling_frame()
    while frame is not None:
        # A copy: at the top of a module the locals are its globals, which another thread may add to.
        for known, one in list(frame.f_locals.items()):
            # The type is asked, since an instance with __getattr__ may have any name; modules are known above this
            # room only.
            if hasattr(type(one), "named_parameters") and hasattr(type(one), "named_buffers"):
                path = next((path for path, own in _held(one) if own is value), None)
                if path is not None:
                    return f"parameter {path} of {type(one).__name__ if known == 'self' else known}"
        frame = frame.f_back
    return "label of a parameter"


def _held(module: Any) -> list[tuple[str, Any]]:
    return [*module.named_parameters(), *module.named_buffers()]


def labels_of(values: tuple[Any, ...]) -> tuple[str, ...]:
    """Find what the nearest caller outside this package calls values: local variables, by identity."""
    frame = calling_frame()
    if frame is None:
        return ("",) * len(values)
    # Names with a leading underscore are IPython's history as often as anybody's own: they come last.
    local = sorted(frame.f_locals.items(), key=lambda item: not item[0].startswith("_"))
    known = {id(value): name for name, value in local if isinstance(value, Value)}
    return tuple(known.get(id(value), "") for value in values)
