"""Tensors around memory that others own: arrays, buffers, and what speaks DLPack or NumPy's protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base import dlpack
from workbench.base.dtypes import as_dtype, get_default_dtype, plain_dtype
from workbench.base.errors import DeviceError
from workbench.core.backend import device_of, find
from workbench.core.lending import lend
from workbench.tensor.factories import array_by_protocol, finish, from_numpy, tensor
from workbench.tensor.tensor import Tensor

__all__ = ["as_tensor", "asarray", "from_dlpack", "frombuffer"]


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor that shares the memory of an array of another library, by the DLPack protocol.

    `ext_tensor` has ``__dlpack__`` and ``__dlpack_device__``, or is a capsule made by the former. The tensor is on the
    device of the array unless `device` names another; `copy` says that memory must (True) or must not (False) be its
    own. Raises BufferError for a capsule that was used, is another's, or describes no possible memory.

    >>> import numpy as np
    >>> array = np.zeros(2)
    >>> from_dlpack(array).fill_(3.0), array.tolist()
    (tensor([3., 3.], dtype=workbench.float64), [3.0, 3.0])
    """
    if isinstance(ext_tensor, Tensor):
        if ext_tensor._requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        result = ext_tensor.detach()
    elif isinstance(ext_tensor, np.ndarray):
        result = from_numpy(ext_tensor)
    elif dlpack.is_capsule(ext_tensor):
        result = from_numpy(dlpack.array_of(ext_tensor))
    elif hasattr(ext_tensor, "__dlpack__") and hasattr(ext_tensor, "__dlpack_device__"):
        result = _shared(ext_tensor)
    else:
        raise TypeError(
            f"from_dlpack: {type(ext_tensor).__name__} has no __dlpack__ and __dlpack_device__: give an array of a "
            "library that speaks DLPack, or a capsule"
        )
    return _placed(result, device, copy, "from_dlpack")


def _shared(thing: Any) -> Tensor:
    """Return a tensor around the memory of `thing`, on the device where it is."""
    code = dlpack.device_code(thing)[0]
    name = dlpack.DEVICES.get(code)
    if name == "cpu":
        return from_numpy(dlpack.array_of(dlpack.capsule_of(thing)))
    if name is None:
        raise DeviceError(f"from_dlpack: there is no name for DLPack's device number {code}")
    _, backend = find(name)
    if backend is None or backend.from_dlpack is None:
        raise DeviceError(
            f"from_dlpack: the backend {name!r} does not take memory over. Copy the array to the CPU first."
        )
    return finish(backend.from_dlpack(thing), None, False)


def _placed(result: Tensor, device: Any, copy: bool | None, op: str) -> Tensor:
    """Return `result` on a device; in memory of its own where `copy` says so."""
    if device is not None:
        where = find(device)[0]
        here = device_of(result.payload)
        if where != here and not (where.index is None and where.type == here.type):
            if copy is False:
                raise ValueError(f"{op}: the values are on {here}: they get to {where} only by a copy")
            return result.to(where)
    return result.clone() if copy else result


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """Return a tensor of one dim that shares the memory of a buffer, such as bytes or a bytearray.

    Of the buffer, `count` values from byte `offset` on are taken; -1 takes all. What is in a read-only buffer cannot be
    changed in place. Raises ValueError where the buffer is no buffer, or too short.

    >>> frombuffer(bytearray([1, 0, 2, 0]), dtype="int16")
    tensor([1, 2], dtype=workbench.int16)
    """
    target = plain_dtype(dtype).numpy
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not view.c_contiguous:
        raise ValueError("frombuffer: the buffer has gaps: give one whose bytes follow each other")
    length, size = view.nbytes, target.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0:
        if (length - offset) % size:
            raise ValueError(
                f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of "
                f"element size ({size})"
            )
        count = (length - offset) // size
    if offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    raw = np.frombuffer(view, np.uint8, count * size, offset)
    if raw.__array_interface__["data"][0] % target.alignment:
        raise ValueError(
            f"frombuffer: values of {size} bytes cannot begin at byte {offset} of this buffer: their address must be a "
            f"multiple of {target.alignment}. Copy the bytes first: buffer[{offset}:]"
        )
    result = finish(raw.view(target), None, requires_grad)
    lend(result)
    return result


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return `data` as a tensor, without a copy where it is one (or an array) of that type on that device already.

    Arrays of other libraries come by DLPack, else by NumPy's protocol.

    >>> import numpy as np
    >>> array = np.zeros(2, np.float32)
    >>> as_tensor(array).fill_(3.0), array.tolist()
    (tensor([3., 3.]), [3.0, 3.0])
    """
    if isinstance(data, Tensor):
        result = data
    elif isinstance(data, np.ndarray):
        result = from_numpy(data)
    elif isinstance(data, np.generic):
        # It has a type to keep, and no memory to share.
        result = tensor(data)
    elif hasattr(data, "__dlpack__") and hasattr(data, "__dlpack_device__"):
        result = _shared(data)
    elif hasattr(data, "__array__"):
        result = from_numpy(array_by_protocol(data))
    else:
        result = tensor(data, dtype=dtype)
    targets = [one for one in (dtype, device) if one is not None]
    return result.to(*targets) if targets else result


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return `obj` as a tensor: in shared memory where it can be, in its own where `copy` is True.

    A buffer is read in its own format, plain bytes as values of `dtype`. With ``copy=False`` what cannot be shared is
    refused with ValueError. A tensor comes off its tape unless `requires_grad` is True.

    >>> asarray([1, 2]), asarray(bytes(4), dtype="float32")
    (tensor([1, 2]), tensor([0.]))
    """
    if isinstance(obj, bytes | bytearray | memoryview) or (
        not hasattr(obj, "__array__") and not hasattr(obj, "__dlpack__") and _is_buffer(obj)
    ):
        result = _of_buffer(obj, dtype)
    elif copy is False and not (
        isinstance(obj, Tensor) or any(hasattr(obj, word) for word in ("__dlpack__", "__array__"))
    ):
        raise ValueError(
            f"asarray: the values of a {type(obj).__name__} cannot be shared: leave copy=False away"
        )
    else:
        # A type is given at once where values are read one by one: a float64 loses nothing on the way.
        result = as_tensor(obj, dtype=None if hasattr(obj, "__array__") else dtype)
    target = None if dtype is None else as_dtype(dtype)
    if target is not None and result.dtype is not target:
        if copy is False:
            raise ValueError(
                f"can't alias tensor with dtype '{result.dtype.name}' into dtype '{target.name}'."
            )
        # The cast has made the copy.
        result, copy = result.to(target), None
    result = _placed(result, device, copy, "asarray")
    if requires_grad != result._requires_grad:
        return result.detach().requires_grad_(requires_grad)
    return result


def _is_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def _of_buffer(obj: Any, dtype: Any) -> Tensor:
    view = memoryview(obj)
    # Bytes have no type of their own: PyTorch reads values of the default type in them.
    if view.format in ("B", "b", "c") and view.ndim == 1:
        return frombuffer(obj, dtype=get_default_dtype() if dtype is None else dtype)
    return from_numpy(np.asarray(view))
