"""Files of PyTorch's, ``.pt`` and ``.pth``: read without running anything that stands in them, and written.

Since version 1.6 a file is a zip of a pickle and of one entry for the memory of each storage; before, it was a row of
pickles with the memory behind them. The pickles are read by `pickled`, which knows tensors and plain values and
nothing else. What a file claims is checked against its size before memory is taken.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Mapping
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np

from workbench.base.errors import WeightsError, short
from workbench.base.files import open_file, replacing
from workbench.base.public import words
from workbench.interop.pickled import MAXIMUM_BYTES, Rules, Stream, read_pickle
from workbench.interop.pytorch_values import Bytes, Place, Storage, TensorRules
from workbench.interop.pytorch_writing import NAMES, write_zip
from workbench.interop.safetensors import arrays_of
from workbench.interop.stored_zip import StoredZip
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["load_pytorch", "read_stream", "save_pytorch"]

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
            return read_stream(stream, size)
        except WeightsError as error:
            raise WeightsError(f"{os.fspath(path)}: {error}") from None


def read_stream(
    stream: BinaryIO, size: int, place: Place = lambda *_: None, mapped: Bytes | None = None
) -> Any:
    """Return what a stream of `size` bytes holds; its start is where the stream is, at 0.

    `place` says where tensors are to lie; `mapped` are the bytes of the whole file, of which storages are then parts.
    """
    # As far as the magic of a tar, which stands at 257.
    start = stream.read(512)
    stream.seek(0)
    if start.startswith(b"PK\3\4"):
        return _load_zip(stream, size, place, mapped)
    if start.startswith(b"\x80"):
        if mapped is not None:
            raise WeightsError("mmap=True maps zips, as torch.save writes since 1.6: this file is older")
        return _load_row(stream, size, place)
    if start[257:262] == b"ustar":
        raise WeightsError(
            "the tar format of PyTorch before 0.1.10 is not read: write it anew, "
            "torch.save(torch.load(path, weights_only=False), path)"
        )
    if start[8:9] == b"{":
        raise WeightsError("it is safetensors, as it seems: wb.load_weights(path) reads them")
    raise WeightsError(f"it begins with {short(start[:8])}, as no file of torch.save does")


def save_pytorch(tensors: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write tensors or NumPy arrays by name as ``torch.load`` reads them; the file is replaced whole, or not at all.

    Names of dims are kept beside what PyTorch reads. Arrays that are the same memory stay so.

    Raises `QuantizationError` for quantized tensors; nothing is written then.
    """
    arrays_of(tensors, "save_pytorch")  # for what it refuses
    values = {key: one if isinstance(one, Tensor) else from_numpy(one) for key, one in tensors.items()}
    detached = OrderedDict((key, one.detach()) for key, one in values.items())
    # Versions of a module's parts, and what stands beside the keys of its state.
    if hasattr(tensors, "_metadata"):
        detached._metadata = tensors._metadata  # type: ignore[attr-defined]
    with replacing(path) as part, part.open("wb") as stream:
        write_zip(detached, stream)


# ------------------------------------------------------------------------------------------------ zipped


def _load_zip(stream: BinaryIO, size: int, place: Place, mapped: Bytes | None) -> Any:
    archive = StoredZip(stream, size, mapped)
    pickle = archive.read("data.pkl", MAXIMUM_BYTES)
    # Older files do not say it.
    order = archive.read("byteorder", 16) if archive.has("byteorder") else b"little"
    if order not in (b"little", b"big"):
        raise WeightsError(f"its byte order is {short(order)}, neither little nor big")
    if mapped is not None and order == b"big":
        raise WeightsError("mmap=True maps what was written with the little end first: this was not")
    names = _names(archive.read(NAMES, MAXIMUM_BYTES)) if archive.has(NAMES) else None
    rules = TensorRules(lambda key, size: archive.memory(f"data/{key}", size), order == b"big", place, names)
    return _called("data.pkl", Stream(BytesIO(pickle), len(pickle)), rules)


def _names(text: bytes) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"the names of dims are no JSON: {short(str(error))[1:-1]}") from None
    if not isinstance(found, dict):
        raise WeightsError("the names of dims are no object of JSON")
    return found


def _called(part: str, stream: Stream, rules: Rules) -> Any:
    try:
        return read_pickle(stream, rules)
    except WeightsError as error:
        raise WeightsError(f"{part}: {error}") from None


# --------------------------------------------------------------------------------------------- one by one


def _load_row(stream: BinaryIO, size: int, place: Place) -> Any:
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
    rules = TensorRules(lambda key, _: storages[key].memory, place=place)
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


__getattr__, __dir__ = words(__name__, __all__)
