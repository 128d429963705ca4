"""The view of observers in JupyterLab, beside a calibration and a training that run: choosing, undoing, a restart."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.browser.jupyterlab import Lab

PREPARE = """
import time
import workbench as wb
from workbench import quantization as q
wb.manual_seed(0)
model = wb.nn.Sequential(wb.nn.Conv2d(1, 8, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(288, 10))
images = [wb.randn(N=16, C=1, H=8, W=8) for _ in range(8)]
labels = wb.zeros(16).long()
seen = []
"""

CALIBRATE = """
prepared = q.prepare(q.fuse_modules(model.eval(), [["0", "1"]]))
calibration = q.Calibration(prepared, evaluate=(images[0], labels))
wb.widgets.observers(calibration)
"""

TRAIN = """
prepared = q.prepare_qat(model.train())
calibration = q.Calibration(prepared, evaluate=(images[0], labels))
wb.widgets.observers(calibration)
"""

# Each goes on until a person has done what the test does last, and ten batches more.
RUN = """
rest = 10
while rest and len(seen) < 3000:
    rest -= not calibration["3.weight"].qscheme.per_channel
    prepared(images[len(seen) % 8])
    seen.append(calibration["0.output"].bits)
    time.sleep(0.02)
"""

STEPS = """
optimizer = wb.optim.SGD(prepared.parameters(), lr=0.01)
rest = 10
while rest and len(seen) < 3000:
    rest -= calibration["0.output"].override is not None
    optimizer.zero_grad()
    wb.nn.functional.cross_entropy(prepared(images[len(seen) % 8]), labels).backward()
    optimizer.step()
    seen.append(calibration["0.output"].bits)
    time.sleep(0.02)
"""


def opened(lab: Lab, prepare: str, run: str, name: str) -> Locator:
    lab.new([PREPARE, prepare, run], f"{name}.ipynb")
    lab.run_cell(0)
    lab.run_cell(1)
    view = lab.cell(1).get_by_test_id("wb-histogram")
    expect(view).to_be_visible()
    lab.start_cell(2)
    row = view.locator("[data-testid=wb-observer][data-id='0.output']")
    row.click()
    # Until Python has answered, the menus are those of the observer that was shown before.
    expect(view.get_by_test_id("wb-observer-title")).to_contain_text("0.output")
    expect(view.get_by_test_id("wb-choose-bits")).to_be_visible()
    return view


def test_what_is_chosen_while_a_calibration_runs_is_used_by_the_next_batch(lab: Lab) -> None:
    view = opened(lab, CALIBRATE, RUN, "observers-calibrated")
    figures = view.get_by_test_id("wb-figures")
    expect(figures.locator("[data-figure=model]")).to_be_visible()
    view.get_by_test_id("wb-keep").click()
    expect(view.get_by_test_id("wb-side-B")).to_have_attribute("aria-pressed", "true")
    view.get_by_test_id("wb-choose-bits").select_option("4")
    expect(figures.locator("[data-figure=codes]")).to_contain_text("0 … 15")
    expect(view.get_by_test_id("wb-change")).to_contain_text("4 bits in place of 7 cost")
    view.get_by_test_id("wb-choose-rule").select_option("kl")
    expect(view.get_by_test_id("wb-change")).to_contain_text("KL in place of L2")
    view.get_by_test_id("wb-choose-per_channel").select_option("channel")
    expect(view.get_by_test_id("wb-refusal")).to_contain_text("0.output is no weight")
    expect(view.get_by_test_id("wb-choose-per_channel")).to_have_value("tensor")
    expect(view.get_by_test_id("wb-compare-table")).to_contain_text("KL · affine · 4 bit · per tensor")
    view.get_by_test_id("wb-show-values").click()
    expect(view.get_by_test_id("wb-values")).to_contain_text("SQNR ")
    lab.screenshot("observers-calibrated", view)
    view.get_by_test_id("wb-undo").click()
    view.get_by_test_id("wb-undo").click()
    expect(figures.locator("[data-figure=codes]")).to_contain_text("0 … 127")
    view.locator("[data-testid=wb-observer][data-id='3.weight']").click()
    expect(view.get_by_test_id("wb-observer-title")).to_contain_text("3.weight")
    view.get_by_test_id("wb-choose-per_channel").select_option("tensor")
    expect(view.get_by_test_id("wb-change")).to_contain_text("one range for all channels")
    lab.wait_python("4 in seen and seen[-1] == 7", True)
    assert lab.python("calibration.undo_count") == 1
    lab.restart_kernel()
    expect(view.get_by_test_id("wb-status")).to_have_attribute("data-status", "disconnected")
    expect(view.get_by_test_id("wb-handle-low")).to_be_visible()


def test_what_is_chosen_while_a_training_runs_is_used_by_the_next_step(lab: Lab) -> None:
    view = opened(lab, TRAIN, STEPS, "observers-trained")
    view.get_by_test_id("wb-choose-bits").select_option("4")
    expect(view.get_by_test_id("wb-change")).to_contain_text("4 bits in place of")
    view.get_by_test_id("wb-choose-rule").select_option("l2")
    expect(view.get_by_test_id("wb-choose-rule")).to_have_value("l2")
    scale = view.get_by_test_id("wb-input-scale")
    scale.fill("0.2")
    scale.press("Enter")
    lab.wait_python("round(float(calibration['0.output'].qparams()[0]), 4)", 0.2)
    lab.screenshot("observers-trained", view)
    lab.wait_python("seen[-1]", 4)


def test_code_and_the_difference_of_the_graph_are_a_gesture_away(lab: Lab) -> None:
    show = CALIBRATE.replace("\nwb.widgets", "\nfor one in images: prepared(one)\nwb.widgets")
    lab.new([PREPARE, show, "wb.live.show(calibration);"], "observers-out.ipynb")
    lab.run_all()
    view = lab.cell(1).get_by_test_id("wb-histogram")
    view.locator("[data-testid=wb-observer][data-id='3.output']").click()
    expect(view.get_by_test_id("wb-observer-title")).to_contain_text("3.output")
    view.get_by_test_id("wb-write-code").click()
    expect(view.get_by_test_id("wb-done")).to_have_text("in a new cell, and copied")
    # Below the cell of the view, where it can be run.
    expect(lab.cell(2).locator(".cm-content")).to_contain_text("QConfigMapping")
    view.get_by_test_id("wb-show-difference").click()
    difference = lab.page.locator("#workbench-panel").get_by_test_id("wb-diff")
    chosen = difference.get_by_test_id("wb-diff-rows").locator("[aria-selected=true]")
    expect(chosen).to_be_in_viewport()
    expect(difference.get_by_test_id("wb-readout")).to_contain_text("quantized_linear")
    lab.screenshot("observers-difference")
    panel = lab.page.locator("#workbench-panel").get_by_test_id("wb-histogram")
    lab.select(3)
    panel.get_by_test_id("wb-write-code").click()
    expect(panel.get_by_test_id("wb-done")).to_have_text("in a new cell, and copied")
    expect(lab.cell(4).locator(".cm-content")).to_contain_text("QConfigMapping")


DEEP = """
layers = [made() for _ in range(100) for made in (lambda: wb.nn.Linear(16, 16), wb.nn.ReLU)]
rows = wb.randn(N=64, C=16)
prepared = q.prepare(wb.nn.Sequential(*layers).eval())
calibration = q.Calibration(prepared, evaluate=(rows, wb.zeros(64).long()))
for _ in range(3):
    prepared(rows)
wb.widgets.observers(calibration)
"""


def test_what_each_of_two_hundred_points_costs_comes_soon_after_the_cell_has_ended(lab: Lab) -> None:
    # All rows are made when a cell has ended; a picture as dear as that one would keep the next waiting for a minute.
    lab.new([PREPARE, DEEP], "observers-many.ipynb")
    lab.run_cell(0)
    lab.run_cell(1)
    view = lab.cell(1).get_by_test_id("wb-histogram")
    view.get_by_test_id("wb-order").get_by_text("cost").click()
    dearest = view.locator("[data-testid=wb-observer]").first
    expect(dearest).to_have_attribute("data-id", "198.output", timeout=20_000)
    expect(dearest.locator(".wb-list-cost")).to_have_attribute(
        "title", re.compile("the model has [0-9.]+ dB")
    )
    row = view.locator("[data-testid=wb-observer]").nth(6)
    expect(row.locator(".wb-list-cost")).to_have_attribute("title", re.compile("the model has [0-9.]+ dB"))
    lab.screenshot("observers-many", lab.cell(1))
