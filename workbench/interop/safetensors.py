"""Safetensors: tensors in a file by name, with nothing in it that could run. Names of dims stay with them.

A file is the length of a header, the header (JSON: type, shape and place of every tensor), and the values. What it
claims is checked against its size before memory is taken.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from workbench.base.dims import MAXIMUM_DIMS, check_names
from workbench.base.dtypes import DType, as_dtype
from workbench.base.errors import DimensionError, DTypeError, QuantizationError, WeightsError, short
from workbench.base.files import open_file, replacing
from workbench.base.public import words
from workbench.core.value import labelled
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy
from workbench.tensor.interchange import plain

__all__ = ["arrays_of", "load_file", "parts", "read_metadata", "save_file", "tensors_in"]

MAXIMUM_HEADER = 32 << 20
"""Most bytes of a header that are read: enough for some hundred thousand tensors."""

NAMES = "workbench.names"
"""Key of the metadata under which names of dims stand, as JSON."""

LABELS = "workbench.dim_labels"
"""Key of the metadata under which stands what the dims of parameters are called, as JSON."""

TYPES: dict[str, DType] = {
    "BOOL": as_dtype("bool"),
    "U8": as_dtype("uint8"),
    "I8": as_dtype("int8"),
    "I16": as_dtype("int16"),
    "I32": as_dtype("int32"),
    "I64": as_dtype("int64"),
    "F16": as_dtype("float16"),
    "BF16": as_dtype("bfloat16"),
    "F8_E4M3": as_dtype("float8_e4m3fn"),
    "F8_E5M2": as_dtype("float8_e5m2"),
    "F32": as_dtype("float32"),
    "F64": as_dtype("float64"),
    "C64": as_dtype("complex64"),
}
"""The format's codes, and the types that they are here."""


def save_file(
    tensors: Mapping[str, Any], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors or NumPy arrays by name: the file is replaced whole, or not at all.

    Names of dims are kept in the file's metadata, where other readers find them under ``"workbench.names"``, and what
    the dims of parameters are called under ``"workbench.dim_labels"``. Tensors
    that share memory are written once each, so that every reader finds every key.

    Raises `DTypeError` for complex128, which the format has not, `QuantizationError` for quantized tensors, ValueError
    for keys and metadata beyond what is read again; nothing is written then.

    >>> import tempfile, workbench as wb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"w": wb.ones(out=2)}, f"{folder}/w.safetensors")
    ...     load_file(f"{folder}/w.safetensors")
    {'w': tensor([1., 1.], names=('out',))}
    """
    content = list(parts(tensors, metadata))
    with replacing(path) as part:
        _write(part, content)


def _write(path: Path, content: list[Any]) -> None:
    with path.open("wb") as stream:
        for one in content:
            stream.write(one)


def parts(tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Yield the bytes of a file in parts: the header, then each tensor's memory. Raises as `save_file` does."""
    arrays, names = arrays_of(tensors, "save_file")
    for key, array in arrays.items():
        if as_dtype(array.dtype) not in TYPES.values():
            raise DTypeError(
                f"save_file: {key!r} is {array.dtype}, which the format does not have: save its parts, as "
                f"view_as_real({key}) gives them, or make it complex64"
            )
    text = _checked_metadata(metadata)
    if names:
        text[NAMES] = json.dumps(names)
    labels = {
        key: one.dim_labels for key, one in tensors.items() if isinstance(one, Tensor) and key not in names
    }
    if any(any(one) for one in labels.values()):
        text[LABELS] = json.dumps({key: list(one) for key, one in labels.items() if any(one)})
    yield _header_of(arrays, text)
    for key in _order(arrays):
        yield arrays[key].reshape(-1).view(np.uint8).data


def _order(arrays: Mapping[str, np.ndarray[Any, Any]]) -> list[str]:
    """Return the keys in the order of the file: wide types first, so that each value lies at a multiple of its size."""
    return sorted(arrays, key=lambda key: (-arrays[key].itemsize, key))


