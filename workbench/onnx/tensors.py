"""Tensors as a file writes them: what they claim is held against what is there before memory is taken."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from workbench.base.dims import MAXIMUM_DIMS
from workbench.base.dtypes import DType, int8, uint8
from workbench.base.errors import short
from workbench.onnx.errors import OnnxError
from workbench.onnx.values import data_type
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["NIBBLES", "shape_of", "tensor_of"]

_FIELDS = {
    1: "float_data", 2: "int32_data", 3: "int32_data", 5: "int32_data", 6: "int32_data", 7: "int64_data",
    9: "int32_data", 10: "int32_data", 11: "double_data", 14: "float_data", 15: "double_data", 16: "int32_data",
}  # fmt: skip
"""Where values stand that are not written as bytes, by the code of their type."""

NIBBLES = {21: uint8, 22: int8}
"""Whole numbers of 4 bits, by the code of their type, and what they are here."""

_EXTERNAL = 1


def shape_of(proto: Any) -> tuple[int, ...]:
    """Return the sizes that a tensor claims; raise `OnnxError` where there can be no such tensor."""
    sizes = tuple(proto.dims)
    if len(sizes) > MAXIMUM_DIMS or any(size < 0 for size in sizes):
        raise OnnxError(f"the tensor {short(proto.name)} claims the sizes {short(list(sizes))}")
    return sizes


def tensor_of(proto: Any, folder: Path | None) -> Tensor:
    """Return a tensor of a file; `folder` is where files lie that hold values of it.

    Raises `OnnxError` where it claims more values than are there, or is of a type that is not here.
    """
    sizes, name = shape_of(proto), short(proto.name)
    count = math.prod(sizes)
    if proto.data_type in NIBBLES:
        return from_numpy(_nibbles(proto, count, folder).reshape(sizes))
    dtype = data_type(proto.data_type)
    if proto.HasField("segment"):
        raise OnnxError(f"the tensor {name} is written in segments, which no exporter does")
    if proto.data_location == _EXTERNAL:
        values = _from_bytes(_external(proto, count * dtype.numpy.itemsize, folder), dtype)
    elif proto.HasField("raw_data"):
        values = _from_bytes(proto.raw_data, dtype)
    else:
        values = _from_field(getattr(proto, _FIELDS[proto.data_type]), proto.data_type, dtype)
    if values.size != count:
        raise OnnxError(
            f"the tensor {name} claims the sizes {short(list(sizes))}, {count} values, and has {values.size}"
        )
    return from_numpy(values.reshape(sizes))


def _nibbles(proto: Any, count: int, folder: Path | None) -> np.ndarray[Any, Any]:
    """Return whole numbers of 4 bits, of which a byte has two, the first in its lower half."""
    length = -(-count // 2)
    if proto.data_location == _EXTERNAL:
        data = _external(proto, length, folder)
    elif proto.HasField("raw_data"):
        data = proto.raw_data
    else:
        data = _whole(proto.int32_data, np.dtype(np.uint8)).tobytes()
    if len(data) != length:
        raise OnnxError(
            f"the tensor {short(proto.name)} claims {count} values of 4 bits, and has {len(data)} bytes: {length} hold "
            "them"
        )
    each = np.frombuffer(data, np.uint8)
    flat = np.stack((each & 15, each >> 4), axis=1).reshape(-1)[:count]
    # The sign is the highest of the four bits.
    return flat if NIBBLES[proto.data_type] == uint8 else ((flat ^ 8).astype(np.int8) - np.int8(8))


def _from_bytes(data: bytes, dtype: DType) -> np.ndarray[Any, Any]:
    kind = dtype.numpy
    if len(data) % kind.itemsize:
        raise OnnxError(f"{len(data)} bytes are no whole number of values of {dtype}")
    if kind == np.bool_:
        # Other bytes than 0 and 1 are no truth values, and NumPy would keep them.
        truths: np.ndarray[Any, Any] = np.frombuffer(data, np.uint8) != 0
        return truths
    # The format is little-endian. A copy: memory of the file's message cannot be written to.
    found = np.frombuffer(data, kind if kind.kind == "V" else kind.newbyteorder("<"))
    return found.astype(kind, copy=True)


def _from_field(values: Any, code: int, dtype: DType) -> np.ndarray[Any, Any]:
    kind = dtype.numpy
    if code in (10, 16):
        # Numbers of 16 bits stand there as their bits.
        return _whole(values, np.dtype(np.uint16)).view(kind)
    if code in (14, 15):
        found = np.array(values, np.float32 if code == 14 else np.float64)
        if found.size % 2:
            raise OnnxError("complex numbers are written as pairs, and one is left over")
        return found.view(kind)
    return _whole(values, kind) if kind.kind in "iub" else np.array(values, kind)


def _whole(values: Any, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    found = np.array(values, np.int64)
    cast = found.astype(kind)
    if kind.kind != "b" and (cast.astype(np.int64) != found).any():
        raise OnnxError(f"a value is out of the range of {kind}")
    return cast


def _external(proto: Any, length: int, folder: Path | None) -> bytes:
    """Return the bytes of a tensor that stand in a file beside that of the model."""
    name = short(proto.name)
    entries = {one.key: one.value for one in proto.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise OnnxError(
            f"the values of {name} stand in the file {short(location)}: open the model by its path, not by its bytes"
        )
    path = Path(location)
    if not location or path.is_absolute() or ".." in path.parts or "\0" in location or "\\" in location:
        raise OnnxError(
            f"the values of {name} are said to stand in {short(location)}: a file beside the model's is allowed, "
            "by a path without '..'"
        )
    try:
        root, found = folder.resolve(), (folder / path).resolve()
        # A link may lead out as well as a path.
        if root not in found.parents or not found.is_file():
            raise OnnxError(
                f"the values of {name} are said to stand in {short(location)}, and there is no such file"
            )
        offset, claimed = int(entries.get("offset", 0)), int(entries.get("length", length))
        there = found.stat().st_size
        if offset < 0 or claimed != length or offset + length > there:
            raise OnnxError(
                f"{name} needs {length} bytes, and {short(location)} is said to have {claimed} at {offset}: it has "
                f"{there} in all"
            )
        with found.open("rb") as file:
            file.seek(offset)
            return file.read(length)
    except (OSError, ValueError) as error:
        if isinstance(error, OnnxError):
            raise
        raise OnnxError(f"the values of {name} cannot be read from {short(location)}: {error}") from error
