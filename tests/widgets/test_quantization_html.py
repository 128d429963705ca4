"""Reports as HTML: every text escaped, nothing unbounded, and all of them drawn by the renderer of their type."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser
from typing import Any

import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.widgets import quantization_html
from workbench.widgets.pictures import html


class _Tags(HTMLParser):
    """Collects tags, and holds them to be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append(tag)
        if tag not in ("rect", "path", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.found.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    wb.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval(), wb.rand(64, 8)
    return {
        "report": q.report(model, (x, model(x).argmax(1)), progress=False),
        "sensitivity": q.sensitivity(model, x, progress=False),
        "mixed": q.mixed_precision(model, x, size=1200, progress=False),
    }


@pytest.mark.parametrize("name", ["report", "sensitivity", "mixed"])
def test_they_are_drawn(found: dict[str, Any], name: str) -> None:
    drawn = html(found[name])
    assert "<table" in drawn and "LinearReLU" in drawn
    assert {"table", "tr", "td", "th"} <= set(_Tags(drawn).found)
    bundle = found[name]._repr_mimebundle_()
    assert bundle["text/html"] == drawn and bundle["text/plain"] == repr(found[name])


def test_names_are_text(found: dict[str, Any]) -> None:
    report = found["report"]
    evil = "<script>alert('x')</script>\"&"
    points = [dataclasses.replace(one, name=evil, kind=evil) for one in report.points]
    advice = [q.Advice(evil, evil, evil, evil, 1.0, 2.0)]
    totals = dataclasses.replace(report.totals, title=evil)
    drawn = html(q.Report(points, advice, totals, None))
    assert "<script" not in drawn and "&lt;script&gt;" in drawn
    assert "script" not in _Tags(drawn).found
    costs = [dataclasses.replace(one, name=evil) for one in found["sensitivity"].costs]
    drawn = html(q.Sensitivity(costs, found["sensitivity"].whole, None, (), 0.0))
    assert "script" not in _Tags(drawn).found


def test_many_layers_are_cut(found: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantization_html, "MOST_ROWS", 1)
    assert "… 2 more: print(…) shows them" in html(found["report"])
    assert "… 1 more: print(…) shows them" in html(found["sensitivity"])


def test_nothing_to_do_is_said(found: dict[str, Any]) -> None:
    report = found["report"]
    assert "Nothing that was tried makes the output better" in html(
        q.Report(report.points, [], report.totals, None)
    )
