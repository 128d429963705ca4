"""Reading a file: its bytes become a model whose claims are looked at before anything is built of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from workbench.base.errors import short
from workbench.onnx.errors import OnnxError
from workbench.onnx.table import NEWEST, OLDEST
from workbench.onnx.wire import parsed

__all__ = ["MOST_BYTES", "Model", "read"]

MOST_BYTES = 1 << 31
"""Protocol buffers end here; what is larger has its values in files beside it."""


@dataclass(frozen=True)
class Model:
    """A model as its file has it."""

    proto: Any
    versions: dict[str, int]
    """Which version of each domain of operators it is written for."""
    folder: Path | None
    """Where files with values of its tensors lie; None where only its bytes are known."""
    name: str


def read(source: str | os.PathLike[str] | bytes | BinaryIO) -> Model:
    """Return the model of a file, of its bytes, or of an open file.

    Raises `OnnxError` for bytes that are no model, and for versions that are not read.
    """
    data, folder, name = _bytes_of(source)
    try:
        proto = parsed(data)
    except OnnxError as error:
        raise OnnxError(f"{name} is no ONNX file, or a damaged one: {error}") from error
    if not proto.HasField("graph") or not proto.ir_version:
        raise OnnxError(f"{name} is no ONNX file: there is no graph in it")
    return Model(proto, _versions(proto, name), folder, name)


def _bytes_of(source: Any) -> tuple[bytes, Path | None, str]:
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), None, "what was given"
    if hasattr(source, "read"):
        data = source.read()
        if not isinstance(data, bytes):
            raise TypeError("onnx.load reads bytes: open the file with mode 'rb'")
        return data, None, short(getattr(source, "name", "the file"))
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"onnx.load takes a path, bytes or an open file, not {type(source).__name__}")
    path = Path(source)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise OnnxError(f"{path.name} has {size} bytes, and no model has more than {MOST_BYTES}")
    return path.read_bytes(), path.parent, short(path.name)


def _versions(proto: Any, name: str) -> dict[str, int]:
    found = {one.domain if one.domain != "ai.onnx" else "": one.version for one in proto.opset_import}
    own = found.get("")
    # A file that has operators of others alone says nothing of these.
    if own is not None and not OLDEST <= own <= NEWEST:
        raise OnnxError(
            f"{name} is written for version {own} of the operators, and {OLDEST} to {NEWEST} are read: convert it with "
            f"onnx.version_converter.convert_version(model, 17)"
        )
    if not found:
        raise OnnxError(f"{name} does not say for which version of the operators it is written")
    return found
