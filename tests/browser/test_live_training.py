"""A training in a real JupyterLab: watched, paused, resumed and stopped from the page while its cell runs."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.jupyterlab import Lab

SETUP = """
import time
import workbench as wb

wb.manual_seed(0)
data = wb.data.TensorDataset(wb.randn(N=640, features=8), wb.randint(0, 3, (640,), names=("N",)))
loader = wb.data.DataLoader(data, batch_size=32)
model = wb.nn.Sequential(wb.nn.Linear(8, 16), wb.nn.ReLU(), wb.nn.Linear(16, 3))

class Slow(wb.train.Callback):
    def on_batch_start(self, trainer):
        time.sleep(0.02)

trainer = wb.train.Trainer(
    model, wb.nn.CrossEntropyLoss(), wb.optim.SGD(model.parameters(), lr=0.05),
    metrics="accuracy", callbacks=[Slow()], progress=False, name="three clouds")
"""
FIT = "history = trainer.fit(loader, loader, epochs=1000)\nafter = trainer.status"
SHOW = "wb.widgets.training(trainer)"


@pytest.fixture
def notebook(lab: Lab) -> Lab:
    lab.new([SETUP, SHOW, FIT])
    lab.run_cell(0)
    return lab


def watch_and_steer(lab: Lab, place: Locator) -> None:
    """Pause, resume and stop the training that runs in the last cell, from `place`."""
    state, words = place.get_by_test_id("wb-state"), place.get_by_test_id("wb-progress-words")
    expect(state).to_have_text("running")
    expect(place.locator("[data-chart=loss] [data-curve=train]")).to_have_count(1)
    expect(place.get_by_test_id("wb-strip")).to_be_visible()
    before = words.inner_text()
    expect(words).not_to_have_text(before)
    pause = place.get_by_test_id("wb-pause")
    pause.click()
    expect(state).to_have_text("paused")
    held = words.inner_text()
    lab.page.wait_for_timeout(400)
    assert words.inner_text() == held, "it goes on although it is paused"
    expect(pause).to_contain_text("Resume")
    pause.click()
    expect(state).to_have_text("running")
    expect(words).not_to_have_text(held)
    place.get_by_test_id("wb-stop").click()
    expect(state).to_have_text("stopped")
    assert lab.python("(after, trainer.status)") == ["stopped", "stopped"], (
        "the cell did not go on after the stop"
    )
    assert 0 < lab.python("len(history.losses)") < 1000 * 20
    expect(place.get_by_test_id("wb-advice")).to_contain_text("epochs=1000, resume=True")
    lab.check_cells()


def test_a_training_is_steered_from_the_panel_while_its_cell_runs(notebook: Lab) -> None:
    lab = notebook
    lab.command("workbench:open", {"view": "training"})
    section = lab.page.get_by_test_id("wb-section-training")
    expect(section.get_by_test_id("wb-empty-code")).to_contain_text("wb.train.Trainer(")
    lab.start_cell(2)
    expect(section.get_by_test_id("wb-title")).to_have_text("three clouds")
    expect(section.get_by_test_id("wb-status")).to_contain_text("live")
    expect(section.get_by_test_id("wb-progress-words")).to_contain_text(re.compile(r"epoch ([4-9]|\d\d)"))
    lab.screenshot("training-panel")
    watch_and_steer(lab, section)


def test_a_training_is_steered_from_a_cell_and_its_last_picture_is_saved(notebook: Lab) -> None:
    lab = notebook
    lab.run_cell(1)
    output = lab.cell(1)
    expect(output.get_by_test_id("wb-state")).to_have_text("not begun")
    lab.start_cell(2)
    watch_and_steer(lab, output)
    lab.screenshot("training-widget", output)
    words = output.get_by_test_id("wb-progress-words").inner_text()
    lab.command("docmanager:save")
    path = lab.page.evaluate("() => window.testNotebook().context.path")
    saved = json.loads((lab.server.folder / path).read_text(encoding="utf-8"))
    assert "wb-training" not in json.dumps(saved["cells"]), "the picture is a widget's state, and no HTML"
    lab.page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll(); }")
    lab.start()
    lab.open(path)
    again = lab.cell(1)
    expect(again.get_by_test_id("wb-status")).to_contain_text("last picture")
    expect(again.get_by_test_id("wb-state")).to_have_text("stopped")
    assert again.get_by_test_id("wb-progress-words").inner_text() == words
    expect(again.locator("[data-chart=loss] [data-curve=train]")).to_have_count(1)
