"""The memory behind a tensor, as something to ask: how long it is, where it lies, what stands in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.base.devices import CPU, Device
from workbench.base.dtypes import DType
from workbench.base.errors import DeviceError
from workbench.base.shared_memory import shared_memory_of
from workbench.core import dispatch
from workbench.core.lending import lend
from workbench.ops import offered
from workbench.ops.shape.movement import memory_of

if TYPE_CHECKING:
    from workbench.tensor.tensor import Tensor

__all__ = ["TypedStorage", "UntypedStorage"]


class UntypedStorage:
    """The bytes of the memory that a tensor is a view of. Writing into them is writing into the tensor.

    >>> import workbench as wb
    >>> x = wb.zeros(4)
    >>> x[1:].untyped_storage().nbytes(), x[1:].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    (16, True)
    """

    device: Device = CPU

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self._memory = memory.view(np.uint8)

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return int(self._memory.size)

    def size(self) -> int:
        """Return the number of entries."""
        return len(self)

    def element_size(self) -> int:
        """Return how many bytes an entry takes."""
        return int(self._memory.itemsize)

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        return int(self._memory.__array_interface__["data"][0])

    def is_shared(self) -> bool:
        """Say whether the memory is one that processes share."""
        return shared_memory_of(self._memory) is not None

    def tolist(self) -> list[Any]:
        """Return the entries as Python's numbers."""
        return self._memory.tolist()  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return int(self._memory.size)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, key: Any) -> Any:
        found = self._memory[key]
        return found.tolist() if isinstance(found, np.ndarray) else found.item()

    def __setitem__(self, key: Any, value: Any) -> None:
        self._memory[key] = value

    def __repr__(self) -> str:
        return f"{type(self).__name__} of size {len(self)}"


class TypedStorage(UntypedStorage):
    """The values of the memory that a tensor is a view of, in a row.

    >>> import workbench as wb
    >>> wb.tensor([[1, 2], [3, 4]]).t().storage().tolist()
    [1, 2, 3, 4]
    """

    def __init__(self, memory: np.ndarray[Any, Any], dtype: DType) -> None:
        super().__init__(memory)
        self._memory = memory
        self.dtype = dtype

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return int(self._memory.nbytes)

    def untyped(self) -> UntypedStorage:
        """Return the same memory as bytes."""
        return UntypedStorage(self._memory)


def _memory(op: str, self: Tensor) -> np.ndarray[Any, Any]:
    array = dispatch.numbers(self)
    if not isinstance(self.payload, np.ndarray):
        raise DeviceError(f"{op}(): only plain values on the CPU have memory to look at")
    lend(self)  # who has the memory may write there
    return memory_of(array)[0]


@offered("Tensor")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """Return the memory that this tensor is a view of, as bytes."""
    return UntypedStorage(_memory("untyped_storage", self))


@offered("Tensor")
def storage(self: Tensor) -> TypedStorage:
    """Return the memory that this tensor is a view of, as values."""
    return TypedStorage(_memory("storage", self), self.dtype)
