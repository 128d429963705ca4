"""What a file of PyTorch's may hold: tensors and plain values, made of what its pickle says once that is checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import numpy as np

from workbench.base.devices import Device
from workbench.base.dims import MAXIMUM_DIMS, check_names
from workbench.base.dtypes import DIFFERENTIABLE, DType, as_dtype
from workbench.base.errors import DimensionError, QuantizationError, WeightsError, short
from workbench.base.memory_formats import Layout, sparse_coo, sparse_csr, strided
from workbench.base.quantized_array import QScheme, QuantizedArray
from workbench.base.sparse_array import SparseArray
from workbench.core.value import labelled, new
from workbench.interop import pickled_objects
from workbench.interop.pickled import Function, Kind, Rules, is_nothing
from workbench.interop.pickled_numpy import NUMPY
from workbench.interop.pickled_plain import PLAIN, is_size
from workbench.interop.pickled_result import Refused, Token
from workbench.nn import Parameter
from workbench.quantization.quantized.script_objects import CELL, LINEAR, ScriptObject
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy
from workbench.tensor.interchange import plain
from workbench.tensor.sparse import sparse_coo_tensor, sparse_csr_tensor

__all__ = ["CODES", "STORAGES", "Bytes", "Place", "Storage", "TensorRules"]

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

CODES: dict[str, DType] = {
    "QUInt8Storage": as_dtype("quint8"),
    "QInt8Storage": as_dtype("qint8"),
    "QInt32Storage": as_dtype("qint32"),
}
"""Classes of storages of codes, and their types here."""

PLAIN_TYPES = frozenset(one.name for one in STORAGES.values())


class _Memory(Protocol):
    """Gives the memory of a storage."""

    def __call__(self, key: str, size: int, /) -> Bytes: ...


@dataclass(frozen=True)
class Storage(Token):
    """The memory of one storage, or a part of it, and the type it was declared with: None for bytes."""

    memory: Bytes
    dtype: DType | None
    device: Device | None = None
    """Where its tensors are to lie; None for the CPU."""


Place = Callable[[Bytes, str], Device | None]
"""Says where tensors are to lie whose memory this is, which was saved from the device of that name."""


class TensorRules(Rules):
    """Names and references in a file of PyTorch's: tensors and plain values."""

    def __init__(
        self, memory: _Memory, big: bool = False, place: Place = lambda *_: None, names: Any = None
    ) -> None:
        self._memory = memory
        self._big = big
        self._place = place
        self._names = names
        self._made = 0
        """How many tensors were made: their names of dims stand by number."""
        self.storages: dict[str, Storage] = {}

    def build(self, target: Any, state: Any) -> bool:
        """Set the state of an array, a plain object, or one that PyTorch keeps outside of Python."""
        if isinstance(target, ScriptObject):
            _set_script(target, state)
            return True
        return pickled_objects.build(target, state)

    def attributes(self, value: Any) -> dict[str, Any] | None:
        """Return the attributes of a plain object."""
        if isinstance(value, ScriptObject):
            return {"state": value.state}
        return pickled_objects.attributes(value)

    def find(self, name: str) -> Any:
        # Where a storage was is of no matter: its values are read to the CPU.
        found = _KNOWN.get(name.replace("torch.cuda.", "torch.", 1) if name.endswith("Storage") else name)
        if self._names and isinstance(found, Function) and found.name in _REBUILT:
            return Function(found.name, partial(self._named, found.call), found.counts)
        found = found or pickled_objects.find_allowed(name)
        if found is not None:
            return found
        room, _, last = name.rpartition(".")
        if room == "torch" and last in PLAIN_TYPES | {one.name for one in CODES.values()}:
            return as_dtype(last)
        words = ""
        if last[:1].isupper():
            words = (
                ": save a module's state_dict(), not the module, and plain values beside it; a class of "
                "attributes is read once wb.serialization.add_safe_globals([…]) has it"
            )
        return Refused(f"it names {short(name)[1:-1]}, which is not read{words}")

    def _named(self, make: Callable[..., Tensor], *arguments: Any) -> Tensor:
        """Make a tensor, and give it the names of dims that the file has for it."""
        result = make(*arguments)
        said = self._names.get(str(self._made))
        self._made += 1
        if said is None:
            return result
        if not isinstance(said, dict) or not isinstance(said.get("dims"), list):
            raise WeightsError("the names of a tensor's dims are no list")
        try:
            dims = check_names(said["dims"], result.dim())
        except (DimensionError, TypeError, ValueError) as error:
            raise WeightsError(f"the names of a tensor's dims: {error}") from None
        if said.get("named") is not True:
            return cast(Tensor, labelled(result, dims))
        result._names = dims
        return result

    def reference(self, key: Any) -> Any:
        word = key[0] if isinstance(key, tuple) and len(key) > 1 and isinstance(key[0], str) else ""
        if word == "module":
            return key[1]  # a class, with the source of it: it was refused already, or is none of tensors
        if word != "storage" or len(key) not in (5, 6):
            return Refused("it refers to something outside that is no storage")
        _, kind, name, location, count, *part = key
        if not isinstance(kind, Kind):
            return kind if isinstance(kind, Refused) else Refused("a storage is of no class")
        if not isinstance(name, str) or not is_size(count):
            raise WeightsError(f"a storage is called {short(name)} and has {short(count)} values")
        dtype: DType | None = kind.value
        width = dtype.itemsize if dtype else 1
        size = count * width
        found = self.storages.get(name)
        if found is None:
            if not isinstance(location, str):
                raise WeightsError(f"storage {short(name)} was on a device {short(location)}")
            memory = self._memory(name, size)
            place = self._place(memory, location)
            found = Storage(f"storage {short(name)}", memory, dtype, place)
            if self._big:
                _turn(found)
            _check_bools(found)
            self.storages[name] = found
        if found.memory.size != size or found.dtype is not dtype:
            raise WeightsError(f"storage {short(name)} is declared twice, and differently")
        if not part or part[0] is None:
            return found
        if not isinstance(part[0], tuple) or len(part[0]) != 3 or not all(map(is_size, part[0][1:])):
            raise WeightsError(f"storage {short(name)} is a view {short(part[0])}")
        _, offset, length = part[0]
        if offset + length > count:
            raise WeightsError(
                f"a view of storage {short(name)} ends at {offset + length} and it has {count} values"
            )
        memory = found.memory[offset * width : (offset + length) * width]
        return Storage(found.name, memory, dtype, found.device)


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
    if target.is_quantized:
        raise WeightsError("codes are a quantized tensor's, which says their scale")
    array = _array_in(storage, target, offset, size, stride)
    if metadata:
        if array.nbytes > storage.memory.size or target.kind not in DIFFERENTIABLE:
            raise WeightsError(
                "a tensor that is to be negated or conjugated has values more than once, or no floats"
            )
        array = np.negative(array) if metadata.get("neg") else array
        array = np.conjugate(array) if metadata.get("conj") else array
    result = from_numpy(array)
    if storage.device is not None:
        result = result.to(storage.device)
    if not requires_grad:
        return result
    if target.kind not in DIFFERENTIABLE:
        raise WeightsError(f"a tensor of type {target.name} asks for a gradient")
    return result.requires_grad_()


