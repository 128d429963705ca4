"""Modules that hold others: in a row, or as a list."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.nn.module import Module

__all__ = ["ModuleList", "Sequential"]


class _Ordered(Module):
    """What a row and a list of modules share: access by position."""

    def _at(self, index: int) -> str:
        names = list(self._module_names)
        position = operator.index(index)
        if not -len(names) <= position < len(names):
            raise IndexError(f"index {index} is out of range: there are {len(names)} modules")
        return names[position]

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[Module]:
        return iter([self.__dict__[name] for name in self._module_names])

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._at(index), module)

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self


class Sequential(_Ordered):
    """Modules called one after the other, each on what the one before returned.

    Give modules, or one dict of names and modules.

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
                self.add_module(str(i), module)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Sequential({name: self.__dict__[name] for name in list(self._module_names)[index]})
        return self.__dict__[self._at(index)]

    def forward(self, input: Any) -> Any:
        """Call the modules in order."""
        own = self.__dict__
        for name in self._module_names:
            input = own[name](input)
        return input


class ModuleList(_Ordered):
    """Modules in a list; the module that holds it decides how they are called."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return ModuleList([self.__dict__[name] for name in list(self._module_names)[index]])
        return self.__dict__[self._at(index)]
