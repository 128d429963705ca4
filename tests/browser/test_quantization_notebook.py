"""The notebook on quantization in a real JupyterLab: each way loses what it may, and its views are drawn."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.jupyterlab import Lab

NOTEBOOK = "notebooks/04-quantization.ipynb"


def test_every_cell_runs_and_views_are_drawn(lab: Lab, root: Path) -> None:
    cells = json.loads((root / NOTEBOOK).read_text(encoding="utf-8"))["cells"]
    lab.open(NOTEBOOK)
    at: dict[str, int] = {}
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        at[cell["id"]] = index
        lab.run_cell(index)
        lab.screenshot(f"quantization-{index:02}", lab.cell(index))
    for name in ("view", "graph"):
        expect(lab.cell(at[name]).locator(".wb-view")).to_be_visible()
    expect(lab.cell(at["view"])).to_contain_text("conv1")
    expect(lab.cell(at["static"])).to_contain_text("8-bit integers")
    expect(lab.cell(at["by-hand"])).to_contain_text("0.25 of the range")
    expect(lab.cell(at["transformer"])).to_contain_text("AWQ and GPTQ")
    expect(lab.cell(at["onnx"])).to_contain_text("of 2000 digits")
    expect(lab.cell(at["report"])).to_contain_text("What to do")
    names = lab.cell(at["report"]).locator("th[scope=row]")
    assert names.count() == 5
    cut = names.evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.title)"
    )
    assert cut == [], "JupyterLab gives all columns one width"
