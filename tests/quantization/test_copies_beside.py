"""Copies of one model in several threads at once, as views make them beside a running cell.

Python 3.11 makes the dict of an object when it is first asked for. Garbage may be collected at that moment, and code
that is run then, or another thread, may ask as well: both get a dict of the same values, which are given back twice.
"""

from __future__ import annotations

import copy
import gc
import random
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from tests.widgets.random_gestures import LABELS, WAYS, X
from workbench import nn
from workbench import quantization as q


def _asked_twice(thing: Any, ask: Callable[[Any], Any]) -> bool:
    """Say whether `ask` gives two dicts of a thing, where it is asked again as garbage is collected on its account."""
    found: list[Any] = []

    def again(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(ask(thing))

    often = gc.get_threshold()
    gc.disable()
    gc.set_threshold(1, 1 << 30, 1 << 30)
    # Dicts that Python keeps ready are used up, so that a new one is made; and many new objects call for a collection.
    taken = [{} for _ in range(200)]  # type: ignore[var-annotated]
    gc.callbacks.append(again)
    gc.enable()
    try:
        own = ask(thing)
    finally:
        gc.callbacks.remove(again)
        gc.set_threshold(*often)
    return bool(taken) and any(one is not own for one in found)


@pytest.mark.parametrize(
    ("make", "ask"),
    [
        (lambda: wb.ones(3) + 1, wb.core.bases.attributes_of),
        (nn.Module, vars),
    ],
    ids=["tensor", "module"],
)
def test_there_is_one_dict_of_attributes(make: Any, ask: Any) -> None:
    assert not any(_asked_twice(make(), ask) for _ in range(50))


@pytest.mark.parametrize("way", WAYS)
def test_what_a_copy_goes_through_has_its_dict_or_none(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = WAYS[way]
    model = kind.prepare(kind.model(), copy.deepcopy(kind.config(random.Random(0))))
    model(X)
    asked: set[str] = set()
    reconstruct = copy._reconstruct  # type: ignore[attr-defined]

    def noting(one: Any, memo: Any, func: Any, args: Any, state: Any = None, *rest: Any, **more: Any) -> Any:
        # A layer has its dict from the beginning.
        if not isinstance(one, nn.Module) and state is not None and state is getattr(one, "__dict__", None):
            asked.add(type(one).__name__)
        return reconstruct(one, memo, func, args, state, *rest, **more)

    monkeypatch.setattr(copy, "_reconstruct", noting)
    copy.deepcopy(model)
    q.Calibration(model, evaluate=(X, LABELS)).figures()
    assert not asked, "these need slots, or the memory of their attributes may be given back twice"
