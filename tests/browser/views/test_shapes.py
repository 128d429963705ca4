"""The shapes view by itself: tensors, flows and clashes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.views.harness import Harness


def test_a_tensor_shows_dims_statistics_and_a_picture(harness: Harness) -> None:
    root = harness.open("shapes")
    expect(root.get_by_test_id("wb-dims").locator(".wb-chip")).to_have_text(["N64", "C1", "H28", "W28"])
    expect(root.get_by_test_id("wb-facts")).to_have_text("50.2 K values · 196 KB · cpu · leaf, needs grad")
    expect(root.locator("[data-figure=zeros]")).to_have_text("zeros81 %, not in the bars")
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
    rows.nth(6).get_by_text("cell 3, line 10").click()
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


def test_a_clash_fits_a_narrow_place_or_says_that_it_scrolls(harness: Harness) -> None:
    root = harness.open("shapes", "clash", width=400)
    picture = root.locator(".wb-clash-picture")
    assert picture.evaluate("one => one.scrollWidth <= one.clientWidth")
    expect(harness.at("wb-clash-more")).to_be_hidden()
    expect(root.locator(".wb-clash-picture text", has_text="N 64")).to_be_visible()
    harness.picture("shapes-clash-400")
    root = harness.open("shapes", "clash", width=240)
    expect(harness.at("wb-clash-more")).to_contain_text("scroll them sideways")
    ring = harness.at("wb-clash-ring").first.bounding_box()
    place = root.locator(".wb-clash-picture").bounding_box()
    assert ring is not None and place is not None
    assert place["x"] <= ring["x"] and ring["x"] + ring["width"] <= place["x"] + place["width"] + 1
    harness.picture("shapes-clash-240")
