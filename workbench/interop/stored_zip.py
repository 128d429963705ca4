"""Zips whose entries are stored as they are, each at a place where memory may be mapped: PyTorch's files, and ours."""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import Any, BinaryIO, cast

import numpy as np

from workbench.base.errors import WeightsError, short
from workbench.interop.pytorch_values import Bytes

__all__ = ["ALIGNMENT", "FOLDER", "StoredZip", "add"]

ALIGNMENT = 64
"""What an entry holds begins at a multiple of this, as in PyTorch's files: it can be mapped into memory."""

FOLDER = "archive"
_WIDEST = 16  # bytes of a value: memory that is mapped begins at a multiple


def add(archive: zipfile.ZipFile, name: str, *content: Any) -> None:
    """Write an entry of some parts, bytes or arrays of them, so that what it holds is aligned."""
    # Without the time, so that the same values make the same file.
    entry = zipfile.ZipInfo(f"{FOLDER}/{name}")
    # 30 bytes, the name, 20 of sizes with 64 bits, and 4 that head what is filled in.
    header = archive.start_dir + 30 + len(entry.filename.encode()) + 20 + 4
    fill = -header % ALIGNMENT
    entry.extra = b"FB" + struct.pack("<H", fill) + b"Z" * fill
    # Told beforehand, as the size is not: a header without it holds no more than 2 GiB.
    with archive.open(entry, "w", force_zip64=True) as part:
        for one in content:
            part.write(one)


class StoredZip:
    """A zip in which all entries stand in one folder and are stored as they are; each lies within the file.

    Raises `WeightsError` for what is none, and for all that is damaged in it.
    """

    def __init__(self, stream: BinaryIO, size: int, mapped: Bytes | None = None) -> None:
        self._stream = stream
        self._size = size
        self._mapped = mapped
        try:
            with zipfile.ZipFile(stream) as archive:
                entries = archive.infolist()
        # What zipfile raises of a damaged file is of no one class.
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise WeightsError(f"it is no zip that can be read, or was cut off: {error}") from None
        if not entries:
            raise WeightsError("the zip is empty")
        self._folder = entries[0].filename.partition("/")[0]
        self._entries = {one.filename: one for one in entries}
        if len(self._entries) < len(entries):
            raise WeightsError("two entries of the zip have the same name")
        # Told first: their code is compressed, so that it claims more than the file has.
        if self.has("constants.pkl"):
            raise WeightsError(
                "it is a TorchScript archive, which holds code: save the state_dict() of the module with torch.save"
            )
        # Side by side they come to no more than the file: else bytes would be read more than once.
        if sum(one.file_size for one in entries) > size:
            raise WeightsError("the entries of the zip overlap, or claim more than the file has")

    def has(self, name: str) -> bool:
        """Say whether there is an entry."""
        return f"{self._folder}/{name}" in self._entries

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of a small entry."""
        entry = self._entry(name)
        if entry.file_size > most:
            raise WeightsError(
                f"entry {name!r} has {entry.file_size} bytes, more than the {most} that are read"
            )
        return self.memory(name, entry.file_size).tobytes()

    def size(self, name: str) -> int:
        """Return of how many bytes an entry is."""
        return self._entry(name).file_size

    def _entry(self, name: str) -> zipfile.ZipInfo:
        entry = self._entries.get(f"{self._folder}/{name}")
        if entry is None:
            raise WeightsError(f"the zip has no entry {short(f'{self._folder}/{name}')}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise WeightsError(f"entry {short(name)} is compressed, which no writer of these files does")
        if entry.flag_bits & 1:
            raise WeightsError(f"entry {short(name)} is encrypted")
        return entry

    def memory(self, name: str, size: int) -> Bytes:
        """Return the bytes of an entry that must have `size` of them."""
        entry = self._entry(name)
        if entry.file_size != size:
            raise WeightsError(f"entry {short(name)} has {entry.file_size} bytes where {size} are declared")
        if not 0 <= entry.header_offset <= self._size - 30:
            raise WeightsError(f"entry {short(name)} begins beyond the file")
        # Read here, and not as the directory has it: PyTorch fills this header up, so that values are
        # aligned.
        self._stream.seek(entry.header_offset)
        header = self._stream.read(30)
        begin = (
            entry.header_offset
            + 30
            + int.from_bytes(header[26:28], "little")
            + int.from_bytes(header[28:30], "little")
        )
        if not header.startswith(b"PK\3\4") or begin + size > self._size:
            raise WeightsError(f"entry {short(name)} does not lie within the file")
        if self._mapped is not None and begin % _WIDEST == 0:
            # Its pages are read when they are looked at: no checksum is made of them.
            return self._mapped[begin : begin + size]
        memory = np.empty(size, np.uint8)
        self._stream.seek(begin)
        if self._stream.readinto(memory) != size:  # type: ignore[attr-defined]
            raise WeightsError(f"entry {short(name)} was cut off")
        if entry.CRC and zlib.crc32(cast(Any, memory)) != entry.CRC:  # PyTorch may be told to write none
            raise WeightsError(f"entry {short(name)} is damaged: its checksum differs")
        return memory