def _header_of(arrays: Mapping[str, np.ndarray[Any, Any]], metadata: dict[str, str]) -> bytes:
    """Return the beginning of a file; ValueError where it is longer than what is read again."""
    codes = {dtype.numpy: code for code, dtype in TYPES.items()}
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for key in _order(arrays):
        array, start = arrays[key], end
        end += array.nbytes
        header[key] = {
            "dtype": codes[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    # Filled up, so that the values begin at a multiple of 8.
    text += b" " * (-len(text) % 8)
    if len(text) > MAXIMUM_HEADER:
        raise ValueError(
            f"save_file: keys, names and metadata take {len(text)} bytes, and at most {MAXIMUM_HEADER} are read again: "
            "put what is large into tensors"
        )
    return len(text).to_bytes(8, "little") + text


def arrays_of(
    tensors: Mapping[Any, Any], op: str
) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, list[str | None]]]:
    """Return the values of `tensors` as arrays in C order, and the names of dims of those that have any."""
    if not isinstance(tensors, Mapping):
        raise TypeError(f"{op}: expected a mapping of names to tensors, got {type(tensors).__name__}")
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    names: dict[str, list[str | None]] = {}
    for key, value in tensors.items():
        if not isinstance(key, str) or key == "__metadata__" or not _writable(key):
            raise ValueError(
                f"{op}: {key!r} cannot be a key of the file: it takes text, but no '__metadata__'"
            )
        if isinstance(value, Tensor):
            if value.is_quantized:
                raise QuantizationError(
                    f"{op}: {key!r} is quantized, which the file cannot say: save {key}.int_repr() and its scale, "
                    f"or {key}.dequantize()"
                )
            if value._names:
                names[key] = list(value._names)
            array = plain(value)
        elif isinstance(value, np.ndarray):
            array = value
        else:
            raise TypeError(f"{op}: {key!r} is a {type(value).__name__}, not a tensor")
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        as_dtype(array.dtype)
        # The format knows no other order, of bytes or of dims.
        arrays[key] = array if array.flags.c_contiguous else array.copy(order="C")
    return arrays, names


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _checked_metadata(metadata: Mapping[str, str] | None) -> dict[str, str]:
    found: dict[Any, Any] = dict(metadata or {})
    for key, value in found.items():
        if not (isinstance(key, str) and isinstance(value, str) and _writable(key) and _writable(value)):
            raise TypeError(
                f"save_file: metadata is text by text, got {key!r}: {value!r}. Write json.dumps(…)"
            )
        if key in (NAMES, LABELS):
            raise ValueError(f"save_file: the key {key!r} of the metadata holds the names of dims")
    return found


# ------------------------------------------------------------------------------------------------ reading


@dataclass(frozen=True)
class _Entry:
    """One tensor as the header has it."""

    key: str
    dtype: DType
    shape: tuple[int, ...]
    start: int
    end: int


def load_file(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Return the tensors of a file by name, with their names of dims where it has them.

    Raises `WeightsError`, which names the file and the part, where it is damaged or is not what it claims.
    """
    stream, size = open_file(path)
    with stream:
        try:
            metadata, entries, begin = _read_header(stream, size)
            return _tensors(metadata, entries, lambda one: _read_array(stream, begin, one))
        except WeightsError as error:
            raise WeightsError(f"{os.fspath(path)}: {error}") from None


def tensors_in(memory: np.ndarray[Any, Any]) -> dict[str, Tensor]:
    """Return the tensors of a file whose bytes lie in memory already, as parts of it.

    Raises `WeightsError` as `load_file` does.
    """
    length = int.from_bytes(memory[:8].tobytes(), "little")
    start = io.BytesIO(memory[: 8 + min(length, MAXIMUM_HEADER)].tobytes())
    metadata, entries, begin = _read_header(start, memory.size)
    return _tensors(
        metadata,
        entries,
        lambda one: memory[begin + one.start : begin + one.end].view(one.dtype.numpy).reshape(one.shape),
    )


def _tensors(
    metadata: dict[str, str], entries: list[_Entry], array_of: Callable[[_Entry], np.ndarray[Any, Any]]
) -> dict[str, Tensor]:
    names, labels = (_read_names(metadata, key, entries) for key in (NAMES, LABELS))
    return {
        one.key: labelled(
            from_numpy(_checked(array_of(one), one), names=names.get(one.key)), labels.get(one.key)
        )
        for one in entries
    }


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the metadata that was given to `save_file`, without reading the tensors.

    Raises `WeightsError` as `load_file` does.
    """
    stream, size = open_file(path)
    with stream:
        try:
            metadata, _, _ = _read_header(stream, size)
        except WeightsError as error:
            raise WeightsError(f"{os.fspath(path)}: {error}") from None
    for key in (NAMES, LABELS):
        metadata.pop(key, None)
    return metadata


def _read_header(stream: BinaryIO, size: int) -> tuple[dict[str, str], list[_Entry], int]:
    """Return the metadata, the tensors in the order of the header, and where the values begin."""
    if size < 8:
        raise WeightsError(f"the file has {size} bytes and no header")
    length = int.from_bytes(stream.read(8), "little")
    if length > size - 8:
        raise WeightsError(
            f"the header claims {length} bytes and the file has {size - 8}: it was cut off, or is none of this format"
        )
    if length > MAXIMUM_HEADER:
        raise WeightsError(f"the header has {length} bytes, more than the {MAXIMUM_HEADER} that are read")
    text = stream.read(length)
    if not text.startswith(b"{"):
        raise WeightsError("the header does not begin with '{'")
    header = parse_json(text, "the header")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(one, str) for one in metadata.values()):
        raise WeightsError("the header's __metadata__ is not text by text")
    entries = [_read_entry(key, told, size - 8 - length) for key, told in header.items()]
    # One behind the other and to the end, as the format asks: nothing else can be in the file.
    end = 0
    for one in sorted(entries, key=lambda one: (one.start, one.end)):
        if one.start != end:
            what = "overlaps what is before it" if one.start < end else "leaves a gap before it"
            raise WeightsError(f"tensor {short(one.key)} at {one.start} {what}, which ends at {end}")
        end = one.end
    if end != size - 8 - length:
        raise WeightsError(f"the tensors end at {end} and the file has {size - 8 - length} bytes of values")
    return metadata, entries, 8 + length


