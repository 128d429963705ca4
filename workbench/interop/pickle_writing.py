"""Values written as a pickle: protocol 2, by hand, of those opcodes that ``torch.load`` takes while it runs nothing.

What a value is written as, its exact type says; the table is filled by those who know the types. A value that stands
in several places is written once, and is one again when it is read.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from workbench.base.errors import WeightsError, short
from workbench.interop.pickled import MAXIMUM_BITS
from workbench.interop.pickled_result import MAXIMUM_DEPTH

__all__ = ["FACTORIES", "PickleWriter", "Write", "write_ordered"]

Write = Callable[["PickleWriter", Any], None]
"""Writes a value of one type."""


class PickleWriter:
    """Writes values one after the other; `parts` are what was written so far, in which a place may be held open.

    Raises `WeightsError` with the place of a value that it does not know, and what to save instead.
    """

    def __init__(self, known: dict[type, Write], find: Callable[[type], Write | None]) -> None:
        self.parts: list[Any] = [b"\x80\x02"]
        self._known = {**_PLAIN, **known}
        self._find = find
        self._memo: dict[int, int] = {}
        self._kept: list[Any] = []
        """What is in the memo, which knows values by where they lie: none may go while others come."""
        self._open: set[int] = set()
        self._steps: list[str] = []

    def refuse(self, reason: str) -> WeightsError:
        """Return an error that says where the value stands that is being written."""
        place = "at " + "".join(self._steps) if self._steps else "at the top"
        return WeightsError(f"{place}: {reason}")

    def write(self, value: Any) -> None:
        """Write a value, or where it was written before."""
        number = self._memo.get(id(value))
        if number is not None:
            self.parts.append(b"j" + struct.pack("<I", number))
            return
        if id(value) in self._open:
            raise self.refuse("it holds itself")
        if len(self._open) >= MAXIMUM_DEPTH:
            raise self.refuse(f"values lie more than {MAXIMUM_DEPTH} deep within each other")
        kind = type(value)
        write = self._known.get(kind) or self._find(kind)
        if write is None:
            raise self.refuse(_advice(value))
        self._open.add(id(value))
        write(self, value)
        self._open.discard(id(value))

    def remember(self, value: Any) -> None:
        """Let what was written last be `value`, should that come again."""
        number = len(self._memo)
        self._memo[id(value)] = number
        self._kept.append(value)
        self.parts.append(b"r" + struct.pack("<I", number))

    def inside(self, step: str, value: Any) -> None:
        """Write what stands in a value that is being written."""
        self._steps.append(step)
        self.write(value)
        self._steps.pop()

    def name(self, module: str, name: str) -> None:
        """Write what is called so: a class or a function."""
        self.parts.append(f"c{module}\n{name}\n".encode())

    def row(self, values: Iterable[Any], step: str = "") -> None:
        """Write a new tuple."""
        self.parts.append(b"(")
        for i, one in enumerate(values):
            self.inside(step or f"[{i}]", one)
        self.parts.append(b"t")

    def call(self, module: str, name: str, *arguments: Any, step: str = "") -> None:
        """Write what a function returns."""
        self.name(module, name)
        self.row(arguments, step)
        self.parts.append(b"R")

    def items(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Put pairs into the dict that was written last."""
        self.parts.append(b"(")
        for key, value in pairs:
            self.write(key)
            self.inside(f"[{short(key)}]", value)
        self.parts.append(b"u")

    def state(self, state: dict[str, Any]) -> None:
        """Set the attributes of what was written last."""
        self.parts.append(b"}(")
        for key, value in state.items():
            self.write(key)
            self.inside(f".{key}", value)
        self.parts.append(b"ub")


def _advice(value: Any) -> str:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if callable(getattr(value, "state_dict", None)):
        return f"a {name} is not saved whole, as reading it would run its code: save its state_dict()"
    if callable(value):
        return f"a {name} is code, which is not saved: save what it was made of"
    return (
        f"a {name} is no plain value: save vars(value) or the numbers that it was made of, or allow its class by "
        "wb.serialization.add_safe_globals"
    )


