"""What a compiled function was made from, and whether it is still so: modules, their tensors, and plain attributes.

A function is compiled for what it met: parameters became packed weights, attributes became numbers in steps. All of
that can change behind it, so each call asks a `Watch` first.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from workbench.compiler.holdings import Holdings, alike
from workbench.core.lending import Stamp
from workbench.graph.reaching import functions_in, named_by
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
        self.roots: dict[str, Any] = {}
        """Whatever else was found, by name: its contents are watched."""
        self._known: set[int] = set()
        if isinstance(function, Module):
            self.modules[""] = function
        else:
            if isinstance(function, types.MethodType):
                bound = function.__self__
                self._take("self", lambda: bound)
            self._follow(function)
        self._take_contents()

    def _take_contents(self) -> None:
        """Take in what modules have besides modules, and what lies in containers, as in a list of layers."""
        known: set[int] = set()
        more = True
        while more:
            for name, module in [(name, one) for name, one in self.named_modules() if id(one) not in known]:
                known.add(id(module))
                for attribute, value in vars(module).items():
                    if attribute in module._remembered or attribute in _OWN or isinstance(value, Module):
                        continue
                    path = _joined(name, attribute)
                    if not isinstance(value, Tensor):
                        self.roots[_free(path, self.roots)] = value
                    elif attribute not in module._parameter_names and attribute not in module._buffer_names:
                        self.tensors[_free(path, self.tensors)] = value
                self._follow_methods(type(module))
            inside = Holdings(self.roots)
            more = False
            for path, module in inside.modules:
                if id(module) not in known:
                    self.modules[_free(path, self.modules)] = module
                    more = True
        for path, tensor in inside.tensors:
            self.tensors[_free(path, self.tensors)] = tensor

    def _take(self, name: str, look: Callable[[], Any]) -> None:
        found = look()
        self.cells.append((look, found))
        # A global may be called as an attribute is, and two functions may know two things by one name.
        if isinstance(found, Module):
            self.modules[_free(name, self.modules)] = found
        elif isinstance(found, Tensor):
            self.tensors[_free(name, self.tensors)] = found
        else:
            self.roots[_free(name, self.roots)] = found
            self._follow(found)

    def _follow(self, called: Any) -> None:
        """Take in what is reached by the functions that a function calls."""
        for function in functions_in(called):
            # The package's own functions read nothing that changes.
            if id(function) in self._known or _room(function) == "workbench":
                continue
            self._known.add(id(function))
            for name, look in named_by(function):
                self._take(name, look)

    def _follow_methods(self, kind: type) -> None:
        """Take in what a module's forward reaches, and the methods that it names."""
        waiting, seen = ["forward"], {"forward"}
        while waiting:
            method = getattr(kind, waiting.pop(), None)
            for function in functions_in(method):
                self._follow(function)
                named = {one for one in function.__code__.co_names if callable(getattr(kind, one, None))}
                waiting += named - seen
                seen |= named

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


def _free(path: str, taken: Mapping[str, Any]) -> str:
    """Return a word for a place that nothing else is called by: of tensors it becomes a name in a graph."""
    word = re.sub(r"[^\w.]+", "_", path).strip("_")
    return next(one for one in (word, *(f"{word}_{i}" for i in range(1, len(taken) + 2))) if one not in taken)


def _joined(name: str, path: str) -> str:
    return f"{name}.{path}" if name and path else name or path


_OWN = frozenset(vars(Module()))
"""What each module notes of its own attributes, which are looked at themselves."""


