"""Attributes of nodes as messages: what a value is says which kind it has."""

from __future__ import annotations

from typing import Any

from workbench.onnx.messages import Message

__all__ = ["attribute"]

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS = range(1, 9)


def attribute(name: str, value: Any) -> Message:
    """Return an attribute: a number, a word, a tensor, a graph, or a row of numbers or words.

    >>> attribute("axis", 1).i, attribute("mode", "linear").s, attribute("pads", [0, 1]).ints
    (1, b'linear', [0, 1])
    """
    if isinstance(value, Message):
        graph = value.kind.name == "Graph"
        return Message(
            "Attribute", name=name, type=_GRAPH if graph else _TENSOR, **{"g" if graph else "t": value}
        )
    if isinstance(value, list | tuple):
        return _row(name, list(value))
    if isinstance(value, bool | int):
        return Message("Attribute", name=name, type=_INT, i=int(value))
    if isinstance(value, float):
        return Message("Attribute", name=name, type=_FLOAT, f=value)
    return Message("Attribute", name=name, type=_STRING, s=str(value).encode())


def _row(name: str, values: list[Any]) -> Message:
    if all(isinstance(one, bool | int) for one in values):
        return Message("Attribute", name=name, type=_INTS, ints=[int(one) for one in values])
    if all(isinstance(one, int | float) for one in values):
        return Message("Attribute", name=name, type=_FLOATS, floats=[float(one) for one in values])
    return Message("Attribute", name=name, type=_STRINGS, strings=[str(one).encode() for one in values])