def _array_in(storage: Storage, target: DType, offset: Any, size: Any, stride: Any) -> np.ndarray[Any, Any]:
    """Return the array that lies in `storage` by these numbers, once they are checked."""
    width = target.itemsize
    for what, values in (("sizes", size), ("strides", stride)):
        if not isinstance(values, tuple) or len(values) > MAXIMUM_DIMS or not all(map(is_size, values)):
            raise WeightsError(f"a tensor has {what} {short(values)}")
    if len(size) != len(stride) or not is_size(offset):
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
    return array


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
    made = Parameter(data.detach(), requires_grad)
    return cast(Parameter, labelled(made, data._labels)) if data._labels is not None else made


def _quantized(
    storage: Any, offset: Any, size: Any, stride: Any, quantizer: Any, requires_grad: Any, hooks: Any
) -> Tensor:
    """Return the quantized tensor whose codes lie in `storage`."""
    if not isinstance(storage, Storage) or storage.dtype is None or not storage.dtype.is_quantized:
        raise WeightsError("a quantized tensor lies in no storage of codes")
    _check_extras(requires_grad, hooks, None)
    if requires_grad or not isinstance(quantizer, tuple) or not quantizer:
        raise WeightsError("a quantized tensor asks for a gradient, or does not say how it is quantized")
    codes = np.array(_array_in(storage, storage.dtype, offset, size, stride))
    scheme, *rest = quantizer
    try:
        if scheme is QScheme.PER_TENSOR_AFFINE and [type(one) for one in rest] == [float, int]:
            payload = QuantizedArray(codes, rest[0], rest[1], storage.dtype)
        elif scheme is QScheme.PER_CHANNEL_AFFINE and [type(one) for one in rest] == [Tensor, Tensor, int]:
            scales, zeros, axis = rest
            payload = QuantizedArray(codes, plain(scales), plain(zeros), storage.dtype, axis)
        else:
            raise WeightsError("a tensor is quantized in a way that is not read")
    except (QuantizationError, OverflowError, TypeError, ValueError) as error:
        raise WeightsError(f"a quantized tensor: {error}") from None
    return new(payload)


