"""Whole checkpoints in PyTorch's format under PyTorch's words, `save` and `load`; offered by the package itself.

Nothing that stands in a file is run.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, cast

import numpy as np

from workbench.base.devices import CPU, Device
from workbench.base.errors import WeightsError
from workbench.base.files import open_file, replacing
from workbench.base.public import words
from workbench.graph import Graph
from workbench.interop.archive import MANIFEST, read_graph, write_graph
from workbench.interop.pytorch_files import read_stream
from workbench.interop.pytorch_values import Bytes
from workbench.interop.pytorch_writing import write_zip
from workbench.interop.safe_globals import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from workbench.interop.stored_zip import StoredZip
from workbench.tensor.factories import from_numpy

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

MapLocation = Callable[[Any, str], Any] | Mapping[str, Any] | Device | str | None
"""Where tensors are to lie: a device for all, by the name of where they were, or a function of memory and that name."""


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write a value as ``torch.load`` and `load` read it, at a path or into a file that is open for writing.

    It may be tensors and plain values, in dicts, lists, tuples and sets: a model's and an optimizer's ``state_dict()``,
    numbers, text, types, arrays, an ``argparse.Namespace``. Tensors that share memory share it again when they are
    read; names of dims are kept beside what PyTorch reads. A file at a path is replaced whole, or not at all.

    A graph is written as a portable archive, ``.wb``, with its tensors and without a pickle: see
    `workbench.interop.archive`.

    Raises `WeightsError` with the place of what is no plain value, such as a module, and what to save instead;
    ValueError for another format. Nothing is written then.

    >>> import io, workbench as wb
    >>> model = wb.nn.Linear(3, 2)
    >>> file = io.BytesIO()
    >>> save({"model": model.state_dict(), "epoch": 3}, file)
    >>> _ = file.seek(0)
    >>> load(file)["epoch"]
    3
    """
    if getattr(pickle_module, "__name__", "pickle") != "pickle":
        raise ValueError("save: pickle_module is not used: the file is written by the workbench's own writer")
    if pickle_protocol not in range(2, 6):
        raise ValueError(f"save: pickle_protocol is 2, or up to 5 as it is read, got {pickle_protocol!r}")
    if not _use_new_zipfile_serialization:
        raise ValueError(
            "save: files are zips, which torch.load reads since 1.6; the format of before is read, and not written"
        )
    write = write_graph if isinstance(obj, Graph) else write_zip
    if isinstance(f, str | os.PathLike):
        with replacing(f) as part, part.open("wb") as stream:
            write(obj, stream)
    elif callable(getattr(f, "write", None)):
        # Whole before the first byte goes out: what is refused leaves no half of a file.
        whole = io.BytesIO()
        write(obj, whole)
        f.write(whole.getbuffer())
    else:
        raise TypeError(f"save: expected a path or a file open for writing bytes, got {type(f).__name__}")


def load(
    f: Any,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """Return what `save` or ``torch.save`` wrote, from a path or a file that is open for reading; also a graph.

    Nothing that stands in the file is run, whatever `weights_only` says: a whole module is refused, with its class
    and what to save instead. Tensors lie on the CPU unless `map_location` says otherwise: a device, a dict of devices
    by the names of those that they were saved from, or a function of memory and such a name. With `mmap` a file at a
    path is mapped, and read where it is looked at.

    Raises `WeightsError`, which names the file and the place in it; OSError where there is no such file.
    """
    if getattr(pickle_module, "__name__", "pickle") != "pickle":
        raise ValueError("load: pickle_module is not used: nothing that stands in the file is run")
    place = _placing(map_location)
    if not isinstance(f, str | os.PathLike):
        if mmap:
            raise ValueError("load: f must be a path in order to use mmap=True")
        stream, size = _opened(f)
        return _read(stream, size, place)
    stream, size = open_file(f)
    with stream:
        # Private: what is written into a tensor does not reach the file.
        mapped = np.memmap(stream, np.uint8, "c").view(np.ndarray) if mmap and size else None
        stream.seek(0)
        try:
            return _read(stream, size, place, mapped)
        except WeightsError as error:
            raise WeightsError(f"{os.fspath(f)}: {error}") from None


def _read(stream: BinaryIO, size: int, place: Any, mapped: Any = None) -> Any:
    begins = stream.read(4)
    stream.seek(0)
    if begins == b"PK\3\4":
        archive = StoredZip(stream, size, mapped)
        if archive.has(MANIFEST):
            return read_graph(archive)
        stream.seek(0)
    return read_stream(stream, size, place, mapped)


def _opened(f: Any) -> tuple[BinaryIO, int]:
    """Return a file from where it is as one that begins there, and its size."""
    if not callable(getattr(f, "read", None)):
        raise TypeError(f"load: expected a path or a file open for reading bytes, got {type(f).__name__}")
    if isinstance(f, io.BytesIO | io.BufferedReader) and f.seekable() and f.tell() == 0:
        size = f.seek(0, io.SEEK_END)
        f.seek(0)
        return cast(BinaryIO, f), size
    content = f.read()
    if not isinstance(content, bytes | bytearray):
        raise TypeError("load: the file is open for text: open it for bytes, open(path, 'rb')")
    return io.BytesIO(content), len(content)


def _placing(map_location: Any) -> Callable[[Bytes, str], Device | None]:
    """Return a function that says where memory is to lie that was saved from a device."""

    def device(word: Any) -> Device | None:
        found = Device(word)
        return None if found == CPU else found

    if map_location is None:
        return lambda memory, location: None
    if isinstance(map_location, Mapping):
        return lambda memory, location: device(map_location.get(location, CPU))
    if callable(map_location):
        # It may hand the memory back as it is, move it, or leave it to us.
        def ask(memory: Bytes, location: str) -> Device | None:
            moved = map_location(from_numpy(memory), location)
            return None if moved is None else device(getattr(moved, "device", moved))

        return ask
    everywhere = device(map_location)
    return lambda memory, location: everywhere


__getattr__, __dir__ = words(__name__, __all__)
