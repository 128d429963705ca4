"""What a page says, checked before anything is done: types, finite numbers, known fields, bounded sizes.

A page is not trusted: what it sends is plain data until it has passed through here.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from workbench.live.messages import PROTOCOL_VERSION, VIEWS, Hello, Request
from workbench.live.model import Refused

__all__ = ["MAXIMUM_ITEMS", "MAXIMUM_TEXT", "parse_event", "parse_message"]

MAXIMUM_TEXT = 1_000
"""Longest text that a page may send, in characters."""

MAXIMUM_ITEMS = 100_000
"""Longest list that a page may send."""

MAXIMUM_INTEGER = 2**53
"""Beyond this a page's numbers are no longer exact integers."""

Message = TypeVar("Message")


def parse_message(data: object) -> Hello | Request:
    """Return a page's message as a dataclass.

    Raises:
        Refused: the message is not of this protocol or not well formed; nothing may be done about it.

    >>> parse_message({"type": "hello", "version": PROTOCOL_VERSION, "views": ["graph"]})
    Hello(type='hello', version=6, views=['graph'], have={})
    """
    if not isinstance(data, Mapping):
        raise Refused(f"a message is an object with fields, not {_describe(data)}")
    version = data.get("version")
    # In Python True equals 1.
    if version != PROTOCOL_VERSION or isinstance(version, bool):
        raise Refused(
            f"the page speaks version {_describe(version)} of the protocol, this kernel version "
            f"{PROTOCOL_VERSION}; reload the page after updating, or restart the kernel"
        )
    kind = data.get("type")
    if kind == "event":
        return _decode(Request, data)
    if kind == "hello":
        return _decode(Hello, data)
    raise Refused(f"a message of type {_describe(kind)} is not known; known are 'event' and 'hello'")


def parse_event(view: str, data: object) -> object:
    """Return an event for a view model of `view` as one of that view's event dataclasses.

    Raises:
        Refused: the view has no such event, or a field is missing, unknown, of a wrong type, not finite or
            too large.

    >>> parse_event("graph", {"type": "select", "id": "conv1"})
    SelectEvent(type='select', id='conv1')
    """
    if not isinstance(data, Mapping):
        raise Refused(f"an event is an object with fields, not {_describe(data)}")
    kinds = _events_of(view)
    name = data.get("type")
    if not isinstance(name, str) or name not in kinds:
        known = ", ".join(map(repr, sorted(kinds)))
        raise Refused(f"the {view} view has no event of type {_describe(name)}; it has {known}")
    return _decode(kinds[name], data)


@functools.cache
def _events_of(view: str) -> dict[str, type]:
    return {get_args(get_type_hints(event)["type"])[0]: event for event in VIEWS[view].events}


@functools.cache
def _fields_of(kind: type) -> dict[str, tuple[Any, bool]]:
    """Type of each field, and whether it may be left out."""
    hints = get_type_hints(kind)
    return {
        entry.name: (
            hints[entry.name],
            entry.default is not dataclasses.MISSING or entry.default_factory is not dataclasses.MISSING,
        )
        for entry in dataclasses.fields(kind)
    }


def _decode(kind: type[Message], data: Mapping[Any, Any], where: str = "") -> Message:
    fields = _fields_of(cast(Any, kind))
    # A part of a message is called by where it stands, a message by its type.
    label = where or f"'{data.get('type')}'"
    unknown = [key for key in data if key not in fields]
    if unknown:
        raise Refused(f"{label} has no field {_describe(unknown[0])}; its fields are {', '.join(fields)}")
    missing = [name for name, (_, optional) in fields.items() if not optional and name not in data]
    if missing:
        raise Refused(f"{label} lacks the field {missing[0]!r}")
    given = [name for name in fields if name in data]
    return kind(**{name: _check(data[name], fields[name][0], f"{label}.{name}") for name in given})


def _check(value: object, hint: Any, where: str) -> object:
    """Return `value` as the type `hint`, or say what is wrong with it."""
    origin = get_origin(hint)
    if origin is Literal:
        if isinstance(value, str) and value in get_args(hint):
            return value
        raise Refused(f"{where} is {' or '.join(map(repr, get_args(hint)))}, not {_describe(value)}")
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        # None or one other type: messages have no other unions.
        (inner,) = (option for option in get_args(hint) if option is not type(None))
        return _check(value, inner, where)
    if origin is list:
        return _check_list(value, get_args(hint)[0], where)
    if origin is dict or dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise Refused(f"{where} is an object with fields, not {_describe(value)}")
        return dict(value) if origin is dict else _decode(cast(type[object], hint), value, where)
    return _check_plain(value, hint, where)


def _check_list(value: object, inner: Any, where: str) -> list[object]:
    if not isinstance(value, list):
        raise Refused(f"{where} is a list, not {_describe(value)}")
    if len(value) > MAXIMUM_ITEMS:
        raise Refused(f"{where} has {len(value):,} entries; at most {MAXIMUM_ITEMS:,} are taken")
    return [_check(entry, inner, f"{where}[{index}]") for index, entry in enumerate(value)]


def _check_plain(value: object, hint: Any, where: str) -> object:
    if hint is str and isinstance(value, str):
        if len(value) > MAXIMUM_TEXT:
            raise Refused(f"{where} has {len(value):,} characters; at most {MAXIMUM_TEXT:,} are taken")
        return value
    if hint is bool and isinstance(value, bool):
        return value
    # In Python True is an int; for a page it is not.
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > MAXIMUM_INTEGER:
            raise Refused(f"{where} is beyond ±2**53")
        return value
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _check_float(value, where)
    names = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    raise Refused(f"{where} is {names[hint]}, not {_describe(value)}")


def _check_float(value: float, where: str) -> float:
    try:
        # A page's whole number may be larger than any float.
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Refused(f"{where} is not a finite number")
    return number


def _describe(value: object) -> str:
    """A value as it may stand in a message: short, whatever it is."""
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        return "an object"
    # Before `repr`, which needs long for millions of digits, and refuses more than 4300.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAXIMUM_INTEGER:
        return "a huge number"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
