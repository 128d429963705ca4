"""PyTorch's zip format written: values in a pickle, and beside it the memory of each storage that tensors lie in.

Tensors that lie in the same memory share a storage in the file, and so again when they are read.
"""

from __future__ import annotations

import ctypes
import json
import sys
import zipfile
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import numpy as np

from workbench.base.devices import Device
from workbench.base.dtypes import DType, dtype_of
from workbench.base.errors import NoNumbersError, UninitializedError, WeightsError
from workbench.base.quantized_array import QScheme, QuantizedArray
from workbench.base.sparse_array import SparseArray
from workbench.core import dispatch
from workbench.core.value import dims_of
from workbench.interop.pickle_writing import PickleWriter, Write, write_ordered
from workbench.interop.pickled import MAXIMUM_BYTES
from workbench.interop.pickled_objects import writer
from workbench.interop.pytorch_values import CODES, STORAGES, Bytes
from workbench.interop.stored_zip import FOLDER, add
from workbench.nn import Parameter
from workbench.nn.state import StateDict
from workbench.quantization.quantized.script_objects import ScriptObject
from workbench.tensor import Tensor

__all__ = ["NAMES", "write_zip"]

NAMES = "workbench.names"
"""Entry of the zip that has the names of dims, which PyTorch does not know, and reads past."""


@dataclass
class _Held:
    """A tensor's memory whose place in the file is not known before all tensors are."""

    array: np.ndarray[Any, Any]
    location: str
    dtype: DType


