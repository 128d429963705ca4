"""What a function reaches beside modules and tensors: lists, dicts and objects, whose contents can change behind it.

A number in a list that the function reads became a number in a step. So what was in each container is kept, and looked
at again before each call. What draws numbers cannot be held to anything: a function that reaches it is not compiled.
"""

from __future__ import annotations

import enum
import random
import sys
import types
from collections import deque
from functools import partial
from typing import Any

import numpy as np

from workbench.nn.module import Module
from workbench.tensor import Tensor

__all__ = ["Holdings", "alike"]

MOST = 5_000
"""Values in containers that are looked at before each call; with more, nothing is compiled."""
MOST_BYTES = 1 << 16
"""The same for numbers in NumPy's arrays."""

_PLAIN = (int, float, complex, str, bytes, bool, tuple, type(None))
_DRAWS = (random.Random, np.random.Generator, np.random.RandomState)


def alike(now: Any, then: Any) -> bool:
    """Say whether a value is the one that was there, or a plain one that equals it."""
    return now is then or (type(now) is type(then) and isinstance(now, _PLAIN) and bool(now == then))


def _inside(value: Any) -> dict[Any, Any] | None:
    """Return what a container or an object has in it, by key; None of anything that has no contents to look at."""
    if isinstance(value, list | tuple | deque):
        return dict(enumerate(value))
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, set | frozenset):
        return dict.fromkeys(value)
    return dict(vars(value)) if _has_attributes(value) else None


def _has_attributes(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    if isinstance(
        value, types.ModuleType | types.FunctionType | types.MethodType | enum.Enum | Module | Tensor
    ):
        return False
    room = kind.__module__.partition(".")[0]
    # Those do not change what functions compute: loggers, paths, locks, and this package's own.
    return (
        room not in ("workbench", "numpy")
        and room not in sys.stdlib_module_names
        and hasattr(value, "__dict__")
    )


class Holdings:
    """Containers and objects as they were at one moment."""

    def __init__(self, roots: dict[str, Any]) -> None:
        self.refusal = ""
        """Why what is reached cannot be watched, or nothing."""
        self.tensors: list[tuple[str, Tensor]] = []
        """Tensors that lie in containers, with their places."""
        self.modules: list[tuple[str, Module]] = []
        """Modules that do, and are no part of another: a plain list of layers."""
        self._kept: list[tuple[str, Any, dict[Any, Any]]] = []
        self._arrays: list[tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        self._seen: dict[int, Any] = {}
        self._count = 0
        for name, root in roots.items():
            self._take(name, root)

    def _take(self, name: str, root: Any) -> None:
        # A list of its own, not calls: contents may be nested deeply, and in themselves.
        waiting = [(name, root)]
        while waiting and not self.refusal:
            path, value = waiting.pop()
            if id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            if isinstance(value, Tensor) and path != name:
                self.tensors.append((path, value))
            elif isinstance(value, Module):
                self.modules.append((path, value))
            elif isinstance(value, np.ndarray):
                self._take_array(path, value)
            elif isinstance(value, _DRAWS):
                self.refusal = f"it reaches {path}, which draws numbers"
            elif isinstance(value, types.MethodType):
                waiting.append((path, value.__self__))
            elif isinstance(value, partial):
                waiting += [(path, value.args), (path, value.keywords), (path, value.func)]
            else:
                inside = _inside(value)
                if inside is None:
                    continue
                self._count += len(inside)
                if self._count > MOST:
                    self.refusal = f"it reaches {path}, which holds more than can be looked at in each call"
                if not isinstance(value, tuple | frozenset):
                    self._kept.append((path, value, inside))
                waiting += [(f"{path}[{key!r}]", one) for key, one in inside.items()]

    def _take_array(self, path: str, array: np.ndarray[Any, Any]) -> None:
        if array.nbytes > MOST_BYTES or array.dtype.hasobject:
            self.refusal = (
                f"it reaches {path}, an array of NumPy's whose numbers may change: make it a tensor"
            )
        self._arrays.append((path, array, array.copy()))

    def dicts(self) -> list[tuple[dict[str, Any], dict[Any, Any]]]:
        """The containers that are dicts, and what was in them: whether all is the same can be seen without Python."""
        return [(value, then) for _, value, then in self._kept if type(value) is dict]

    def change(self, dicts: bool = True) -> str:
        """Return what is no longer as it was, in words, or nothing; without `dicts` of all else."""
        for path, value, then in self._kept:
            if not dicts and type(value) is dict:
                continue
            now = _inside(value)
            if now is None or now.keys() != then.keys() or not all(map(alike, now.values(), then.values())):
                return f"the contents of {path} have changed"
        for path, array, copy in self._arrays:
            if array.shape != copy.shape or array.tobytes() != copy.tobytes():
                return f"the numbers of {path} have changed"
        return ""

    def restore(self) -> None:
        """Put back what was in the containers."""
        for _, value, then in self._kept:
            if isinstance(value, list):
                value[:] = then.values()
            elif isinstance(value, deque):
                value.clear()
                value.extend(then.values())
            elif isinstance(value, dict | set):
                value.clear()
                value.update(then)
            elif not isinstance(value, type):
                vars(value).clear()
                vars(value).update(then)
        for _, array, copy in self._arrays:
            array[...] = copy
