"""The scatter view by itself: both renderers, picking, selecting, filtering."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.views.harness import Harness


@pytest.mark.parametrize("renderer", ["auto", "canvas"])
def test_points_are_drawn_and_picked(harness: Harness, renderer: str) -> None:
    root = harness.open("scatter", "flat", renderer=renderer, height=600)
    expect(root).to_have_attribute("data-renderer", "webgl" if renderer == "auto" else "canvas")
    colours = harness.at("wb-points").evaluate(
        """c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const seen = new Set();
        for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 250) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
        return seen.size; }"""
    )
    assert colours > 20
    cloud = root.get_by_test_id("wb-cloud")
    cloud.focus()
    harness.page.keyboard.press(".")
    harness.page.keyboard.press(".")
    expect(harness.at("wb-tooltip")).to_contain_text("point 1")
    harness.page.keyboard.press("Enter")
    assert harness.events() == [{"type": "select_points", "indices": [1]}]
    expect(root.get_by_test_id("wb-picked")).to_contain_text("point 1")
    harness.picture(f"scatter-{renderer}")


def test_both_renderers_put_points_at_the_same_places(harness: Harness) -> None:
    inked = """c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const s = [];
        for (let i = 3; i < d.length; i += 4) s.push(d[i] > 128 ? 1 : 0); return s; }"""
    pictures = []
    for renderer in ("auto", "canvas"):
        root = harness.open("scatter", "flat", renderer=renderer, height=600)
        root.get_by_test_id("wb-labels").click()
        harness.settle()
        pictures.append(harness.at("wb-points").evaluate(inked))
    both = sum(a and b for a, b in zip(*pictures, strict=True))
    either = sum(a or b for a, b in zip(*pictures, strict=True))
    assert both / either > 0.75


def test_the_card_does_not_cover_its_point(harness: Harness) -> None:
    root = harness.open("scatter", height=640)
    cloud = root.get_by_test_id("wb-cloud")
    box = cloud.bounding_box()
    assert box
    for step in range(60):
        x, y = box["x"] + box["width"] * (0.3 + 0.006 * step), box["y"] + box["height"] * 0.45
        harness.page.mouse.move(x, y)
        harness.settle()
        if cloud.get_attribute("data-hover") is not None:
            break
    card = harness.at("wb-tooltip").bounding_box()
    assert card
    outside = (
        x < card["x"] or x > card["x"] + card["width"] or y < card["y"] or y > card["y"] + card["height"]
    )
    assert outside
    expect(harness.at("wb-tooltip").locator("canvas.wb-thumbnail")).to_have_count(1)
    harness.picture("scatter-card")
    harness.page.mouse.click(x, y)
    assert harness.events()[-1]["type"] == "select_points"


def test_neighbours_come_with_thumbnails_and_distances(harness: Harness) -> None:
    root = harness.open("scatter", "selected", height=700)
    near = root.get_by_test_id("wb-neighbour")
    expect(near).to_have_count(8)
    expect(near.first).to_contain_text("seven")
    expect(near.first).to_contain_text("0.0213")
    expect(near.first.locator("canvas")).to_have_count(1)
    expect(root.get_by_test_id("wb-picked")).to_contain_text("test/00137.png")
    near.nth(2).click()
    assert harness.events() == [{"type": "select_points", "indices": [167]}]
    root.get_by_test_id("wb-clear").click()
    assert harness.events()[-1] == {"type": "select_points", "indices": []}


def test_the_metric_can_be_chosen(harness: Harness) -> None:
    root = harness.open("scatter", "selected", height=700)
    root.get_by_test_id("wb-metric").get_by_role("radio", name="euclidean").click()
    assert harness.events() == [{"type": "set_metric", "metric": "euclidean"}]


def test_the_legend_filters_and_the_search_finds(harness: Harness) -> None:
    root = harness.open("scatter", "flat", height=640)
    seven = root.get_by_test_id("wb-legend").get_by_role("button", name="seven")
    seven.click()
    expect(seven).to_have_attribute("aria-pressed", "false")
    root.get_by_test_id("wb-legend-all").click()
    expect(seven).to_have_attribute("aria-pressed", "true")
    search = root.get_by_test_id("wb-search")
    search.fill("seven")
    expect(root.get_by_test_id("wb-found")).to_have_text("200")
    search.fill("#17")
    search.press("Enter")
    assert harness.events() == [{"type": "select_points", "indices": [17]}]


def test_shift_and_drag_selects_a_rectangle(harness: Harness) -> None:
    root = harness.open("scatter", "flat", height=640)
    cloud = root.get_by_test_id("wb-cloud")
    box = cloud.bounding_box()
    assert box
    harness.page.keyboard.down("Shift")
    harness.page.mouse.move(box["x"] + 5, box["y"] + 5)
    harness.page.mouse.down()
    harness.page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 5, steps=5)
    harness.page.mouse.up()
    harness.page.keyboard.up("Shift")
    assert len(harness.events()[-1]["indices"]) == 2000


def test_turning_zooming_and_both_spaces(harness: Harness) -> None:
    root = harness.open("scatter", height=640)
    cloud = root.get_by_test_id("wb-cloud")
    seen = [harness.pixels("wb-points")[::97]]

    def changed() -> None:
        harness.settle()
        now = harness.pixels("wb-points")[::97]
        assert now != seen[-1]
        seen.append(now)

    harness.drag(cloud, 60, 20)
    changed()
    cloud.focus()
    for key in ("ArrowLeft", "+", "Shift+ArrowUp"):
        harness.page.keyboard.press(key)
        changed()
    root.get_by_test_id("wb-space").get_by_role("radio", name="2-D").click()
    harness.page.wait_for_timeout(200)
    changed()
    root.get_by_test_id("wb-shape").get_by_role("radio", name="pictures").click()
    changed()
    harness.picture("scatter-pictures")
    root.get_by_test_id("wb-reset-view").click()
    changed()
    assert harness.events() == []


def test_points_without_a_place_are_counted_and_refusals_shown(harness: Harness) -> None:
    root = harness.open("scatter", "wrong", height=640)
    expect(root.get_by_test_id("wb-facts")).to_contain_text("2 without a place (NaN or inf)")
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("point 400 does not exist; there are 300")


def test_a_lost_context_is_replaced_by_the_canvas_and_comes_back(harness: Harness) -> None:
    root = harness.open("scatter", "flat", height=640)
    expect(root).to_have_attribute("data-renderer", "webgl")
    harness.page.evaluate(
        """() => { const shared = globalThis[Symbol.for('workbench.webgl.1')];
        window.loser = shared.gl.getExtension('WEBGL_lose_context'); window.loser.loseContext(); }"""
    )
    expect(root).to_have_attribute("data-renderer", "canvas")
    expect(root.get_by_test_id("wb-renderer-note")).to_contain_text("no WebGL")
    harness.page.evaluate("() => window.loser.restoreContext()")
    expect(root).to_have_attribute("data-renderer", "webgl")
    harness.settle()
    assert len(set(harness.pixels("wb-points"))) > 20


def test_many_scatter_views_share_one_context(harness: Harness) -> None:
    harness.page.add_init_script(
        """window.made = 0; const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
            if (kind === 'webgl2') window.made += 1; return get.call(this, kind, ...rest); };"""
    )
    harness.open("scatter", "flat", height=640)
    for _ in range(3):
        harness.do("destroy()")
        harness.do("mount()")
        harness.do("show('usual')")
        harness.settle()
    assert harness.page.evaluate("() => window.made") == 1


def test_a_hundred_thousand_points_can_be_shown(harness: Harness) -> None:
    root = harness.open("scatter", "huge", height=640)
    expect(root.get_by_test_id("wb-facts")).to_contain_text("100,000 of 250,000 points")
    assert len(set(harness.pixels("wb-points")[::101])) > 20


def test_a_cloud_without_points_says_what_is_missing_and_what_to_run(harness: Harness) -> None:
    root = harness.open("scatter", "nothing")
    expect(root.get_by_test_id("wb-empty")).to_contain_text(
        "no points. Give it vectors of at least one sample"
    )
    expect(root.get_by_test_id("wb-empty-code")).to_contain_text("wb.embedding.Embedding(")
    expect(root.get_by_test_id("wb-cloud")).to_have_count(0)
    harness.picture("scatter-nothing")


@pytest.mark.parametrize("width", [900, 400])
def test_long_words_of_the_picked_point_are_cut_and_read_in_full_by_pointing(
    harness: Harness, width: int
) -> None:
    root = harness.open("scatter", "wordy", width=width, height=640)
    facts = root.get_by_test_id("wb-picked").locator(".wb-pairs > span")
    name, value = facts.filter(has_text="very long name").first, facts.filter(has_text="many words").first
    for told in (name, value):
        expect(told).to_have_attribute("title", told.inner_text())
        assert told.evaluate(
            "one => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight"
        )
    side = root.locator(".wb-side").evaluate("one => [one.scrollWidth, one.clientWidth]")
    assert side[0] <= side[1]
    for index in range(facts.count()):
        box = facts.nth(index).bounding_box()
        assert box is not None and box["height"] < 40, facts.nth(index).inner_text()
    root.get_by_test_id("wb-cloud").focus()
    for key in (".", ","):
        harness.page.keyboard.press(key)
    card = harness.at("wb-tooltip")
    expect(card).to_contain_text("and 4 more")
    box = card.bounding_box()
    assert box is not None and box["height"] < 240
    assert card.evaluate("one => one.scrollWidth <= one.clientWidth")
    harness.picture(f"scatter-wordy-{width}")