class _Tensors:
    """Writes tensors, and keeps what memory they lie in."""

    def __init__(self) -> None:
        self.held: list[_Held] = []
        self.names: dict[str, dict[str, Any]] = {}
        """By how many tensors are made before: the reader counts them as it makes them."""
        self._made = 0

    def find(self, kind: type) -> Write | None:
        """Return what writes values of a class: tensors of any, and plain objects."""
        if issubclass(kind, Parameter):
            return self.parameter
        return self.tensor if issubclass(kind, Tensor) else writer(kind)

    def parameter(self, w: PickleWriter, value: Parameter) -> None:
        """Write a parameter."""
        w.name("torch._utils", "_rebuild_parameter")
        w.parts.append(b"(")
        self._plain(w, value, False)
        w.write(value.requires_grad)
        w.call("collections", "OrderedDict")
        w.parts.append(b"tR")
        w.remember(value)

    def tensor(self, w: PickleWriter, value: Tensor) -> None:
        """Write a tensor."""
        self._plain(w, value, value.requires_grad)
        w.remember(value)

    def _plain(self, w: PickleWriter, value: Tensor, requires_grad: bool) -> None:
        try:
            sparse = isinstance(value.payload, SparseArray)
            payload = value.payload if sparse else dispatch.numbers(value)
        except (NoNumbersError, UninitializedError) as error:
            raise w.refuse(str(error)) from None
        if isinstance(payload, QuantizedArray):
            self._quantized(w, payload)
        elif isinstance(payload, SparseArray):
            self._sparse(w, payload)
        elif isinstance(payload, np.ndarray):
            self._array(w, "_rebuild_tensor_v2", payload, dtype_of(payload), str(value.device))
            self._end(w, requires_grad)
        else:
            raise w.refuse(f"a tensor of {type(payload).__name__} has no numbers that the format can hold")
        said = dims_of(value).labels
        if any(said):
            self.names[str(self._made - 1)] = {"dims": list(said), "named": value._names is not None}

    def _sparse(self, w: PickleWriter, payload: SparseArray) -> None:
        """Write values and their places, each as a tensor of its own."""
        w.name("torch._utils", "_rebuild_sparse_tensor")
        w.parts.append(b"(")
        w.call("torch.serialization", "_get_layout", f"torch.{payload.layout.name}")
        w.parts.append(b"(")
        places = [payload.index] if payload.starts is None else [payload.starts, payload.index[1]]
        for one in (*places, payload.values):
            self._array(w, "_rebuild_tensor_v2", one, dtype_of(one), "cpu")
            self._end(w, False)
        w.write(payload.shape)
        if payload.starts is None:
            w.write(payload.coalesced)
        w.parts.append(b"ttR")
        self._made += 1

    def _end(self, w: PickleWriter, requires_grad: bool) -> None:
        """Write the end of a tensor: whether it asks for a gradient, and that it has no hooks."""
        w.write(requires_grad)
        w.call("collections", "OrderedDict")
        w.parts.append(b"tR")
        self._made += 1

    def _quantized(self, w: PickleWriter, payload: QuantizedArray) -> None:
        if payload.group is not None or payload.dtype.bits < 8:
            raise w.refuse(
                f"no {payload.dtype.name} of scheme {payload.qscheme.value} in PyTorch's files: save its dequantize(), "
                "or int_repr() and its scales"
            )
        self._array(w, "_rebuild_qtensor", payload.codes, payload.dtype, "cpu")
        w.parts.append(b"(")
        # Real zero points are told by their type.
        w.name("torch", "per_tensor_affine" if payload.per_tensor else "per_channel_affine")
        if payload.qscheme is QScheme.PER_TENSOR_AFFINE:
            w.write(payload.scale)
            w.write(payload.zero_point)
        else:
            for values in (payload.scale, payload.zero_point):
                self._array(w, "_rebuild_tensor_v2", values, dtype_of(values), "cpu")
                self._end(w, False)
            w.write(payload.axis)
        w.parts.append(b"t")
        self._end(w, False)

    def _array(self, w: PickleWriter, function: str, array: Any, dtype: DType, location: str) -> None:
        """Write the beginning of a tensor: its storage, and how it lies in that."""
        width = array.itemsize
        # The format has neither steps backwards nor such as are no whole values.
        if any(step < 0 or step % width for step in array.strides) or not array.flags.aligned:
            array = array.copy()
        held = _Held(array, location, dtype)
        self.held.append(held)
        w.name("torch._utils", function)
        w.parts += [b"(", held]
        w.write(array.shape)
        w.write(tuple(step // width for step in array.strides))


def _extent(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return where an array's first value begins, and where its last one ends."""
    first = array.ctypes.data
    span = sum((count - 1) * step for count, step in zip(array.shape, array.strides, strict=True))
    return first, first + span + array.itemsize


@dataclass
class _Storage:
    """Memory that is written once: from where to where, and what lies in it."""

    begin: int
    end: int
    held: list[_Held]

    def memory(self) -> Bytes:
        if self.begin == self.end:
            return np.empty(0, np.uint8)
        # Between the values of a tensor lie others, of the same memory: PyTorch, too, writes all of it.
        block = (ctypes.c_char * (self.end - self.begin)).from_address(self.begin)
        return np.frombuffer(cast(Any, block), np.uint8)


def _gather(held: list[_Held]) -> list[_Storage]:
    """Return the storages that tensors lie in: what overlaps is one."""
    found = [_Storage(0, 0, [one]) for one in held if not one.array.size]
    current: _Storage | None = None
    filled = [(*_extent(one.array), one) for one in held if one.array.size]
    for begin, end, one in sorted(filled, key=lambda each: each[0]):
        if current is None or begin >= current.end:
            current = _Storage(begin, end, [one])
            found.append(current)
            continue
        first = current.held[0]
        if first.dtype is not one.dtype or (begin - current.begin) % one.array.itemsize:
            raise WeightsError(
                f"tensors of type {first.dtype.name} and {one.dtype.name} share memory, which the format cannot say: "
                "save a clone() of one of them"
            )
        current.end = max(current.end, end)
        current.held.append(one)
    # In the order in which the tensors stand, so that equal values give equal files.
    order = {id(one): i for i, one in enumerate(held)}
    return sorted(found, key=lambda storage: min(order[id(one)] for one in storage.held))


_CLASSES = {dtype: name for name, dtype in (STORAGES | CODES).items()}


def _reference(number: int, storage: _Storage, held: _Held) -> bytes:
    """Return a storage as a pickle names it, and where in it a tensor begins."""
    width = held.array.itemsize
    w = PickleWriter({}, lambda _: None)
    w.parts.clear()
    w.parts += [b"("]
    w.write("storage")
    w.name("torch", _CLASSES[held.dtype])
    for one in (str(number), held.location, (storage.end - storage.begin) // width):
        w.write(one)
    w.parts.append(b"tQ")
    w.write((held.array.ctypes.data - storage.begin) // width if held.array.size else 0)
    return b"".join(w.parts)


def write_zip(value: Any, stream: BinaryIO) -> None:
    """Write a value into a stream, as ``torch.load`` reads it.

    Raises `WeightsError` before anything is written.
    """
    tensors = _Tensors()
    w = PickleWriter(_OWN, tensors.find)
    w.write(value)
    w.parts.append(b".")
    storages = _gather(tensors.held)
    places = {id(one): _reference(i, each, one) for i, each in enumerate(storages) for one in each.held}
    pickle = b"".join(one if isinstance(one, bytes) else places[id(one)] for one in w.parts)
    if len(pickle) > MAXIMUM_BYTES:
        raise WeightsError(
            f"the plain values come to {len(pickle)} bytes, and {MAXIMUM_BYTES} are read again: save arrays as "
            "tensors"
        )
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry("data.pkl"), pickle)
        archive.writestr(_entry("byteorder"), sys.byteorder)
        if tensors.names:
            archive.writestr(_entry(NAMES), json.dumps(tensors.names))
        for i, each in enumerate(storages):
            add(archive, f"data/{i}", cast(Any, each.memory()))
        archive.writestr(_entry("version"), "3\n")


def _dtype(w: PickleWriter, value: DType) -> None:
    w.name("torch", value.name)


def _scheme(w: PickleWriter, value: QScheme) -> None:
    w.name("torch", value.value)


def _device(w: PickleWriter, value: Device) -> None:
    w.call("torch", "device", value.type, *(() if value.index is None else (value.index,)))
    w.remember(value)


def _script(w: PickleWriter, value: ScriptObject) -> None:
    w.name("torch", "ScriptObject")
    w.parts.append(b")\x81")
    w.row(value.__getstate__())
    w.parts.append(b"b")
    w.remember(value)


_OWN: dict[type, Write] = {
    DType: _dtype, Device: _device, QScheme: _scheme, StateDict: write_ordered, ScriptObject: _script,
}  # fmt: skip
"""Plain values that only the workbench has, by their class."""


def _entry(name: str) -> zipfile.ZipInfo:
    # Without the time, so that the same values make the same file.
    return zipfile.ZipInfo(f"{FOLDER}/{name}")
