"""Reads what torch's databases say of our functions and modules, recorded by `tests.peers.*.record`."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb


class Recorded:
    """One file: a manifest in JSON, and the arrays of each type behind one another."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @functools.cached_property
    def arrays(self) -> dict[str, Any]:
        """The arrays of the file by name."""
        with np.load(self.path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    @functools.cached_property
    def manifest(self) -> Any:
        """Everything that is no array."""
        return json.loads(self.arrays["manifest"].tobytes())

    def array_at(self, place: Any) -> Any:
        """A copy of the numbers at a place of the file."""
        shape = tuple(place["shape"])
        start = place["start"]
        return self.arrays[place["tensor"]][start : start + math.prod(shape)].reshape(shape).copy()

    def read(self, value: Any, leaves: list[Any], requires_grad: bool = True) -> Any:
        """An argument of a call; tensors are also put into `leaves`, in order."""
        if isinstance(value, list):
            return [self.read(one, leaves, requires_grad) for one in value]
        if not isinstance(value, dict):
            return value
        if "tensor" in value:
            made = wb.from_numpy(self.array_at(value))
            leaves.append(made.requires_grad_() if requires_grad and value.get("grad") else made)
            return leaves[-1]
        (kind, inner), *_ = value.items()
        if kind == "tuple":
            return tuple(self.read(inner, leaves, requires_grad))
        if kind == "dict":
            return {key: self.read(one, leaves, requires_grad) for key, one in inner.items()}
        simple: dict[str, Any] = {
            "dtype": lambda name: getattr(wb, name),
            "slice": lambda parts: slice(*parts),
            "complex": lambda parts: complex(*parts),
            "float": float,
            "ellipsis": lambda _: Ellipsis,
        }
        return simple[kind](inner)


FILE = Path(__file__).parent / "recorded.npz"
OPS = Recorded(FILE)
array_at, read = OPS.array_at, OPS.read


def manifest() -> Any:
    """Everything in the file of functions that is no array."""
    return OPS.manifest
