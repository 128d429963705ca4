"""Each picture by itself in a real browser: what it shows, what it sends, and what it survives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import Harness, build_harness

VIEWS = ("shapes", "histogram", "graph", "heatmap", "scatter", "training")


@pytest.fixture(scope="session")
def harness_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test page, bundled once."""
    return build_harness(tmp_path_factory.mktemp("harness"))


@pytest.fixture
def harness(page: Page, harness_page: Path, screenshots: Path) -> Iterator[Harness]:
    """A page for one view. An error in the page fails the test."""
    folder = screenshots / "views"
    folder.mkdir(exist_ok=True)
    page.set_default_timeout(10_000)
    made = Harness(page, harness_page, folder)
    yield made
    assert made.errors == []


# ------------------------------------------------------------------------------------------- all the views


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_empty_at_first_and_says_what_to_run(harness: Harness, view: str) -> None:
    root = harness.open(view, "")
    expect(root.get_by_test_id("wb-empty")).to_be_visible()
    code = root.get_by_test_id("wb-empty-code")
    expect(code).to_contain_text("wb.")
    code.get_by_role("button").click()
    copied = harness.page.evaluate("() => harness.copied")
    assert copied == [code.locator(".wb-code-text").inner_text()]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [300, 900])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_fits_wide_and_narrow_light_and_dark(
    harness: Harness, view: str, width: int, theme: str
) -> None:
    root = harness.open(view, width=width, theme=theme, height=700)
    expect(root).to_have_attribute("data-theme", theme)
    expect(root.get_by_test_id("wb-title")).not_to_be_empty()
    harness.page.wait_for_timeout(100)
    outside = root.evaluate(
        """root => [...root.querySelectorAll('button, input, select, canvas, svg')]
            .filter(e => e.checkVisibility() && !e.closest('.wb-clash-picture, .wb-graph-field, .wb-hidden'))
            .filter(e => e.getBoundingClientRect().right > root.getBoundingClientRect().right + 0.5)
            .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert outside == []
    harness.picture(f"{view}-{width}-{theme}")


@pytest.mark.parametrize("view", VIEWS)
def test_a_label_from_data_is_never_markup(harness: Harness, view: str) -> None:
    root = harness.open(view, "hostile", width=1000, height=800)
    harness.page.wait_for_timeout(150)
    expect(root.get_by_test_id("wb-title")).to_have_text('<img src=x onerror="window.hacked=true">')
    root.get_by_test_id("wb-menu-button").click()
    harness.page.keyboard.press("Escape")
    if view == "scatter":
        harness.page.keyboard.press("Tab")
        root.get_by_test_id("wb-cloud").focus()
        harness.page.keyboard.press(".")
        expect(harness.at("wb-tooltip")).to_contain_text("<img")
    assert harness.page.locator("img").count() == 0
    assert harness.page.evaluate("() => window.hacked") is None


@pytest.mark.parametrize("view", VIEWS)
def test_an_exported_page_holds_no_markup_from_data(harness: Harness, view: str) -> None:
    root = harness.open(view, "hostile", width=1000, height=800)
    root.get_by_test_id("wb-menu-button").click()
    harness.at("wb-menu").get_by_role("menuitem", name="Export HTML").click()
    harness.page.wait_for_function("() => harness.saved.length === 1")
    text = harness.page.evaluate("() => harness.saved[0].text")
    assert text.startswith("<!doctype html>")
    assert "<img src=x" not in text
    assert "<script" not in text
    harness.page.set_content(text)
    assert harness.page.evaluate("() => window.hacked") is None


@pytest.mark.parametrize("view", VIEWS)
def test_exports_are_not_empty(harness: Harness, view: str) -> None:
    root = harness.open(view, width=900, height=700)
    root.get_by_test_id("wb-menu-button").click()
    names = [
        name for name in harness.at("wb-menu").get_by_role("menuitem").all_inner_texts() if "Export" in name
    ]
    harness.page.keyboard.press("Escape")
    assert {"Export PNG", "Export HTML", "Export CSV", "Export JSON"} <= set(names)
    assert ("Export SVG" in names) == (view in ("histogram", "graph", "training"))
    for count, name in enumerate(names, start=1):
        root.get_by_test_id("wb-menu-button").click()
        harness.at("wb-menu").get_by_role("menuitem", name=name).click()
        harness.page.wait_for_function("count => harness.saved.length === count", arg=count)
    sizes = harness.page.evaluate("() => harness.saved.map(file => file.size)")
    assert all(size > 200 for size in sizes), dict(zip(names, sizes, strict=True))


@pytest.mark.parametrize("view", VIEWS)
def test_the_menu_works_with_keys_and_copies_the_code(harness: Harness, view: str) -> None:
    root = harness.open(view)
    root.get_by_test_id("wb-menu-button").focus()
    harness.page.keyboard.press("Enter")
    expect(harness.at("wb-menu")).to_be_visible()
    harness.page.keyboard.press("End")
    harness.page.keyboard.press("Enter")
    expect(harness.at("wb-menu")).to_have_count(0)
    assert harness.page.evaluate("() => harness.copied.length") == 1
    root.get_by_test_id("wb-menu-button").click()
    harness.at("wb-menu").get_by_role("menuitem", name="Open in a tab").click()
    assert harness.page.evaluate("() => harness.opened") == ["tab"]


def test_the_head_says_how_fresh_the_picture_is(harness: Harness) -> None:
    root = harness.open("histogram")
    status = root.get_by_test_id("wb-status")
    expect(status).to_have_text("●live")
    harness.do("setStatus({ kind: 'stale', since: Date.now() - 3000 })")
    expect(status).to_have_text("◌3 s ago")
    harness.do("setStatus({ kind: 'disconnected', reason: 'kernel restarted' })")
    expect(status).to_have_text("○kernel restarted: last picture")
    expect(status).to_have_attribute("data-status", "disconnected")


@pytest.mark.parametrize("view", VIEWS)
def test_a_destroyed_view_leaves_nothing_behind(harness: Harness, view: str) -> None:
    harness.open(view)
    harness.do("destroy()")
    assert harness.page.locator("#stage > *").count() == 0
    harness.do("mount()")
    harness.do("show('usual')")
    expect(harness.at(f"wb-{view}")).to_be_visible()


def test_a_state_whose_buffers_are_too_short_is_refused_in_place(harness: Harness) -> None:
    root = harness.open("heatmap")
    harness.do("show('short')")
    wrong = root.get_by_test_id("wb-wrong")
    expect(wrong).to_contain_text("784 values were promised and 3 arrived")
    expect(root.get_by_test_id("wb-heat-map")).to_be_visible()
    harness.do("show('usual')")
    expect(wrong).to_be_hidden()


# --------------------------------------------------------------------------------------------------- shapes


def test_a_tensor_shows_dims_statistics_and_a_picture(harness: Harness) -> None:
    root = harness.open("shapes")
    expect(root.get_by_test_id("wb-dims").locator(".wb-chip")).to_have_text(["N64", "C1", "H28", "W28"])
    expect(root.get_by_test_id("wb-facts")).to_have_text("50.2 K values · 196 KB · cpu · leaf, needs grad")
    expect(root.locator("[data-figure=zeros]")).to_have_text("zeros81 %")
    colours = root.get_by_test_id("wb-raster").evaluate(
        "c => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size"
    )
    assert colours > 20


def test_a_slider_asks_for_other_entries(harness: Harness) -> None:
    root = harness.open("shapes")
    field = root.get_by_label("Which N, as a number")
    field.fill("30")
    expect(root.get_by_label("Which N is shown")).to_have_value("30")
    field.press("Enter")
    slider = root.get_by_label("Which N is shown")
    slider.focus()
    slider.press("ArrowRight")
    harness.settle()
    assert harness.events() == [
        {"type": "slice", "axis": 0, "index": 30},
        {"type": "slice", "axis": 0, "index": 31},
    ]
    expect(root.locator("[data-shown]")).to_have_text("31–46")


def test_cells_that_are_no_numbers_are_counted_and_jumped_to(harness: Harness) -> None:
    root = harness.open("shapes", "wrong")
    expect(root.locator("[data-figure=NaN] b")).to_have_text("2")
    expect(root.locator("[data-figure=inf] b")).to_have_text("1")
    readout = root.get_by_test_id("wb-readout")
    jump = root.get_by_test_id("wb-next-nan")
    jump.click()
    expect(readout).to_have_text("out_features 1 · in_features 5   NaN")
    jump.click()
    expect(readout).to_have_text("out_features 1 · in_features 6   NaN")
    jump.click()
    expect(readout).to_have_text("out_features 12 · in_features 20   inf")
    harness.page.keyboard.press("ArrowLeft")
    expect(readout).to_contain_text("in_features 19")
    harness.picture("shapes-wrong")


def test_pointing_at_a_cell_reads_its_value_without_covering_it(harness: Harness) -> None:
    root = harness.open("shapes")
    canvas = root.get_by_test_id("wb-raster")
    canvas.hover(position={"x": 10, "y": 10})
    readout = root.get_by_test_id("wb-readout")
    expect(readout).to_contain_text("N 0 · H 3 · W 3")
    expect(harness.at("wb-tooltip")).to_have_count(0)
    box, text = canvas.bounding_box(), readout.bounding_box()
    assert box and text and text["y"] >= box["y"] + box["height"]


@pytest.mark.parametrize(("state", "element"), [("line", "wb-line"), ("scalar", "wb-scalar")])
def test_a_tensor_of_one_or_no_dims_has_its_own_picture(harness: Harness, state: str, element: str) -> None:
    root = harness.open("shapes", state)
    expect(root.get_by_test_id(element)).to_be_visible()
    harness.picture(f"shapes-{state}")


def test_flow_rows_are_walked_with_keys_and_share_the_selection(harness: Harness) -> None:
    root = harness.open("shapes", "flow")
    rows = root.get_by_test_id("wb-flow-row")
    expect(rows).to_have_count(8)
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    root.get_by_test_id("wb-flow").focus()
    harness.page.keyboard.press("ArrowDown")
    assert harness.events() == [{"type": "select", "id": "n3"}]
    assert harness.page.evaluate("() => harness.selections") == [{"node": "n3", "from": "shapes"}]
    harness.do("select({ node: 'n7', from: 'graph' })")
    expect(rows.nth(6)).to_have_attribute("aria-selected", "true")
    rows.nth(6).get_by_role("button", name="cell 3, line 10").click()
    assert harness.page.evaluate("() => harness.opened") == ["cell 3, line 10"]
    expect(rows.nth(0).get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(r"C 1 \(contracted: ends in this op\)")
    )


def test_a_clash_rings_and_joins_what_does_not_fit(harness: Harness) -> None:
    root = harness.open("shapes", "clash")
    expect(root.get_by_test_id("wb-clash-message")).to_contain_text("28 in images and 26 in mask")
    expect(root.get_by_test_id("wb-clash-ring")).to_have_count(2)
    rings = root.get_by_test_id("wb-clash-ring")
    boxes = [rings.nth(index).bounding_box() for index in (0, 1)]
    assert boxes[0] and boxes[1] and abs(boxes[0]["x"] - boxes[1]["x"]) < 1, "aligned from the right"
    root.get_by_test_id("wb-fix").get_by_role("button").click()
    assert harness.page.evaluate("() => harness.copied") == ["images + mask.pad(W=(1, 1))"]
    harness.picture("shapes-clash")


# ------------------------------------------------------------------------------------------------ histogram


def test_an_observer_without_values_says_what_to_run(harness: Harness) -> None:
    root = harness.open("histogram", "unseen", height=700)
    expect(root.get_by_test_id("wb-observer")).to_have_count(13)
    expect(root.get_by_test_id("wb-empty")).to_contain_text("has seen no values yet")
    expect(root.get_by_test_id("wb-detail")).to_be_hidden()
    harness.do("show('usual')")
    expect(root.get_by_test_id("wb-empty")).to_be_hidden()
    expect(root.get_by_test_id("wb-handle-low")).to_be_visible()


def ranges(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == "set_range"]


def test_dragging_a_handle_sends_ranges_and_ends_with_a_final_one(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    high = root.get_by_test_id("wb-handle-high")
    harness.drag(high, 80)
    sent = ranges(harness.events())
    assert [event["final"] for event in sent] == [False] * (len(sent) - 1) + [True]
    assert len(sent) > 1
    assert sent[-1]["low"] == pytest.approx(-3.1)
    assert sent[-1]["high"] > 4.3
    assert float(high.get_attribute("data-value") or 0) == pytest.approx(sent[-1]["high"])


def test_only_one_range_is_on_its_way_at_a_time(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    harness.do("held = [], harness.answer = () => new Promise(resolve => harness.held.push(resolve))")
    high = root.get_by_test_id("wb-handle-high")
    x, y = harness.middle(high)
    harness.page.mouse.move(x, y)
    harness.page.mouse.down()
    harness.page.mouse.move(x + 60, y, steps=12)
    assert len(ranges(harness.events())) == 1
    harness.do("held.pop()({ accepted: true, reason: '' })")
    harness.page.wait_for_function("() => harness.events.length === 2")
    harness.page.mouse.up()
    harness.do("held.pop()({ accepted: true, reason: '' })")
    harness.page.wait_for_function("() => harness.events.length === 3")
    last = ranges(harness.events())[-1]
    assert last["final"] is True
    assert last["high"] == pytest.approx(float(high.get_attribute("data-value") or 0))


def test_states_that_arrive_during_a_drag_do_not_fight_the_hand(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    high = root.get_by_test_id("wb-handle-high")
    x, y = harness.middle(high)
    harness.page.mouse.move(x, y)
    harness.page.mouse.down()
    harness.page.mouse.move(x + 50, y, steps=4)
    harness.settle()
    held = high.get_attribute("data-value")
    harness.do("show('usual')")
    harness.settle()
    assert high.get_attribute("data-value") == held
    grip = high.locator(".wb-grip").bounding_box()
    assert grip and grip["x"] + grip["width"] / 2 == pytest.approx(x + 50, abs=1.5)
    harness.page.mouse.up()


def test_after_a_drag_the_state_of_python_wins(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    high = root.get_by_test_id("wb-handle-high")
    harness.drag(high, 50)
    harness.page.wait_for_timeout(50)
    harness.do("show('usual')")
    expect(high).to_have_attribute("data-value", "4.2")


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("ArrowRight", 1),
        ("ArrowLeft", -1),
        ("Shift+ArrowRight", 1),
        ("PageDown", -1),
        ("End", 1),
        ("Home", -1),
    ],
)
def test_keys_move_a_handle(harness: Harness, key: str, change: int) -> None:
    root = harness.open("histogram", height=700)
    root.get_by_test_id("wb-handle-high").focus()
    harness.page.keyboard.press(key)
    sent = ranges(harness.events())
    assert sent[-1]["final"] is True
    assert (sent[-1]["high"] - 4.2) * change > 0
    assert sent[-1]["low"] == pytest.approx(-3.1)


def test_a_larger_step_with_shift(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    root.get_by_test_id("wb-handle-low").focus()
    harness.page.keyboard.press("ArrowRight")
    harness.page.keyboard.press("Shift+ArrowRight")
    small, large = (event["low"] for event in ranges(harness.events()) if event["final"])
    assert (large - small) == pytest.approx(10 * (small + 3.1), rel=1e-6)


def test_a_range_can_be_typed(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    field = root.get_by_test_id("wb-input-low")
    field.fill("−1.25")
    field.press("Enter")
    assert ranges(harness.events()) == [
        {"type": "set_range", "id": "conv2.output", "low": -1.25, "high": pytest.approx(4.2), "final": True}
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nan", "“nan” is not a finite number"),
        ("wide", "“wide” is not a finite number"),
        ("", "nothing was typed"),
        ("99", "the low end 99 is not below the high end 4.20"),
    ],
)
def test_nonsense_is_refused_in_place_and_the_range_stays(harness: Harness, text: str, reason: str) -> None:
    root = harness.open("histogram", height=700)
    field = root.get_by_test_id("wb-input-low")
    field.fill(text)
    field.press("Enter")
    expect(root.get_by_test_id("wb-refusal")).to_contain_text(reason)
    assert ranges(harness.events()) == []
    expect(root.get_by_test_id("wb-handle-low")).to_have_attribute("data-value", "-3.1")
    field.press("Escape")
    expect(root.get_by_test_id("wb-refusal")).to_be_hidden()
    expect(field).to_have_value("−3.10")


def test_dragging_one_end_past_the_other_puts_the_range_back(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    low = root.get_by_test_id("wb-handle-low")
    x, y = harness.middle(low)
    far = harness.middle(root.get_by_test_id("wb-handle-high"))[0] + 60
    harness.page.mouse.move(x, y)
    harness.page.mouse.down()
    harness.page.mouse.move(far, y, steps=10)
    harness.settle()
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("is not below the high end")
    harness.page.mouse.up()
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("The range stays as it was.")
    last = ranges(harness.events())[-1]
    assert (last["low"], last["high"], last["final"]) == (pytest.approx(-3.1), pytest.approx(4.2), True)
    expect(low).to_have_attribute("data-value", "-3.1")


def test_a_refusal_of_python_is_shown_and_the_handle_goes_back(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    harness.do("answer = async () => ({ accepted: false, reason: 'the observer is frozen' })")
    field = root.get_by_test_id("wb-input-high")
    field.fill("5")
    field.press("Enter")
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("the observer is frozen")
    expect(root.get_by_test_id("wb-handle-high")).to_have_attribute("data-value", "4.2")


def test_nan_and_inf_in_an_observer_are_shown_loudly(harness: Harness) -> None:
    root = harness.open("histogram", "wrong", height=800)
    expect(root.get_by_test_id("wb-nan-notice")).to_contain_text("12 NaN and 3 inf seen here")
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("the low end 2.1 is not below the high end 1.3")
    row = root.locator("[data-testid=wb-observer][data-id='conv2.output']")
    expect(row.locator(".wb-loud")).to_have_count(1)
    harness.picture("histogram-wrong")


def test_candidates_undo_redo_and_reset(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    best = root.locator("[data-testid=wb-candidate][data-best]")
    expect(best).to_have_count(1)
    root.locator("[data-testid=wb-candidate][data-name=KL]").click()
    root.get_by_test_id("wb-undo").click()
    expect(root.get_by_test_id("wb-redo")).to_be_disabled()
    harness.do("patch({ redo: 1 })")
    root.get_by_test_id("wb-redo").click()
    root.get_by_test_id("wb-reset").click()
    root.get_by_test_id("wb-handle-low").focus()
    harness.page.keyboard.press("Control+z")
    types = [event["type"] for event in harness.events()]
    assert types == ["set_range", "undo", "redo", "reset_range", "undo"]
    assert harness.events()[0]["final"] is True


def test_the_list_is_searched_sorted_and_walked(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    rows = root.get_by_test_id("wb-observer")
    expect(rows).to_have_count(13)
    root.get_by_test_id("wb-order").get_by_role("radio", name="worst").click()
    expect(rows.first).to_have_attribute("data-id", "conv2.output")
    root.get_by_test_id("wb-search").fill("fc weight")
    expect(rows).to_have_count(2)
    root.get_by_test_id("wb-search").fill("")
    root.get_by_test_id("wb-observers").focus()
    harness.page.keyboard.press("ArrowDown")
    assert harness.events()[-1]["type"] == "select"
    harness.do("select({ observer: 'fc1.weight', from: 'graph' })")
    assert harness.events()[-1] == {"type": "select", "id": "fc1.weight"}


def test_figures_clipping_and_outliers_are_there(harness: Harness) -> None:
    root = harness.open("histogram", height=800)
    figures = root.get_by_test_id("wb-figures")
    expect(figures.locator("[data-figure=scale] b")).to_have_text("0.0286")
    expect(figures.locator("[data-figure='zero point'] b")).to_have_text("108")
    expect(figures.locator("[data-figure=accuracy] b")).to_have_text("98.9 % (−0.1)")
    expect(root.get_by_test_id("wb-clip-low")).to_contain_text("clip")
    expect(root.get_by_test_id("wb-optimum")).to_have_count(1)
    expect(root.get_by_text("outlier: C 17")).to_be_visible()


# ---------------------------------------------------------------------------------------------------- graph


def test_a_graph_folds_scopes_and_hides_parameters(harness: Harness) -> None:
    root = harness.open("graph", height=900)
    nodes, scopes = root.get_by_test_id("wb-node"), root.get_by_test_id("wb-scope")
    expect(root.locator("[data-node='features.0.conv']")).to_be_visible()
    expect(root.locator("[data-node='features.0.conv.weight']")).to_have_count(0)
    root.get_by_test_id("wb-fold-all").click()
    expect(scopes).to_have_count(2)
    expect(root.locator("[data-scope=features]")).to_contain_text("8 ops · 4.9 K parameters")
    expect(nodes).to_have_count(3)
    root.locator("[data-scope=features] [data-fold]").click()
    expect(root.locator("[data-scope='features.0']")).to_be_visible()
    root.get_by_test_id("wb-unfold-all").click()
    root.get_by_test_id("wb-parameters").click()
    root.get_by_test_id("wb-fit").click()
    expect(root.locator("[data-node='features.0.conv.weight']")).to_have_count(1)


def test_edges_carry_named_shapes_where_they_change(harness: Harness) -> None:
    root = harness.open("graph", height=900)
    labels = root.get_by_test_id("wb-edge-label")
    texts = labels.all_text_contents()
    assert any("C 16" in text and "H 28" in text for text in texts)
    assert len(texts) < 8, "a relu does not change the shape: no label"


def test_clicking_a_node_selects_it_and_opens_the_inspector(harness: Harness) -> None:
    root = harness.open("graph", height=900)
    root.locator("[data-node='features.0.conv']").click()
    assert harness.events() == [{"type": "select", "id": "features.0.conv"}]
    inspector = root.get_by_test_id("wb-inspector")
    expect(inspector).to_contain_text("Slides a filter over H and W")
    expect(inspector).to_contain_text("C is contracted with the weight")
    inspector.get_by_role("button", name="norm").click()
    assert harness.events()[-1] == {"type": "select", "id": "features.0.norm"}


def test_arrow_keys_walk_edges_and_enter_folds(harness: Harness) -> None:
    root = harness.open("graph", "selected", height=900)
    root.get_by_test_id("wb-graph-field").focus()
    harness.page.keyboard.press("ArrowDown")
    assert harness.events()[-1] == {"type": "select", "id": "features.0.norm"}
    harness.page.keyboard.press("ArrowUp")
    harness.page.keyboard.press("ArrowUp")
    assert harness.events()[-1] == {"type": "select", "id": "x"}
    harness.page.keyboard.press("ArrowDown")
    harness.page.keyboard.press("Enter")
    expect(root.locator("[data-scope='features.0']")).to_have_attribute("aria-expanded", "false")
    harness.page.keyboard.press("Escape")
    expect(root.get_by_test_id("wb-inspector")).to_be_hidden()


def test_search_opens_the_scope_that_hides_what_it_finds(harness: Harness) -> None:
    root = harness.open("graph", "transformer", height=800)
    expect(root.get_by_text("×12")).to_be_visible()
    root.get_by_test_id("wb-graph-field").focus()
    harness.page.keyboard.press("/")
    harness.page.keyboard.type("gelu")
    expect(root.get_by_test_id("wb-found")).to_have_text("12 found")
    harness.page.keyboard.press("Enter")
    expect(root.get_by_test_id("wb-found")).to_have_text("1 of 12")
    expect(root.locator("[data-node='encoder.0.gelu'][data-selected]")).to_be_visible()
    harness.picture("graph-transformer")


def test_a_selection_made_elsewhere_is_followed(harness: Harness) -> None:
    root = harness.open("graph", "transformer", height=800)
    harness.do("select({ node: 'encoder.7.gelu', from: 'shapes' })")
    expect(root.locator("[data-node='encoder.7.gelu'][data-selected]")).to_be_visible()
    assert harness.events() == []


def test_panning_and_zooming_move_the_picture_and_select_nothing(harness: Harness) -> None:
    root = harness.open("graph", height=800)
    field = root.get_by_test_id("wb-graph-field")
    node = root.locator("[data-node='features.0.conv']")
    before = node.bounding_box()
    box = field.bounding_box()
    assert before and box
    harness.page.mouse.move(box["x"] + 40, box["y"] + 300)
    harness.page.mouse.down()
    harness.page.mouse.move(box["x"] + 100, box["y"] + 330, steps=4)
    harness.page.mouse.up()
    harness.settle()
    after = node.bounding_box()
    assert after and after["x"] - before["x"] == pytest.approx(60, abs=1)
    field.focus()
    harness.page.keyboard.press("+")
    harness.settle()
    larger = node.bounding_box()
    assert larger and larger["width"] > after["width"] * 1.2
    assert harness.events() == []


def test_colour_says_something_else_on_demand(harness: Harness) -> None:
    root = harness.open("graph", height=800)
    root.get_by_test_id("wb-colour").select_option("bits")
    expect(root.get_by_test_id("wb-legend")).to_contain_text("8 bit 2")
    root.get_by_test_id("wb-colour").select_option("flops")
    expect(root.get_by_test_id("wb-legend")).to_contain_text("Mflop")


def test_five_thousand_nodes_without_a_scope_can_be_shown(harness: Harness) -> None:
    root = harness.open("graph", "flat", height=700)
    expect(root.get_by_test_id("wb-truncated")).to_contain_text("1,200 more nodes were left out")
    root.get_by_test_id("wb-fit").click()
    harness.settle()
    assert root.get_by_test_id("wb-node").count() < 500, "from afar nodes are no elements"
    root.get_by_test_id("wb-search").fill("4321")
    expect(root.locator("[data-node=n4321][data-selected]")).to_have_count(1)


# -------------------------------------------------------------------------------------------------- heatmap


def pixels(harness: Harness, name: str) -> list[int]:
    data: list[int] = harness.at(name).evaluate(
        "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
    )
    return data


def test_instant_controls_change_the_picture_and_ask_nobody(harness: Harness) -> None:
    root = harness.open("heatmap")
    seen = [pixels(harness, "wb-heat-map")]
    for name in ("positive", "negative", "absolute"):
        root.get_by_test_id("wb-sign").get_by_role("radio", name=name).click()
        harness.settle()
        seen.append(pixels(harness, "wb-heat-map"))
    root.get_by_test_id("wb-blend").fill("10")
    harness.settle()
    seen.append(pixels(harness, "wb-heat-map"))
    root.get_by_test_id("wb-percentile").fill("60")
    harness.settle()
    seen.append(pixels(harness, "wb-heat-map"))
    root.get_by_test_id("wb-map").select_option("grey")
    harness.settle()
    seen.append(pixels(harness, "wb-heat-map"))
    assert all(one != other for one, other in pairwise(seen))
    assert harness.events() == []


def test_without_the_heatmap_the_input_is_left(harness: Harness) -> None:
    root = harness.open("heatmap")
    root.get_by_test_id("wb-blend").fill("0")
    harness.settle()
    assert pixels(harness, "wb-heat-map") == pixels(harness, "wb-heat-input")


def test_a_delta_over_its_tolerance_warns_with_the_reason(harness: Harness) -> None:
    root = harness.open("heatmap")
    verdict = root.get_by_test_id("wb-verdict")
    expect(verdict).to_contain_text("delta0.000210")
    expect(verdict).to_contain_text("time48 ms")
    expect(verdict).not_to_have_attribute("data-over", "")
    harness.do("show('wrong')")
    expect(verdict).to_have_attribute("data-over", "")
    expect(verdict).to_contain_text("off by 0.230, more than 0.0100")
    expect(verdict).to_contain_text("40 cells have no attribution")
    harness.picture("heatmap-wrong")


def test_a_cell_is_read_by_pointer_and_by_keys(harness: Harness) -> None:
    root = harness.open("heatmap")
    canvas = root.get_by_test_id("wb-heat-map")
    canvas.hover(position={"x": 115, "y": 60})
    readout = root.get_by_test_id("wb-readout")
    expect(readout).to_contain_text("H 5 · W 10   attribution")
    canvas.focus()
    harness.page.keyboard.press("ArrowDown")
    expect(readout).to_contain_text("H 6 · W 10")


def test_the_stepper_asks_for_samples(harness: Harness) -> None:
    root = harness.open("heatmap")
    root.get_by_test_id("wb-next").click()
    root.get_by_test_id("wb-sample").fill("40")
    root.get_by_test_id("wb-sample").press("Enter")
    harness.settle()
    assert harness.events() == [{"type": "sample", "index": 4}, {"type": "sample", "index": 40}]


# -------------------------------------------------------------------------------------------------- scatter


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
    seen = [pixels(harness, "wb-points")[::97]]

    def changed() -> None:
        harness.settle()
        now = pixels(harness, "wb-points")[::97]
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
    assert len(set(pixels(harness, "wb-points"))) > 20


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
    assert len(set(pixels(harness, "wb-points")[::101])) > 20


# ------------------------------------------------------------------------------------------------- training


def curve(harness: Harness, chart: str, part: str) -> str:
    """The path of a curve."""
    path = harness.page.locator(f"[data-chart='{chart}'] [data-curve='{part}']").get_attribute("d")
    assert path is not None
    return path


def test_a_training_shows_where_it_is_and_draws_loss_and_metrics_apart(harness: Harness) -> None:
    root = harness.open("training")
    expect(root.get_by_test_id("wb-state")).to_have_text("running")
    words = root.get_by_test_id("wb-progress-words")
    expect(words).to_have_text("epoch 5 of 10batch 12 of 100step 412 of 1,000")
    expect(root.get_by_test_id("wb-progress")).to_have_attribute("aria-valuenow", "41")
    expect(root.get_by_test_id("wb-figures")).to_contain_text("time leftabout 30.6 s")
    charts = root.get_by_test_id("wb-chart")
    names = charts.evaluate_all("charts => charts.map(chart => chart.dataset.chart)")
    assert names == ["loss", "metric accuracy", "rate", "norm", "throughput"]
    loss = root.locator("[data-chart=loss]")
    assert loss.locator("[data-curve]").evaluate_all("paths => paths.map(p => p.dataset.curve)") == [
        "train raw", "train", "validation",
    ]  # fmt: skip
    expect(loss.locator("[data-spike='280']")).to_contain_text("280")
    expect(loss.get_by_text("epoch 1", exact=True)).to_be_visible()
    expect(loss.locator("[data-mark=failed]")).to_have_count(0)


def test_smoothing_and_scale_are_instant_and_ask_nobody(harness: Harness) -> None:
    root = harness.open("training")
    before, raw = curve(harness, "loss", "train"), curve(harness, "loss", "train raw")
    slider = root.get_by_test_id("wb-smoothing")
    slider.focus()
    slider.press("ArrowLeft")
    harness.settle()
    expect(root.get_by_test_id("wb-smoothing-field")).to_have_value("0.89")
    assert curve(harness, "loss", "train") != before
    field = root.get_by_test_id("wb-smoothing-field")
    field.fill("0")
    field.press("Enter")
    harness.settle()
    assert root.locator("[data-chart=loss] [data-curve='train raw']").count() == 0, "nothing is smoothed"
    assert curve(harness, "loss", "train").count("L") == raw.count("L")
    linear = curve(harness, "loss", "train")
    root.get_by_test_id("wb-scale").get_by_role("radio", name="log").click()
    harness.settle()
    assert curve(harness, "loss", "train") != linear
    assert harness.events() == []
    harness.picture("training-log")


def test_exact_values_are_read_by_pointer_and_by_keys(harness: Harness) -> None:
    root = harness.open("training")
    readout = root.get_by_test_id("wb-readout")
    loss = root.locator("[data-chart=loss] svg")
    loss.hover(position={"x": 200, "y": 60})
    expect(readout).to_contain_text(
        re.compile(r"^step \d+ · epoch \d — loss: train \d\.\d{7,}, smoothed \d\.\d{7,}")
    )
    expect(readout).to_contain_text(re.compile(r"validation \d\.\d+ at step \d00"))
    box, text = loss.bounding_box(), readout.bounding_box()
    assert box and text and text["y"] + text["height"] <= box["y"] + 1, "it covers what it explains"
    harness.picture("training-hover")
    loss.focus()
    loss.press("s")
    expect(readout).to_contain_text("step 280")
    expect(readout).to_contain_text("▼ spike, usual is")
    loss.press("ArrowRight")
    expect(readout).to_contain_text("step 281 · epoch 3")
    loss.press("Home")
    expect(readout).to_contain_text("step 1 · epoch 1")
    loss.press("Escape")
    expect(readout).to_contain_text("for exact values; s: next spike")
    assert harness.events() == []


def test_buttons_ask_python_and_follow_what_it_does(harness: Harness) -> None:
    root = harness.open("training")
    pause, stop, state = (root.get_by_test_id(f"wb-{name}") for name in ("pause", "stop", "state"))
    pause.focus()
    harness.page.keyboard.press("Enter")
    harness.do("show('pausing')")
    expect(state).to_have_text("pausing …")
    expect(pause).to_contain_text("Resume")
    harness.do("show('paused')")
    expect(state).to_have_text("paused")
    harness.picture("training-paused")
    pause.click()
    harness.do("show('usual')")
    expect(pause).to_contain_text("Pause")
    stop.click()
    harness.do("show('stopping')")
    expect(state).to_have_text("stopping …")
    expect(stop).to_be_disabled()
    assert harness.events() == [{"type": "pause"}, {"type": "resume"}, {"type": "stop"}]
    harness.do("show('stopped')")
    expect(state).to_have_text("stopped")
    expect(pause).to_be_hidden()
    advice = root.get_by_test_id("wb-advice")
    advice.get_by_role("button").click()
    assert harness.page.evaluate("() => harness.copied") == [
        "trainer.fit(loader, validation, epochs=10, resume=True)"
    ]
    harness.picture("training-stopped")


def test_a_refusal_is_said_with_its_reason(harness: Harness) -> None:
    root = harness.open("training")
    harness.do("answer = () => Promise.resolve({ accepted: false, reason: 'it is paused already' })")
    root.get_by_test_id("wb-pause").click()
    expect(root.get_by_test_id("wb-wrong")).to_contain_text("Refused: it is paused already")


def test_a_picture_without_its_kernel_does_not_claim_to_run(harness: Harness) -> None:
    root = harness.open("training")
    harness.do("setStatus({ kind: 'disconnected', reason: 'kernel restarted' })")
    expect(root.get_by_test_id("wb-state")).to_have_text("was running")
    expect(root.get_by_test_id("wb-pause")).to_be_disabled()
    expect(root.get_by_test_id("wb-stop")).to_have_attribute("title", "Nobody can be asked: kernel restarted")
    harness.do("setStatus({ kind: 'live' })")
    expect(root.get_by_test_id("wb-state")).to_have_text("running")


def test_a_training_that_failed_says_what_and_why(harness: Harness) -> None:
    root = harness.open("training", "wrong")
    failure = root.get_by_test_id("wb-failure")
    expect(failure).to_contain_text("TrainingError at step 413, first seen in fc1")
    expect(failure).to_contain_text("the loss is nan at step 413")
    expect(failure).to_have_attribute("role", "alert")
    expect(root.locator("[data-mark=failed]")).to_have_count(5)
    expect(root.locator("[data-chart=loss]")).to_contain_text("✕ step 413")
    harness.picture("training-wrong")


def test_a_training_that_has_not_begun_says_what_to_run(harness: Harness) -> None:
    root = harness.open("training", "idle")
    expect(root.get_by_test_id("wb-state")).to_have_text("not begun")
    expect(root.get_by_test_id("wb-empty-code")).to_contain_text("trainer.fit(loader, validation, epochs=5)")
    expect(root.get_by_test_id("wb-chart")).to_have_count(0)
    harness.do("show('started')")
    expect(root.get_by_test_id("wb-empty")).to_have_text("The first step is under way.")
    harness.do("show('first')")
    expect(root.get_by_test_id("wb-chart").first).to_be_visible()
    expect(root.get_by_test_id("wb-empty")).to_be_hidden()
    harness.picture("training-first")


def test_layers_are_switched_and_read(harness: Harness) -> None:
    root = harness.open("training")
    seen = [pixels(harness, "wb-strip")]
    choice = root.get_by_test_id("wb-strip-choice")
    for name in ("gradient norm", "dead units"):
        choice.get_by_role("radio", name=name).click()
        harness.settle()
        seen.append(pixels(harness, "wb-strip"))
    assert all(one != other for one, other in pairwise(seen))
    strip, readout = root.get_by_test_id("wb-strip"), root.get_by_test_id("wb-readout")
    strip.focus()
    harness.page.keyboard.press("End")
    expect(readout).to_contain_text(re.compile(r"step 408 · epoch 5 — relu1 · dead units [\d.]+ %"))
    harness.page.keyboard.press("ArrowDown")
    expect(readout).to_contain_text("relu2")
    strip.hover(position={"x": 300, "y": 8})
    expect(readout).to_contain_text("relu1")
    expect(root.locator("[data-chart=loss] circle[r='3.5']")).to_have_count(2)


def test_two_thousand_points_are_redrawn_within_a_frame(harness: Harness) -> None:
    root = harness.open("training", "huge", height=760)
    expect(root.get_by_test_id("wb-progress-words")).to_contain_text("step 20,480 of 24,000")
    assert curve(harness, "loss", "train raw").count("L") > 1000
    # The least of several: other programs make single ones slower.
    spent = harness.page.evaluate(
        """() => { let work = null; window.requestAnimationFrame = callback => { work = callback; return 1; };
        const slider = document.querySelector('[data-testid=wb-smoothing]'); let least = Infinity;
        for (let turn = 0; turn < 12; turn++) {
            slider.value = String(turn / 20); slider.dispatchEvent(new Event('input'));
            const start = performance.now(); work(start); least = Math.min(least, performance.now() - start); }
        return least; }"""
    )
    assert spent < 16
    harness.picture("training-huge")


def test_focus_and_cursor_outlive_new_steps(harness: Harness) -> None:
    root = harness.open("training")
    loss = root.locator("[data-chart=loss] svg")
    loss.focus()
    loss.press("Home")
    harness.do("show('paused')")
    harness.settle()
    expect(loss).to_be_focused()
    expect(root.get_by_test_id("wb-readout")).to_contain_text("step 1 · epoch 1")


def test_a_training_whose_buffers_are_too_short_is_refused_in_place(harness: Harness) -> None:
    root = harness.open("training")
    harness.do("show('short')")
    expect(root.get_by_test_id("wb-wrong")).to_contain_text("did not arrive")
    expect(root.get_by_test_id("wb-chart")).to_have_count(5)
