"""Plain objects in a pickle: times, paths, namespaces, and objects of classes that the program has allowed.

An object gets its attributes, and nothing of its class is run: neither ``__init__`` nor ``__setstate__``.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import types
from collections.abc import Callable
from enum import Enum
from typing import Any, cast

import numpy as np

from workbench.base.errors import WeightsError, short
from workbench.interop import safe_globals
from workbench.interop.pickle_writing import PickleWriter, Write
from workbench.interop.pickled import Function
from workbench.interop.pickled_numpy import build as build_numpy
from workbench.interop.pickled_numpy import write_array, write_scalar

__all__ = ["OBJECTS", "attributes", "build", "find_allowed", "writer"]

NAMESPACES = (argparse.Namespace, types.SimpleNamespace)
"""Classes that are attributes and nothing else."""


def attributes(value: Any) -> dict[str, Any] | None:
    """Return the attributes of an object that a file may hold; None for what is no such object."""
    if isinstance(value, Enum | tuple) or not _is_object(type(value)):
        return None
    return cast(dict[str, Any], vars(value))


def _is_object(kind: type) -> bool:
    return kind in NAMESPACES or kind in safe_globals.get_safe_globals()


def find_allowed(name: str) -> Function | None:
    """Return what makes an object of a class that the program has allowed; None where it has not."""
    kind = safe_globals.allowed(name)
    if kind is None:
        return None
    if issubclass(kind, Enum):
        return Function(name, lambda value: _member(kind, value), (1,))
    if issubclass(kind, tuple):
        count = len(getattr(kind, "_fields", ()))
        return Function(name, lambda *parts: tuple.__new__(kind, parts), (count,))
    return Function(name, lambda: object.__new__(kind), (0,))


def _member(kind: type[Enum], value: Any) -> Enum:
    # Not `kind(value)`, which may be code of the program's.
    found = next((one for one in kind if type(one.value) is type(value) and one.value == value), None)
    if found is None:
        raise WeightsError(f"{short(value)} is no {kind.__qualname__}")
    return found


def build(target: Any, state: Any) -> bool:
    """Set the state of an object; return False for what has none that is read."""
    if build_numpy(target, state):
        return True
    found = attributes(target)
    if found is None:
        return False
    if not isinstance(state, dict) or not all(type(key) is str for key in state):
        raise WeightsError(f"the state of a {type(target).__name__} is no dict of attributes")
    found.update(state)
    return True


# ------------------------------------------------------------------------------------------------- reading


def _whole(*values: Any) -> bool:
    return all(type(one) is int and abs(one) < 2**40 for one in values)


def _timed(make: Callable[..., Any], size: int) -> Callable[..., Any]:
    """Return what reads a date or time from the bytes that Python pickles it as."""

    def read(data: Any, zone: Any = None) -> Any:
        if not isinstance(data, bytes) or len(data) != size or not isinstance(zone, datetime.timezone | None):
            raise WeightsError(f"a {make.__name__} is made of no {size} bytes")
        words = list(data)
        if size >= 6:
            words[-3:] = [words[-3] << 16 | words[-2] << 8 | words[-1]]
        if size != 6:
            words[:2] = [words[0] << 8 | words[1]]
        try:
            return make(*words) if zone is None else make(*words, tzinfo=zone)
        except ValueError as error:
            raise WeightsError(f"a {make.__name__}: {error}") from None

    return read


def _span(days: Any = 0, seconds: Any = 0, microseconds: Any = 0) -> datetime.timedelta:
    if not _whole(days, seconds, microseconds):
        raise WeightsError("a timedelta is made of no whole numbers")
    try:
        return datetime.timedelta(days, seconds, microseconds)
    except OverflowError as error:
        raise WeightsError(f"a timedelta: {error}") from None


def _zone(offset: Any) -> datetime.timezone:
    if not isinstance(offset, datetime.timedelta) or abs(offset) >= datetime.timedelta(days=1):
        raise WeightsError("a time zone is no offset of less than a day")
    return datetime.timezone(offset)


def _path(*parts: Any) -> pathlib.Path:
    if len(parts) > 1000 or not all(type(one) is str for one in parts):
        raise WeightsError("a path is made of no words")
    return pathlib.Path(*parts)


def _range(*ends: Any) -> range:
    if not all(type(one) is int for one in ends) or ends[2] == 0:
        raise WeightsError(f"a range is made of {short(ends)}")
    return range(*ends)


def _slice(*ends: Any) -> slice:
    if not all(one is None or type(one) is int for one in ends):
        raise WeightsError(f"a slice is made of {short(ends)}")
    return slice(*ends)


def _known() -> dict[str, Function]:
    functions: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
        "argparse.Namespace": (argparse.Namespace, (0,)),
        "types.SimpleNamespace": (types.SimpleNamespace, (0,)),
        "datetime.datetime": (_timed(datetime.datetime, 10), (1, 2)),
        "datetime.date": (_timed(datetime.date, 4), (1,)),
        "datetime.time": (_timed(datetime.time, 6), (1, 2)),
        "datetime.timedelta": (_span, (0, 1, 2, 3)),
        "datetime.timezone": (_zone, (1,)),
    }
    for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"):
        for room in ("pathlib", "pathlib._local"):  # where Python 3.13 has them
            functions[f"{room}.{name}"] = _path, tuple(range(1001))
    for room in ("builtins", "__builtin__"):
        functions[f"{room}.slice"] = _slice, (3,)
        functions[f"{room}.range"] = functions[f"{room}.xrange"] = _range, (3,)
    return {name: Function(name, *made) for name, made in functions.items()}


OBJECTS = _known()
"""What a file may name that makes plain objects."""


# ------------------------------------------------------------------------------------------------- writing


def writer(kind: type) -> Write | None:
    """Return what writes objects of a class; None for a class that is not saved."""
    if kind is np.ndarray:
        return write_array
    if issubclass(kind, np.generic):
        return write_scalar
    if issubclass(kind, pathlib.PurePath):
        return _write_path
    if kind in _TIMES:
        return _write_reduced
    if kind in NAMESPACES:
        return _write_object
    if not _is_object(kind):
        return None
    if issubclass(kind, Enum):
        return _write_member
    return _write_named if issubclass(kind, tuple) else _write_object


_TIMES = {datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone}


def _write_reduced(w: PickleWriter, value: Any) -> None:
    zone = getattr(value, "tzinfo", None)
    if zone is not None and type(zone) is not datetime.timezone:
        raise w.refuse(
            f"a time zone of class {type(zone).__name__} is not saved: value.astimezone(timezone.utc)"
        )
    if type(value) is datetime.timezone:
        parts: tuple[Any, ...] = (value.utcoffset(None),)
    else:
        parts = value.__reduce__()[1]
    w.call("datetime", type(value).__name__, *parts)
    w.remember(value)


def _write_path(w: PickleWriter, value: pathlib.PurePath) -> None:
    w.call("pathlib", type(value).__name__, *value.parts)
    w.remember(value)


def _write_object(w: PickleWriter, value: Any) -> None:
    w.name(type(value).__module__, type(value).__qualname__)
    w.parts.append(b")\x81")
    w.state(vars(value))
    w.remember(value)


def _write_member(w: PickleWriter, value: Any) -> None:
    w.call(type(value).__module__, type(value).__qualname__, value.value)
    w.remember(value)


def _write_named(w: PickleWriter, value: Any) -> None:
    w.name(type(value).__module__, type(value).__qualname__)
    w.row(value)
    w.parts.append(b"\x81")
    w.remember(value)
