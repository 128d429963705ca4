"""What is known of a value before it is computed: a tensor's dims, or that it is a number, a tuple, a list, a dict …

A type prints as it is read back: ``f32[N:2, C=3]``, ``int``, ``tuple[f32[N:2], int]``, ``dict[str, list[int]]``,
``optional[float]``. ``tensor`` is a tensor of which nothing else is known, and ``any`` may be anything: what comes from
a front end that knows no types has it, and what is computed from it is checked when it runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.dtypes import DType, dtype_of
from workbench.base.public import words
from workbench.base.size_expressions import Expression, Size, Symbol, Symbolic
from workbench.base.size_guards import SizeScope
from workbench.base.symbolic_size import SymbolicNumber, SymbolicSize, plain
from workbench.core.value import Abstract, Value, dims_of, labelled, new
from workbench.graph.sizes import expression, shown, today

__all__ = [
    "ANY", "BOOL", "COMPLEX", "FLOAT", "INT", "NEVER", "NONE", "PLAIN", "TENSOR", "TEXT", "DictType", "ListType",
    "OptionalType", "PlainType", "TensorType", "TupleType", "Type", "common", "symbolic", "type_of", "type_of_value",
]  # fmt: skip


class Type(ABC):
    """The type of a value of a graph."""

    @abstractmethod
    def accepts(self, other: Type) -> bool:
        """Say whether every value of the type `other` is one of this type."""

    @abstractmethod
    def holds(self, value: Any) -> bool:
        """Say whether `value`, of a run, is of this type."""

    @property
    def known(self) -> bool:
        """True unless rules cannot be followed because ``any`` or ``tensor`` is part of it."""
        return True


@dataclass(frozen=True)
class TensorType(Type):
    """A tensor: its data type, its dims, and which sizes are fixed.

    `dims` has the sizes of the trace, `sizes` what they are in every run: expressions over the sizes of the graph's
    inputs, or numbers. A graph runs for other sizes too, except where one is fixed.

    >>> print(TensorType(np.dtype("f4"), Dims(("N", "C"), (32, 3)), frozenset({1})))
    f32[N:32, C=3]
    """

    dtype: np.dtype[Any] | DType
    """NumPy's type, or the type of codes that stand for real numbers."""
    dims: Dims
    fixed: frozenset[int] = frozenset()
    """Positions of dims of an input whose size is guarded to be this number: no other size will do."""
    sizes: tuple[Size, ...] = field(default=(), compare=False)
    """The sizes as expressions; where none are given, they are the numbers in `dims`."""

    def __post_init__(self) -> None:
        if not self.sizes:
            # The class is frozen: this is how a default that depends on another field is set.
            object.__setattr__(self, "sizes", self.dims.sizes)

    def __str__(self) -> str:
        dims = zip(self.dims.labels, self.dims.sizes, strict=True)
        parts = [
            f"{name or '·'}{'=' if i in self.fixed else ':'}{size}" for i, (name, size) in enumerate(dims)
        ]
        return f"{dtype_of(self).short}[{', '.join(parts)}]"

    def accepts(self, other: Type) -> bool:
        """Say whether `other` is a tensor of the same data type and dims; what is fixed is no part of that."""
        if not isinstance(other, TensorType):
            return other == NEVER
        # Today's sizes: what holds in any run is compared by the spec, which has the guards.
        return (self.dtype, self.dims) == (other.dtype, other.dims)

    def holds(self, value: Any) -> bool:
        """Say whether `value` is a tensor of this data type with as many dims, called the same; sizes may differ."""
        if not isinstance(value, Value):
            return False
        own, given = self.dims.names, dims_of(value).names
        clash = len(own) != len(given) or any(
            wanted is not None and name is not None and wanted != name
            for wanted, name in zip(own, given, strict=True)
        )
        return bool(value.payload.dtype == self.dtype) and not clash

    def stand_in(self, scope: SizeScope | None = None) -> Any:
        """Return a tensor of this type without numbers: of today's sizes, or with `scope` of those of any run."""
        names, labels = self.dims.names, self.dims.labels
        sizes = self.dims.sizes if scope is None else shown(self.sizes, scope)
        made = new(Abstract(sizes, self.dtype), names if any(names) else None)
        return labelled(made, labels if any(labels) else None)


