"""What a compiled function was made from, and whether it is still so: modules, their tensors, and plain attributes.

A function is compiled for what it met: parameters became packed weights, attributes became numbers in steps. All of
that can change behind it, so each call asks a `Watch` first.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from workbench.core.lending import Stamp
from workbench.kernels.loader import native
from workbench.nn.module import Module
from workbench.tensor import Tensor

__all__ = ["Reached", "Watch"]


class Reached:
    """The modules and tensors that a function can reach: its module's, or those it closes over or calls by name.

    It stands for a module while the function is traced, so that what is reached are parameters under dotted names.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.modules: dict[str, Module] = {}
        self.tensors: dict[str, Tensor] = {}
        self.cells: list[tuple[Callable[[], Any], Any]] = []
        """Ways to look something up again, and what was found."""
        if isinstance(function, Module):
            self.modules[""] = function
        else:
            for name, look in _named(function):
                self._take(name, look)

    def _take(self, name: str, look: Callable[[], Any]) -> None:
        found = look()
        self.cells.append((look, found))
        if isinstance(found, Module):
            self.modules[name] = found
        elif isinstance(found, Tensor):
            self.tensors[name] = found

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """Every module once, with its path."""
        seen: set[int] = set()
        for name, module in self.modules.items():
            for path, one in module.named_modules():
                if id(one) not in seen:
                    seen.add(id(one))
                    yield _joined(name, path), one

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Every parameter of the modules, and every tensor beside them."""
        for name, module in self.modules.items():
            for path, one in module.named_parameters():
                yield _joined(name, path), one
        yield from self.tensors.items()

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Every buffer of the modules."""
        for name, module in self.modules.items():
            for path, one in module.named_buffers():
                yield _joined(name, path), one


def _joined(name: str, path: str) -> str:
    return f"{name}.{path}" if name and path else name or path


def _named(function: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what a function reaches by a name: what it closes over, is bound to, and the globals that it names."""
    if isinstance(function, types.MethodType):
        bound = function.__self__
        yield "self", lambda: bound
        function = function.__func__
    if not isinstance(function, types.FunctionType):
        return
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield name, lambda cell=cell: _content(cell)  # type: ignore[misc]
    for name in code.co_names:
        if name in function.__globals__:
            yield name, lambda name=name: function.__globals__.get(name)  # type: ignore[misc]


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


class Watch:
    """How everything that a function reaches was at one moment."""

    def __init__(self, reached: Reached) -> None:
        self.cells = reached.cells
        self.modules = [one for _, one in reached.named_modules()]
        self.snapshots = [_Snapshot(one) for one in self.modules]
        self.tensors = [one for _, one in (*reached.named_parameters(), *reached.named_buffers())]
        self.stamps = [Stamp(one) for one in self.tensors]
        self.hooked = any(one._hooked for one in self.modules)
        """True where a call of one of the modules goes through hooks."""
        self._copies: dict[int, Any] = {}
        """Numbers of tensors whose memory others may write into: their stamps do not tell."""
        for number, (stamp, tensor) in enumerate(zip(self.stamps, self.tensors, strict=True)):
            if not stamp.holds(tensor):
                self._copies[number] = np.array(tensor.payload)
        self._quick = self._by_identity()

    def holds(self) -> str:
        """Return what has changed since, in words, or nothing."""
        for look, found in self.cells:
            if look() is not found:
                return "something that the function reaches by a name is another object"
        doubtful = self._quick.doubtful() if self._quick is not None else None
        if doubtful is None:
            for one in self.snapshots:
                changed = one.change()
                if changed:
                    return changed
            doubtful = range(len(self.tensors))
        for number in doubtful:
            tensor = self.tensors[number]
            if not self.stamps[number].holds(tensor) and not self._same_numbers(number, tensor):
                return "the numbers of a parameter or a buffer have changed"
        return ""

    def _by_identity(self) -> Any:
        """Return the look that takes microseconds: it says of what Python must look at."""
        if native is None:
            return None
        attributes = [(one.own, one.items, one.passing) for one in self.snapshots]
        return native.compiled.Watch(attributes, self.tensors, list(self._copies))

    def _same_numbers(self, number: int, tensor: Tensor) -> bool:
        copy, now = self._copies.get(number), tensor.payload
        if copy is None or type(now) is not np.ndarray:
            return False
        return now.dtype == copy.dtype and np.array_equal(now, copy, equal_nan=now.dtype.kind in "fc")

    @property
    def learns(self) -> bool:
        """True where a tensor that is reached asks for gradients."""
        return any(one.requires_grad for one in self.tensors)

    def restore(self) -> None:
        """Put the attributes of the modules back."""
        for one in self.snapshots:
            one.restore()


class _Snapshot:
    """The attributes of a module at one moment, without those that it keeps to save work."""

    __slots__ = ("items", "own", "passing")

    def __init__(self, module: Module) -> None:
        self.own = vars(module)
        self.passing = module._remembered
        self.items = {name: value for name, value in self.own.items() if name not in self.passing}

    def change(self) -> str:
        """Return which attribute is another now, in words, or nothing."""
        own, then = self.own, self.items
        count = len(own) - sum(name in own for name in self.passing)
        if count == len(then) and all(own.get(name, _ABSENT) is value for name, value in then.items()):
            return ""
        for name in {**then, **own}:
            now, before = own.get(name, _ABSENT), then.get(name, _ABSENT)
            equal = type(now) is type(before) and isinstance(now, _PLAIN) and now == before
            if now is not before and not equal and name not in self.passing:
                return f"the attribute {name!r} of a module is another"
        return ""

    def restore(self) -> None:
        """Give the module the attributes that it had."""
        for name in [one for one in self.own if one not in self.items and one not in self.passing]:
            del self.own[name]
        self.own.update(self.items)


_ABSENT = object()
_PLAIN = (int, float, str, bool, tuple)
