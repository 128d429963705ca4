"""Files of PyTorch's, ``.pt`` and ``.pth``: read without running anything that stands in them, and written.

Since version 1.6 a file is a zip of a pickle and of one entry for the memory of each storage; before, it was a row of
pickles with the memory behind them. The pickles are read by `pickled`, which knows tensors and plain values and
nothing else. What a file claims is checked against its size before memory is taken.
"""

from __future__ import annotations

import math
import os
import sys
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any, BinaryIO, cast

import numpy as np

from workbench.base.errors import WeightsError, short
from workbench.base.files import open_file, replacing
from workbench.interop.pickled import MAXIMUM_BYTES, Rules, Stream, read_pickle
from workbench.interop.pytorch_values import STORAGES, Bytes, Storage, TensorRules
from workbench.interop.safetensors import arrays_of

__all__ = ["load_pytorch", "save_pytorch"]

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001


def load_pytorch(path: str | os.PathLike[str]) -> Any:
    """Return what ``torch.save`` wrote: tensors, and plain values in dicts, lists, tuples and sets.

    Reads both formats, and runs nothing: a file that holds more than tensors and plain values, such as a whole module,
    is refused with the place of what it holds. Tensors lie on the CPU wherever they were saved, and share memory where
    they shared it. Dicts of class OrderedDict stay so, with the versions of modules that PyTorch puts into
    ``_metadata``.

    Raises `WeightsError`, which names the file and the part.
    """
    stream, size = open_file(path)
    with stream:
        try:
            # As far as the magic of a tar, which stands at 257.
            start = stream.read(512)
            stream.seek(0)
            if start.startswith(b"PK\3\4"):
                return _load_zip(stream, size)
            if start.startswith(b"\x80"):
                return _load_row(stream, size)
            if start[257:262] == b"ustar":
                raise WeightsError(
                    "the tar format of PyTorch before 0.1.10 is not read: write it anew, "
                    "torch.save(torch.load(path, weights_only=False), path)"
                )
            raise WeightsError(f"it begins with {short(start[:8])}, as no file of torch.save does")
        except WeightsError as error:
            raise WeightsError(f"{os.fspath(path)}: {error}") from None


