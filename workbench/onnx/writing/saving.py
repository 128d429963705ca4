"""Bytes to a file: whole or not at all, with the values of large tensors beside it where that is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from workbench.base.files import replacing
from workbench.onnx.errors import OnnxError
from workbench.onnx.messages import Message
from workbench.onnx.wire import chunks

__all__ = ["MOST_BYTES", "put"]

MOST_BYTES = (1 << 31) - 1
"""Protocol buffers end here."""

_LEAST_OUTSIDE = 1024
"""Tensors of fewer bytes stay in the file: a shape is read before anything else is."""

_ALIGNED = 4096
"""Values begin at a multiple of this, so that they can be mapped into memory."""


def put(model: Message, target: str | os.PathLike[str] | BinaryIO, external: bool | str | None) -> None:
    """Write a model to a path or an open file.

    `external` is True or a name for the file beside it where values of tensors are to stand outside, False where they
    must not, None where they do if there are more than a file can hold.
    """
    tensors = [one for one in model.graph.initializer if len(one.raw_data) >= _LEAST_OUTSIDE]
    large = sum(len(one.raw_data) for one in model.graph.initializer) > MOST_BYTES - (64 << 20)
    external = large if external is None else external
    if large and external is False:
        raise OnnxError(
            "the tensors have more bytes than a file of the format can hold, 2 GB: pass external_data=True, which puts "
            "their values into a file beside it"
        )
    if hasattr(target, "write"):
        if external is not False:
            raise OnnxError("values can only stand in a file beside the model's where that has a path")
        for one in chunks(model):
            target.write(one)
        return
    if not isinstance(target, str | os.PathLike):
        raise TypeError(f"onnx.save writes to a path or an open file, not {type(target).__name__}")
    path = Path(target)
    if external is False:
        with replacing(path) as part:
            _fill(part, chunks(model))
        return
    beside = path.parent / (external if isinstance(external, str) else f"{path.name}.data")
    if isinstance(external, str) and (Path(external).name != external or external in ("", ".", "..")):
        raise OnnxError(
            f"the values stand in a file beside the model's: {external!r} is a path, and a name is needed"
        )
    if beside == path:
        raise OnnxError(f"the values cannot stand in {path.name} itself")
    # The values are in their place before the model that names them is.
    with replacing(path) as part, replacing(beside) as values:
        _fill(values, _outside(tensors, beside.name))
        _fill(part, chunks(model))


def _fill(path: Path, pieces: Iterable[Any]) -> None:
    with path.open("wb") as file:
        for one in pieces:
            file.write(one)


def _outside(tensors: list[Message], name: str) -> list[Any]:
    """Take the values out of tensors, say where they are, and return them as they follow each other."""
    found: list[Any] = []
    at = 0
    for one in tensors:
        gap = -at % _ALIGNED
        if gap:
            found.append(bytes(gap))
            at += gap
        data = one.raw_data
        found.append(data)
        del one.__dict__["raw_data"]
        one.external_data = [
            Message("Entry", key=key, value=str(value))
            for key, value in (("location", name), ("offset", at), ("length", len(data)))
        ]
        one.data_location = 1
        at += len(data)
    return found
