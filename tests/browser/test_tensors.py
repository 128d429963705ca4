"""The notebook of the tensor core in a real JupyterLab: what is meant to fail is drawn, times are laid out."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.jupyterlab import Lab

NOTEBOOK = "notebooks/01-tensors.ipynb"


def test_every_cell_runs_or_is_refused_with_what_would_work(lab: Lab, root: Path) -> None:
    cells = json.loads((root / NOTEBOOK).read_text(encoding="utf-8"))["cells"]
    places = {cell["id"]: index for index, cell in enumerate(cells)}
    lab.open(NOTEBOOK)
    for name, index in places.items():
        lab.run_cell(index, check="raises-exception" not in cells[index]["metadata"].get("tags", []))
        if name in ("batch", "misspelt", "views", "spectrum", "per-sample", "compare"):
            lab.screenshot(f"tensors-{name}", lab.cell(index))

    misspelt = lab.cell(places["misspelt"]).locator(".wb-clash-html")
    expect(misspelt).to_contain_text("Is 'c' a misspelling of 'C'?")
    expect(misspelt).to_contain_text("gain.rename(c='C')")
    expect(lab.cell(places["permuted"])).to_contain_text("channels_first.align_as(channels_last)")
    expect(lab.cell(places["anomaly"])).to_contain_text("Function 'sqrt' returned nan values")
    expect(lab.cell(places["anomaly"])).not_to_contain_text("engine.py")

    table = lab.cell(places["compare"]).locator(".wb-compare table")
    expect(table.locator("tr")).to_have_count(7)
    expect(table.get_by_role("columnheader", name="NumPy")).to_be_visible()
    # The text takes the theme's colour, so that it can be read on dark and on light.
    try:
        lab.command("apputils:change-theme", {"theme": "JupyterLab Dark"})
        lab.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
        found = table.evaluate("element => getComputedStyle(element).color")
        assert min(int(part) for part in re.findall(r"\d+", found)[:3]) > 150, found
    finally:
        lab.command("apputils:change-theme", {"theme": "JupyterLab Light"})  # other tests share the settings
