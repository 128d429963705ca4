"""Modules that hold parameters: as a list, or by key."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.nn.module import Module
from workbench.nn.modules.container import pairs_of
from workbench.nn.parameter import Parameter
from workbench.tensor import Tensor

__all__ = ["ParameterDict", "ParameterList"]


class _Values(Module):
    """What both share: a tensor that is put in becomes a parameter; other values are kept as they are."""

    def _put(self, key: str, value: Any) -> None:
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            # Detached, since a parameter is a leaf.
            value = Parameter(value.detach())
        known = any(key in names for names in (self._parameter_names, self._buffer_names, self._module_names))
        # A plain value may take the place of a parameter here, which `__setattr__` alone would refuse.
        if known and not isinstance(value, Parameter):
            delattr(self, key)
        if key not in self.__dict__ and hasattr(self, key):
            raise KeyError(f"attribute {key!r} already exists")
        setattr(self, key, value)

    def _line(self, key: str, value: Any) -> str:
        if not isinstance(value, Tensor):
            return f"  ({key}): Object of type: {type(value).__name__}"
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        size = "x".join(str(size) for size in value.shape)
        place = "" if value.device == "cpu" else f" ({value.device})"
        return f"  ({key}): {kind} containing: [{value.dtype} of size {size}{place}]"

    def _lines(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        lines = self._lines()
        return f"{self._get_name()}(" + "\n".join(["", *lines, ""] if lines else []) + ")"

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Raise RuntimeError: this holds values and computes nothing."""
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_Values):
    """Parameters in a list; tensors that are put in become parameters, other values are kept beside them.

    >>> import workbench as wb
    >>> weights = ParameterList([wb.zeros(2, 3), wb.ones(4)])
    >>> [name for name, _ in weights.named_parameters()]
    ['0', '1']
    >>> weights
    ParameterList(
      (0): Parameter containing: [workbench.float32 of size 2x3]
      (1): Parameter containing: [workbench.float32 of size 4]
    )
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        # Counted here: values that are no parameters stand in no registry.
        self._size = 0
        if values is not None:
            self.extend(values)

    def _at(self, index: int) -> str:
        position = operator.index(index)
        if not -self._size <= position < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(position % self._size)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(self._size))])
        return self.__dict__[self._at(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        self._put(self._at(index), value)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self.__dict__[str(i)] for i in range(self._size)])

    def __iadd__(self, values: Any) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end."""
        self._put(str(self._size), value)
        self._size += 1
        return self

    def extend(self, values: Any) -> ParameterList:
        """Add values at the end. Raises TypeError for what cannot be gone through, which a tensor should not be."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}"
            )
        # As a list first, for what is added may be this very one.
        for value in list(values):
            self.append(value)
        return self

    def _lines(self) -> list[str]:
        return [self._line(str(i), value) for i, value in enumerate(self)]


class ParameterDict(_Values):
    """Parameters by key, in the order in which they came; tensors that are put in become parameters.

    Keys are strings. Raises KeyError for one that is the name of one of a module's own attributes.

    >>> import workbench as wb
    >>> weights = ParameterDict({"left": wb.zeros(2), "right": wb.ones(2)})
    >>> [name for name, _ in weights.named_parameters()]
    ['left', 'right']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        # Kept here: values that are no parameters stand in no registry.
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return self.__dict__[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"a key of a ParameterDict is a string, got {type(key).__name__}")
        self._put(key, value)
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return another dict of the same parameters."""
        return ParameterDict(list(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, after putting in `default` where there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all values out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out the value of a key, and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out the last pair, and return it. Raises KeyError where there is none."""
        if not self._keys:
            raise KeyError("popitem(): the ParameterDict is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or `default`."""
        return self.__dict__[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new dict with these keys, all with `default`."""
        return ParameterDict([(key, default) for key in keys])

    def keys(self) -> Iterable[str]:
        """Return the keys."""
        return list(self._keys)

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return keys with values."""
        return [(key, self.__dict__[key]) for key in self._keys]

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return [self.__dict__[key] for key in self._keys]

    def update(self, parameters: Any) -> None:
        """Put in values by key: a mapping, another ParameterDict, or pairs. Raises TypeError, ValueError for others."""
        pairs = pairs_of(parameters, "ParameterDict.update")
        if type(parameters) is dict:  # as in PyTorch, a plain dict is taken in the order of its keys
            pairs.sort(key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: ParameterDict) -> ParameterDict:
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other: Mapping[str, Any]) -> ParameterDict:
        both = ParameterDict(other)
        both.update(self)
        return both

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def _lines(self) -> list[str]:
        return [self._line(key, value) for key, value in self.items()]
