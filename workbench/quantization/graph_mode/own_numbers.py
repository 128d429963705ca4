"""Which ops give values beyond those that they take: codes of what they take end before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.dtypes import dtype_of
from workbench.core import dispatch
from workbench.core.absent import Absent
from workbench.core.op import Op
from workbench.core.quantized_rules import moved, picked, placed, seen
from workbench.core.value import Value, new

__all__ = ["brings_numbers"]

SMALL = 1e-3
"""What an op is asked with: no number that a program states is as small on purpose, but 0, which all codes have."""

_WITHIN = (moved, picked, placed, seen)
"""Rules of ops that give nothing but values that they take, and zeros."""


def brings_numbers(op: Op, inputs: tuple[Any, ...], params: Mapping[str, Any]) -> bool:
    """Say whether an op that keeps the scale of its input may leave its range; found by asking it with small values.

    So do a padding with a number, what is filled, written or chosen where a condition holds, a lower bound above zero,
    and sums: what it gives needs a scale of its own. `inputs` are those of a call, numbers as they are.
    """
    rule = op.quantized
    if isinstance(rule, Absent) or rule.travels not in ("same", "joined") or rule.codes in _WITHIN:
        return False
    values = [place for place, one in enumerate(inputs) if _is_floating(one)]
    if rule.travels == "joined" and len(values) == sum(rule.role(i) == "value" for i in range(len(inputs))):
        return False
    alone = "elementwise" in op.properties and len(inputs) == 1
    for sign, condition in ((SMALL, True), (-SMALL, False)):
        asked = [
            # What is written among values has a range of its own, but where all share one.
            _all(one, sign * (10 if place != values[0] and rule.travels == "same" else 1), alone)
            if place in values
            else _all(one, condition, alone)
            if isinstance(one, Value) and one.payload.dtype == np.bool_
            else one
            for place, one in enumerate(inputs)
        ]
        with np.errstate(all="ignore"):
            found = dispatch.apply(op, *asked, **params)
        several = found if isinstance(found, tuple) else (found,)
        if any(_is_wide(one.payload) for one in several if isinstance(one, Value)):
            return True
    return False


def _is_floating(one: Any) -> bool:
    return isinstance(one, Value) and bool(one.payload.ndim) and dtype_of(one.payload).is_floating_point


def _all(one: Value, number: Any, alone: bool) -> Value:
    shape = (1,) * one.payload.ndim if alone else one.payload.shape
    return new(np.full(shape, number, one.payload.dtype), one._names)


def _is_wide(array: Any) -> bool:
    known = dtype_of(array).is_floating_point and array.size
    return bool(known and not np.all(np.abs(array) <= SMALL * 1.001))
