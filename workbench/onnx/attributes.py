"""Attributes of nodes: numbers, words, tensors and blocks as a file writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.base.errors import short
from workbench.onnx.errors import OnnxError

__all__ = ["attributes_of", "text"]

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS, _TYPE = 1, 2, 3, 4, 5, 6, 7, 8, 13


def text(data: Any) -> str:
    """Return a word of a file; raise `OnnxError` for bytes that are none."""
    try:
        return data if isinstance(data, str) else bytes(data).decode()
    except UnicodeDecodeError as error:
        raise OnnxError(f"{short(data)} is no text") from error


_READ: dict[int, Callable[[Any], Any]] = {
    _FLOAT: lambda one: one.f,
    _INT: lambda one: one.i,
    _STRING: lambda one: text(one.s),
    _FLOATS: lambda one: list(one.floats),
    _INTS: lambda one: list(one.ints),
    _STRINGS: lambda one: [text(each) for each in one.strings],
    _TENSOR: lambda one: one.t,
    _GRAPH: lambda one: one.g,
    # Only that it is there matters: what an empty optional would hold.
    _TYPE: lambda one: text(one.tp.WhichOneof("value") or ""),
}


def attributes_of(node: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a node by name; `given` are those of the function around it, which it may name."""
    found: dict[str, Any] = {}
    for one in node.attribute:
        if one.name in found:
            raise OnnxError(f"it has the attribute {short(one.name)} twice")
        if one.ref_attr_name:
            # One that the call leaves out is left out here, too.
            if one.ref_attr_name in given:
                found[one.name] = given[one.ref_attr_name]
            continue
        read = _READ.get(one.type)
        if read is None:
            raise OnnxError(
                f"its attribute {short(one.name)} is of the kind {one.type}, which is not read here"
            )
        found[one.name] = read(one)
    return found
