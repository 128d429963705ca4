"""Reads what torch's optimizers and schedules came to, recorded by `tests.peers.optim_db.record`."""

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


def settings_of(case: Any) -> dict[str, Any]:
    """The settings of a case as an optimizer takes them."""

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return wb.tensor(value["tensor"])
        return tuple(value) if isinstance(value, list) else value

    return {key: read(value) for key, value in case["settings"].items()}


def taken(name: str, shapes: list[dict[str, tuple[int, ...]]]) -> list[list[Any]]:
    """The recorded weights of one array, cut up for cases with these shapes."""
    values, place, cases = arrays()[name], 0, []
    for case in shapes:
        cut = []
        for shape in case.values():
            cut.append(values[place : place + math.prod(shape)].reshape(shape))
            place += math.prod(shape)
        cases.append(cut)
    assert place == len(values)
    return cases
