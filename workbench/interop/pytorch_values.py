"""What a file of PyTorch's may hold: tensors and plain values, made of what its pickle says once that is checked."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from workbench.base.devices import Device
from workbench.base.dims import MAXIMUM_DIMS
from workbench.base.dtypes import DIFFERENTIABLE, DType, as_dtype
from workbench.base.errors import WeightsError, short
from workbench.interop.pickled import Function, Kind, Rules, check_keys, is_nothing
from workbench.interop.pickled_result import Refused, Token
from workbench.nn import Parameter
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["STORAGES", "Bytes", "Storage", "TensorRules"]

MAXIMUM_REPEATED = 1 << 30
"""Most bytes that a tensor comes to which has values of its storage more than once: a copy of it takes that memory."""

Bytes = np.ndarray[Any, Any]
"""Memory: an array of uint8."""

STORAGES: dict[str, DType] = {
    f"{kind}Storage": as_dtype(name)
    for kind, name in {
        "Double": "float64",
        "Float": "float32",
        "Half": "float16",
        "BFloat16": "bfloat16",
        "Long": "int64",
        "Int": "int32",
        "Short": "int16",
        "Char": "int8",
        "Byte": "uint8",
        "Bool": "bool",
        "ComplexDouble": "complex128",
        "ComplexFloat": "complex64",
    }.items()
}
"""Classes of storages, in ``torch`` and ``torch.cuda``, and their types here."""

PLAIN_TYPES = frozenset(one.name for one in STORAGES.values())


class _Memory(Protocol):
    """Gives the memory of a storage."""

    def __call__(self, key: str, size: int, /) -> Bytes: ...


@dataclass(frozen=True)
class Storage(Token):
    """The memory of one storage, or a part of it, and the type it was declared with: None for bytes."""

    memory: Bytes
    dtype: DType | None


class TensorRules(Rules):
    """Names and references in a file of PyTorch's: tensors and plain values."""

    def __init__(self, memory: _Memory, big: bool = False) -> None:
        self._memory = memory
        self._big = big
        self.storages: dict[str, Storage] = {}

    def find(self, name: str) -> Any:
        # Where a storage was is of no matter: its values are read to the CPU.
        found = _KNOWN.get(name.replace("torch.cuda.", "torch.", 1) if name.endswith("Storage") else name)
        if found is not None:
            return found
        room, _, last = name.rpartition(".")
        if room == "torch" and last in PLAIN_TYPES:
            return as_dtype(last)
        if "qtensor" in last or last.startswith(("QInt", "QUInt")):
            return Refused(f"a quantized tensor ({short(name)[1:-1]}) is not read: save tensor.dequantize()")
        words = ""
        if last[:1].isupper():
            words = ": save a module's state_dict(), not the module, and plain values beside it"
        return Refused(f"it names {short(name)[1:-1]}, which is not read{words}")

    def reference(self, key: Any) -> Any:
        word = key[0] if isinstance(key, tuple) and len(key) > 1 and isinstance(key[0], str) else ""
        if word == "module":
            return key[1]  # a class, with the source of it: it was refused already, or is none of tensors
        if word != "storage" or len(key) not in (5, 6):
            return Refused("it refers to something outside that is no storage")
        _, kind, name, _, count, *part = key
        if not isinstance(kind, Kind):
            return kind if isinstance(kind, Refused) else Refused("a storage is of no class")
        if not isinstance(name, str) or not _is_size(count):
            raise WeightsError(f"a storage is called {short(name)} and has {short(count)} values")
        dtype: DType | None = kind.value
        width = dtype.itemsize if dtype else 1
        size = count * width
        found = self.storages.get(name)
        if found is None:
            found = Storage(f"storage {short(name)}", self._memory(name, size), dtype)
            if self._big:
                _turn(found)
            _check_bools(found)
            self.storages[name] = found
        if found.memory.size != size or found.dtype is not dtype:
            raise WeightsError(f"storage {short(name)} is declared twice, and differently")
        if not part or part[0] is None:
            return found
        if not isinstance(part[0], tuple) or len(part[0]) != 3 or not all(map(_is_size, part[0][1:])):
            raise WeightsError(f"storage {short(name)} is a view {short(part[0])}")
        _, offset, length = part[0]
        if offset + length > count:
            raise WeightsError(
                f"a view of storage {short(name)} ends at {offset + length} and it has {count} values"
            )
        return Storage(found.name, found.memory[offset * width : (offset + length) * width], dtype)