@dataclass(frozen=True)
class PlainType(Type):
    """What one word says: a number, text, None; some tensor; anything."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def known(self) -> bool:
        """False for ``any`` and ``tensor``."""
        return self not in (ANY, TENSOR)

    def accepts(self, other: Type) -> bool:
        """Say whether `other` is the same; ``tensor`` takes every tensor and ``any`` everything."""
        if self == TENSOR and isinstance(other, TensorType):
            return True
        return self == ANY or other in (self, NEVER)

    def holds(self, value: Any) -> bool:
        """Say whether `value` is of the class; True is no int, and a size that a trace does not know yet is one."""
        if self in (ANY, NEVER):
            return self == ANY
        if isinstance(value, SymbolicNumber):
            return self == (INT if isinstance(value, SymbolicSize) else FLOAT)
        # Exactly this class: bool is an int to Python.
        return isinstance(value, Value) if self == TENSOR else type(value) is _CLASSES[self]


ANY, TENSOR = PlainType("any"), PlainType("tensor")
NEVER = PlainType("never")
"""What no value is: the items of an empty list."""
INT, FLOAT, BOOL, COMPLEX = PlainType("int"), PlainType("float"), PlainType("bool"), PlainType("complex")
TEXT, NONE = PlainType("str"), PlainType("None")
_CLASSES: dict[PlainType, type] = {
    INT: int, FLOAT: float, BOOL: bool, COMPLEX: complex, TEXT: str, NONE: type(None),
}  # fmt: skip
PLAIN: dict[str, PlainType] = {one.name: one for one in (*_CLASSES, ANY, TENSOR, NEVER)}
"""Types that are one word."""


@dataclass(frozen=True)
class TupleType(Type):
    """A tuple of so many items, each of its own type."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"tuple[{', '.join(map(str, self.items))}]"

    @property
    def known(self) -> bool:
        """True if all items are."""
        return all(one.known for one in self.items)

    def accepts(self, other: Type) -> bool:
        """Say whether `other` is as long, and each item accepts its own."""
        return (
            isinstance(other, TupleType)
            and len(self.items) == len(other.items)
            and all(own.accepts(one) for own, one in zip(self.items, other.items, strict=True))
        )

    def holds(self, value: Any) -> bool:
        """Say whether `value` is a tuple of such items."""
        return (
            isinstance(value, tuple)
            and len(value) == len(self.items)
            and all(own.holds(one) for own, one in zip(self.items, value, strict=True))
        )


@dataclass(frozen=True)
class ListType(Type):
    """A list of any length, all items of one type."""

    item: Type

    def __str__(self) -> str:
        return f"list[{self.item}]"

    @property
    def known(self) -> bool:
        """True if its items are."""
        return self.item.known

    def accepts(self, other: Type) -> bool:
        """Say whether `other` is a list of items that are accepted."""
        return isinstance(other, ListType) and self.item.accepts(other.item)

    def holds(self, value: Any) -> bool:
        """Say whether `value` is a list of such items."""
        return isinstance(value, list) and all(map(self.item.holds, value))


@dataclass(frozen=True)
class DictType(Type):
    """A dict: keys of one type, and values of one type."""

    key: Type
    value: Type

    def __str__(self) -> str:
        return f"dict[{self.key}, {self.value}]"

    @property
    def known(self) -> bool:
        """True if its keys and values are."""
        return self.key.known and self.value.known

    def accepts(self, other: Type) -> bool:
        """Say whether `other` is a dict whose keys and values are accepted."""
        return isinstance(other, DictType) and self.key.accepts(other.key) and self.value.accepts(other.value)

    def holds(self, value: Any) -> bool:
        """Say whether `value` is a dict of such keys and values."""
        return (
            isinstance(value, dict)
            and all(map(self.key.holds, value))
            and all(map(self.value.holds, value.values()))
        )


