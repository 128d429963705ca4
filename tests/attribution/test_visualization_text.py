"""Attributions of text, drawn: what is in the page, what is on the axes, and what is refused."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import visualization

EVIL = '<script>alert("x")</script>&'


def record(**changes: Any) -> visualization.VisualizationDataRecord:
    told: dict[str, Any] = {
        "word_attributions": wb.tensor([0.9, -0.4, 0.0]),
        "pred_prob": wb.tensor(0.98),
        "pred_class": "good",
        "true_class": "bad",
        "attr_class": "good",
        "attr_score": wb.tensor(0.5),
        "raw_input_ids": ["<s>", "not", "bad"],
        "convergence_score": 1e-4,
    }
    return visualization.VisualizationDataRecord(**{**told, **changes})


def page(*records: Any, **options: Any) -> Any:
    """What is shown, read as a tree: all that is opened is closed."""
    shown = visualization.visualize_text(records, **options).data
    return ElementTree.fromstring(f"<div>{shown}</div>")


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    shown: list[Any] = []
    monkeypatch.setattr("workbench.attribution.visualization.text.display", shown.append)
    return shown


def test_a_row_for_each_text(quiet: list[Any]) -> None:
    tree = page(record(), record(true_class=3))
    rows = tree.findall("div/table/tr")
    assert [cell.text for cell in rows[0]] == [
        "True label", "Predicted label", "Attribution label", "Attribution score", "Word importance"
    ]  # fmt: skip
    assert [cell.findtext("b") for cell in rows[1]][:4] == ["bad", "good (0.98)", "good", "0.50"]
    assert rows[2].findtext("td/b") == "3" and len(rows) == 3
    marks = rows[1].findall("td/mark")
    assert [(one.text, one.get("title")) for one in marks] == [("#s", "0.9"), ("not", "-0.4"), ("bad", "0")]
    assert "rgba(230,159,0,0.81)" in marks[0].get("style") and "rgba(0,114,178,0.36)" in marks[1].get("style")
    assert len(tree.findall("div")) == 2 and len(quiet) == 1
    assert len(page(record(), legend=False).findall("div")) == 1


def test_text_is_never_markup() -> None:
    tree = page(record(raw_input_ids=[EVIL, "a", "b"], pred_class=EVIL, true_class=EVIL, attr_class=EVIL))
    assert tree.find(".//script") is None
    assert tree.findall(".//mark")[0].text == EVIL
    assert [one.text for one in tree.findall(".//b")][1:3] == [EVIL, f"{EVIL} (0.98)"]
    tooltip = ElementTree.fromstring(visualization.format_tooltip(EVIL, EVIL))
    assert (tooltip.text, tooltip.findtext("span")) == (EVIL, EVIL)


def test_values_beyond_the_range_and_none() -> None:
    cell = visualization.format_word_importances(["a", "b", "c"], np.array([7.0, -7.0, np.nan]))
    assert [one.split(")")[0] for one in cell.split("rgba(")[1:]] == [
        "230,159,0,0.90",
        "0,114,178,0.90",
        "0,114,178,0.00",
    ]
    assert visualization.format_word_importances(["a"], []) == "<td></td>"
    assert visualization.format_word_importances(["a"], None) == "<td></td>"
    assert visualization.format_word_importances(["a"], [0.5, 0.5]).count("<mark") == 1, (
        "padding is not shown"
    )
    assert "&nbsp;" in visualization.format_word_importances([""], [0.5])


def test_too_few_importances_are_refused() -> None:
    with pytest.raises(wb.DimensionError, match="2 words and 1 importances"):
        visualization.format_word_importances(["a", "b"], [1.0])
    with pytest.raises(wb.DimensionError, match=r"one number for each token, \[T\], got shape \[1, 2\]"):
        visualization.format_word_importances(["a"], np.ones((1, 2)))


def test_tokens_as_a_figure() -> None:
    tokens = ["$x_1$", "<b>", "a\nb", "", "word"] * 8
    values = np.linspace(-1, 1, 40)
    figure, axes = visualization.draw_tokens(tokens, values, title="$")
    assert [one.get_text() for one in axes.texts][:4] == ["$x_1$", "<b>", "a\\nb", " "]
    heights = {round(one.get_position()[1], 3) for one in axes.texts}
    assert len(heights) > 1, "lines are wrapped"
    assert len({one.get_position() for one in axes.texts}) == 40
    assert all(0 <= one.get_position()[0] < 8 * 72 for one in axes.texts)
    assert figure.get_figheight() > visualization.draw_tokens(tokens, values, width=20)[0].get_figheight()
    first, last = (one.get_bbox_patch().get_facecolor() for one in (axes.texts[0], axes.texts[-1]))
    assert first[2] > first[0] and last[0] > last[2], "blue against, orange for"
    figure.savefig(io.BytesIO(), format="png")
    assert len(visualization.draw_tokens(["a"], [0.0])[1].texts) == 1
    with pytest.raises(ValueError, match="1 of 2 attributions are not finite"):
        visualization.draw_tokens(["a", "b"], [1.0, np.nan])
    with pytest.raises(ValueError, match="1 of 2 attributions are not finite"):
        visualization.draw_token_matrix([[1.0, np.inf]], ["a", "b"], ["c"])
    with pytest.raises(ValueError, match="1 of 2 attributions are not finite"):
        visualization.draw_token_bars([1.0, np.nan], ["a", "b"])
    with pytest.raises(wb.DimensionError, match="2 tokens and 1 attributions"):
        visualization.draw_tokens(["a", "b"], [1.0])