def parse_json(text: bytes | str, part: str) -> dict[str, Any]:
    """Return the object that `text` is, without a key that stands twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice = next(key for key, count in counts.items() if count > 1)
            raise WeightsError(f"{part} has the key {short(twice)} twice")
        return found

    try:
        found = json.loads(text if isinstance(text, str) else text.decode(), object_pairs_hook=once)
    except WeightsError:
        raise
    # RecursionError: brackets within brackets without end.
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"{part} is no JSON that can be read: {error}") from None
    if not isinstance(found, dict):
        raise WeightsError(f"{part} is no JSON object")
    return found


def _read_entry(key: str, told: Any, room: int) -> _Entry:
    """Check what the header tells of one tensor, with `room` bytes of values in the file."""
    called = f"tensor {short(key)}"
    if not _writable(key):
        raise WeightsError(f"{called}: its key is no text that could be written")
    if not isinstance(told, dict) or not {"dtype", "shape", "data_offsets"} <= told.keys():
        raise WeightsError(f"{called}: expected its dtype, shape and data_offsets")
    dtype, shape, offsets = told["dtype"], told["shape"], told["data_offsets"]
    if not isinstance(dtype, str) or dtype not in TYPES:
        raise WeightsError(f"{called} is of type {short(dtype)}: there are {', '.join(TYPES)} here")
    if not _sizes(offsets) or len(offsets) != 2:
        raise WeightsError(f"{called}: data_offsets are {short(offsets)}, not two places")
    start, end = offsets
    if not start <= end <= room:
        raise WeightsError(f"{called} lies from {start} to {end}, of {room} bytes of values")
    if not _sizes(shape) or len(shape) > MAXIMUM_DIMS:
        raise WeightsError(f"{called}: shape {short(shape)} is no list of at most {MAXIMUM_DIMS} sizes")
    found = TYPES[dtype]
    # NumPy multiplies the sizes of an empty array as well, but for those that are 0.
    if math.prod(shape) * found.itemsize != end - start or math.prod(filter(None, shape)) >= 2**59:
        raise WeightsError(
            f"{called}: {found.name} {short(shape)} takes {math.prod(shape) * found.itemsize} bytes, "
            f"and its place has {end - start}"
        )
    return _Entry(key, found, tuple(shape), start, end)


def _sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(one) is int and 0 <= one < 2**63 for one in values)


def _read_names(
    metadata: dict[str, str], under: str, entries: list[_Entry]
) -> dict[str, tuple[str | None, ...] | None]:
    """Return names of dims by tensor, checked as names and against the tensors."""
    if under not in metadata:
        return {}
    told = parse_json(metadata[under], f"the metadata {under!r}")
    dims = {one.key: len(one.shape) for one in entries}
    found = {}
    for key, names in told.items():
        if key not in dims or not isinstance(names, list):
            raise WeightsError(
                f"names of dims for {short(key)}: there is no such tensor, or they are no list"
            )
        try:
            found[key] = check_names(names, dims[key])
        except (DimensionError, TypeError) as error:
            raise WeightsError(f"names of dims for {short(key)}: {str(error)[:200]}") from None
    return found


def _read_array(stream: BinaryIO, begin: int, entry: _Entry) -> np.ndarray[Any, Any]:
    array = np.empty(entry.shape, entry.dtype.numpy)
    stream.seek(begin + entry.start)
    got = stream.readinto(array.reshape(-1).view(np.uint8))  # type: ignore[attr-defined]
    if got != array.nbytes:
        raise WeightsError(f"tensor {short(entry.key)} has {got} bytes where {array.nbytes} are declared")
    return array


def _checked(array: np.ndarray[Any, Any], entry: _Entry) -> np.ndarray[Any, Any]:
    # Compiled code takes it for granted.
    if entry.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise WeightsError(f"tensor {short(entry.key)} is bool and has bytes that are neither 0 nor 1")
    return array


__getattr__, __dir__ = words(__name__, __all__)
