"""The bases of values, recorded calls and ops: compiled, where the kernels are, else the same in Python.

The compiled ones keep their fields in memory of their own instead of a dictionary, and an op of theirs does the common
call (plain arrays of one type, nobody looking on) without Python in the way: `extensions/kernels/source/eager`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.base.collector import collector_at_rest
from workbench.base.seams import Seam
from workbench.core.typing import Tensor
from workbench.kernels.loader import native

__all__ = [
    "APPLY", "VALUE_FIELDS", "CallBase", "NodeBase", "OpBase", "ValueBase", "attributes_of", "eager", "next_serial",
]  # fmt: skip


class _PlainValue:
    """State that most values never have is a class attribute: a result of an op sets two and no more."""

    payload: Any = None
    _names: Any = None
    _labels: Any = None
    _grad_fn: Any = None
    _view: Any = None
    _owner: Any = None
    _leaf: Any = None
    _past: Any = None
    _mirrors: Any = None
    _changes: int = 0
    _since: int = 0
    _seen: int = 0
    _output: int = 0
    _requires_grad: bool = False
    _borrowed: bool = False
    _inference: bool = False


VALUE_FIELDS = frozenset(_PlainValue.__annotations__)
"""What belongs to a value itself, not to who uses it; where nothing is compiled, `vars` of a value has it too."""


class _PlainNode:
    op: Any = None
    inputs: Any = None
    params: Any = None
    saved: Any = None
    versions: Any = None
    packed: Any = None
    hooks: Any = None
    before: Any = None
    after: Any = None
    serial: int = 0


class _PlainCall:
    __slots__ = ("inputs", "needs", "op", "out", "outs", "params")


APPLY = Seam("calling an op", "workbench.core.dispatch")
"""What calling an op does where nothing is compiled."""


class _PlainOp:
    def __call__(self, *inputs: Any, **params: Any) -> Tensor:
        return APPLY.call(self, *inputs, **params)  # type: ignore[no-any-return]


eager: Any = native if native is not None and hasattr(native, "walk") else None
"""The compiled module, if it has the common call."""
if TYPE_CHECKING:
    ValueBase = _PlainValue  # so that a misspelt attribute of a tensor is found
    OpBase = _PlainOp
else:
    ValueBase = _PlainValue if eager is None else eager.ValueBase
    OpBase = _PlainOp if eager is None else eager.OpBase
NodeBase: Any = _PlainNode if eager is None else eager.NodeBase
CallBase: Any = _PlainCall if eager is None else eager.CallBase


def _attributes(value: object) -> dict[str, Any]:
    with collector_at_rest():
        return vars(value)


attributes_of: Callable[[Any], dict[str, Any]] = _attributes if eager is None else eager.attributes
"""`vars` of an object that several threads have: Python 3.11 may end in a segmentation fault where two ask at once."""
next_serial: Callable[[], int] = itertools.count().__next__ if eager is None else eager.next_serial
"""Gives recorded calls their numbers: what was recorded later has the larger one."""
