"""The op coverage page: which rules each op has, and why those that it lacks are absent."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterable

from workbench import ops as _declarations  # noqa: F401  (declaring the ops fills the table)
from workbench.core import Absent, Op, table

__all__ = ["report", "rows"]

_HELD = "✓"
_LACKING = "·"


def _rules() -> list[str]:
    """Names of the fields of Op that may be Absent, read from its annotations."""
    return [item.name for item in dataclasses.fields(Op) if "Absent" in str(item.type)]


def rows(ops: Iterable[Op]) -> list[tuple[str, dict[str, str], dict[str, str]]]:
    """For each op its name, a mark for each rule, and the reason for each rule that it lacks."""
    found = []
    for op in sorted(ops, key=lambda one: one.name):
        rules = {name: getattr(op, name) for name in _rules()}
        marks = {name: _LACKING if isinstance(rule, Absent) else _HELD for name, rule in rules.items()}
        marks["kernel"] = _HELD if op.kernel is not None else _LACKING
        reasons = {name: rule.reason for name, rule in rules.items() if isinstance(rule, Absent)}
        found.append((op.name, marks, reasons))
    return found


def report(ops: Iterable[Op] | None = None) -> str:
    """The page as text: a table of marks, then every absence as a sentence."""
    found = rows(table() if ops is None else ops)
    if not found:
        return "no op is declared\n"
    rules = list(found[0][1])
    width = max(len(name) for name, _, _ in found)
    lines = [f"{'op':<{width}}  " + "  ".join(rules)]
    for name, marks, _ in found:
        lines.append(f"{name:<{width}}  " + "  ".join(f"{marks[rule]:^{len(rule)}}" for rule in rules))
    held = ", ".join(f"{sum(marks[rule] == _HELD for _, marks, _ in found)} {rule}" for rule in rules)
    lines += ["", f"{len(found)} ops: {held}"]
    absences: dict[tuple[str, str], list[str]] = {}
    for name, _, reasons in found:
        for rule, reason in reasons.items():
            absences.setdefault((rule, reason), []).append(name)
    if absences:
        lines += ["", "Rules that are absent, and why:"]
    for (rule, reason), names in sorted(absences.items()):
        lines.append(f"\n{rule}: {reason}")
        lines += textwrap.wrap(", ".join(names), 100, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(lines) + "\n"
