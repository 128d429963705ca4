"""Calls of what is no op: control flow, functions by name."""

from __future__ import annotations

from typing import Any

from workbench.graph.types import BOOL, FLOAT, INT, Type
from workbench.onnx.errors import OnnxError
from workbench.onnx.messages import Message

__all__ = ["info", "written"]

_CODES = {INT: 7, FLOAT: 11, BOOL: 9}


def written(writer: Any, call: Any) -> tuple[str, ...]:
    """Write a call of what is no op, and return the names of its results."""
    raise OnnxError("the format has no form for it")


def info(name: str, kind: Type) -> Message:
    """Return what a file says of a value that is no tensor of known sizes: a number is a tensor without dims."""
    if kind not in _CODES:
        return Message("ValueInfo", name=name)
    tensor = Message("TensorType", elem_type=_CODES[kind], shape=Message("Shape"))
    return Message("ValueInfo", name=name, type=Message("Type", tensor_type=tensor))
