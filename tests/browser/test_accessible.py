"""What axe-core says of the views in a real JupyterLab, in their cells, at the side and in a tab: nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import findings
from tests.browser.every_view import CELLS
from tests.browser.jupyterlab import SECOND, Lab
from workbench.live.messages import VIEWS

OUTPUTS = ".jp-Notebook-cell .jp-OutputArea-output"


@pytest.fixture
def themed(lab: Lab) -> Iterator[Lab]:
    yield lab
    lab.command("apputils:change-theme", {"theme": "JupyterLab Light"})  # other tests share the settings


def choose(lab: Lab, theme: str) -> None:
    lab.command("apputils:change-theme", {"theme": theme})
    light = str(theme.endswith("Light")).lower()
    lab.page.wait_for_function("light => document.body.dataset.jpThemeLight === light", arg=light)


def test_axe_finds_nothing_in_cells_sidebar_and_tabs_light_and_dark(themed: Lab) -> None:
    lab = themed
    lab.new(list(CELLS.values()))
    lab.command("workbench:open")
    for index in range(len(CELLS)):
        lab.run_cell(index, check=index < len(CELLS) - 1)
    panel = lab.page.locator("#workbench-panel")
    for view in VIEWS:
        filled = panel.get_by_test_id(f"wb-section-{view}").get_by_test_id("wb-title")
        expect(filled).not_to_be_empty(timeout=60 * SECOND)
    said = []
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        choose(lab, theme)
        said += [f"{theme}, {one}" for one in findings(lab.page, "#workbench-panel", OUTPUTS)]
        lab.screenshot(f"accessible-{theme}")
    lab.command("workbench:open-tab", {"view": "graph"})
    expect(lab.page.locator("#workbench-tab-graph").get_by_test_id("wb-node").first).to_be_visible()
    said += findings(lab.page, "#workbench-tab-graph")
    assert not said, "\n".join(said)
