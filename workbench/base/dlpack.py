"""DLPack: memory handed from one library to another without a copy, each field checked before it is believed.

NumPy writes capsules for the types it knows; bfloat16 is written as its bits, and the type then set right. Reading is
done here, field by field, because a capsule is a pointer to a structure that anybody may have filled: sizes, strides
and types are checked against what an address can be before any memory is looked at. What is refused stays whole, and
its owner's.

Reference: https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["CPU_CODE", "DEVICES", "array_of", "capsule_of", "device_code", "export", "is_capsule"]

# 3 and 11 are memory of the host that a device can reach.
DEVICES = {
    1: "cpu",
    2: "cuda",
    3: "cpu",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    10: "rocm",
    11: "cpu",
    14: "oneapi",
}
"""Kinds of devices by DLPack's numbers; memory of the host that a GPU sees counts as the host's."""
CPU_CODE = 1

_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_TYPES = {
    **{(_INT, bits): f"<i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{(_UINT, bits): f"<u{bits // 8}" for bits in (8, 16, 32, 64)},
    **{(_FLOAT, bits): f"<f{bits // 8}" for bits in (16, 32, 64)},
    **{(_COMPLEX, bits): f"<c{bits // 8}" for bits in (64, 128)},
    (_BFLOAT, 16): "<u2",
    (_BOOL, 8): "|b1",
}
"""How NumPy writes each type that DLPack's code and bits name."""

