"""What a block of a script may change: lists, dicts and tensors that were there before, and how they were."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import NoneType
from typing import Any

from workbench.base.symbolic_size import SymbolicNumber
from workbench.core.value import new
from workbench.onnx.errors import OnnxError
from workbench.onnx.scripts.rows import Items
from workbench.tensor import Tensor

__all__ = ["Memory", "Slot", "alike"]


@dataclass(frozen=True)
class Slot:
    """A place that a block changes: a tensor, a list, or an entry of a dict."""

    owner: Any
    key: Any = None

    @property
    def name(self) -> str:
        """What it is, in words."""
        return (
            repr(self.key)
            if isinstance(self.owner, dict)
            else "a list"
            if isinstance(self.owner, list)
            else "a tensor"
        )

    def get(self) -> Any:
        """Return what is there now."""
        return self.owner[self.key] if isinstance(self.owner, dict) else self.owner

    def put(self, value: Any) -> None:
        """Put something else there."""
        if isinstance(self.owner, dict):
            self.owner[self.key] = value
        elif isinstance(self.owner, Items):
            _fill(self.owner, (value.row, list(value)))
        else:
            self.owner.payload, self.owner._names = value.payload, value._names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slot) and self.owner is other.owner and self.key == other.key

    def __hash__(self) -> int:
        return hash((id(self.owner), self.key))


class Memory:
    """How all that a script can reach is at one moment."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self._objects: dict[int, Any] = {}
        for one in roots:
            self._find(one)
        self._states = {key: _state(one) for key, one in self._objects.items()}

    def _find(self, value: Any) -> None:
        if isinstance(value, Tensor | Items | dict):
            if id(value) in self._objects:
                return
            self._objects[id(value)] = value
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list | tuple):
            for one in value:
                self._find(one)

    def changed(self) -> list[Slot]:
        """Return the places that are otherwise now."""
        found = []
        for key, one in self._objects.items():
            before = self._states[key]
            if isinstance(one, dict):
                if list(one) != list(before):
                    raise OnnxError(
                        "a dict gets or loses keys where only a run knows whether: let it have them from the start"
                    )
                found += [Slot(one, word) for word in one if not alike(one[word], before[word])]
            elif isinstance(one, Items):
                row, items = before
                if one.row is not row or len(one) != len(items) or not all(map(alike, one, items)):
                    found.append(Slot(one))
            elif one.payload is not before[0]:
                found.append(Slot(one))
        return found

    def was(self, slot: Slot) -> Any:
        """Return what was in a place."""
        state = self._states[id(slot.owner)]
        if isinstance(slot.owner, dict):
            return state[slot.key]
        if isinstance(slot.owner, Items):
            made = Items(state[1])
            made.row = state[0]
            return made
        return new(*state)

    def restore(self) -> None:
        """Let all be as it was."""
        for key, one in self._objects.items():
            _fill(one, self._states[key])


def _state(one: Any) -> Any:
    if isinstance(one, dict):
        return dict(one)
    return (one.row, list(one)) if isinstance(one, Items) else (one.payload, one._names)


def _fill(one: Any, state: Any) -> None:
    if isinstance(one, dict):
        one.clear()
        one.update(state)
    elif isinstance(one, Items):
        one.row = state[0]
        one[:] = state[1]
    else:
        one.payload, one._names = state


def alike(one: Any, other: Any) -> bool:
    """Say whether two values are the same in every run: one object, or equal plain values.

    >>> alike(2, 2), alike(2, 2.0), alike([], [])
    (True, False, False)
    """
    if one is other:
        return True
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.payload is other.payload
    if isinstance(one, Items) and isinstance(other, Items):
        return one.row is other.row and len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return all(map(alike, one, other))
    plain = type(one) is type(other) and isinstance(one, str | bool | int | float | NoneType)
    if isinstance(one, SymbolicNumber) and isinstance(other, SymbolicNumber):
        return str(one.expression) == str(other.expression)
    return plain and (one == other or one != one)
