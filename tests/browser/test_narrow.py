"""What a narrow window may cut, and what it may not: views in cells of a page of 400 pixels."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.every_view import CELLS
from tests.browser.jupyterlab import SECOND, Lab

BAR = """
batches = wb.data.DataLoader(range(240), batch_size=20)
for _ in (bar := wb.data.progress(batches, "epoch 1")):
    bar.set_postfix(loss=0.123)
"""
FIT = """
wb.train.Trainer(
    model, wb.nn.CrossEntropyLoss(), wb.optim.SGD(model.parameters(), lr=0.1), progress=True).fit(loader, epochs=2)
"""
LINES = """line => [...line.children].map(one => one.getClientRects().length
  + (one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow !== 'visible' ? 100 : 0))"""
"""On how many lines each part of a line stands; a hundred more where it is cut."""


@pytest.fixture
def narrow(lab: Lab) -> Lab:
    lab.page.set_viewport_size({"width": 400, "height": 900})
    if lab.page.locator("#jp-left-stack").is_visible():
        lab.command("application:toggle-left-area")
    return lab


def widest(place: Locator) -> float:
    """How far what a place holds reaches beyond its right edge."""
    return float(
        place.evaluate(
            """one => Math.max(...[...one.querySelectorAll('*')].map(each => each.getBoundingClientRect().right))
            - one.getBoundingClientRect().right"""
        )
    )


def test_the_parts_of_a_progress_bar_stay_whole(narrow: Lab) -> None:
    training = CELLS["training"].partition("trainer =")[0]
    narrow.new([CELLS["start"] + training, BAR, FIT])
    narrow.run_all()
    for index, words in ((1, ["epoch 1", "12/12", "00:00 left", "batch/s", "loss=0.123"]),
                         (2, ["epoch 1/2", "2/2", "00:00 left", "loss ", "samples/s"])):  # fmt: skip
        line = narrow.cell(index).locator(".wb-progress").first
        for word in words:
            expect(line).to_contain_text(word)
        assert set(line.evaluate(LINES)) == {1}, "a part is broken, or cut"
        assert widest(line) <= 1
        expect(line.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "100")
        output = narrow.cell(index).locator(".jp-OutputArea-output")
        assert "%|" not in "".join(output.all_inner_texts()), "the bar is text of the stream"
        narrow.screenshot(f"narrow-progress-{index}", narrow.cell(index))
    expect(narrow.cell(2).locator(".wb-progress")).to_have_count(2)
    narrow.command("docmanager:save")
    narrow.page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll(); }")
    path = str(narrow.page.evaluate("() => window.testNotebook().context.path"))
    narrow.start()
    narrow.open(path)
    expect(narrow.cell(1).locator(".wb-progress")).to_contain_text("12/12")


def test_labels_of_edges_and_words_of_a_lost_kernel_are_in_sight(narrow: Lab) -> None:
    narrow.new([CELLS["start"] + CELLS["graph"]])
    narrow.run_cell(0)
    graph = narrow.cell(0).get_by_test_id("wb-graph")
    labels = graph.get_by_test_id("wb-edge-label")
    expect(labels.first).to_be_visible(timeout=60 * SECOND)
    field = graph.locator(".wb-graph-field").bounding_box()
    assert field is not None
    for label in labels.all():
        box = label.bounding_box()
        assert box is not None and box["x"] + box["width"] <= field["x"] + field["width"] + 1, (
            label.inner_text()
        )
    narrow.restart_kernel()
    status = graph.get_by_test_id("wb-status")
    expect(status).to_contain_text("kernel restarted: last picture")
    assert "last picture" in (status.get_attribute("title") or "")
    narrow.screenshot("narrow-restarted", narrow.cell(0))
    narrow.command("docmanager:save")
    path = str(narrow.page.evaluate("() => window.testNotebook().context.path"))
    narrow.page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll(); }")
    narrow.start()
    narrow.open(path)
    expect(narrow.page.locator(".jupyter-widgets-disconnected .wb-graph")).to_be_visible(timeout=60 * SECOND)
    mark = "one => getComputedStyle(one.closest('.jupyter-widgets-disconnected'), '::before').content"
    assert graph.evaluate(mark) == "none", (
        "the widget manager's mark stands above a view that says it in words"
    )
    narrow.screenshot("narrow-reopened", narrow.cell(0))


def test_the_sidebar_stays_inside_a_small_window(narrow: Lab) -> None:
    narrow.new([CELLS["start"] + CELLS["clash"]])
    narrow.run_cell(0, check=False)
    narrow.command("workbench:open")
    panel = narrow.page.locator("#workbench-panel")
    expect(panel.get_by_test_id("wb-clash-svg")).to_be_visible(timeout=60 * SECOND)
    # In one look: a section that hears of the kernel only now hides what it said before.
    edges = panel.get_by_role("button", name="Copy this code").evaluate_all(
        "all => all.filter(one => one.checkVisibility()).map(one => one.getBoundingClientRect().right)"
    )
    assert edges and max(edges) <= 400, "a button is beyond the window's edge"
    narrow.screenshot("narrow-sidebar")
