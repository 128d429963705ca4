"""The first notebook, run by a person in a real JupyterLab: every cell, every view, and what the hand changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.jupyterlab import Lab

NOTEBOOK = "notebooks/00-first-light.ipynb"


class FirstLight:
    """The notebook in front, its cells by name."""

    def __init__(self, lab: Lab, root: Path) -> None:
        self.lab = lab
        cells = json.loads((root / NOTEBOOK).read_text(encoding="utf-8"))["cells"]
        self.places = {cell["id"]: index for index, cell in enumerate(cells)}
        self.expected_errors = {
            index
            for index, cell in enumerate(cells)
            if "raises-exception" in cell["metadata"].get("tags", [])
        }
        lab.open(NOTEBOOK)

    def run(self, *names: str) -> None:
        for name in names:
            index = self.places[name]
            self.lab.run_cell(index, check=index not in self.expected_errors)

    def cell(self, name: str) -> Locator:
        return self.lab.cell(self.places[name])

    def shoot(self, name: str) -> None:
        self.lab.screenshot(f"first-light-{name}", self.cell(name))


@pytest.fixture
def notebook(lab: Lab, root: Path) -> FirstLight:
    return FirstLight(lab, root)


TRAINED = ("seed", "batch", "reduce", "model", "mistake", "train")
# What a hand does to a range is the same whether the network has learnt anything.
PREPARED = ("seed", "batch", "model", "prepare")


def test_the_whole_notebook_runs_and_every_view_shows_what_python_says(notebook: FirstLight) -> None:
    lab = notebook.lab
    notebook.run(*TRAINED)
    assert lab.python("accuracy") >= 0.97
    expect(notebook.cell("batch")).to_contain_text("f32")
    expect(notebook.cell("batch").locator("[data-figure=NaN]")).to_have_text("NaN0")
    expect(notebook.cell("mistake")).to_contain_text("gain.rename(channel='C')")
    notebook.shoot("batch")
    notebook.shoot("mistake")
    notebook.shoot("train")

    notebook.run("trace", "draw")
    graph = notebook.cell("draw").get_by_test_id("wb-graph")
    expect(graph).to_be_visible()
    expect(graph.locator("[data-testid=wb-node][data-node=conv2d]")).to_have_count(1)
    notebook.shoot("draw")

    notebook.run("prepare", "calibrate", "convert")
    histogram = notebook.cell("prepare").get_by_test_id("wb-histogram")
    expect(histogram.get_by_test_id("wb-observer")).not_to_have_count(0)
    notebook.shoot("prepare")
    notebook.shoot("convert")
    assert lab.python("accuracy - int8_accuracy") < 0.01
    assert lab.python("ratio") > 3.5

    notebook.run("explain")
    heatmap = notebook.cell("explain").get_by_test_id("wb-heatmap")
    expect(heatmap.get_by_test_id("wb-verdict")).to_be_visible()
    notebook.shoot("explain")

    notebook.run("project")
    scatter = notebook.cell("project").get_by_test_id("wb-scatter")
    expect(scatter.get_by_test_id("wb-facts")).to_contain_text("2,000")
    search = scatter.get_by_test_id("wb-search")
    search.fill("#17")
    search.press("Enter")
    lab.wait_python("list(embedding.selected)", [17])
    expect(scatter.get_by_test_id("wb-neighbour")).not_to_have_count(0)
    notebook.shoot("project")
    notebook.run("selected", "export")
    lab.check_cells([index for index in notebook.places.values() if index not in notebook.expected_errors])


SLOWED = """prepared.register_forward_hook(lambda *_: __import__("time").sleep(
    0.02 if calibration["conv2.output"].override is None else 0)) and None"""
"""Makes the calibration wait for a hand: fast machines are done before slow browsers have moved the mouse."""


def test_a_range_dragged_while_the_calibration_runs_is_used_by_the_next_batch(notebook: FirstLight) -> None:
    lab = notebook.lab
    notebook.run(*PREPARED)
    lab.python(SLOWED)
    histogram = notebook.cell("prepare").get_by_test_id("wb-histogram")
    lab.start_cell(notebook.places["calibrate"])
    row = histogram.locator("[data-testid=wb-observer][data-id='conv2.output']")
    row.click()
    # Until Python has answered, the handles are those of the observer that was shown before.
    expect(histogram.get_by_test_id("wb-observer-title")).to_contain_text("conv2.output")
    handle = histogram.get_by_test_id("wb-handle-high")
    expect(handle).to_be_visible()
    handle.hover()
    box = handle.bounding_box()
    assert box is not None
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] - 60, box["y"] + box["height"] / 2, steps=6)
    lab.page.mouse.up()
    lab.screenshot("first-light-drag", notebook.cell("prepare"))
    used = lab.python("[one for one in ranges if one is not None]")
    total = lab.python("len(ranges)")
    assert used, "no batch was calibrated with the range that was dragged"
    assert len(used) < total, (
        "the range was there from the first batch on: nothing was dragged while the cell ran"
    )
    assert used[-1] == lab.python("calibration['conv2.output'].override")
    assert lab.python("calibration.undo_count") == 1
