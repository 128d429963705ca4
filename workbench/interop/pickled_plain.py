"""Plain values in a pickle that are made by a call: sets, bytes, numbers, dicts of other classes, sizes, devices."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from workbench.base.devices import Device
from workbench.base.errors import WeightsError, short
from workbench.interop.pickle_writing import FACTORIES
from workbench.interop.pickled import Function, check_keys

__all__ = ["PLAIN", "is_size"]


def is_size(value: Any) -> bool:
    """Say whether a value can be a size, a step or a place."""
    # Small enough that no product with the size of an item leaves 64 bits.
    return type(value) is int and 0 <= value < 2**59


def _ordered(pairs: Any = ()) -> Any:
    if not isinstance(pairs, list | tuple) or any(
        not isinstance(one, list | tuple) or len(one) != 2 for one in pairs
    ):
        raise WeightsError("an OrderedDict is made of no pairs")
    check_keys([key for key, _ in pairs])
    return OrderedDict(pairs)


def _members(values: Any = ()) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise WeightsError("a set is made of no list")
    check_keys(list(values))
    return list(values)


def _default(factory: Any = None) -> Any:
    make = _FACTORIES.get(getattr(factory, "name", ""))
    if factory is not None and make is None:
        raise WeightsError("a defaultdict makes its values by what is no plain class")
    return defaultdict(make)


def _counter(counts: Any = ()) -> Any:
    if not isinstance(counts, dict) and counts != ():
        raise WeightsError("a Counter is made of no dict")
    return Counter(counts)


def _mapping(pairs: Any = ()) -> Any:
    return dict(_ordered(pairs))


def _number(kind: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return what makes a plain number: of nothing, or of one."""

    def make(value: Any = 0) -> Any:
        if type(value) not in (int, float, bool):
            raise WeightsError(f"{kind.__name__} is made of no number")
        try:
            return kind(value)
        except (ValueError, OverflowError) as error:
            raise WeightsError(str(error)) from None

    return make


def _sizes(values: Any = ()) -> tuple[int, ...]:
    if not isinstance(values, list | tuple) or not all(map(is_size, values)):
        raise WeightsError(f"a Size is made of {short(values)}")
    return tuple(values)


def _device(kind: Any, index: Any = None) -> Device:
    if not isinstance(kind, str) or len(kind) > 100 or not (index is None or is_size(index)):
        raise WeightsError("a device is called by no word")
    try:
        return Device(kind, index)
    except RuntimeError as error:
        raise WeightsError(str(error)) from None


def _bytes(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or not isinstance(encoding, str) or encoding not in ("latin1", "latin-1"):
        raise WeightsError("bytes are written in an encoding that is not latin1")
    try:
        return text.encode("latin1")
    except UnicodeEncodeError:
        raise WeightsError("bytes are no latin1") from None


def _byte_array(data: Any = b"", encoding: Any = "latin1") -> bytearray:
    return bytearray(data if isinstance(data, bytes) else _bytes(data, encoding))


def _complex(real: Any, imag: Any) -> complex:
    if not isinstance(real, float) or not isinstance(imag, float):
        raise WeightsError("a complex number is made of no floats")
    return complex(real, imag)


def _known() -> dict[str, Function]:
    functions: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
        "collections.OrderedDict": (_ordered, (0, 1)),
        "collections.defaultdict": (_default, (0, 1)),
        "collections.Counter": (_counter, (0, 1)),
        "torch.Size": (_sizes, (0, 1)),
        "torch.device": (_device, (1, 2)),
        "_codecs.encode": (_bytes, (2,)),
    }
    for module in ("builtins", "__builtin__"):
        functions[f"{module}.set"] = (lambda values=(): set(_members(values)), (0, 1))
        functions[f"{module}.frozenset"] = (lambda values=(): frozenset(_members(values)), (0, 1))
        functions[f"{module}.complex"] = (_complex, (2,))
        functions[f"{module}.bytearray"] = (_byte_array, (0, 1, 2))
        functions[f"{module}.bytes"] = (bytes, (0,))
        functions[f"{module}.dict"] = (_mapping, (0, 1))
        functions[f"{module}.list"] = (lambda values=(): list(_members(values)), (0, 1))
        functions[f"{module}.tuple"] = (lambda values=(): tuple(_members(values)), (0, 1))
        functions[f"{module}.str"] = (str, (0,))
        functions |= {f"{module}.{kind.__name__}": (_number(kind), (0, 1)) for kind in (bool, float, int)}
    return {name: Function(name, *made) for name, made in functions.items()}


PLAIN = _known()
"""What a file may name that makes plain values."""

_FACTORIES = {
    f"{room}.{kind.__name__}": kind
    for kind in FACTORIES
    for room in ({kind.__module__, "__builtin__"} if kind.__module__ == "builtins" else {kind.__module__})
}
"""What a defaultdict may make its values by, by its name."""