def _int(w: PickleWriter, value: int) -> None:
    if -(2**31) <= value < 2**31:
        w.parts.append(b"J" + struct.pack("<i", value))
        return
    if value.bit_length() > MAXIMUM_BITS:
        raise w.refuse(f"a whole number of {value.bit_length()} bits: up to {MAXIMUM_BITS} are read again")
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    w.parts.append(b"\x8a" + bytes([len(data)]) + data)


def _text(w: PickleWriter, value: str) -> None:
    data = value.encode("utf-8", "surrogatepass")
    if len(data) >= 2**32:
        raise w.refuse(f"a text of {len(data)} bytes")
    w.parts.append(b"X" + struct.pack("<I", len(data)) + data)
    if len(data) > 8:  # a shorter one takes no more than the memo
        w.remember(value)


def _bytes(w: PickleWriter, value: bytes) -> None:
    if value:
        w.call("_codecs", "encode", value.decode("latin1"), "latin1")
    else:
        w.call("builtins", "bytes")
    w.remember(value)


def _list(w: PickleWriter, value: list[Any]) -> None:
    w.parts.append(b"](")
    for i, one in enumerate(value):
        w.inside(f"[{i}]", one)
    w.parts.append(b"e")
    w.remember(value)


def _tuple(w: PickleWriter, value: tuple[Any, ...]) -> None:
    w.row(value)
    w.remember(value)


def _dict(w: PickleWriter, value: dict[Any, Any]) -> None:
    w.parts.append(b"}")
    w.items(value.items())
    w.remember(value)


def write_ordered(w: PickleWriter, value: OrderedDict[Any, Any]) -> None:
    """Write a dict that keeps its order, and the versions of modules that are on a ``state_dict``."""
    w.call("collections", "OrderedDict")
    w.items(value.items())
    extra = vars(value)
    # Nothing else is read again.
    if unknown := next((key for key in extra if key != "_metadata"), None):
        raise w.refuse(f"an OrderedDict has an attribute {unknown!r}, which is not read again")
    if extra:
        w.state(extra)
    w.remember(value)


def _default(w: PickleWriter, value: defaultdict[Any, Any]) -> None:
    factory = value.default_factory
    if factory is None:
        w.call("collections", "defaultdict")
    elif factory in FACTORIES:
        w.name("collections", "defaultdict")
        w.parts.append(b"(")
        w.name(factory.__module__, factory.__name__)
        w.parts.append(b"tR")
    else:
        raise w.refuse(f"a defaultdict makes its values by {short(factory)}, which is code: save dict(value)")
    w.items(value.items())
    w.remember(value)


FACTORIES = (bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple, Counter, OrderedDict)
"""Classes that a defaultdict may make its values by: called with nothing, each gives an empty value."""


def _counter(w: PickleWriter, value: Counter[Any]) -> None:
    w.call("collections", "Counter", dict(value))
    w.remember(value)


def _made(module: str, name: str, arguments: Callable[[Any], tuple[Any, ...]]) -> Write:
    def write(w: PickleWriter, value: Any) -> None:
        w.call(module, name, *arguments(value))
        w.remember(value)

    return write


_PLAIN: dict[type, Write] = {
    type(None): lambda w, value: w.parts.append(b"N"),
    bool: lambda w, value: w.parts.append(b"\x88" if value else b"\x89"),
    int: _int,
    float: lambda w, value: w.parts.append(b"G" + struct.pack(">d", value)),
    str: _text,
    bytes: _bytes,
    list: _list,
    tuple: _tuple,
    dict: _dict,
    OrderedDict: write_ordered,
    defaultdict: _default,
    Counter: _counter,
    complex: _made("builtins", "complex", lambda value: (value.real, value.imag)),
    bytearray: _made("builtins", "bytearray", lambda value: (bytes(value),) if value else ()),
    set: _made("builtins", "set", lambda value: (list(value),)),
    frozenset: _made("builtins", "frozenset", lambda value: (list(value),)),
    slice: _made("builtins", "slice", lambda value: (value.start, value.stop, value.step)),
    range: _made("builtins", "range", lambda value: (value.start, value.stop, value.step)),
}
