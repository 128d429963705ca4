"""Reading NumPy's zipped arrays from files that may be damaged or hostile: bounds first, nothing unpickled."""

from __future__ import annotations

import io
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from workbench.base.files import open_file

__all__ = ["DataError", "read_all", "read_arrays"]

MAXIMUM_BYTES = 1 << 30
"""Most bytes that the arrays of a file may take, unless the file itself is larger."""


class DataError(ValueError):
    """A file of data that is damaged, or is not what it should be."""


def read_arrays(path: Path, *names: str) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the arrays called `names` of an .npz file.

    Raises `DataError`, which names the file and the part, where it is damaged, holds objects, or claims more than
    `MAXIMUM_BYTES`.
    """
    with _opened(path) as archive:
        return tuple(_read(archive, name) for name in names)


def read_all(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Return all arrays of an .npz file by name: together of at most `MAXIMUM_BYTES`, or the size of the file.

    Raises `DataError` as `read_arrays` does.
    """
    with _opened(path) as archive:
        total = sum(entry.file_size for entry in archive.infolist())
        # A file that is larger itself has paid for what it claims.
        most = max(MAXIMUM_BYTES, os.path.getsize(path))
        if total > most:
            raise DataError(f"its arrays claim {total} bytes, more than the {most} that are allowed")
        names = [one.removesuffix(".npy") for one in archive.namelist()]
        if len(set(names)) < len(names):
            raise DataError("two arrays of it have the same name")
        return {name: _read(archive, name, most) for name in names}


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip; say of what is wrong in it that it is this file's."""
    stream, _ = open_file(path)
    try:
        with stream, zipfile.ZipFile(stream) as archive:
            yield archive
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    # What zipfile raises of a damaged file is of no one class.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError) as error:
        raise DataError(f"{path} is damaged: {error}. Get a fresh copy of it.") from None


def _read(archive: zipfile.ZipFile, name: str, most: int = 0) -> np.ndarray[Any, Any]:
    try:
        entry = archive.getinfo(f"{name}.npy")
    except KeyError:
        found = ", ".join(sorted(one.removesuffix(".npy") for one in archive.namelist())[:10])
        raise DataError(f"there is no array {name!r} in it, only: {found or 'nothing'}") from None
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
        raise DataError(f"array {name!r} is compressed as NumPy never does, or encrypted")
    most = most or MAXIMUM_BYTES
    if entry.file_size > most:
        raise DataError(
            f"array {name!r} claims {entry.file_size} bytes, more than the {most} that are allowed"
        )
    with archive.open(entry) as stream:
        # One byte more than declared, so that what is left over shows.
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
    except (ValueError, TypeError, tokenize.TokenError, RecursionError, MemoryError) as error:  # no header
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
