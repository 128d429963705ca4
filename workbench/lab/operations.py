"""The op coverage page: which rules each op has and where they come from, and why those that it lacks are absent.

Two rules need not be written: forward mode follows from the gradient rule, and a batch runs one by one where nothing
better is known. The page says which is the case, from the same functions that decide it when an op is called.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from workbench.autograd.forward import derivation, elementwise, linear, transposed
from workbench.core import Absent, Op, table
from workbench.core.batching import along, one_by_one, rule_for
from workbench.core.batching import elementwise as elementwise_batch
from workbench.core.sparse_rules import derived

__all__ = ["Row", "detail", "report", "rows"]

_HELD = "✓"
_LACKING = "·"
_ESTIMATE = "≈"
_FORWARD: dict[object, str] = {linear: "itself", elementwise: "by vjp", transposed: "transposed"}
_BATCH: dict[object, str] = {elementwise_batch: "elementwise", along: "along dim", one_by_one: "one by one"}
_WORDS = {_HELD: "have one", _LACKING: "have none", _ESTIMATE: "estimate it"}
_WIDTH = 100

_LEGEND = {
    "vjp": "the gradient rule. ≈ is a useful stand-in for the derivative",
    "jvp": "the derivative forwards. ✓ has a rule of its own; otherwise it is derived: of the op itself, which is "
    "linear; by the vjp, since each value stands alone; or from the transposed vjp",
    "batch": "what vmap does. ✓ has a rule of its own; `one by one` calls the op for each entry; `or` where it "
    "depends on the call",
    "quantized": "works on quantized values as they are",
    "contribution": "how its result is shared out among its inputs, which DeepLift and LRP ask",
    "sparse": "what is done to sparse values. ✓ has a rule of its own; `values` where the op leaves 0 as it is",
    "kernel": "has compiled code here; NumPy computes all others",
}


@dataclass(frozen=True)
class Row:
    """One op: a mark for each rule, and the reason for each that is absent."""

    name: str
    marks: Mapping[str, str]
    reasons: Mapping[str, str]


def _rules() -> list[str]:
    """Names of the fields of Op that may be Absent, read from its annotations."""
    # As text, since annotations are not evaluated.
    return [item.name for item in dataclasses.fields(Op) if "Absent" in str(item.type)]


def _forward(op: Op) -> str:
    if op.jvp is not None:
        return _HELD
    derived = derivation(op)
    return _LACKING if derived is None else _FORWARD[derived]


def _batch(op: Op) -> str:
    """Return what vmap does with the op; some do not tell before they see a call, so that its samples are asked."""
    if op.batch is not None and op.batch is not elementwise_batch:
        return _HELD
    calls = [(len(sample.inputs), sample.params) for sample in op.samples()] or [(1, {})]
    found = {_BATCH[rule_for(op, count, params)] for count, params in calls}
    return " or ".join(sorted(found))


def rows(ops: Iterable[Op]) -> list[Row]:
    """Return what is known of each op, by name."""
    found = []
    for op in sorted(ops, key=lambda one: one.name):
        rules = {name: getattr(op, name) for name in _rules()}
        rules["sparse"] = derived(op) if op.sparse is None else op.sparse
        reasons = {name: rule.reason for name, rule in rules.items() if isinstance(rule, Absent)}
        held = {name: _LACKING if name in reasons else _HELD for name in rules}
        if op.sparse is None and "sparse" not in reasons:
            held["sparse"] = "values"
        if "estimate" in op.properties and op.vjp:
            held["vjp"] = _ESTIMATE
        marks = {
            "vjp": held.pop("vjp"),
            "jvp": _forward(op),
            "batch": _batch(op),
            **held,
            "kernel": _HELD if op.kernel is not None else _LACKING,
        }
        found.append(Row(op.name, marks, reasons))
    return found


def report(ops: Iterable[Op] | None = None) -> str:
    """Return the page as text: a table of marks, every absence as a sentence, and the counts last."""
    found = rows(table() if ops is None else ops)
    if not found:
        return "no op is declared\n"
    parts = [*_table(found), *_absences(found), *_legend(found), *_summary(found)]
    return "\n".join(parts) + "\n"


def _table(found: Sequence[Row]) -> list[str]:
    """Return a line an op, in blocks by initial, each under the names of the rules."""
    rules = list(found[0].marks)
    left = max(len(one.name) for one in found)
    widths = [max(len(rule), *(len(one.marks[rule]) for one in found)) for rule in rules]
    lines: list[str] = []
    initial = ""
    for one in found:
        if one.name[0] != initial:
            initial = one.name[0]
            heads = "  ".join(f"{rule:<{width}}" for rule, width in zip(rules, widths, strict=True))
            lines += ["", f"{initial.upper():<{left}}  {heads}".rstrip()]
        cells = [f"{one.marks[rule]:<{width}}" for rule, width in zip(rules, widths, strict=True)]
        lines.append(f"{one.name:<{left}}  {'  '.join(cells)}".rstrip())
    # The first line is the gap before a letter.
    return lines[1:]


def _absences(found: Sequence[Row]) -> list[str]:
    """Return each reason once, with the ops that it holds for; what holds for most is not enumerated."""
    lines: list[str] = []
    for rule in _rules():
        by_reason: dict[str, list[str]] = {}
        for one in found:
            if rule in one.reasons:
                by_reason.setdefault(one.reasons[rule], []).append(one.name)
        if not by_reason:
            continue
        lines += ["", f"No {rule} rule, and why:"]
        for reason, names in sorted(by_reason.items(), key=lambda item: (len(item[1]), item[0])):
            count = f" ({len(names)} ops)" if len(names) > 3 else ""
            lines += textwrap.wrap(reason + count, _WIDTH, initial_indent="  ", subsequent_indent="  ")
            listed = ", ".join(names)
            # What holds for most of the ops says more as one sentence than as a list of their names.
            if len(names) * 2 > len(found) and len(by_reason) > 1:
                listed = "all that are not named above and have no ✓"
            lines += textwrap.wrap(listed, _WIDTH, initial_indent="      ", subsequent_indent="      ")
    return lines


def _legend(found: Sequence[Row]) -> list[str]:
    left = max(len(rule) for rule in found[0].marks)
    lines = [""]
    for rule in found[0].marks:
        head = f"{rule:<{left}}  "
        lines += textwrap.wrap(_LEGEND[rule], _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    return lines


def _summary(found: Sequence[Row]) -> list[str]:
    """Return for each rule how many ops have which mark."""
    left = max(len(rule) for rule in found[0].marks)
    lines = ["", f"{len(found)} ops"]
    for rule in found[0].marks:
        counts = Counter(one.marks[rule] for one in found).most_common()
        lines.append(
            f"{rule:<{left}}  " + ", ".join(f"{count} {_WORDS.get(mark, mark)}" for mark, count in counts)
        )
    return lines


def detail(patterns: Sequence[str], ops: Iterable[Op] | None = None) -> str:
    """Return all that the table says of the ops whose names fit one of the patterns, such as ``*pool*``.

    Raises `ValueError` for a pattern that no op fits.
    """
    known = {op.name: op for op in (table() if ops is None else ops)}
    chosen: dict[str, Op] = {}
    for pattern in patterns:
        fitting = fnmatch.filter(known, pattern)
        if not fitting:
            raise ValueError(f"no op is called {pattern!r}; `workbench doctor --ops` lists them all")
        chosen.update((name, known[name]) for name in fitting)
    return "\n".join(_card(chosen[row.name], row) for row in rows(chosen.values()))


def _card(op: Op, row: Row) -> str:
    entries = {
        "equation": op.equation,
        "dims": op.rule,
        "type": op.dtype.name,
        "reference": op.reference or "",
        "is": ", ".join(sorted(op.properties)),
        **{rule: _sentence(op, row, rule) for rule in row.marks},
    }
    left = max(len(key) for key in entries)
    lines = textwrap.wrap(f"{op.name}: {op.doc}", _WIDTH)
    for key, text in entries.items():
        if text:
            head = f"  {key:<{left}}  "
            lines += textwrap.wrap(text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    return "\n".join(lines) + "\n"


def _sentence(op: Op, row: Row, rule: str) -> str:
    if rule in row.reasons:
        return f"{_LACKING} {row.reasons[rule]}"
    if rule == "kernel" and op.kernel is not None:
        return f"{_HELD} {', '.join(op.kernel.needs)}"
    return row.marks[rule]
