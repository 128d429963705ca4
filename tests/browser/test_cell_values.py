"""A tensor and an attribution as the values of cells: pictures with something to move, which share the sample."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.accessible import findings
from tests.browser.jupyterlab import SECOND, Lab

START = """
import workbench as wb
wb.manual_seed(0)
model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(64, 3)).eval()
images = wb.rand(N=40, C=1, H=8, W=8)
"""


def test_the_slider_for_n_moves_in_the_cell_and_the_attribution_follows_and_both_are_kept(lab: Lab) -> None:
    path = lab.new([START, "images", "wb.attribution.explain(model, images)", "images[0, 0]"])
    lab.run_all()
    tensor, heatmap = lab.cell(1).get_by_test_id("wb-shapes"), lab.cell(2).get_by_test_id("wb-heatmap")
    expect(tensor.get_by_test_id("wb-title")).to_have_text("images", timeout=60 * SECOND)
    expect(tensor.locator("[data-shown='0']")).to_have_text("0–15")
    slider = tensor.get_by_label("Which N is shown")
    slider.focus()
    for _ in range(3):
        lab.page.keyboard.press("ArrowRight")
    expect(tensor.locator("[data-shown='0']")).to_have_text("3–18")
    expect(heatmap.get_by_test_id("wb-sample")).to_have_value("3")
    heatmap.get_by_test_id("wb-next").click()
    expect(tensor.locator("[data-shown='0']")).to_have_text("4–19")
    expect(lab.cell(3).locator(".wb-tensor-html")).to_be_visible()  # drawn whole: there is nothing to move
    lab.screenshot("cell-values-tensor", lab.cell(1))
    lab.screenshot("cell-values-attribution", lab.cell(2))
    said = findings(lab.page, ".jp-Notebook-cell .jp-OutputArea-output")
    assert not said, "\n".join(said)
    lab.command("docmanager:save")
    lab.restart_kernel()
    expect(tensor.get_by_test_id("wb-status")).to_contain_text("kernel restarted: last picture")
    expect(tensor.get_by_test_id("wb-raster")).to_be_visible()
    lab.visit(path.name)
    expect(tensor.locator("[data-shown='0']")).to_have_text("4–19", timeout=60 * SECOND)
