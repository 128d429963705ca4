"""Run a program that PyTorch has run with the workbench, and say where the two differ.

`DECLARED` is all in which they may.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

import workbench
from tests.random_programs.program import Machine, Step, describe

__all__ = ["Run", "apart", "differs", "stopped"]

TOLERANCE = {"float64": 1e-8, "complex128": 1e-8, "float32": 1e-4, "complex64": 1e-4}


class Run(Protocol):
    """What a library made of a program: a `Machine`, or what was recorded of one."""

    outcomes: list[Any]
    reasons: list[str]
    layouts: list[Any]
    broken: bool

    def end(self) -> dict[str, Any]:
        """Return what the program left behind."""
        ...


def differs(steps: list[Step], theirs: Run) -> str:
    """Return what differs between PyTorch's run of a program and the workbench's: nothing where they agree."""
    if theirs.broken:
        return ""
    ours = Machine(workbench)
    for i, step in enumerate(steps):
        mine, wanted = ours.do(step), theirs.outcomes[i]
        if mine != wanted and wanted == "refused" and mine_goes_on(step, mine, theirs.reasons[i]):
            return ""
        if mine == "refused" and "input" in ours.reasons[i] and "of 'matmul'" in ours.reasons[i]:
            return ""  # PyTorch has multiplied copies of operands of many dims, whose originals may change
        if mine == "refused" and freed_elsewhere(step, ours.reasons[i]):
            return ""
        if mine != wanted:
            text = describe(steps[: i + 1], theirs.outcomes)
            return f"{text}\nstep {i}: {mine} {ours.reasons[i]}\n  torch: {wanted} {theirs.reasons[i]}"
        if ours.ended:
            return ""
        if ours.layouts[-1] != theirs.layouts[i]:
            return ""  # how results lie in memory is each library's own, and decides what is a view of them
    found = apart(ours.end(), theirs.end())
    if theirs.broken:
        return ""
    return f"{describe(steps, theirs.outcomes)}\n{found}" if found else ""


DECLARED = {
    "backward through the graph a second time": "PyTorch saved for a gradient what the workbench need not save",
    "modified by an inplace operation": "the same: a gradient that reads nothing of what was changed is right",
    "returned an invalid gradient": "PyTorch's own rule is at fault, for tensors without entries",
    "detached in-place": "the same: what was saved is still there when its tensor is off the tape",
    "Index put requires the source and destination dtypes match": "an assignment casts, whatever the index",
    "view size is not compatible": "memory that the workbench laid out by itself, channels last, counts as contiguous",
    "unresolved conjugated": "a conjugate has numbers of its own here, of which there can be views",
}
"""Refusals of PyTorch's for which there is no reason here. What comes after such a step is not compared."""


def stopped(steps: list[Step], theirs: Run) -> str:
    """Return the declared reason for which PyTorch's run of a program was refused something, if there is one."""
    refused = [
        reason
        for reason, outcome in zip(theirs.reasons, theirs.outcomes, strict=True)
        if outcome == "refused"
    ]
    return next((words for words in DECLARED for reason in refused if words in reason), "")


GOING_BACK = (
    "its base or another view of its base has been modified",  # of a view that PyTorch saved and the workbench need not
    "more than one element of the written-to tensor",  # of a gradient that PyTorch changes in place
)
"""Refusals of PyTorch's in a backward for which there is no reason here."""


def mine_goes_on(step: Step, mine: Any, reason: str) -> bool:
    """Say whether the workbench did a step that PyTorch refused for a declared reason."""
    if not isinstance(mine, list):
        return False
    if step.word in ("backward", "grad", "seeded_grad") and any(words in reason for words in GOING_BACK):
        return True
    return any(words in reason for words in DECLARED)


def freed_elsewhere(step: Step, reason: str) -> bool:
    """Say whether the workbench refused since part of the graph was freed that may not lead to what is asked for.

    A call that was freed does not know any more where it led; PyTorch's does.
    """
    return step.word in ("grad", "seeded_grad") and "through the graph a second time" in reason


def apart(mine: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Return where what two runs left behind differs."""
    for i, (a, b) in enumerate(zip(mine["facts"], wanted["facts"], strict=True)):
        if a != b:
            return f"v{i} is {a}\n  torch: {b}"
    narrow = any(fact[1] in ("float32", "complex64") for fact in wanted["facts"] if fact != "lost")
    least = 1e-4 if narrow else 0.0
    for kind in ("values", "gradients"):
        for i, (a, b) in enumerate(zip(mine[kind], wanted[kind], strict=True)):
            if not close(a, b, least):
                return f"{kind} of v{i}: {show(a)}\n  torch: {show(b)}"
    for i, (several, others) in enumerate(zip(mine["hooks"], wanted["hooks"], strict=True)):
        if len(several) != len(others):
            return f"hook {i} was called {len(several)} times\n  torch: {len(others)} times"
        for a, b in zip(several, others, strict=True):
            if not close(a, b, least):
                return f"hook {i} saw {show(a)}\n  torch: {show(b)}"
    return ""


def show(array: Any) -> str:
    """Return an array on one line."""
    return "None" if array is None else f"{array.dtype}{array.tolist()}"


def close(a: Any, b: Any, least: float = 0.0) -> bool:
    """Say whether two arrays hold the same numbers, up to rounding."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    tolerance = max(TOLERANCE.get(a.dtype.name, 0.0), least)
    if not a.size:
        return True
    scale = max(1.0, float(np.nanmax(np.abs(b)))) if np.isfinite(b).any() else 1.0
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * min(scale, 1e300), equal_nan=True))
