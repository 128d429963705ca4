"""Modules that hold other modules: in a row, as a list, or by key."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from workbench.base.dims import near_miss
from workbench.nn.module import Module
from workbench.tensor import Tensor

__all__ = ["ModuleDict", "ModuleList", "Sequential"]

Row = TypeVar("Row", bound="_Ordered")


class _Ordered(Module):
    """What a row and a list of modules share: access by position."""

    def __init__(self) -> None:
        super().__init__()

    def _at(self, index: int) -> str:
        names = list(self._module_names)
        position = operator.index(index)
        if not -len(names) <= position < len(names):
            raise IndexError(f"index {index} is out of range: there are {len(names)} modules")
        return names[position]

    def _refill(self, modules: Iterable[Any]) -> None:
        """Hold these modules, numbered in order, and no others."""
        kept = list(modules)
        # Over a copy: names leave on the way.
        for name in list(self._module_names):
            delattr(self, name)
        for i, module in enumerate(kept):
            self.add_module(str(i), module)

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[Any]:
        # A list, so that a loop may add modules and take them out.
        return iter([self.__dict__[name] for name in self._module_names])

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._module_names)
        for name in names[index] if isinstance(index, slice) else [self._at(index)]:
            delattr(self, name)
        # Positions are numbered anew; names that somebody gave stay what they are.
        if all(name.isdigit() for name in names):
            self._refill(self)

    def __iadd__(self: Row, other: Iterable[Any]) -> Row:
        return self.extend(other)

    def append(self: Row, module: Module) -> Row:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self: Row, modules: Iterable[Any]) -> Row:
        """Add modules at the end. Raises TypeError, and adds none, where one is no module."""
        for module in _checked(modules, f"{type(self).__name__}.extend"):
            self.append(module)
        return self

    def pop(self, key: int) -> Any:
        """Take out the module at a position, and return it."""
        module = self.__dict__[self._at(key)]
        del self[key]
        return module


def _checked(modules: Any, where: str) -> list[Any]:
    """Return the modules as a list; refuse what is none."""
    if not isinstance(modules, Iterable) or isinstance(modules, Tensor | str):
        raise TypeError(
            f"{where} should be called with an iterable of modules, but got {type(modules).__name__}"
        )
    given = list(modules)
    for module in given:
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
    return given


class Sequential(_Ordered):
    """Modules called one after the other, each on what the one before returned.

    Give modules, or one dict of names and modules. A slice is a Sequential of the same modules; ``+``, ``*``, `append`,
    `insert`, `extend` and `pop` are those of a list.

    >>> import workbench as wb
    >>> model = Sequential(wb.nn.Flatten(), wb.nn.Linear(4, 2))
    >>> model(wb.zeros(N=3, C=1, H=2, W=2)).shape
    (3, 2)
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], dict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(modules):
                if isinstance(module, list | tuple):
                    raise TypeError(
                        f"{type(module).__name__} is not a Module subclass: give them one by one, Sequential(*modules)"
                    )
                self.add_module(str(i), module)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            # Unlike a list's, the slice keeps the names: positions in it may begin elsewhere than at 0, as in
            # PyTorch.
            return type(self)({name: self.__dict__[name] for name in list(self._module_names)[index]})
        return self.__dict__[self._at(index)]

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other).__name__} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other).__name__} is given."
            )
        return self.extend(other)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*[module for _ in range(_repetitions(times)) for module in self])

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Sequential:
        return self.extend([module for _ in range(_repetitions(times) - 1) for module in self])

    def insert(self, index: int, module: Module) -> Sequential:
        """Put a module before the one at a position; those behind it are numbered anew.

        Raises IndexError for a position that is not there, TypeError for what is no module.
        """
        _checked([module], "Sequential.insert")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}, there are {size} modules")
        row = list(self)
        row.insert(index if index >= 0 else index + size, module)
        self._refill(row)
        return self

    def forward(self, input: Any) -> Any:
        """Call the modules in order."""
        own = self.__dict__
        for name in self._module_names:
            input = own[name](input)
        return input


def _repetitions(times: Any) -> int:
    if not isinstance(times, int) or isinstance(times, bool):
        raise TypeError(
            f"unsupported operand type(s) for *: Sequential and {type(times).__name__}: it is repeated a whole number "
            "of times"
        )
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for Sequential")
    return times


class ModuleList(_Ordered):
    """Modules in a list; the module that holds it decides how they are called.

    >>> import workbench as wb
    >>> layers = ModuleList([wb.nn.Linear(2, 2) for _ in range(2)])
    >>> len(layers), [name for name, _ in layers.named_parameters()]
    (2, ['0.weight', '0.bias', '1.weight', '1.bias'])
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self.__dict__[name] for name in list(self._module_names)[index]])
        return self.__dict__[self._at(index)]

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *_checked(other, "ModuleList.__add__")])

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at a position, as a list does."""
        _checked([module], "ModuleList.insert")
        row = list(self)
        row.insert(index, module)
        self._refill(row)

    def __repr__(self) -> str:
        """Return the printed form; equal modules in a row are printed once."""
        groups: list[tuple[int, int, str]] = []
        for i, module in enumerate(self):
            text = repr(module)
            if groups and groups[-1][2] == text:
                groups[-1] = (groups[-1][0], i, text)
            else:
                groups.append((i, i, text))
        if not groups:
            return f"{self._get_name()}()"
        lines = []
        for first, last, text in groups:
            place = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append(place + "\n  ".join(text.split("\n")))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """Modules by key, in the order in which they came; the module that holds it decides how they are called.

    Raises KeyError for a key that has a dot or is the name of one of a module's own attributes.

    >>> import workbench as wb
    >>> acts = ModuleDict({"relu": wb.nn.ReLU(), "tanh": wb.nn.Tanh()})
    >>> acts["relu"](wb.tensor([-1.0]))
    tensor([0.])
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        if key not in self._module_names:
            near = near_miss(str(key), self._module_names)
            raise KeyError(key if near is None else f"{key!r}. Did you mean {near!r}?")
        return self.__dict__[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        if key not in self._module_names:
            raise KeyError(key)
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._module_names)

    def __contains__(self, key: object) -> bool:
        return key in self._module_names

    def clear(self) -> None:
        """Take all modules out."""
        for key in list(self._module_names):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out the module of a key, and return it."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Iterable[str]:
        """Return the keys."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return keys with modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Put in modules by key: a mapping, another ModuleDict, or pairs. Raises TypeError, ValueError for others."""
        for key, module in pairs_of(modules, "ModuleDict.update"):
            self[key] = module


def pairs_of(given: Any, where: str) -> list[tuple[str, Any]]:
    """Return what is given as pairs of key and value; refuse what has no such form."""
    if not isinstance(given, Iterable) or isinstance(given, Tensor):
        raise TypeError(
            f"{where} should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if isinstance(given, Mapping | Module):
        return list(given.items())  # type: ignore[union-attr]
    pairs: list[tuple[str, Any]] = []
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{where}: sequence element #{i} should be Iterable; is {type(pair).__name__}")
        both = tuple(pair)
        if len(both) != 2:
            raise ValueError(f"{where}: sequence element #{i} has length {len(both)}; 2 is required")
        pairs.append((both[0], both[1]))
    return pairs