def _set_script(target: ScriptObject, state: Any) -> None:
    if not isinstance(state, tuple) or len(state) != 2 or type(state[1]) is not str:
        raise WeightsError("the state of an object outside of Python does not say its class")
    if state[1] not in (CELL, LINEAR):
        raise WeightsError(
            f"an object of PyTorch's class {short(state[1])} is not read: weights that quantize_dynamic packed are"
        )
    target.__setstate__(state)


def _layout(word: Any) -> Layout:
    found = {f"torch.{one.name}": one for one in (strided, sparse_coo, sparse_csr)}
    if not isinstance(word, str) or word not in found:
        raise WeightsError(f"a tensor is laid out in a way that is not read: {short(word)}")
    return found[word]


def _sparse(layout: Any, data: Any) -> Tensor:
    """Return a sparse tensor of values and places, which must lie within its sizes."""
    if not isinstance(data, tuple) or not all(isinstance(one, Tensor) for one in data[:2]):
        raise WeightsError("a sparse tensor is made of no values and places")
    try:
        if layout is sparse_coo and len(data) in (3, 4):
            return _in_order(sparse_coo_tensor(*data[:3]))
        if layout is sparse_csr and len(data) == 4:
            return sparse_csr_tensor(*data)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise WeightsError(f"a sparse tensor: {error}") from None
    raise WeightsError("a sparse tensor is laid out in a way that is not read")


def _in_order(value: Tensor) -> Tensor:
    """Return a tensor that is coalesced where its places are in order: what a file says of that is not asked."""
    found = value.payload
    if found.count and np.any(np.diff(found.flat()) <= 0):
        return value
    return new(SparseArray(found.index, found.values, found.shape, True))


def _known() -> dict[str, Any]:
    functions: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
        "torch._utils._rebuild_tensor": (_rebuild, (4,)),
        "torch._utils._rebuild_tensor_v2": (_rebuild, (6, 7)),
        "torch._utils._rebuild_tensor_v3": (_rebuild_of_type, (7, 8)),
        "torch._utils._rebuild_parameter": (_parameter, (3,)),
        "torch._utils._rebuild_parameter_with_state": (_parameter, (4,)),
        "torch._utils._rebuild_qtensor": (_quantized, (7,)),
        "torch._utils._rebuild_sparse_tensor": (_sparse, (2,)),
        "torch.serialization._get_layout": (_layout, (1,)),
        "torch.ScriptObject": (ScriptObject, (0,)),
    }
    known: dict[str, Any] = {name: Function(name, *made) for name, made in functions.items()}
    known |= {f"torch.{name}": Kind(f"torch.{name}", dtype) for name, dtype in STORAGES.items()}
    known |= {f"torch.{name}": Kind(f"torch.{name}", dtype) for name, dtype in CODES.items()}
    for name in ("torch.UntypedStorage", "torch.storage.UntypedStorage"):
        known[name] = Kind(name, None)
    known |= {f"torch.{scheme.value}": scheme for scheme in QScheme}
    return known | PLAIN | NUMPY | pickled_objects.OBJECTS


_REBUILT = {
    f"torch._utils._rebuild_{kind}"
    for kind in ("tensor", "tensor_v2", "tensor_v3", "qtensor", "sparse_tensor")
}
"""Functions that make a tensor."""

_KNOWN = _known()
"""What a file may name besides types."""
