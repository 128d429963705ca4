"""The package `onnx`, which knows the format of the files; it is imported when a file is opened."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import UnavailableError
from workbench.base.lazy import Lazy

__all__ = ["library", "parsed"]

_ONNX = Lazy("onnx")
_PROTOBUF = Lazy("google.protobuf.message")


def library() -> Any:
    """Return the package; raise UnavailableError, which says how to get it, where it is not installed."""
    try:
        # Whatever it has: a look imports it.
        _ONNX.ModelProto  # noqa: B018
    except ImportError as error:
        raise UnavailableError(
            "ONNX files are read with the package onnx, which is not installed: pip install tensor-workbench[onnx]"
        ) from error
    return _ONNX


def parsed(data: bytes) -> Any:
    """Return the model that bytes are, or None where they are none."""
    onnx = library()
    try:
        return onnx.ModelProto.FromString(data)
    except _PROTOBUF.DecodeError:
        return None
