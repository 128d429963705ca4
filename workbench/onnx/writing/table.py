"""The table of what is written: for each op of the house, a function that writes it with operators of the format.

A rule is told the call that it writes (`calls.Call`) and returns the name of the result, or a tuple of names::

    @written("relu")
    def relu(call):
        return call("Relu", call.x(0))

What a rule cannot write, it refuses with an `OnnxError` that says why; where an op has no rule, its calls are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["RULES", "WriteRule", "written"]

WriteRule = Callable[[Any], Any]

_RULES: dict[str, WriteRule] = {}
RULES: Mapping[str, WriteRule] = MappingProxyType(_RULES)
"""What writes each op, by its name in the table of ops."""


def written(*names: str) -> Callable[[WriteRule], WriteRule]:
    """Return a decorator that says which ops a function writes."""

    def declare(rule: WriteRule) -> WriteRule:
        for name in names:
            if name in _RULES:
                raise ValueError(f"{name} is written by two rules")
            _RULES[name] = rule
        return rule

    return declare
