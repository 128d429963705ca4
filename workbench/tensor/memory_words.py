"""Words about a tensor's memory: resized, taken from another, changed entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.base.errors import AutogradError, DeviceError, DTypeError
from workbench.base.memory_formats import MemoryFormat, format_asked
from workbench.base.quantized_array import QuantizedArray
from workbench.base.sizes import check_memory
from workbench.core import dispatch
from workbench.core.backend import backend_of
from workbench.core.inplace import write
from workbench.core.lending import share
from workbench.core.value import Value, new
from workbench.ops import offered
from workbench.ops.shape.movement import memory_of, see
from workbench.ops.shape.strided import contiguous_strides

if TYPE_CHECKING:
    from workbench.tensor.tensor import Tensor

__all__ = ["apply_", "is_pinned", "map_", "pin_memory", "record_stream", "resize_", "resize_as_", "set_"]


def _check_own(op: str, self: Tensor) -> np.ndarray[Any, Any]:
    """Return the array of a tensor whose memory may be exchanged; refuse one that others count on."""
    if self._requires_grad:
        raise AutogradError(
            f"{op}(): cannot resize variables that require grad: do it to x.detach(), or before"
        )
    array = self.payload
    if isinstance(array, QuantizedArray):
        raise DTypeError(
            f"{op}(): the memory of codes is not laid out anew: reshape() or clone() the tensor, or call .dequantize() "
            "first"
        )
    if backend_of(array) is not None or type(array) is not np.ndarray:
        raise DeviceError(f"{op}(): only values on the CPU have memory that can be laid out anew")
    return array


@offered("Tensor")
def resize_(self: Tensor, *size: Any, memory_format: MemoryFormat | None = None) -> Tensor:
    """Give this tensor other sizes: its memory is read anew row by row, and what is new in it nobody has set.

    It goes on to share its memory as long as that is enough. Raises `AutogradError` for a tensor that asks for
    gradients.

    >>> import workbench as wb
    >>> x = wb.tensor([[1, 2], [3, 4]])
    >>> x.resize_(3), x.resize_(1, 2)
    (tensor([[1, 2]]), tensor([[1, 2]]))
    """
    given = tuple(size[0]) if len(size) == 1 and isinstance(size[0], tuple | list) else size
    wanted = tuple(int(one) for one in given)
    if any(one < 0 for one in wanted):
        raise RuntimeError(f"resize_(): sizes are not negative, got {list(wanted)}")
    asked = format_asked("resize_", memory_format, len(wanted))
    if wanted == tuple(self.payload.shape) and asked is None:
        return self
    array = _check_own("resize_", self)
    check_memory("resize_", wanted)
    flat, start = memory_of(array)
    count = int(np.prod(wanted, dtype=np.int64))
    if start + count > flat.size:
        longer = np.empty(count, array.dtype)
        longer[: flat.size - start] = flat[start:]
        flat, start = longer, 0
    order = tuple(range(len(wanted))) if asked is None or asked.order is None else asked.order
    strides = contiguous_strides(tuple(wanted[i] for i in order))
    _become(self, see(flat, start, wanted, tuple(strides[order.index(i)] for i in range(len(wanted)))))
    return self


def _become(self: Tensor, array: np.ndarray[Any, Any], *sharing: Any) -> None:
    """Let a tensor stand for other memory, which it shares with what it was a view of, or with others."""
    owner = self._owner
    self._view = self._owner = None
    self.payload, self._names = array, None
    for one in (owner, *sharing):
        if one is not None:
            share(self, one)


@offered("Tensor")
def resize_as_(self: Tensor, the_template: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
    """Give this tensor the sizes of another, as `resize_` does."""
    return resize_(self, tuple(the_template.payload.shape), memory_format=memory_format)


@offered("Tensor")
def set_(
    self: Tensor,
    source: Tensor | None = None,
    storage_offset: int = 0,
    size: tuple[int, ...] | None = None,
    stride: tuple[int, ...] | None = None,
) -> Tensor:
    """Have this tensor share the memory of another, with its sizes or as `size` and `stride` say; with none be empty.

    Raises `AutogradError` for a tensor that asks for gradients, RuntimeError for another type.

    >>> import workbench as wb
    >>> x, y = wb.zeros(1), wb.tensor([1.0, 2.0])
    >>> x.set_(y).mul_(2), y
    (tensor([2., 4.]), tensor([2., 4.]))
    """
    _check_own("set_", self)
    if source is None:
        _become(self, np.empty(0, self.payload.dtype))
        return self
    if not isinstance(source, Value):
        raise TypeError(f"set_(): argument 'source' must be Tensor, not {type(source).__name__}")
    if source.payload.dtype != self.payload.dtype:
        raise RuntimeError(
            f"set_(): could not set tensor of type {source.dtype.name} to a tensor of type {self.dtype.name}"
        )
    if size is not None:
        sizes = tuple(size)
        source = source.as_strided(
            sizes, contiguous_strides(sizes) if stride is None else tuple(stride), storage_offset
        )
    _become(self, source.payload, source)
    return self


@offered("Tensor")
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Put ``callable(value)`` in the place of each value. It is slow, and for values on the CPU.

    >>> import workbench as wb
    >>> wb.tensor([1.0, 2.0]).apply_(lambda value: value + 1)
    tensor([2., 3.])
    """
    return _changed(self, "apply_", callable, ())


@offered("Tensor")
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Put ``callable(value, other)`` in the place of each value, `other` from a tensor that broadcasts to this one.

    >>> import workbench as wb
    >>> wb.tensor([1.0, 2.0]).map_(wb.tensor(3.0), lambda value, other: value * other)
    tensor([3., 6.])
    """
    if tensor.payload.dtype != self.payload.dtype:
        raise TypeError(f"map_(): expected tensor of type {self.dtype.name}, got {tensor.dtype.name}")
    return _changed(self, "map_", callable, (tensor,))


def _changed(self: Tensor, op: str, function: Callable[..., Any], others: tuple[Tensor, ...]) -> Tensor:
    if any(one._requires_grad for one in (self, *others)):
        raise AutogradError(
            f"Can't call {op}() on Variable that requires grad. Use var.detach().{op}() instead."
        )
    if backend_of(self.payload) is not None:
        raise DeviceError(f"{op} is only implemented on CPU tensors")

    def changed(old: Any) -> Any:
        arrays = [dispatch.numbers(one) for one in (old, *others)]
        shape = arrays[0].shape
        columns = [np.broadcast_to(one, shape).ravel().tolist() for one in arrays]
        found = [function(*values) for values in zip(*columns, strict=True)]
        return new(np.array(found, arrays[0].dtype).reshape(shape), self._names)

    return write(self, op, changed)


@offered("Tensor")
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Raise RuntimeError: memory is pinned for a GPU's driver, and copies to a device work without."""
    raise RuntimeError(
        "pin_memory(): cannot access accelerator device when none is available: leave it away, copies to a device work "
        "without it"
    )


@offered("Tensor")
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Say whether the memory is pinned for a GPU's driver: it is not."""
    return False


@offered("Tensor")
def record_stream(self: Tensor, stream: Any) -> None:
    """Raise `DeviceError`: streams belong to GPUs, whose backend orders its own work."""
    raise DeviceError(
        "record_stream(): streams belong to a GPU; the backends here order their work themselves"
    )
