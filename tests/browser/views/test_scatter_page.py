"""A published projector: one file, opened without a kernel and without a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from workbench.embedding import Embedding
from workbench.live.messages import ScatterArrangement, ScatterHidden
from workbench.widgets.scatter import ScatterModel

HOSTILE = "</script><img src=x onerror='window.hacked=true'>"


def test_a_published_page_finds_neighbours_and_searches_by_itself(
    page: Page, tmp_path: Path, screenshots: Path
) -> None:
    rng = np.random.default_rng(3)
    middles = rng.standard_normal((4, 20)) * 3
    groups = np.arange(600) % 4
    vectors = (middles[groups] + rng.standard_normal((600, 20))).astype(np.float32)
    labels = np.array(["a", "b", "c", HOSTILE])[groups]
    images = rng.integers(0, 256, (600, 8, 8), np.uint8)
    columns = {"size": rng.uniform(0, 9, 600), "word": [f"word {at}" for at in range(600)]}
    made = Embedding(vectors, labels, metadata=columns, images=images, title=HOSTILE)
    model = ScatterModel(made)
    made.selected = [5]
    begin = ScatterArrangement(
        "", [], "label", "size", [ScatterHidden("label", ["a"])], [], None, [], "cosine", 12
    )
    file = model.publish(tmp_path / "page.html", begin)
    errors: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    root = page.get_by_test_id("wb-scatter")
    expect(root.get_by_test_id("wb-facts")).to_contain_text("600 of 600 points · 450 shown")
    expect(root.get_by_test_id("wb-colour-by")).to_have_value("size")
    expect(root.get_by_test_id("wb-title")).to_have_text(HOSTILE)
    search = root.get_by_test_id("wb-search")
    search.fill("word: word 17")
    search.press("Enter")
    near = root.get_by_test_id("wb-neighbour")
    expect(near).to_have_count(12)
    python = made.neighbours(17, 12)
    shown = near.evaluate_all("all => all.map(one => Number(one.dataset.index))")
    assert shown == python.indices.tolist()
    page.screenshot(path=screenshots / "scatter-published.png")
    near.first.click()
    expect(near.first).not_to_have_attribute("data-index", str(shown[0]))
    page.keyboard.press("Control+z")
    expect(near.first).to_have_attribute("data-index", str(shown[0]))
    assert page.evaluate("() => window.hacked") is None
    assert errors == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in asked)
