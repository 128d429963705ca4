"""Reading NumPy's zipped arrays from files that may be damaged or hostile: bounds first, nothing unpickled."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["DataError", "read_arrays"]

MAXIMUM_BYTES = 1 << 30
"""Most bytes that one array of a file may take."""


class DataError(ValueError):
    """A file of data that is damaged, or is not what it should be."""


def read_arrays(path: Path, *names: str) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the arrays called `names` of an .npz file.

    Raises `DataError`, which names the file and the part, where it is damaged, holds objects, or claims more than
    `MAXIMUM_BYTES`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return tuple(_read(archive, name) for name in names)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path} is damaged: {error}. Get a fresh copy of it.") from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _read(archive: zipfile.ZipFile, name: str) -> np.ndarray[Any, Any]:
    try:
        entry = archive.getinfo(f"{name}.npy")
    except KeyError:
        found = ", ".join(sorted(one.removesuffix(".npy") for one in archive.namelist())[:10])
        raise DataError(f"there is no array {name!r} in it, only: {found or 'nothing'}") from None
    if entry.file_size > MAXIMUM_BYTES:
        raise DataError(
            f"array {name!r} claims {entry.file_size} bytes, more than the {MAXIMUM_BYTES} that are allowed"
        )
    with archive.open(entry) as stream:
        data = stream.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise DataError(f"array {name!r} has {len(data)} bytes where {entry.file_size} are declared")
    return _parse(data, name)


def _parse(data: bytes, name: str) -> np.ndarray[Any, Any]:
    """Return the array of one .npy file."""
    buffer = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(buffer)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(buffer)
    except ValueError as error:
        raise DataError(f"array {name!r} has no readable header: {error}") from None
    if dtype.hasobject:
        raise DataError(f"array {name!r} holds Python objects, which are never read")
    expected, rest = math.prod(shape) * dtype.itemsize, len(data) - buffer.tell()
    if expected != rest:
        raise DataError(
            f"array {name!r} of shape {list(shape)} takes {expected} bytes and the file has {rest}"
        )
    array: np.ndarray[Any, Any] = np.frombuffer(data, dtype, offset=buffer.tell())
    return array.reshape(shape, order="F" if fortran else "C")