def save_pytorch(tensors: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write tensors or NumPy arrays by name as ``torch.load`` reads them; the file is replaced whole, or not at all.

    The format has no names of dims: they are left out. Arrays that are the same memory stay so.

    Raises `QuantizationError` for quantized tensors; nothing is written then.
    """
    arrays, _ = arrays_of(tensors, "save_pytorch")
    classes = {dtype.numpy: name for name, dtype in STORAGES.items()}
    memories: dict[tuple[int, int, Any], tuple[str, Bytes]] = {}
    # Written by hand, in protocol 2: the few opcodes that `torch.load` takes where it is to run nothing.
    parts = [b"\x80\x02", _global("collections", "OrderedDict"), b")R("]
    for key, array in arrays.items():
        # Empty arrays have no memory by which they could be told apart.
        own = (array.ctypes.data if array.size else -len(memories), array.nbytes, array.dtype)
        number, _ = memories.setdefault(own, (str(len(memories)), array))
        count = array.size
        steps = [math.prod(array.shape[i + 1 :]) for i in range(array.ndim)]
        parts += [
            _text_of(key),
            _global("torch._utils", "_rebuild_tensor_v2"),
            b"((",
            _text_of("storage"),
            _global("torch", classes[array.dtype]),
            _text_of(number),
            _text_of("cpu"),
            _number(count),
            b"tQ",
            _number(0),
            b"(" + b"".join(map(_number, array.shape)) + b"t",
            b"(" + b"".join(map(_number, steps)) + b"t",
            b"\x89",  # asks for a gradient: no
            _global("collections", "OrderedDict"),
            b")RtR",
        ]
    parts.append(b"u.")
    with replacing(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry_of("data.pkl"), b"".join(parts))
        archive.writestr(_entry_of("byteorder"), sys.byteorder)
        for number, array in memories.values():
            # Told beforehand, as the size is not: a header without it holds no more than 2 GiB.
            with archive.open(_entry_of(f"data/{number}"), "w", force_zip64=True) as entry:
                entry.write(cast(Any, array.reshape(-1).view(np.uint8)))
        archive.writestr(_entry_of("version"), "3\n")


def _entry_of(name: str) -> zipfile.ZipInfo:
    # Without the time, so that the same tensors make the same file.
    return zipfile.ZipInfo(f"archive/{name}")


def _global(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _text_of(text: str) -> bytes:
    data = text.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


def _number(value: int) -> bytes:
    return b"\x8a\x08" + value.to_bytes(8, "little", signed=True)


# ------------------------------------------------------------------------------------------------ zipped


def _load_zip(stream: BinaryIO, size: int) -> Any:
    archive = _Archive(stream, size)
    pickle = archive.read("data.pkl", MAXIMUM_BYTES)
    # Older files do not say it.
    order = archive.read("byteorder", 16) if archive.has("byteorder") else b"little"
    if order not in (b"little", b"big"):
        raise WeightsError(f"its byte order is {short(order)}, neither little nor big")
    if archive.has("constants.pkl"):
        raise WeightsError(
            "it is a TorchScript archive, which holds code: save the state_dict() of the module with torch.save"
        )
    rules = TensorRules(lambda key, size: archive.memory(f"data/{key}", size), order == b"big")
    return _called("data.pkl", Stream(BytesIO(pickle), len(pickle)), rules)


def _called(part: str, stream: Stream, rules: Rules) -> Any:
    try:
        return read_pickle(stream, rules)
    except WeightsError as error:
        raise WeightsError(f"{part}: {error}") from None


class _Archive:
    """A zip whose entries are stored as they are, as PyTorch writes them; each lies within the file."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size
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

    def _entry(self, name: str) -> zipfile.ZipInfo:
        entry = self._entries.get(f"{self._folder}/{name}")
        if entry is None:
            raise WeightsError(f"the zip has no entry {short(f'{self._folder}/{name}')}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise WeightsError(f"entry {short(name)} is compressed, which torch.save never does")
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
        memory = np.empty(size, np.uint8)
        self._stream.seek(begin)
        if self._stream.readinto(memory) != size:  # type: ignore[attr-defined]
            raise WeightsError(f"entry {short(name)} was cut off")
        if entry.CRC and zlib.crc32(cast(Any, memory)) != entry.CRC:  # PyTorch may be told to write none
            raise WeightsError(f"entry {short(name)} is damaged: its checksum differs")
        return memory


# --------------------------------------------------------------------------------------------- one by one


def _load_row(stream: BinaryIO, size: int) -> Any:
    """Read the format of before: magic number, protocol, facts, value, keys of storages, and their memory."""
    # Three pickles: a magic number, the protocol, and facts of the machine that wrote it.
    head = [_called("head", Stream(stream, size - stream.tell()), Rules()) for _ in range(3)]
    magic, protocol, facts = head
    if magic != MAGIC or protocol != PROTOCOL or not isinstance(facts, dict):
        raise WeightsError("it is a pickle, and no file of torch.save: its magic number or protocol differs")
    if facts.get("little_endian") is not True:
        raise WeightsError("it was not written on a machine with the little end first")
    left = size

    def memory(key: str, size: int) -> Bytes:
        nonlocal left
        left -= size
        if left < 0:
            raise WeightsError(f"storage {short(key)} and those before it claim more bytes than the file has")
        # Filled later: the values stand behind the pickle.
        return np.zeros(size, np.uint8)

    begin = stream.tell()
    rules = TensorRules(memory)
    _called("value", Stream(stream, size - begin), rules)
    keys = _called("keys of storages", Stream(stream, size - stream.tell()), Rules())
    storages = rules.storages
    if not isinstance(keys, list) or len(keys) != len(storages) or {*map(_text, keys)} != set(storages):
        raise WeightsError("the keys of the storages are not those that tensors lie in")
    for key in keys:
        _fill(stream, key, storages[key])
    if stream.read(1):
        raise WeightsError(f"more follows behind the storages, from byte {stream.tell() - 1} on")
    # Read once more, now that the memory is filled: what is computed of it is right.
    stream.seek(begin)
    rules = TensorRules(lambda key, _: storages[key].memory)
    return _called("value", Stream(stream, size - begin), rules)


def _fill(stream: BinaryIO, key: str, storage: Storage) -> None:
    """Read the memory of one storage: the number of its values, and the values, the little end first."""
    width = storage.dtype.itemsize if storage.dtype else 1
    count = int.from_bytes(stream.read(8), "little")
    if count * width != storage.memory.size:
        raise WeightsError(
            f"storage {short(key)} has {count} values where {storage.memory.size // width} are declared"
        )
    if stream.readinto(storage.memory) != storage.memory.size:  # type: ignore[attr-defined]
        raise WeightsError(f"storage {short(key)} was cut off")


def _text(key: Any) -> str:
    return key if isinstance(key, str) else ""
