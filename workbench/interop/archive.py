"""Portable archives of graphs, ``.wb``: the graph as text, its tensors, nothing that runs when it is read.

An archive is a zip of three entries that are stored as they are. ``workbench.json`` says what it is and in which
version; ``graph.json`` has the graph, line by line as `workbench.graph.text` prints it, which `workbench.graph.parse`
reads and checks; ``weights.safetensors`` has its tensors. Each entry has a checksum.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO, TypeGuard

import numpy as np

from workbench.base.dtypes import DType, as_dtype, is_dtype
from workbench.base.errors import QuantizationError, WeightsError, short
from workbench.base.files import open_file, replacing
from workbench.base.public import words
from workbench.base.quantized_array import PackedArray, QuantizedArray
from workbench.core.value import labelled, new
from workbench.graph import Graph, GraphError, check, parse, text
from workbench.interop import safetensors
from workbench.interop.stored_zip import StoredZip, add
from workbench.nn import graph_words as graph_words  # what graphs call by the names of that room
from workbench.tensor import Tensor

__all__ = [
    "MANIFEST",
    "load_graph",
    "read_archive",
    "read_graph",
    "read_metadata",
    "save_graph",
    "write_graph",
]

MANIFEST = "workbench.json"
"""The entry that says what the archive is."""

FORMAT = "workbench graph"
VERSION = 2
"""The second keeps codes of less than 8 bits packed, and scales of groups as tensors."""
_GRAPH, _WEIGHTS = "graph.json", "weights.safetensors"
_MOST_MANIFEST = 1 << 20
_MOST_GRAPH = 64 << 20
_OF_GROUPS = ("scale", "zero_point")


def save_graph(graph: Graph, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write a graph with its tensors: the file is replaced whole, or not at all.

    `metadata` is text by text, for whoever reads the archive. Parameters keep labels, names, and whether they ask for
    gradients; quantized tensors their codes and scales.

    Raises `WeightsError` for a graph that calls modules whole, whose code no archive holds, or holds tensors without
    numbers; `GraphError` for one that is not legal. Nothing is written then.

    >>> import tempfile, workbench as wb
    >>> layer = wb.nn.Linear(2, 3)
    >>> graph = wb.graph.trace(layer, wb.ones(4, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_graph(graph, f"{folder}/layer.wb", {"made for": "an example"})
    ...     again = load_graph(f"{folder}/layer.wb")
    ...     read_metadata(f"{folder}/layer.wb")
    {'made for': 'an example'}
    >>> x = wb.rand(4, 2)
    >>> bool((again(x) == layer(x)).all())
    True
    """
    content = _content(graph, metadata)
    with replacing(path) as part, part.open("wb") as stream:
        _write(stream, content)


def write_graph(graph: Graph, stream: BinaryIO, metadata: Mapping[str, str] | None = None) -> None:
    """Write a graph into a stream, as `save_graph` does."""
    _write(stream, _content(graph, metadata))


def load_graph(path: str | os.PathLike[str], *, mmap: bool = False) -> Graph:
    """Return the graph of an archive; it is checked, and nothing that stands in the file is run.

    With `mmap` its tensors are mapped, and read where they are looked at; no checksum is made of them then.

    Raises `WeightsError`, which names the file and the part, for what is damaged, is none or is of a later version.
    """
    stream, size = open_file(path)
    with stream:
        # Private: what is written into a tensor does not reach the file.
        mapped = np.memmap(stream, np.uint8, "c").view(np.ndarray) if mmap and size else None
        stream.seek(0)
        try:
            return read_graph(StoredZip(stream, size, mapped))
        except WeightsError as error:
            raise WeightsError(f"{os.fspath(path)}: {error}") from None


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the metadata that were given to `save_graph`. Raises `WeightsError` as `load_graph` does."""
    stream, size = open_file(path)
    with stream:
        try:
            return _manifest(StoredZip(stream, size))
        except WeightsError as error:
            raise WeightsError(f"{os.fspath(path)}: {error}") from None


# ------------------------------------------------------------------------------------------------ writing


def _content(graph: Graph, metadata: Mapping[str, str] | None) -> dict[str, list[Any]]:
    """Return what each entry holds, in parts; all that is refused is refused here."""
    check(graph)
    if graph.modules:
        raise WeightsError(
            f"{graph.name} calls {short(next(iter(graph.modules)))} as a whole module, whose code no archive holds: "
            "trace it into the graph"
        )
    if graph.held_functions:
        raise WeightsError(
            f"{graph.name} calls {short(next(iter(graph.held_functions)))} as a function of Python's, whose code no "
            "archive holds: write what it does in ops"
        )
    found = dict(metadata or {})
    if not all(isinstance(one, str) for pair in found.items() for one in pair):
        raise TypeError("metadata are text by text: write json.dumps(…)")
    tensors: dict[str, Any] = {}
    special: dict[str, Any] = {}
    for value, tensor in graph.held().items():
        found_here, told = _plain(value.name, tensor)
        tensors |= found_here
        if told:
            special[value.name] = told
    description = {
        "graph": text(graph).splitlines(),
        "trainable": [value.name for value, tensor in graph.held().items() if tensor.requires_grad],
        "tensors": special,
    }
    late = any("sizes" in one or "group" in one for one in special.values())
    manifest = {"format": FORMAT, "version": VERSION if late else 1, "metadata": found}
    return {
        MANIFEST: [_json(manifest, _MOST_MANIFEST, "metadata")],
        _GRAPH: [_json(description, _MOST_GRAPH, "the graph")],
        _WEIGHTS: list(safetensors.parts(tensors)),
    }


def _json(content: Any, most: int, part: str) -> bytes:
    written = json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
    if len(written) > most:
        raise WeightsError(f"{part} take {len(written)} bytes, and at most {most} are read again")
    return written


def _plain(name: str, tensor: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return tensors that safetensors have, by their names, and what they stand for where that is another."""
    payload = tensor.payload
    if isinstance(payload, QuantizedArray):
        return _codes(name, tensor, payload)
    if not isinstance(payload, np.ndarray):
        raise WeightsError(f"{short(name)} has no numbers that could be written: {type(payload).__name__}")
    if payload.dtype == np.complex128:
        # The format has none of this width: pairs of doubles, without names for the dim of two.
        pairs = payload.reshape(*payload.shape, 1).view(np.float64)
        return {name: pairs}, {"dtype": "complex128", "names": tensor._names}
    return {name: tensor.detach()}, {}


