"""What ordinary programs are written with: a library in PyTorch's words, numbers that are the same in any, and a list.

A program is a function of a `Kit`. It says ``kit.t`` where a program says ``torch``, so that it runs by the import
alone with ``import workbench as torch`` and with PyTorch, and returns what it computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Kit], Any]] = {}


def program(function: Callable[[Kit], Any]) -> Callable[[Kit], Any]:
    """Enter a program into the list."""
    known = PROGRAMS.get(function.__name__, function)
    # The collector of examples may import a file a second time: the same program, then.
    assert known.__code__.co_filename == function.__code__.co_filename, function.__name__
    PROGRAMS[function.__name__] = function
    return function


class Kit:
    """A library, and inputs that do not depend on it."""

    def __init__(self, library: Any) -> None:
        self.t = library
        self.nn = library.nn
        self.F = library.nn.functional
        self.data = library.utils.data if hasattr(library.utils, "data") else library.data
        self.numbers = np.random.default_rng(0)

    def x(self, *shape: int) -> Any:
        """Return a float32 tensor."""
        return self.t.tensor(self.numbers.normal(size=shape).astype(np.float32))

    def whole(self, most: int, *shape: int) -> Any:
        """Return an int64 tensor of numbers below `most`."""
        return self.t.tensor(self.numbers.integers(0, most, shape))

    def made(self, module: Any) -> Any:
        """Fill the parameters of a module with numbers; return it."""
        with self.t.no_grad():
            for parameter in module.parameters():
                values = self.numbers.normal(size=tuple(parameter.shape)) * 0.3
                parameter.copy_(self.t.tensor(values.astype(np.float32)))
        return module

    def linear(self, inside: int, out: int, **settings: Any) -> Any:
        """Return a linear layer with numbers."""
        return self.made(self.nn.Linear(inside, out, **settings))


def tensors_in(value: Any) -> list[Any]:
    """Return the tensors in what a program returned."""
    if isinstance(value, dict):
        return [one for key in value for one in tensors_in(value[key])]
    if isinstance(value, list | tuple):
        return [one for part in value for one in tensors_in(part)]
    return [value] if hasattr(value, "detach") else []


def arrays_in(value: Any) -> list[Any]:
    """Return the numbers in what a program returned as arrays."""
    if isinstance(value, dict):
        return [one for key in value for one in arrays_in(value[key])]
    if isinstance(value, list | tuple):
        return [one for part in value for one in arrays_in(part)]
    return [value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)]
