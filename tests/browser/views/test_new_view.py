"""A view that is added as CONTRIBUTING.md says is drawn: nothing but its own files and its entry is needed."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.views.harness import Harness, build_harness
from tests.lab import gauge
from workbench.lab import views


def test_a_new_view_is_drawn_and_answers(page: Page, tmp_path: Path, screenshots: Path) -> None:
    root = gauge.copy(tmp_path)
    gauge.add(root)
    assert views.main([], root) == 0
    index = build_harness(tmp_path, root / "extensions")
    harness = Harness(page, index, screenshots / "views")
    view = harness.open("gauge", width=420, height=200)
    expect(view.get_by_test_id("wb-gauge-value")).to_have_text("0.300")
    view.get_by_test_id("wb-gauge-half").click()
    assert harness.events() == [{"type": "preset", "value": 0.5}]
    harness.picture("gauge")
    assert harness.errors == []