def _turn(storage: Storage) -> None:
    """Exchange the bytes of values that were written with the big end first."""
    if storage.dtype is None:
        raise WeightsError("a storage without a type was written with the big end first")
    # Of a complex number each part is turned by itself.
    width = storage.dtype.itemsize // (2 if storage.dtype.is_complex else 1)
    storage.memory.view(f"u{width}").byteswap(inplace=True)


def _check_bools(storage: Storage) -> None:
    bools = storage.dtype is not None and storage.dtype.kind == "b"
    if bools and storage.memory.size and storage.memory.max() > 1:
        raise WeightsError("a storage of bools has bytes that are neither 0 nor 1")


def _is_size(value: Any) -> bool:
    # Small enough that no product with the size of an item leaves 64 bits.
    return type(value) is int and 0 <= value < 2**59


def _rebuild(storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> Tensor:
    return _rebuild_any(storage, offset, size, stride, None, *rest)


def _rebuild_of_type(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any, *rest: Any
) -> Tensor:
    if not isinstance(dtype, DType):
        raise WeightsError("a tensor's type is none")
    return _rebuild_any(storage, offset, size, stride, dtype, requires_grad, hooks, *rest)


def _rebuild_any(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    dtype: DType | None,
    requires_grad: Any = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    """Return the tensor that lies in `storage` by these numbers, once they are checked."""
    if not isinstance(storage, Storage):
        raise WeightsError("a tensor lies in no storage")
    target = storage.dtype or dtype
    if target is None or (dtype is not None and dtype is not target):
        raise WeightsError(f"a tensor's type is {dtype}, that of its storage {storage.dtype}")
    _check_extras(requires_grad, hooks, metadata)
    width = target.itemsize
    for what, values in (("sizes", size), ("strides", stride)):
        if not isinstance(values, tuple) or len(values) > MAXIMUM_DIMS or not all(map(_is_size, values)):
            raise WeightsError(f"a tensor has {what} {short(values)}")
    if len(size) != len(stride) or not _is_size(offset):
        raise WeightsError(
            f"a tensor has sizes {short(size)}, strides {short(stride)} and begins at {short(offset)}"
        )
    last = offset + sum((count - 1) * step for count, step in zip(size, stride, strict=True))
    # An empty tensor has no last value, and may begin where its storage ends.
    if 0 in size:
        last = offset - 1
    room = storage.memory.size // width
    # NumPy multiplies the sizes of an empty array as well, but for those that are 0.
    if last >= room or offset > room or math.prod(filter(None, size)) * width >= 2**60:
        raise WeightsError(
            f"a tensor of sizes {short(size)} and strides {short(stride)} from {offset} on does not lie within "
            f"its storage of {room} values"
        )
    claimed = math.prod(size) * width
    if claimed > max(storage.memory.size, MAXIMUM_REPEATED):
        raise WeightsError(
            f"a tensor of sizes {short(size)} and strides {short(stride)} repeats {storage.memory.size} bytes until "
            f"they are {claimed}, more than the {MAXIMUM_REPEATED} that are allowed"
        )
    # There may be no memory at all that it could lie in.
    if 0 in size:
        array = np.empty(size, target.numpy)
    else:
        steps = tuple(step * width for step in stride)
        array = np.ndarray(size, target.numpy, memoryview(cast(Any, storage.memory)), offset * width, steps)
    if metadata:
        if math.prod(size) > room or target.kind not in DIFFERENTIABLE:
            raise WeightsError(
                "a tensor that is to be negated or conjugated has values more than once, or no floats"
            )
        array = np.negative(array) if metadata.get("neg") else array
        array = np.conjugate(array) if metadata.get("conj") else array
    result = from_numpy(array)
    if not requires_grad:
        return result
    if target.kind not in DIFFERENTIABLE:
        raise WeightsError(f"a tensor of type {target.name} asks for a gradient")
    return result.requires_grad_()


def _check_extras(requires_grad: Any, hooks: Any, metadata: Any) -> None:
    if not isinstance(requires_grad, bool):
        raise WeightsError("whether a tensor asks for a gradient is no bool")
    if not is_nothing(hooks):
        raise WeightsError("a tensor has hooks, which are functions")
    if not is_nothing(metadata) and not (
        isinstance(metadata, dict)
        and {"neg", "conj"}.issuperset(metadata)
        and all(isinstance(one, bool) for one in metadata.values())
    ):
        raise WeightsError("a tensor's metadata is none that is known")


def _parameter(data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> Parameter:
    _check_extras(requires_grad, hooks, None)
    if not isinstance(data, Tensor):
        raise WeightsError("a parameter is made of no tensor")
    if not is_nothing(state):
        raise WeightsError("a parameter has attributes of its own")
    if requires_grad and data.payload.dtype.kind not in DIFFERENTIABLE:
        raise WeightsError(f"a parameter of type {data.dtype.name} asks for a gradient")
    return Parameter(data.detach(), requires_grad)


def _ordered(pairs: Any = ()) -> Any:
    if not isinstance(pairs, list | tuple) or any(
        not isinstance(one, list | tuple) or len(one) != 2 for one in pairs
    ):
        raise WeightsError("an OrderedDict is made of no pairs")
    check_keys([key for key, _ in pairs])
    return OrderedDict(pairs)


def _members(values: Any = ()) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise WeightsError("a set is made of no list")
    check_keys(list(values))
    return list(values)


def _sizes(values: Any = ()) -> tuple[int, ...]:
    if not isinstance(values, list | tuple) or not all(map(_is_size, values)):
        raise WeightsError(f"a Size is made of {short(values)}")
    return tuple(values)


def _device(kind: Any, index: Any = None) -> Device:
    if not isinstance(kind, str) or len(kind) > 100 or not (index is None or _is_size(index)):
        raise WeightsError("a device is called by no word")
    try:
        return Device(kind, index)
    except RuntimeError as error:
        raise WeightsError(str(error)) from None


def _bytes(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or not isinstance(encoding, str) or encoding != "latin1":
        raise WeightsError("bytes are written in an encoding that is not latin1")
    try:
        return text.encode("latin1")
    except UnicodeEncodeError:
        raise WeightsError("bytes are no latin1") from None


def _byte_array(data: Any = b"", encoding: Any = "latin1") -> bytearray:
    return bytearray(data if isinstance(data, bytes) else _bytes(data, encoding))


def _complex(real: Any, imag: Any) -> complex:
    if not isinstance(real, float) or not isinstance(imag, float):
        raise WeightsError("a complex number is made of no floats")
    return complex(real, imag)


def _known() -> dict[str, Any]:
    functions: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
        "collections.OrderedDict": (_ordered, (0, 1)),
        "torch._utils._rebuild_tensor": (_rebuild, (4,)),
        "torch._utils._rebuild_tensor_v2": (_rebuild, (6, 7)),
        "torch._utils._rebuild_tensor_v3": (_rebuild_of_type, (7, 8)),
        "torch._utils._rebuild_parameter": (_parameter, (3,)),
        "torch._utils._rebuild_parameter_with_state": (_parameter, (4,)),
        "torch.Size": (_sizes, (0, 1)),
        "torch.device": (_device, (1, 2)),
        "_codecs.encode": (_bytes, (2,)),
    }
    for module in ("builtins", "__builtin__"):
        functions[f"{module}.set"] = (lambda values=(): set(_members(values)), (0, 1))
        functions[f"{module}.frozenset"] = (lambda values=(): frozenset(_members(values)), (0, 1))
        functions[f"{module}.complex"] = (_complex, (2,))
        functions[f"{module}.bytearray"] = (_byte_array, (0, 1, 2))
        functions[f"{module}.bytes"] = (bytes, (0,))
    known: dict[str, Any] = {name: Function(name, *made) for name, made in functions.items()}
    known |= {f"torch.{name}": Kind(f"torch.{name}", dtype) for name, dtype in STORAGES.items()}
    for name in ("torch.UntypedStorage", "torch.storage.UntypedStorage"):
        known[name] = Kind(name, None)
    return known


_KNOWN = _known()
"""What a file may name besides types."""