def _codes(name: str, tensor: Any, payload: QuantizedArray) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return codes as they lie in memory, and what they stand for: scales of groups are many, and tensors, too."""
    told: dict[str, Any] = {"dtype": payload.dtype.name, "axis": payload.axis}
    found: dict[str, Any] = {}
    if isinstance(payload, PackedArray):
        found[name] = payload.packed
        told |= {"sizes": list(payload.shape), "names": tensor._names, "labels": tensor._labels}
    else:
        found[name] = labelled(new(np.ascontiguousarray(payload.codes), tensor._names), tensor._labels)
    if payload.group is not None:
        told["group"] = payload.group
        found |= {f"{name}:{word}": _narrow(getattr(payload, word)) for word in _OF_GROUPS}
        return found, told
    many = payload.axis is not None
    for word in _OF_GROUPS:
        one = getattr(payload, word)
        told[word] = one.tolist() if many else one
    return found, told


def _narrow(values: Any) -> Any:
    """Return numbers in half the width where it holds them."""
    half = values.astype(np.float32 if values.dtype.kind == "f" else np.int32)
    return half if np.array_equal(half.astype(values.dtype), values) else values


def _write(stream: BinaryIO, content: dict[str, list[Any]]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, parts in content.items():
            add(archive, name, *parts)


# ------------------------------------------------------------------------------------------------ reading


def _manifest(archive: StoredZip) -> dict[str, str]:
    """Return the metadata of an archive that can be read."""
    if not archive.has(MANIFEST):
        raise WeightsError("it is no archive of a graph")
    found = safetensors.parse_json(archive.read(MANIFEST, _MOST_MANIFEST), MANIFEST)
    version = found.get("version")
    if found.get("format") != FORMAT or type(version) is not int or version < 1:
        raise WeightsError(
            f"{MANIFEST} says {short(found.get('format'))}, version {short(version)}: it is no {FORMAT}"
        )
    if version > VERSION:
        raise WeightsError(
            f"it is of version {version}, and this workbench reads versions up to {VERSION}: a later one wrote it"
        )
    metadata = found.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(one, str) for one in metadata.values()):
        raise WeightsError(f"the metadata in {MANIFEST} are not text by text")
    return metadata


def read_archive(stream: BinaryIO, size: int) -> tuple[Graph, dict[str, str]]:
    """Return the graph of an archive of `size` bytes, and its metadata. Raises `WeightsError`."""
    archive = StoredZip(stream, size)
    return read_graph(archive), _manifest(archive)


def read_graph(archive: StoredZip) -> Graph:
    """Return the graph of an archive that is open. Raises `WeightsError`."""
    _manifest(archive)
    told = safetensors.parse_json(archive.read(_GRAPH, _MOST_GRAPH), _GRAPH)
    lines, trainable, special = (told.get(key) for key in ("graph", "trainable", "tensors"))
    if not _texts(lines) or not _texts(trainable) or not isinstance(special, dict):
        raise WeightsError(f"{_GRAPH} has not the lines of a graph, and the names of what is trained")
    tensors: dict[str, Any] = safetensors.tensors_in(archive.memory(_WEIGHTS, archive.size(_WEIGHTS)))
    for name, one in special.items():
        if name not in tensors or not isinstance(one, dict):
            raise WeightsError(f"{_GRAPH} tells of the tensor {short(name)}, which is not there")
        tensors[name] = _special(name, tensors, one)
    for name in trainable:
        if name not in tensors or (not tensors[name].is_floating_point() and not tensors[name].is_complex()):
            raise WeightsError(f"{_GRAPH} trains {short(name)}, which is no tensor of floats")
        tensors[name].requires_grad_()
    try:
        return parse("\n".join(lines), tensors)
    except GraphError as error:
        raise WeightsError(f"{_GRAPH}: {error}") from None


def _texts(found: Any) -> TypeGuard[list[str]]:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


def _special(name: str, tensors: dict[str, Any], told: dict[str, Any]) -> Tensor:
    """Return the tensor that codes, or pairs of doubles, stand for; what stands beside them is taken out."""
    kind, tensor = told.get("dtype"), tensors[name]
    payload = tensor.payload
    try:
        if kind == "complex128":
            if payload.dtype != np.float64 or payload.shape[-1:] != (2,):
                raise ValueError("it is no pairs of doubles")
            whole = payload.view(np.complex128).reshape(payload.shape[:-1])
            names = told.get("names")
            return new(whole, None).rename(*names) if names else new(whole, None)
        if not isinstance(kind, str) or not is_dtype(kind) or not as_dtype(kind).is_quantized:
            raise ValueError(f"there is no type {short(kind)} of codes")
        dtype = as_dtype(kind)
        if "sizes" in told:
            payload, tensor = _unpacked(payload, told["sizes"], dtype), _named(told)
        axis, group = told.get("axis"), told.get("group")
        if not (axis is None or (type(axis) is int and 0 <= axis < payload.ndim)):
            raise ValueError(f"it has no axis {short(axis)}")
        if group is None:
            scale, zero_point = (_numbers(told.get(word), axis) for word in _OF_GROUPS)
        elif type(group) is not int or axis != payload.ndim - 1:
            raise ValueError(f"it has no groups of {short(group)} along dim {short(axis)}")
        else:
            scale, zero_point = (_of_groups(name, word, tensors, told) for word in _OF_GROUPS)
        codes = QuantizedArray(payload, scale, zero_point, dtype, axis, group)
        return labelled(new(codes, tensor._names), tensor._labels)  # type: ignore[no-any-return]
    except (ValueError, TypeError, QuantizationError) as error:
        raise WeightsError(f"the tensor {short(name)}: {error}") from None


def _unpacked(packed: Any, sizes: Any, dtype: DType) -> Any:
    """Return codes of less than 8 bits, one an entry."""
    if (
        not isinstance(sizes, list)
        or not all(type(one) is int and one >= 0 for one in sizes)
        or dtype.bits >= 8
    ):
        raise ValueError(f"no codes of {dtype.name} have the sizes {short(sizes)}")
    count, each = math.prod(sizes), 8 // dtype.bits
    if packed.dtype != np.uint8 or packed.shape != (-(-count // each),):
        raise ValueError(f"it has {packed.size} bytes for {count} codes of {dtype.bits} bits")
    shifts = np.arange(0, 8, dtype.bits, dtype=np.uint8)
    return ((packed[:, None] >> shifts) & np.uint8(2**dtype.bits - 1)).reshape(-1)[:count].reshape(sizes)


def _named(told: dict[str, Any]) -> Tensor:
    """Return a tensor without values, of the names and labels that the codes have."""
    rank = len(told["sizes"])
    words: dict[str, Any] = {}
    for word in ("names", "labels"):
        found = told.get(word)
        if found is not None and not (
            isinstance(found, list)
            and len(found) == rank
            and all(one is None or isinstance(one, str) for one in found)
        ):
            raise ValueError(f"its {word} are {short(found)}, and it has {rank} dims")
        words[word] = None if found is None else tuple(found)
    kept = new(np.zeros((0,) * rank, np.uint8), None)
    named = kept.rename(*words["names"]) if words["names"] else kept
    return labelled(named, words["labels"])  # type: ignore[no-any-return]


def _of_groups(name: str, word: str, tensors: dict[str, Any], told: dict[str, Any]) -> Any:
    """Return scales or zero points of groups: a tensor beside the codes, or, as the first version has it, a list."""
    found = tensors.pop(f"{name}:{word}", None)
    values = np.array(told.get(word), np.float64) if found is None else found.payload
    if word == "zero_point" and values.dtype.kind == "f" and not np.any(values % 1):
        return values.astype(np.int64)
    return values


def _numbers(told: Any, axis: int | None) -> Any:
    single = [told] if axis is None else told
    if not isinstance(single, list) or not all(type(one) in (int, float) for one in single):
        raise ValueError("its scales or zero points are no numbers")
    return told if axis is None else np.array(told)


__getattr__, __dir__ = words(__name__, __all__)