MOST_DIMS = 64
MOST_BYTES = 1 << 48
"""No process has an address further than this from another."""
_READ_ONLY = 1


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("index", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_KINDS: dict[bytes, type[_Managed] | type[_Versioned]] = {
    b"dltensor": _Managed,
    b"dltensor_versioned": _Versioned,
}
_USED = {name: b"used_" + name for name in _KINDS}  # kept: a capsule borrows the text of its name

_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def is_capsule(thing: object) -> bool:
    """Say whether `thing` is a capsule, which only code of another library can make.

    >>> is_capsule(np.ones(2).__dlpack__()), is_capsule(3)
    (True, False)
    """
    return type(thing).__name__ == "PyCapsule"


def _managed(capsule: Any) -> tuple[bytes, Any, int]:
    """Return the name of a capsule, the structure in it, and its address. Raises `BufferError` where it is another."""
    name = _name(capsule)
    if name in _USED.values():
        raise BufferError(
            "this DLPack capsule was used already: the memory in it belongs to whoever took it. Ask the array for "
            "another, or keep the first result."
        )
    if name not in _KINDS:
        shown = None if name is None else name[:80].decode(errors="replace")
        raise BufferError(f"expected a capsule called 'dltensor' or 'dltensor_versioned', got {shown!r}")
    address = _pointer(capsule, name)
    managed = _KINDS[name].from_address(address)
    if isinstance(managed, _Versioned) and managed.major > 1:
        raise BufferError(
            f"the DLPack capsule has version {managed.major}.{managed.minor}; this reads versions below 2"
        )
    return name, managed, address


def export(array: np.ndarray[Any, Any], **wishes: Any) -> Any:
    """Return a capsule that shares the memory of `array`; `wishes` are those of the protocol (max_version, copy, …).

    Raises `BufferError` where the array cannot be shared as asked.
    """
    if array.dtype != ml_dtypes.bfloat16:
        return array.__dlpack__(**wishes)
    capsule = array.view(np.uint16).__dlpack__(**wishes)
    managed = _managed(capsule)[1]
    managed.tensor.dtype.code = _BFLOAT  # nobody else has seen this capsule yet
    return capsule


def device_code(thing: Any) -> tuple[int, int]:
    """Return the device that `thing` says its memory is on, by DLPack's number and index.

    >>> device_code(np.ones(2))
    (1, 0)
    """
    said = thing.__dlpack_device__()
    if not isinstance(said, tuple) or len(said) != 2 or not all(isinstance(one, int) for one in said):
        raise BufferError(
            f"{type(thing).__name__}.__dlpack_device__() must return two whole numbers, got {said!r:.80}"
        )
    return int(said[0]), int(said[1])


def capsule_of(thing: Any, **wishes: Any) -> Any:
    """Ask `thing` for a capsule, in the words of the present protocol or, where it does not know them, the first."""
    try:
        capsule = thing.__dlpack__(max_version=(1, 0), **wishes)
    except TypeError:
        # Libraries from before version 1 of the protocol know no such word.
        capsule = thing.__dlpack__()
    if not is_capsule(capsule):
        raise BufferError(
            f"{type(thing).__name__}.__dlpack__() must return a capsule, got {type(capsule).__name__}"
        )
    return capsule


class _Memory:
    """Memory of another library: NumPy holds on to this, and its end is the signal to give the memory back."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def array_of(capsule: Any) -> np.ndarray[Any, Any]:
    """Return an array around the memory in a capsule, which is used up by this.

    Raises `BufferError` for a capsule that was used or is none of DLPack's, for memory that is not the host's, and for
    sizes, strides or types that cannot be. The capsule is then as it was.

    >>> source = np.arange(3)
    >>> np.shares_memory(array_of(source.__dlpack__()), source)
    True
    """
    if not is_capsule(capsule):
        raise TypeError(f"expected a DLPack capsule, got {type(capsule).__name__}")
    name, managed, address = _managed(capsule)
    interface, bits = _interface(managed.tensor)
    if isinstance(managed, _Versioned) and managed.flags & _READ_ONLY:
        # The second of the two says that nobody may write there.
        interface["data"] = (interface["data"][0], True)
    memory = _Memory(interface)
    array = np.asarray(memory)
    if array.shape != interface["shape"]:
        raise BufferError(f"the capsule's sizes {interface['shape']} make no array")
    # All that could be refused has been: from here on the memory is ours, and ours to give back.
    _set_name(capsule, _USED[name])
    if managed.deleter:
        # Not at the end of the process: arrays may still be in use then.
        weakref.finalize(memory, _Deleter(managed.deleter), address).atexit = False
    return array.view(ml_dtypes.bfloat16) if bits else array


def _interface(tensor: _Tensor) -> tuple[dict[str, Any], bool]:
    """Return what NumPy must know of the memory, and whether it holds the bits of bfloat16; refuse what cannot be."""
    if DEVICES.get(tensor.device.kind) != "cpu":
        where = DEVICES.get(tensor.device.kind, f"number {tensor.device.kind}")
        raise BufferError(f"the memory in the capsule is on device {where!r}, not on the CPU")
    ndim = tensor.ndim
    if not 0 <= ndim <= MOST_DIMS:
        raise BufferError(f"the capsule says it has {ndim} dims: there are 0 to {MOST_DIMS}")
    if ndim and not tensor.shape:
        raise BufferError(f"the capsule says it has {ndim} dims and gives no sizes")
    code, bits, lanes = tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
    typestr = _TYPES.get((code, bits))
    if typestr is None or lanes != 1:
        raise BufferError(
            f"the capsule's values have a type that there is none for here: code {code}, {bits} bits, {lanes} lanes"
        )
    shape = tuple(tensor.shape[:ndim]) if ndim else ()
    itemsize = bits // 8
    if any(size < 0 for size in shape):
        raise BufferError(f"the capsule has negative sizes: {list(shape)}")
    count = _count(shape)
    strides = tuple(tensor.strides[:ndim]) if ndim and tensor.strides else _row_major(shape)
    # Strides may be negative: the values reach below the start as well as above it.
    low = high = 0
    if count:
        for size, stride in zip(shape, strides, strict=True):
            reach = (size - 1) * stride * itemsize
            low, high = low + min(reach, 0), high + max(reach, 0)
    start = (tensor.data or 0) + tensor.byte_offset
    # Nothing will be read, so that any address may stand there.
    if not count:
        strides, start = _row_major(shape), 0
    elif not tensor.data:
        raise BufferError(f"the capsule says it has {count} values and gives no memory")
    elif high - low > MOST_BYTES or start + low < 0 or start + high + itemsize > 1 << 63:
        raise BufferError(f"the capsule's sizes {list(shape)} and strides {list(strides)} fit into no memory")
    interface = {
        "version": 3,
        "shape": shape,
        "typestr": typestr,
        "data": (start, False),
        "strides": tuple(stride * itemsize for stride in strides),
    }
    return interface, code == _BFLOAT


def _count(shape: tuple[int, ...]) -> int:
    """Return how many values there are; refuse sizes whose product overflows, beside a size of 0 too."""
    extent = math.prod(max(size, 1) for size in shape)
    if extent > 1 << 62:
        raise BufferError(f"the capsule's sizes {list(shape)} fit into no memory: their product overflows")
    return 0 if 0 in shape else extent


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in values of rows that lie one after another."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
