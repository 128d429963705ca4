"""The projector in JupyterLab: it moves while a cell runs, picks go both ways, views beside it keep their pictures."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.frames import picture
from tests.browser.jupyterlab import SECOND, Lab

pytest.importorskip("openTSNE", reason="t-SNE is computed by openTSNE, of the extra embedding")

PREPARE = """
import pathlib
import time
import numpy as np
import workbench as wb
rng = np.random.default_rng(0)
groups = np.arange(300) % 3
vectors = (rng.standard_normal((3, 12))[groups] * 4 + rng.standard_normal((300, 12))).astype("f")
embedding = wb.embedding.Embedding(vectors, groups, names=[f"n{at}" for at in range(300)], title="points")
wb.widgets.projector(embedding)
"""

BESIDE = """
few = wb.embedding.Embedding(vectors[:40], groups[:40], title="few")
wb.widgets.projector(few)
"""

HEAT = """
inputs = wb.rand(N=8, C=1, H=28, W=28)
wb.widgets.attribution(wb.models.DigitsNet().eval(), inputs, list(range(8)), method="saliency")
"""

# The cell goes on until everything was seen, which is said by a file: nothing else reaches a kernel that is busy.
RUN = """
seen, end = pathlib.Path("projector-seen"), time.monotonic() + 240
while not seen.exists() and time.monotonic() < end:
    embedding.project("tsne", dims=2, perplexity=10, n_iter=100, early_exaggeration_iter=20)
in_time = seen.exists()
"""


def test_picks_go_both_ways_while_a_cell_runs_and_views_beside_keep_their_pictures(lab: Lab) -> None:
    lab.new([PREPARE, BESIDE, HEAT, RUN], "projector.ipynb")
    for cell in range(3):
        lab.run_cell(cell)
    view, beside = (lab.cell(cell).get_by_test_id("wb-scatter") for cell in range(2))
    points, few = view.get_by_test_id("wb-points"), beside.get_by_test_id("wb-points")
    heat = lab.cell(2).get_by_test_id("wb-heat-map")
    facts = view.get_by_test_id("wb-facts")
    expect(facts).to_contain_text("PCA · 300 of 300 points · explained variance")
    expect(beside.get_by_test_id("wb-facts")).to_contain_text("40 of 40 points")
    expect(heat).to_be_visible()
    for one in (view, beside):
        expect(one).to_have_attribute("data-renderer", "webgl")

    # Each draws on the page's one context: what is turned in one changes nothing of the others.
    before = [picture(canvas) for canvas in (points, few, heat)]
    view.get_by_test_id("wb-cloud").press("ArrowLeft")
    after = [picture(canvas) for canvas in (points, few, heat)]
    assert [one != other for one, other in zip(before, after, strict=True)] == [True, False, False]

    lab.start_cell(3)
    expect(facts).to_contain_text("t-SNE · ", timeout=120 * SECOND)
    search = view.get_by_test_id("wb-search")
    search.fill("n17")
    search.press("Enter")
    # Answered while the cell runs.
    expect(view.get_by_test_id("wb-neighbours")).to_have_attribute("data-of", "17")
    expect(view.get_by_test_id("wb-neighbour")).to_have_count(12)
    expect(beside.get_by_test_id("wb-neighbours")).to_have_attribute("data-of", "17")
    (lab.server.folder / "projector-seen").touch()
    assert lab.python("in_time")
    assert lab.python("list(embedding.selected_names)") == ["n17"]

    # By keys in the picture, to Python; and from Python, to the picture.
    cloud = view.get_by_test_id("wb-cloud")
    cloud.press(".")
    cloud.press("Enter")
    lab.wait_python("list(embedding.selected_names)", ["n18"])
    lab.python("embedding.select(['n5', 7]) and None")
    for one in (view, beside):
        expect(one.get_by_test_id("wb-neighbours")).to_have_attribute("data-of", "5")
    # Nobody has asked: the picture is finished, and stood for a second.
    expect(facts).to_contain_text("trustworthiness 0.", timeout=60 * SECOND)
    lab.screenshot("projector", view)
    lab.screenshot("projector-beside", lab.cell(1))
