"""The scatter view by itself: both renderers, picking, selecting, filtering."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.views.harness import Harness
from workbench.embedding import Embedding
from workbench.live.encode import encode_snapshot
from workbench.live.messages import LookCloserEvent, ScatterState
from workbench.widgets import scatter_drawn, scatter_places
from workbench.widgets.scatter import ScatterModel


@pytest.mark.parametrize("renderer", ["auto", "canvas"])
def test_points_are_drawn_and_picked(harness: Harness, renderer: str) -> None:
    root = harness.open("scatter", "flat", renderer=renderer, height=600)
    expect(root).to_have_attribute("data-renderer", "webgl" if renderer == "auto" else "canvas")
    assert harness.drawn("wb-points")[1] > 20
    cloud = root.get_by_test_id("wb-cloud")
    cloud.focus()
    harness.page.keyboard.press(".")
    harness.page.keyboard.press(".")
    expect(harness.at("wb-tooltip")).to_contain_text("point 1")
    harness.page.keyboard.press("Enter")
    assert harness.events() == [{"type": "select_points", "indices": [1]}]
    root.get_by_test_id("wb-side-tab").get_by_role("radio", name="selection").click()
    expect(root.get_by_test_id("wb-picked")).to_contain_text("1 of 2,000 points selected")
    harness.picture(f"scatter-{renderer}")


def test_both_renderers_put_points_at_the_same_places(harness: Harness) -> None:
    inked = []
    for renderer in ("auto", "canvas"):
        root = harness.open("scatter", "flat", renderer=renderer, height=600)
        root.get_by_test_id("wb-labels").click()
        harness.settle()
        inked.append(np.frombuffer(harness.pixels("wb-points"), np.uint8)[3::4] > 128)
    assert np.sum(inked[0] & inked[1]) / np.sum(inked[0] | inked[1]) > 0.75


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
    near.nth(2).click()
    assert harness.events() == [{"type": "select_points", "indices": [167]}]
    root.get_by_test_id("wb-side-tab").get_by_role("radio", name="selection").click()
    expect(root.get_by_test_id("wb-picked")).to_contain_text("test/00167.png")
    root.get_by_test_id("wb-clear").click()
    assert harness.events()[-1] == {"type": "select_points", "indices": []}


def test_metric_and_number_of_neighbours_are_asked_and_undone(harness: Harness) -> None:
    root = harness.open("scatter", "selected", height=700)
    root.get_by_test_id("wb-metric").get_by_role("radio", name="euclidean").click()
    field = root.get_by_test_id("wb-k")
    field.fill("1200")
    field.press("Enter")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("30")
    field.press("Enter")
    assert harness.events() == [
        {"type": "set_neighbours", "metric": "euclidean", "k": 12},
        {"type": "set_neighbours", "metric": "euclidean", "k": 30},
    ]
    root.get_by_test_id("wb-undo").click()
    assert harness.events()[-1] == {"type": "set_neighbours", "metric": "euclidean", "k": 12}


def test_the_legend_filters_and_the_search_finds(harness: Harness) -> None:
    root = harness.open("scatter", "flat", height=640)
    facts = root.get_by_test_id("wb-facts")
    seven = root.get_by_test_id("wb-legend").get_by_role("button", name="seven")
    seven.click()
    expect(seven).to_have_attribute("aria-pressed", "false")
    expect(facts).to_contain_text("1,800 shown")
    root.get_by_test_id("wb-legend-all").click()
    expect(seven).to_have_attribute("aria-pressed", "true")
    seven.focus()
    harness.page.keyboard.press("Shift+Enter")
    expect(facts).to_contain_text("200 shown")
    harness.page.keyboard.press("Control+z")
    expect(facts).not_to_contain_text("shown")
    # Two presses are one step, and undone as one; of a value that is alone they show all.
    seven.dblclick()
    expect(facts).to_contain_text("200 shown")
    seven.dblclick()
    expect(facts).not_to_contain_text("shown")
    harness.page.keyboard.press("Control+z")
    expect(facts).to_contain_text("200 shown")
    harness.page.keyboard.press("Control+z")
    expect(facts).not_to_contain_text("shown")
    harness.page.keyboard.press("Control+z")
    expect(facts).to_contain_text("1,800 shown")
    root.get_by_test_id("wb-legend-all").click()
    search, found = root.get_by_test_id("wb-search"), root.get_by_test_id("wb-found")
    search.fill("digit: seven")
    expect(found).to_have_text("200 found")
    search.press("ArrowDown")
    expect(found).to_have_text("1 of 200: seven")
    search.fill("/0001[0-4]/")
    expect(found).to_have_text("5 found")
    root.get_by_test_id("wb-search-select").click()
    assert harness.events() == [{"type": "select_points", "indices": [10, 11, 12, 13, 14]}]
    search.fill("/(/")
    expect(root.get_by_test_id("wb-search-problem")).to_contain_text("regular expression")
    search.fill("#17")
    search.press("Enter")
    assert harness.events()[-1] == {"type": "select_points", "indices": [17]}


def test_numbers_colour_and_a_range_of_them_filters(harness: Harness) -> None:
    root = harness.open("scatter", "flat", height=700)
    before = harness.drawn("wb-points")
    root.get_by_test_id("wb-colour-by").select_option("confidence")
    harness.settle()
    assert harness.drawn("wb-points") != before
    strip = root.get_by_test_id("wb-legend-range")
    strip.get_by_test_id("wb-range-from").fill("0.5")
    strip.get_by_test_id("wb-range-from").press("Enter")
    facts = root.get_by_test_id("wb-facts")
    expect(facts).to_contain_text("shown")
    told = facts.inner_text()
    strip.get_by_test_id("wb-range-low").focus()
    harness.page.keyboard.press("Shift+ArrowRight")
    expect(facts).not_to_have_text(told)
    harness.drag(strip.get_by_test_id("wb-range-high"), -60)
    harness.picture("scatter-continuous")
    root.get_by_test_id("wb-side-tab").get_by_role("radio", name="filters").click()
    expect(root.get_by_test_id("wb-shown")).to_contain_text("of 2,000 shown")
    root.get_by_test_id("wb-value-row").first.click()
    harness.picture("scatter-filters")
    root.get_by_test_id("wb-filters-all").click()
    expect(facts).not_to_contain_text("shown")
    root.get_by_test_id("wb-colour-by").select_option("trustworthiness")
    assert harness.events() == [{"type": "compute_column", "name": "trustworthiness"}]


def test_a_selection_is_isolated_listed_and_copied(harness: Harness) -> None:
    root = harness.open("scatter", "flat", height=700)
    root.get_by_test_id("wb-search").fill("digit: seven")
    root.get_by_test_id("wb-search").press("Enter")
    root.get_by_test_id("wb-cloud").focus()
    harness.page.keyboard.press("i")
    facts = root.get_by_test_id("wb-facts")
    expect(facts).to_contain_text("200 shown")
    root.get_by_test_id("wb-side-tab").get_by_role("radio", name="selection").click()
    harness.settle()
    # Only what is in sight stands in the page.
    assert 3 < root.get_by_test_id("wb-row").count() < 40
    root.get_by_test_id("wb-rows").evaluate("one => { one.scrollTop = one.scrollHeight; }")
    expect(root.get_by_test_id("wb-row").last).to_have_attribute("data-index", "1997")
    root.get_by_test_id("wb-copy-rows").click()
    lines = harness.do("copied[0]").splitlines()
    assert (lines[0], len(lines)) == ("index,digit,confidence,file", 201)
    assert lines[1].startswith("7,seven,")
    root.get_by_test_id("wb-cloud").focus()
    harness.page.keyboard.press("a")
    expect(facts).not_to_contain_text("shown")


def test_a_method_is_asked_with_its_settings_and_a_refusal_is_read_there(harness: Harness) -> None:
    root = harness.open("scatter", "running", width=1200, height=700)
    rail = root.get_by_test_id("wb-rail")
    expect(rail.get_by_test_id("wb-progress-words")).to_contain_text("320 of 750 steps")
    expect(rail.get_by_test_id("wb-run-method")).to_be_disabled()
    rail.get_by_test_id("wb-stop").click()
    harness.do("patch({ work: null, resumes: true })")
    rail.get_by_test_id("wb-resume").click()
    assert [one["type"] for one in harness.events()] == ["stop", "resume"]
    harness.do(
        "answer = () => Promise.resolve({ accepted: false, reason: 'perplexity 900 is too high for 2,000 points' })"
    )
    perplexity = rail.get_by_test_id("wb-set-perplexity")
    perplexity.fill("900")
    perplexity.press("Enter")
    asked = harness.events()[-1]
    assert (asked["type"], asked["method"], asked["dims"]) == ("project", "tsne", 2)
    assert {"name": "perplexity", "value": "900"} in asked["settings"]
    expect(rail.get_by_test_id("wb-method-problem")).to_contain_text("perplexity 900 is too high")
    rail.get_by_test_id("wb-method").select_option("axes")
    rail.get_by_test_id("wb-axis-x-from").fill("king")
    rail.get_by_test_id("wb-axis-x-to").fill("queen")
    rail.get_by_test_id("wb-run-method").click()
    ends = [{"words": word, "points": []} for word in ("king", "queen")]
    assert harness.events()[-1]["axes"] == [{"start": ends[0], "end": ends[1]}]
    harness.picture("scatter-method")


def test_frames_comparison_and_bookmarks(harness: Harness) -> None:
    root = harness.open("scatter", "everything", width=1200, height=760)
    rail = root.get_by_test_id("wb-rail")
    expect(rail.get_by_test_id("wb-compared")).to_contain_text("83 %")
    expect(rail.get_by_test_id("wb-lost").get_by_role("button")).to_have_count(2)
    root.get_by_test_id("wb-cloud").focus()
    harness.page.keyboard.press("[")
    assert harness.events() == [{"type": "show_projection", "name": "epoch 2"}]
    harness.do("patch({ projection: 'epoch 2' })")
    harness.forget()
    harness.picture("scatter-everything")
    rail.get_by_test_id("wb-bookmark").click()
    facts = root.get_by_test_id("wb-facts")
    expect(facts).to_contain_text("shown")
    expect(root.get_by_test_id("wb-colour-by")).to_have_value("confidence")
    assert {one["type"] for one in harness.events()} == {"show_projection", "select_points"}
    rail.get_by_test_id("wb-bookmark-name").fill("again")
    rail.get_by_test_id("wb-bookmark-keep").click()
    kept = harness.events()[-1]
    assert (kept["type"], kept["name"], kept["arrangement"]["selected"]) == (
        "save_bookmark",
        "again",
        [17, 27],
    )
    assert kept["arrangement"]["ranges"] == [{"column": "confidence", "low": 0.5, "high": 0.9}]
    rail.get_by_test_id("wb-bookmark-export").click()
    text = harness.do("saved[0].text")
    rail.get_by_test_id("wb-bookmark-file").set_input_files(
        files=[{"name": "bookmarks.json", "mimeType": "application/json", "buffer": text.encode()}]
    )
    expect(facts).to_contain_text("shown")
    harness.page.wait_for_function("() => harness.events.at(-1).name === 'the lonely sevens'")
    harness.page.keyboard.press("Control+z")
    expect(facts).not_to_contain_text("shown")


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
    seen = [harness.drawn("wb-points")]

    def changed() -> None:
        harness.settle()
        now = harness.drawn("wb-points")
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
    expect(root.get_by_test_id("wb-facts")).to_contain_text(
        re.compile(r"298 of 10,000 points.* · 2 without a place$")
    )
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("point 400 does not exist; there are 300")


def test_a_lost_context_is_replaced_by_the_canvas_and_comes_back(harness: Harness) -> None:
    root = harness.open("scatter", "flat", height=640)
    expect(root).to_have_attribute("data-renderer", "webgl")
    harness.page.evaluate(
        """() => { const shared = globalThis[Symbol.for('workbench.webgl.2')];
        window.loser = shared.gl.getExtension('WEBGL_lose_context'); window.loser.loseContext(); }"""
    )
    expect(root).to_have_attribute("data-renderer", "canvas")
    expect(root.get_by_test_id("wb-renderer-note")).to_contain_text("no WebGL")
    harness.page.evaluate("() => window.loser.restoreContext()")
    expect(root).to_have_attribute("data-renderer", "webgl")
    harness.settle()
    assert harness.drawn("wb-points")[1] > 20


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
    assert harness.drawn("wb-points")[1] > 20


def test_a_cloud_without_points_says_what_is_missing_and_what_to_run(harness: Harness) -> None:
    root = harness.open("scatter", "nothing")
    expect(root.get_by_test_id("wb-empty")).to_contain_text(
        "no points. Give it vectors of at least one sample"
    )
    expect(root.get_by_test_id("wb-empty-code")).to_contain_text("wb.embedding.Embedding(")
    expect(root.get_by_test_id("wb-cloud")).to_have_count(0)
    harness.picture("scatter-nothing")


@pytest.mark.parametrize("width", [900, 400])
def test_long_words_of_a_point_are_cut(harness: Harness, width: int) -> None:
    root = harness.open("scatter", "wordy", width=width, height=640)
    side = root.locator(".wb-side").evaluate("one => [one.scrollWidth, one.clientWidth]")
    assert side[0] <= side[1]
    root.get_by_test_id("wb-cloud").focus()
    for key in (".", ","):
        harness.page.keyboard.press(key)
    card = harness.at("wb-tooltip")
    expect(card).to_contain_text("and 4 more")
    box = card.bounding_box()
    assert box is not None and box["height"] < 240
    assert card.evaluate("one => one.scrollWidth <= one.clientWidth")
    harness.picture(f"scatter-wordy-{width}")


def test_a_lasso_catches_and_alt_lets_go_by_hand_and_by_key(harness: Harness) -> None:
    root = harness.open("scatter", "flat", height=640)
    cloud = root.get_by_test_id("wb-cloud")
    box = cloud.bounding_box()
    assert box
    corners = [(0.02, 0.12), (0.98, 0.12), (0.98, 0.98), (0.02, 0.98), (0.02, 0.2)]

    def around(*share: float) -> None:
        left, right = share
        places = [
            (box["x"] + box["width"] * (left + (right - left) * x), box["y"] + box["height"] * y)
            for x, y in corners
        ]
        harness.page.mouse.move(*places[0])
        harness.page.mouse.down()
        for place in places[1:]:
            harness.page.mouse.move(*place, steps=2)
        harness.page.mouse.up()

    cloud.focus()
    harness.page.keyboard.press("l")
    around(0, 1)
    every = harness.events()[-1]["indices"]
    harness.page.keyboard.down("Alt")
    around(0, 0.5)
    harness.page.keyboard.up("Alt")
    left = harness.events()[-1]["indices"]
    assert len(every) == 2000 and 100 < len(left) < 1900 and set(left) < set(every)
    harness.page.keyboard.press("Alt+v")
    assert harness.events()[-1]["indices"] == []
    harness.page.keyboard.press("v")
    assert sorted(harness.events()[-1]["indices"]) == sorted(every)


def test_a_cloud_too_large_to_travel_is_density_that_says_so_and_asks_for_a_closer_look(
    harness: Harness,
) -> None:
    root = harness.open("scatter", "density", height=640)
    expect(root.get_by_test_id("wb-facts")).to_contain_text("points as density; zoom in to see points")
    assert harness.drawn("wb-points")[1] > 20
    cloud = root.get_by_test_id("wb-cloud")
    cloud.focus()
    harness.page.keyboard.press("v")
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("Density has no single points to select")
    for _ in range(6):
        harness.page.keyboard.press("+")
    harness.page.wait_for_function("() => harness.events.length > 0")
    asked = harness.events()[-1]
    assert asked["type"] == "look_closer"
    assert all(-6 <= low < high <= 6 for low, high in zip(asked["low"], asked["high"], strict=True))
    assert asked["high"][0] - asked["low"][0] < 8


def test_views_on_one_page_keep_their_pictures(harness: Harness) -> None:
    harness.open("scatter", "flat", height=460)
    harness.do("also('heatmap', 'usual')")
    for _ in range(15):
        harness.do("also('scatter', 'flat')")
    harness.settle()
    harness.page.get_by_test_id("wb-cloud").last.focus()
    harness.page.keyboard.press("+")
    harness.settle()
    inked = harness.page.evaluate(
        """() => [...document.querySelectorAll('[data-testid=wb-points], [data-testid=wb-heat-map]')].map(c => {
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        const seen = new Set();
        for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) seen.add(d[i] << 8 | d[i + 1]);
        return seen.size; })"""
    )
    assert len(inked) == 17 and min(inked) > 8
    renderers = harness.page.evaluate(
        "() => [...document.querySelectorAll('[data-testid=wb-scatter]')].map(one => one.dataset.renderer)"
    )
    assert renderers == ["webgl"] * 16


def test_a_page_of_a_part_finds_neighbours_among_its_points(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scatter_drawn, "MOST_POINTS", 400)
    vectors = np.random.default_rng(5).standard_normal((2_000, 2)).astype(np.float32)
    made = Embedding(vectors).project("given", positions=vectors)
    made.selected = [3]
    model = ScatterModel(made)
    model.snapshot()
    model.handle(LookCloserEvent("look_closer", (vectors[3] - 0.3).tolist(), (vectors[3] + 0.3).tolist()))
    state = model.snapshot().state
    assert isinstance(state, ScatterState) and state.window is not None and state.count < 100
    numbers = np.frombuffer(model.snapshot().buffers[state.window.numbers_buffer or 0], "<u4")
    page.goto(model.publish(tmp_path / "part.html").as_uri())
    root = page.get_by_test_id("wb-scatter")
    expect(root).to_contain_text(f"exact, of the {state.count} points of this page, before projection")
    root.get_by_test_id("wb-metric").get_by_role("radio", name="euclidean").click()
    own = int(np.flatnonzero(numbers == 3)[0])
    python = numbers[made.take(numbers.astype(int)).neighbours(own, 12, "euclidean").indices]
    near = root.get_by_test_id("wb-neighbour")
    expect(near.first).to_have_attribute("title", re.compile(rf"point {python[0]}$"))
    titles = near.evaluate_all("all => all.map(one => Number(one.title.split(' ').at(-1)))")
    assert titles == python.tolist()


def test_the_menu_has_python_write_a_table_that_the_page_has_not_exactly(
    harness: Harness, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = harness.open("scatter", height=600)

    def export(name: str) -> None:
        root.get_by_test_id("wb-menu-button").click()
        harness.at("wb-menu").get_by_role("menuitem", name=name, exact=True).click()

    export("Export CSV")
    page.wait_for_function("() => harness.saved.length === 1")
    monkeypatch.setattr(scatter_places, "MOST_EXACT", 50)
    made = Embedding(np.random.default_rng(2).standard_normal((60, 5)), title="points")
    model = ScatterModel(made)
    state, buffers = encode_snapshot("scatter", model.snapshot())
    assert state["positions_coding"] == "packed"
    sent = [base64.b64encode(one).decode() for one in buffers]
    page.evaluate("given => harness.give(...given)", [state, sent])
    harness.forget()
    export("Export CSV (all points, exact, beside the notebook)")
    assert harness.events() == [{"type": "write_table"}]
    expect(harness.at("wb-written")).to_be_hidden()
    harness.do("patch({ published: '/home/points.csv' })")
    expect(harness.at("wb-written")).to_have_text(re.compile("Written to /home/points.csv"))
    harness.picture("scatter-written")
    # Without Python it is what the page has, and says so in the menu and in the file.
    harness.do("setStatus({ kind: 'disconnected', reason: 'kernel restarted' })")
    export("Export CSV (positions rounded to 21 bits)")
    page.wait_for_function("() => harness.saved.length === 2")
    assert harness.do("saved[1].text").startswith("index,x ± ")
    page.goto(model.publish(tmp_path / "page.html").as_uri())
    page.get_by_test_id("wb-scatter").get_by_test_id("wb-menu-button").click()
    expect(page.get_by_role("menuitem", name="Export CSV")).to_have_text(
        "Export CSV (positions rounded to 21 bits)"
    )
