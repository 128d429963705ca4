"""The notebook on graphs in a real JupyterLab: graphs and differences are drawn, and what is meant to fail says why."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.jupyterlab import Lab

NOTEBOOK = "notebooks/03-graphs.ipynb"


def test_every_cell_runs_or_is_refused_with_a_reason(lab: Lab, root: Path) -> None:
    cells = json.loads((root / NOTEBOOK).read_text(encoding="utf-8"))["cells"]
    lab.open(NOTEBOOK)
    sources: dict[str, int] = {}
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        sources["".join(cell["source"])] = index
        lab.run_cell(index, check="raises-exception" not in cell["metadata"].get("tags", []))
        lab.screenshot(f"graphs-{index:02}", lab.cell(index))

    def shown(word: str) -> int:
        return next(index for source, index in sources.items() if word in source)

    drawn = lab.cell(shown("wb.widgets.graph(net)"))
    expect(drawn.locator(".wb-view")).to_be_visible()
    expect(drawn).to_contain_text("conv1")
    expect(lab.cell(shown("if x.amax() > 1"))).to_contain_text("jit.script")
    views = ("graph.diff(net, bounded)", "graph_diff(model", "found = graph.diff", "halved = graph.check")
    for word in (*views, "wb.widgets.graph(voice.graph)"):
        expect(lab.cell(shown(word)).locator(".wb-view")).to_be_visible()
    expect(lab.cell(shown("graph.diff(net, bounded)"))).to_contain_text("clamp")
    expect(lab.cell(shown("wb.compiler.explain"))).to_contain_text("steps")
    expect(lab.cell(shown("mended.remove"))).to_contain_text("the same answers: True")
    kept = lab.cell(shown("voice-16kHz.wb"))
    for words in ("the file: 373 nodes", "at 16 kHz: 186 nodes", "the same answers: True"):
        expect(kept).to_contain_text(words)
