"""Reads what torch's op database says of our functions, recorded by `tests.peers.op_db.record`."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb

FILE = Path(__file__).parent / "recorded.npz"


@functools.cache
def arrays() -> dict[str, Any]:
    """The arrays of the file by name."""
    with np.load(FILE, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@functools.cache
def manifest() -> Any:
    """Everything that is no array."""
    return json.loads(arrays()["manifest"].tobytes())


def array_at(place: Any) -> Any:
    """A copy of the numbers at a place of the file."""
    shape = tuple(place["shape"])
    start = place["start"]
    return arrays()[place["tensor"]][start : start + math.prod(shape)].reshape(shape).copy()


def read(value: Any, leaves: list[Any], requires_grad: bool = True) -> Any:
    """An argument of a call; tensors are also put into `leaves`, in order."""
    if isinstance(value, list):
        return [read(one, leaves, requires_grad) for one in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        made = wb.from_numpy(array_at(value))
        leaves.append(made.requires_grad_() if requires_grad and value.get("grad") else made)
        return leaves[-1]
    (kind, inner), *_ = value.items()
    if kind == "tuple":
        return tuple(read(inner, leaves, requires_grad))
    if kind == "dict":
        return {key: read(one, leaves, requires_grad) for key, one in inner.items()}
    simple: dict[str, Any] = {
        "dtype": lambda name: getattr(wb, name),
        "slice": lambda parts: slice(*parts),
        "complex": lambda parts: complex(*parts),
        "float": float,
        "ellipsis": lambda _: Ellipsis,
    }
    return simple[kind](inner)
