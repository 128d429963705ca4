"""What the nodes of an opened file compute with: tensors, and whole numbers that are sizes.

A file works out shapes with tensors (``Shape``, ``Gather``, ``Concat``, ``Reshape``). Here such numbers stay Python's
own as long as nobody needs a tensor: a trace then keeps them as expressions over the sizes of the inputs, and the graph
holds for other sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from workbench.base import dtypes
from workbench.base.dtypes import DType, dtype_of
from workbench.base.errors import NoNumbersError
from workbench.base.symbolic_size import SymbolicNumber
from workbench.onnx.errors import OnnxError
from workbench.ops import FUNCTIONS, LINALG, NN, SPECIAL
from workbench.tensor import Tensor, factories, ranges
from workbench.tensor import random as drawing

__all__ = [
    "LARGEST",
    "MOST_INTEGERS",
    "Integers",
    "as_integers",
    "as_tensor",
    "bounded",
    "data_type",
    "numbers_in",
    "type_code",
    "wb",
]

LARGEST = 1 << 28
"""Most values that a node may make from sizes that stand in the file: more is a damaged or hostile file."""

MOST_INTEGERS = 64
"""Whole numbers of at most this many stay Python's own: shapes, axes, paddings."""


def _offered() -> Iterator[tuple[str, Any]]:
    for room in (factories, ranges, drawing):
        yield from ((name, getattr(room, name)) for name in room.__all__ if name.islower())
    yield from SPECIAL.items()
    yield from LINALG.items()
    yield from FUNCTIONS.items()
    # Last: where two rooms have a word, that of the layers takes what a layer has.
    yield from NN.items()


wb: Any = SimpleNamespace(**dict(_offered()))
"""What people call as ``wb.name``: operators are written with it as a program is."""

_TYPES: dict[int, DType] = {
    1: dtypes.float32, 2: dtypes.uint8, 3: dtypes.int8, 5: dtypes.int16, 6: dtypes.int32, 7: dtypes.int64,
    9: dtypes.bool_, 10: dtypes.float16, 11: dtypes.float64, 14: dtypes.complex64, 15: dtypes.complex128,
    16: dtypes.bfloat16,
}  # fmt: skip
"""The format's codes, and the types that they are here."""

_OTHERS = {
    4: "uint16", 8: "string", 12: "uint32", 13: "uint64", 17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2",
    20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2",
}  # fmt: skip


def data_type(code: int) -> DType:
    """Return the type that a code of the format stands for; raise `OnnxError` for one that is not here."""
    found = _TYPES.get(code)
    if found is None:
        what = _OTHERS.get(code, f"number {code}")
        raise OnnxError(f"the data type {what} is none of here: {', '.join(map(str, _TYPES.values()))} are")
    return found


def type_code(dtype: DType) -> int:
    """Return the format's code of a type."""
    return next(code for code, own in _TYPES.items() if own == dtype)


class Integers:
    """Whole numbers that are sizes, places or counts: a row of them, or one.

    They are numbers of Python's, or sizes of a trace, and become a tensor where an operator computes with one.

    >>> Integers([2, 3]).numbers, Integers(4).single
    ((2, 3), True)
    """

    __slots__ = ("dtype", "numbers", "single")

    def __init__(self, numbers: Any, dtype: DType = dtypes.int64) -> None:
        self.dtype = dtype
        self.single = not isinstance(numbers, list | tuple)
        self.numbers: tuple[Any, ...] = (numbers,) if self.single else tuple(numbers)

    def __repr__(self) -> str:
        return f"Integers({self.plain()!r})"

    def __bool__(self) -> bool:
        return bool(self.number)

    @property
    def number(self) -> Any:
        """The one number; raises `OnnxError` where there are several."""
        if len(self.numbers) != 1:
            raise OnnxError(f"one number is needed here, and there are {len(self.numbers)}")
        return self.numbers[0]

    def plain(self) -> Any:
        """Return the numbers as a list, or the one as it is."""
        return self.numbers[0] if self.single else list(self.numbers)

    def tensor(self) -> Tensor:
        """Return them as a tensor of int64; in a trace by nodes that make it of the sizes of each run."""
        if not any(isinstance(one, SymbolicNumber) for one in self.numbers):
            made: Tensor = wb.tensor(self.plain(), dtype=self.dtype)
            return made
        rows = [wb.full((), one, dtype=self.dtype) for one in self.numbers]
        joined: Tensor = rows[0] if self.single else wb.stack(rows)
        return joined


def as_integers(value: Any) -> Any:
    """Return a few whole numbers of a tensor as those that are sizes; anything else, and what has none, as it is."""
    if not isinstance(value, Tensor) or value.dtype not in (dtypes.int64, dtypes.int32):
        return value
    # Asked of plain sizes only: a question about one of a trace would be guarded.
    sizes: tuple[Any, ...] = value.shape
    if len(sizes) > 1 or any(isinstance(one, SymbolicNumber) or one > MOST_INTEGERS for one in sizes):
        return value
    try:
        return Integers(value.tolist(), value.dtype)
    except NoNumbersError:
        return value


def as_tensor(value: Any) -> Any:
    """Return a value as an operator computes with it: whole numbers as a tensor, anything else as it is."""
    return value.tensor() if isinstance(value, Integers) else value


def numbers_in(value: Any) -> Any:
    """Return the numbers of a value: a list, or one; None stays.

    In a trace a tensor that depends on the inputs has none, and the error says which line asked.
    """
    if isinstance(value, Integers):
        return value.plain()
    return value.tolist() if isinstance(value, Tensor) else value


def bounded(sizes: Iterable[Any]) -> list[Any]:
    """Return sizes that a node makes a tensor of; raise `OnnxError` where they are negative or beyond all bounds."""
    found, total = list(sizes), 1
    for size in found:
        # Sizes of a trace are those of tensors that are there.
        if isinstance(size, SymbolicNumber):
            continue
        if size < 0:
            raise OnnxError(f"a tensor of the sizes {found} cannot be: a size is a whole number from 0")
        total *= size
    if total > LARGEST:
        raise OnnxError(
            f"the node makes a tensor of {found}, more than the {LARGEST} values that are allowed"
        )
    return found


def is_floating(tensor: Any) -> bool:
    """Say whether a tensor has numbers with a point."""
    return bool(dtype_of(tensor).is_floating_point)
