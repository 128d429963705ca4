"""Dispatch: the Op record, `apply`, the stack of interpreters. Knows no single op."""

from __future__ import annotations

from workbench.core.dispatch import (
    Interpreter,
    WithoutNumbers,
    apply,
    enable_grad,
    grad_enabled,
    interpreting,
    no_grad,
)
from workbench.core.op import Absent, BadInput, DTypeRule, Op, Sample, Saves, ops, table
from workbench.core.value import Abstract, Value, dims_of

__all__ = [
    "Absent",
    "Abstract",
    "BadInput",
    "DTypeRule",
    "Interpreter",
    "Op",
    "Sample",
    "Saves",
    "Value",
    "WithoutNumbers",
    "apply",
    "dims_of",
    "enable_grad",
    "grad_enabled",
    "interpreting",
    "no_grad",
    "ops",
    "table",
]