class Watch:
    """How everything that a function reaches was at one moment.

    Without `numbers` those of tensors may change: who trains reads them at each call.
    """

    def __init__(self, reached: Reached, numbers: bool = True) -> None:
        self.cells = reached.cells
        self.modules = [one for _, one in reached.named_modules()]
        self.snapshots = [_Snapshot(one) for one in self.modules]
        self.tensors = [one for _, one in (*reached.named_parameters(), *reached.named_buffers())]
        self.holdings = Holdings(reached.roots)
        self.refusal = self.holdings.refusal
        """Why nothing is compiled, whatever the arguments; or nothing."""
        self.kinds = [] if numbers else [_kind(one) for one in self.tensors]
        watched = self.tensors if numbers else []
        self.stamps = [Stamp(one) for one in watched]
        self._hooked = [one for one in self.modules if one._hooked]
        """Modules whose calls go through hooks; what others are given later shows among their attributes."""
        self._copies: dict[int, Any] = {}
        """Numbers of tensors whose memory others may write into: their stamps do not tell."""
        for number, (stamp, tensor) in enumerate(zip(self.stamps, watched, strict=True)):
            if not stamp.holds(tensor):
                self._copies[number] = np.array(tensor.payload)
        self._quick = self._by_identity()

    @property
    def hooked(self) -> bool:
        """True where a call of one of the modules goes through hooks that do more than compute."""
        return any(one._hooks is not None and not one._hooks.compute_only() for one in self._hooked)

    def beside_tensors(self) -> str:
        """Return what of names, containers and attributes has changed since, in words, or nothing."""
        changed = self._names_or_contents()
        return changed or next(filter(None, (one.change() for one in self.snapshots)), "")

    def _names_or_contents(self, dicts: bool = True) -> str:
        for look, found in self.cells:
            if not alike(look(), found):
                return "something that the function reaches by a name is another object"
        return self.holdings.change(dicts)

    def holds(self) -> str:
        """Return what has changed since, in words, or nothing."""
        doubtful = self._quick.doubtful() if self._quick is not None else None
        changed = self._names_or_contents(dicts=doubtful is None)
        if changed:
            return changed
        for tensor, kind in zip(self.tensors, self.kinds, strict=False):
            if _kind(tensor) != kind:
                return "a parameter or a buffer has another type, sizes or names, or asks otherwise for gradients"
        if doubtful is None:
            for one in self.snapshots:
                changed = one.change()
                if changed:
                    return changed
            doubtful = range(len(self.stamps))
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
        attributes += [(own, then, ()) for own, then in self.holdings.dicts()]
        return native.compiled.Watch(attributes, self.tensors[: len(self.stamps)], list(self._copies))

    def _same_numbers(self, number: int, tensor: Tensor) -> bool:
        copy, now = self._copies.get(number), tensor.payload
        if copy is None or type(now) is not np.ndarray:
            return False
        if now.dtype != copy.dtype or now.shape != copy.shape:
            return False
        # By their bits, NaN's too: many times as fast as numbers are compared.
        bits = _BITS.get(now.dtype.itemsize) if now.flags.c_contiguous and copy.flags.c_contiguous else None
        if bits is None:
            return np.array_equal(now, copy, equal_nan=now.dtype.kind in "fc")
        return np.array_equal(now.reshape(-1).view(bits), copy.reshape(-1).view(bits))

    @property
    def learns(self) -> bool:
        """True where a tensor that is reached asks for gradients."""
        return any(one.requires_grad for one in self.tensors)

    def restore(self) -> None:
        """Put the attributes of the modules back, and what was in containers."""
        self.holdings.restore()
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
            if not alike(now, before) and name not in self.passing:
                return f"the attribute {name!r} of a module is another"
        return ""

    def restore(self) -> None:
        """Give the module the attributes that it had."""
        for name in [one for one in self.own if one not in self.items and one not in self.passing]:
            del self.own[name]
        self.own.update(self.items)


def _kind(tensor: Any) -> tuple[Any, ...]:
    """Return what of a tensor is not its numbers."""
    array = tensor.payload
    return type(array), array.shape, array.dtype, tensor._names, tensor._requires_grad


_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_ABSENT = object()


def _room(function: Any) -> str:
    """Return the package that a function is from; of one that a program wrote there is none."""
    return str(function.__module__ or "").partition(".")[0]
