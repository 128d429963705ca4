from __future__ import annotations

from workbench.core import table
from workbench.lab import operations


def test_every_op_has_a_row_with_every_rule() -> None:
    found = operations.rows(table())
    assert [name for name, _, _ in found] == sorted(op.name for op in table())
    assert all(set(marks) == {"vjp", "quantized", "kernel"} for _, marks, _ in found)


def test_every_mark_of_absence_has_a_reason() -> None:
    for name, marks, reasons in operations.rows(table()):
        for rule in ("vjp", "quantized"):
            assert (marks[rule] == "·") == (rule in reasons), name
            assert reasons.get(rule, "a reason").strip(), name


def test_no_op_is_said_to_be_no_op() -> None:
    assert operations.report([]) == "no op is declared\n"
