"""The table of what is written: for each op of the house, a function that writes it with operators of the format.

A rule is told the call that it writes (`calls.Call`) and returns the name of the result, or a tuple of names::

    @written("relu")
    def relu(call):
        return call("Relu", call.x(0))

What a rule cannot write, it refuses with an `OnnxError` that says why; where an op has no rule, its calls are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from types import MappingProxyType
from typing import Any

__all__ = ["ON_CODES", "RULES", "WriteRule", "written"]

WriteRule = Callable[[Any], Any]

_RULES: dict[str, WriteRule] = {}
RULES: Mapping[str, WriteRule] = MappingProxyType(_RULES)
"""What writes each op, by its name in the table of ops."""
_ON_CODES: set[str] = set()
ON_CODES: Set[str] = _ON_CODES
"""The ops whose rules are told codes; those of others see the numbers that these stand for."""


def written(*names: str, codes: bool = False) -> Callable[[WriteRule], WriteRule]:
    """Return a decorator that says which ops a function writes; with `codes` it writes what they do to codes itself."""

    def declare(rule: WriteRule) -> WriteRule:
        for name in names:
            if name in _RULES:
                raise ValueError(f"{name} is written by two rules")
            _RULES[name] = rule
            if codes:
                _ON_CODES.add(name)
        return rule

    return declare
