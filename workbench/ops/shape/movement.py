"""What ops that move values share: their record, and memory as PyTorch's storage sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionIndexError
from workbench.base.symbolic_size import whole
from workbench.core.dtype_rules import KEEP
from workbench.core.op import Op, Saves, ops

__all__ = [
    "MOVES",
    "NOTHING",
    "SavesFrom",
    "copying",
    "move",
    "memory_of",
    "out_of_bounds",
    "see",
    "sizes_from",
    "storage",
]

NOTHING = Saves((), output=False)
MOVES = frozenset({"linear", "moves"})
"""Properties of an op that copies values to other places."""


@dataclass(frozen=True)
class SavesFrom(Saves):
    """The rule reads the inputs from one on, however many there are."""

    inputs: tuple[int, ...] | None = ()
    output: bool = False
    first: int = 1

    def read(self, needs: Sequence[bool]) -> tuple[int, ...]:
        """Return the positions of those inputs."""
        return tuple(range(self.first, len(needs)))


def _no_cost(dims: tuple[Dims, ...], out: Dims, /, **params: Any) -> float:
    return 0.0


def move(name: str, doc: str, equation: str, **fields: Any) -> Op:
    """Declare an op that moves values: linear, without cost, saving nothing; a view unless said otherwise."""
    defaults: dict[str, Any] = {
        "dtype": KEEP,
        "saves": NOTHING,
        "cost": _no_cost,
        "properties": frozenset({"linear", "view"}),
    }
    return Op(name=name, doc=doc, equation=equation, **{**defaults, **fields})


_PLAIN = frozenset({int})


def sizes_from(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Return sizes given as several arguments or as one list of them."""
    # As a rule these are plain integers.
    if _PLAIN.issuperset(map(type, given)):
        return given
    # By `__index__`: sizes of a trace and NumPy's integers are numbers too.
    several = given[0] if len(given) == 1 and not hasattr(given[0], "__index__") else given
    return tuple(whole(size) for size in several)


def copying(view: Callable[..., Any]) -> Callable[..., Any]:
    """Return `view` as a function whose results have memory of their own: PyTorch's ``<name>_copy``."""

    @wraps(view)
    def copied(*args: Any, **kwargs: Any) -> Any:
        # Copied from the view, so that gradients and names follow its rules.
        result = view(*args, **kwargs)
        return tuple(ops.clone(one) for one in result) if isinstance(result, tuple) else ops.clone(result)

    copied.__name__ = f"{view.__name__}_copy"
    copied.__qualname__ = copied.__name__
    copied.__doc__ = f"As `{view.__name__}`, with memory of its own instead of a view."
    return copied


def storage(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array that owns the memory of `array`, as far as NumPy knows."""
    # NumPy shortens chains of views itself, but not those through a subclass or a buffer.
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def memory_of(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """Return all values of the storage of `array` as one dim, and where in them `array` begins."""
    owner = storage(array)
    # Its lowest address: the first value stands elsewhere where strides are negative.
    low, high = np.lib.array_utils.byte_bounds(owner)
    flat = owner.ravel(order="K")
    if owner.size and not np.may_share_memory(flat, owner):
        # Memory with gaps, as other libraries hand it over.
        first = owner[tuple(slice(-1, None) if stride < 0 else slice(0, 1) for stride in owner.strides)]
        flat = np.lib.stride_tricks.as_strided(first, ((high - low) // array.itemsize,), (array.itemsize,))
    if flat.dtype != array.dtype:
        flat = flat.view(array.dtype)  # the parts of complex numbers
    # NumPy may point an empty array anywhere.
    here = int(array.__array_interface__["data"][0]) if array.size else low
    return flat, (here - low) // array.itemsize


def see(memory: np.ndarray[Any, Any], start: int, sizes: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Return a view of memory laid out as one dim: from the value `start` on, with strides counted in values.

    Unlike `numpy.lib.stride_tricks.as_strided` the view says whose memory it is.
    """
    steps = tuple(stride * memory.itemsize for stride in strides)
    # Types that NumPy does not know by itself export no buffer: bytes do.
    return np.ndarray(sizes, memory.dtype, memory.view(np.uint8), start * memory.itemsize, steps)


def out_of_bounds(x: Dims, axis: int, index: int) -> DimensionIndexError:
    called = f" ({x.names[axis]!r})" if x.names[axis] else ""
    return DimensionIndexError(
        f"index {index} is out of bounds for dimension {axis}{called} with size {x.sizes[axis]}",
        op="index",
        operands=(x.operand("input", [axis]),),
    )
