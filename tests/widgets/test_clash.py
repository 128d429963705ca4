"""Dimension errors as pictures."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.widgets.test_tensor import Page
from workbench.base.errors import DimensionError, Operand
from workbench.live.encode import encode_snapshot
from workbench.live.messages import SelectEvent
from workbench.live.model import Refused
from workbench.widgets.clash import ClashModel, clash_html, clash_state

ERROR = DimensionError(
    "C means 3 here and 4 there",
    op="add",
    operands=(
        Operand("x", ("N", "C"), (32, 3), ("cell 1", "cell 1"), (False, True)),
        Operand("weight", ("C",), (4,), ("model.py, line 7",), (True,)),
        Operand("", (), ()),
    ),
    fix="x + weight[:3]",
)


def test_the_state_holds_all_that_the_error_says() -> None:
    state, _ = encode_snapshot("shapes", ClashModel(ERROR).snapshot())
    assert (state["op"], state["message"], state["fix"]) == (
        "add",
        "C means 3 here and 4 there",
        "x + weight[:3]",
    )
    one, other, scalar = state["operands"]  # type: ignore[misc]
    assert one["label"] == "x"
    assert one["dims"][1] == {"name": "C", "size": 3, "origin": "cell 1", "clash": True}
    assert other["dims"][0]["origin"] == "model.py, line 7"
    assert scalar == {"label": "tensor", "dims": []}


def test_operands_without_origins_and_marks_are_drawn() -> None:
    state = clash_state(DimensionError("too few dims", operands=(Operand("x", ("N", None), (2, 3)),)))
    assert [(dim.name, dim.origin, dim.clash) for dim in state.operands[0].dims] == [
        ("N", "", False),
        (None, "", False),
    ]
    assert state.head.title == "DimensionError"


def test_an_error_can_only_be_looked_at() -> None:
    with pytest.raises(Refused, match="nothing to choose"):
        ClashModel(ERROR).handle(SelectEvent("select", "x"))


def test_html_aligns_operands_from_the_right_and_marks_what_clashes() -> None:
    html = clash_html(ERROR)
    page = Page(html)
    text = page.text.replace("\xa0", " ")
    for words in [
        "add: C means 3 here and 4 there",
        "✗ C 3",
        "✗ C 4",
        "model.py, line 7",
        "This would work:x + weight[:3]",
    ]:
        assert words in text
    assert html.count("✗") == 2
    rows = html.split("<tr")[1:]
    assert [row.count("<td") for row in rows] == [2, 2, 3]
    assert "<td></td><td" in rows[1], "weight has nothing under N"


def test_html_holds_no_markup_from_names() -> None:
    bad = "<script>alert(1)</script>"
    operand = Operand(bad, (bad,), (1,), (bad,), (True,))
    page = Page(clash_html(DimensionError(bad, op=bad, operands=(operand,), fix=bad)))
    assert "script" not in page.tags
    assert page.text.count(bad) == 6


def test_an_error_without_operands_is_its_message() -> None:
    assert "table" not in Page(clash_html(DimensionError("no dim 'Q'"))).tags


def test_a_real_clash_is_drawn() -> None:
    with pytest.raises(DimensionError) as caught:
        wb.zeros(N=2, C=3) + wb.zeros(C=3, N=2)
    html = clash_html(caught.value)
    assert "✗" in html
    assert len(html) < 50_000


def test_what_would_work_is_code_and_advice_stands_with_the_message() -> None:
    code = clash_state(wb.DimensionError("no", op="add", fix="x.rename(N='M')  # if they mean the same"))
    assert (code.message, code.fix) == ("no", "x.rename(N='M')  # if they mean the same")
    advice = clash_state(wb.DimensionError("no", op="cat", fix="leave batch_dim out"))
    assert (advice.message, advice.fix, advice.head.code) == ("no\nTo mend it: leave batch_dim out.", "", "")
    assert "This would work" not in clash_html(wb.DimensionError("no", op="cat", fix="leave batch_dim out"))


def test_two_names_for_one_place_are_mended_by_a_line_that_runs() -> None:
    batch, other = wb.ones(N=2), wb.ones(M=2)
    with pytest.raises(wb.DimensionError) as caught:
        batch + other
    fix = clash_state(caught.value).fix
    assert "if they mean the same" in fix
    assert eval(fix, {"batch": batch, "other": other}).names == ("N",)
