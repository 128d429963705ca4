"""Reading a file: its bytes become a model whose claims are looked at before anything is built of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from workbench.base.errors import short
from workbench.onnx.errors import OnnxError
from workbench.onnx.library import library, parsed
from workbench.onnx.table import NEWEST, OLDEST

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
    library()
    proto = parsed(data)
    if proto is None:
        raise OnnxError(f"{name} is no ONNX file, or a damaged one: its bytes cannot be taken apart")
    if not proto.HasField("graph") or not proto.ir_version:
        raise OnnxError(f"{name} is no ONNX file: there is no graph in it")
    _check_words(proto, name)
    return Model(proto, _versions(proto, name), folder, name)


def _check_words(message: Any, name: str) -> None:
    """Raise `OnnxError` where a name or another word is no text: the format's reader leaves it as bytes."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            # One word, or a row of them.
            for one in (value,) if isinstance(value, str | bytes) else value:
                if not isinstance(one, str):
                    raise OnnxError(f"{name} is damaged: {short(one)}, a {field.name}, is no text")
        elif field.type == field.TYPE_MESSAGE:
            for one in (value,) if hasattr(value, "ListFields") else value:
                _check_words(one, name)


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
