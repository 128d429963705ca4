"""The notebook on training in a real JupyterLab: the summary folds, curves appear, what is meant to fail says why."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.jupyterlab import Lab

NOTEBOOK = "notebooks/02-training.ipynb"


def test_every_cell_runs_or_is_refused_with_a_reason(lab: Lab, root: Path) -> None:
    cells = json.loads((root / NOTEBOOK).read_text(encoding="utf-8"))["cells"]
    places = {cell["id"]: index for index, cell in enumerate(cells)}
    lab.open(NOTEBOOK)
    for name, index in places.items():
        lab.run_cell(index, check="raises-exception" not in cells[index]["metadata"].get("tags", []))
        if name in ("data", "summary", "mistake", "history", "wrong", "faster", "nan", "missing"):
            lab.screenshot(f"training-{name}", lab.cell(index))

    watched = lab.cell(places["watch"])
    expect(watched).to_contain_text("step 375 of 375")
    lab.screenshot("training-watch", lab.cell(places["watch"]))
    compared = lab.cell(places["compare"])
    expect(compared.locator("[data-chart=loss] [data-run='1'][data-curve=train]")).to_have_count(1)
    expect(compared.get_by_test_id("wb-run").filter(has_text="digits")).to_have_count(1)
    lab.screenshot("training-compare", compared)
    summary = lab.cell(places["summary"]).locator(".wb-summary")
    expect(summary).to_contain_text("20,586 parameters")
    row = summary.locator("details > summary")
    row.click()
    expect(summary.get_by_text("BatchNorm2d").first).not_to_be_visible()
    row.click()
    expect(summary.get_by_text("BatchNorm2d").first).to_be_visible()

    expect(lab.cell(places["mistake"])).to_contain_text("align_to('N', 'C', 'H', 'W')")
    expect(lab.cell(places["mistake"])).to_contain_text("in module conv1 (Conv2d) of Net")
    expect(lab.cell(places["mistake"])).to_contain_text(re.compile(r"Cell In\[\d+\], line \d+, in forward"))
    expect(lab.cell(places["nan"])).to_contain_text("this step changed no parameter")
    expect(lab.cell(places["missing"])).to_contain_text('"conv1.weight" (is it "1.weight"?)')
    expect(lab.cell(places["missing"])).not_to_contain_text("module.py")
    assert lab.python("found.metrics['accuracy']") > 0.95
    assert lab.python(
        "all(bool((v == resumed.state_dict()[k]).all()) for k, v in whole.state_dict().items())"
    )
    assert lab.python("len(list((runs / 'digits').glob('*.safetensors')))") == 3