@dataclass(frozen=True)
class OptionalType(Type):
    """A value of a type, or None."""

    item: Type

    def __str__(self) -> str:
        return f"optional[{self.item}]"

    @property
    def known(self) -> bool:
        """True if what it may be is."""
        return self.item.known

    def accepts(self, other: Type) -> bool:
        """Say whether `other` is None, the type, or optional itself."""
        # Asked of what the other may be, as None is always right.
        return other == NONE or self.item.accepts(other.item if isinstance(other, OptionalType) else other)

    def holds(self, value: Any) -> bool:
        """Say whether `value` is None or of the type."""
        return value is None or self.item.holds(value)


def type_of(tensor: Any, scope: SizeScope | None = None) -> TensorType:
    """Return the type of a tensor: of sizes of `scope` the expressions, and what they are today; others are numbers.

    >>> import workbench as wb
    >>> print(type_of(wb.ones(N=2)))
    f32[N:2]
    """
    dims, dtype = dims_of(tensor), tensor.payload.dtype
    sizes = tuple(plain(one) if scope is None else expression(one, scope) for one in dims.sizes)
    kind = dtype if isinstance(dtype, DType) else np.dtype(dtype)
    return TensorType(kind, dims.of_sizes(today(sizes)), sizes=sizes)


def symbolic(name: str, kind: Type, later: bool = False) -> Type:
    """Return the type of an input called `name`: each of its sizes is a symbol, which a run binds.

    With `later`, of what a block is given, or of what a call of no op makes: its sizes are known when it is. What is no
    tensor has no sizes, and keeps its type.

    >>> symbolic("x", TensorType(np.dtype("f4"), Dims((None,), (2,)))).sizes
    (x.shape[0],)
    """
    if not isinstance(kind, TensorType):
        return kind
    sizes = (
        Expression.of(Symbol(f"{name}.shape[{dim}]", size, later)) for dim, size in enumerate(kind.dims.sizes)
    )
    return replace(kind, sizes=tuple(sizes))


def type_of_value(value: Any, leaf: Callable[[Any], Type | None] = lambda value: None) -> Type:
    """Return the narrowest type of a tensor, a number, text, None, or a tuple, list or dict of them; else ``any``.

    `leaf` may say the type of what stands for a value.

    >>> print(type_of_value((1, [0.5, 2.0], {"a": None})))
    tuple[int, list[float], dict[str, None]]
    """
    found = leaf(value)
    if found is not None:
        return found
    if isinstance(value, Value):
        return type_of(value)
    if isinstance(value, Symbolic):
        return INT if isinstance(value, Expression) else FLOAT
    if isinstance(value, tuple):
        return TupleType(tuple(type_of_value(one, leaf) for one in value))
    if isinstance(value, list):
        # One type for all, which an empty list leaves at `never`: every list accepts it.
        return ListType(common(type_of_value(one, leaf) for one in value))
    if isinstance(value, dict):
        values = common(type_of_value(one, leaf) for one in value.values())
        return DictType(common(type_of_value(one) for one in value), values)
    # Last, as what stands for a value may be of any class.
    return next((one for one, kind in _CLASSES.items() if type(value) is kind), ANY)


def common(types: Iterable[Type]) -> Type:
    """Return the one type that all `types` are, with None made optional; ``tensor`` or ``any`` where there is none."""
    # Each once, in the order in which they came. That a guard fixes a size of one of them is no part of it.
    found = list(
        dict.fromkeys(
            replace(one, fixed=frozenset()) if isinstance(one, TensorType) else one for one in types
        )
    )
    some = [one for one in found if one != NONE]
    if not some:
        return NONE if found else NEVER
    whole = some[0] if len(some) == 1 else TENSOR if all(isinstance(one, TensorType) for one in some) else ANY
    return whole if whole == ANY or len(some) == len(found) else OptionalType(whole)


__getattr__, __dir__ = words(__name__, __all__)
