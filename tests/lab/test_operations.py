from __future__ import annotations

import pytest

from workbench import ops as _declarations  # noqa: F401  (declaring the ops fills the table)
from workbench.core import Absent, Op, table
from workbench.lab import operations
from workbench.lab.operations import Row

RULES = ["vjp", "jvp", "batch", "quantized", "contribution", "sparse", "kernel"]


@pytest.fixture(scope="module")
def found() -> list[Row]:
    return operations.rows(table())


def op(name: str) -> Op:
    return next(one for one in table() if one.name == name)


def marks(name: str) -> dict[str, str]:
    (row,) = operations.rows([op(name)])
    return dict(row.marks)


def test_every_op_has_a_row_with_every_rule(found: list[Row]) -> None:
    assert [one.name for one in found] == sorted(one.name for one in table())
    assert all(list(one.marks) == RULES for one in found)


def test_every_mark_of_absence_has_a_reason(found: list[Row]) -> None:
    for one in found:
        for rule in ("vjp", "contribution", "quantized"):
            assert (one.marks[rule] == "·") == (rule in one.reasons), one.name
            assert one.reasons.get(rule, "a reason").strip(), one.name


def test_every_absence_in_the_table_is_on_the_page(found: list[Row]) -> None:
    page = " ".join(operations.report().split())
    for one in table():
        for rule in ("vjp", "contribution", "quantized"):
            if isinstance(absent := getattr(one, rule), Absent):
                assert " ".join(absent.reason.split()) in page, (one.name, rule)
    assert not any(isinstance(value, Absent) for row in found for value in row.marks.values())


def test_forward_mode_says_what_it_is_derived_from(found: list[Row]) -> None:
    assert marks("exp")["jvp"] == "by vjp"
    assert marks("permute")["jvp"] == "itself"
    assert marks("matmul")["jvp"] == "transposed"
    assert marks("argmax")["jvp"] == "·"
    assert all((one.marks["jvp"] == "·") == (one.marks["vjp"] == "·") for one in found)


def test_batching_says_what_vmap_does(found: list[Row]) -> None:
    assert marks("exp")["batch"] == "elementwise"
    assert marks("sum")["batch"] == "along dim"
    assert marks("matmul")["batch"] == "✓"
    assert {one.marks["batch"] for one in found} <= {
        "✓",
        "elementwise",
        "along dim",
        "one by one",
        "along dim or one by one",
    }


def test_an_estimate_is_no_derivative() -> None:
    assert marks("fake_quantize_per_tensor")["vjp"] == "≈"


def test_the_page_stays_narrow_and_sums_up_at_its_end(found: list[Row]) -> None:
    lines = operations.report().splitlines()
    assert max(map(len, lines)) <= 112
    assert f"{len(found)} ops" in lines[-len(RULES) - 1]
    counts = dict(line.split("  ", 1) for line in lines[-len(RULES) :])
    assert list(counts) == RULES or [key.strip() for key in counts] == RULES
    for text in counts.values():
        assert sum(int(part.split()[0]) for part in text.strip().split(", ")) == len(found)


def test_a_reason_that_holds_for_most_is_not_a_list_of_names() -> None:
    page = operations.report()
    assert "all that are not named above" in page
    assert len(page.splitlines()) < 1.75 * len(table())


def test_names_are_found_by_pattern_and_shown_whole() -> None:
    card = operations.detail(["softm*", "argmax"])
    assert card.count("equation") == 3
    assert "argmax: " in card
    assert "softmax_gradient: " in card
    assert "· the output is constant almost everywhere" in card
    assert "softmax: " in card


def test_a_name_that_is_no_op_is_refused() -> None:
    with pytest.raises(ValueError, match="no op is called 'softmux'"):
        operations.detail(["softmux"])


def test_no_op_is_said_to_be_no_op() -> None:
    assert operations.report([]) == "no op is declared\n"
