"""How the histogram view looks to somebody at work: nothing moves under a hand, and all its words can be read."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.views.harness import Harness


def box(place: Locator) -> dict[str, float]:
    found: Any = place.bounding_box()
    assert found is not None
    return found  # type: ignore[no-any-return]


def patch_detail(harness: Harness, change: str) -> None:
    harness.do(f"patch({{ detail: {{ ...harness.state().detail, {change} }} }})")
    harness.settle()


@pytest.mark.parametrize("width", [1000, 700, 240])
def test_the_first_range_by_hand_moves_nothing(harness: Harness, width: int) -> None:
    root = harness.open("histogram", width=width, height=900)
    mine = "candidates: harness.state().detail.candidates"
    patch_detail(harness, f"{mine}.filter(one => one.name !== 'yours')")
    expect(root.get_by_test_id("wb-candidate")).to_have_count(4)
    before = box(root.get_by_test_id("wb-plot"))
    patch_detail(harness, f"{mine}.concat([{{ name: 'yours', low: -3.1, high: 4.2, sqnr: 38.1 }}])")
    expect(root.get_by_test_id("wb-candidate")).to_have_count(5)
    assert box(root.get_by_test_id("wb-plot")) == before


def test_the_first_batch_moves_nothing_below_a_cell(harness: Harness) -> None:
    root = harness.open("histogram", "unseen", width=1000)
    before = box(root)["height"]
    harness.do("show('usual')")
    expect(root.get_by_test_id("wb-plot")).to_be_visible()
    harness.settle()
    assert abs(box(root)["height"] - before) <= 24
    # A panel that is lower than that is not overflown.
    harness.open("histogram", "unseen", width=1000, height=420)
    empty = box(root.get_by_test_id("wb-empty"))
    assert empty["y"] + empty["height"] <= box(root)["y"] + box(root)["height"]


def test_of_how_many_samples_figures_are_is_said_without_moving_anything(harness: Harness) -> None:
    root = harness.open("histogram", width=1000, height=900)
    figures, change = root.get_by_test_id("wb-figures"), root.get_by_test_id("wb-change")
    samples = figures.locator("[data-figure=samples]")
    expect(samples).to_contain_text("512")
    before = box(change), box(root.get_by_test_id("wb-observers"))
    harness.do("patch({ model: { ...harness.state().model, samples: 3, held: 8 } })")
    harness.settle()
    expect(samples).to_contain_text("3 of 8")
    expect(root.get_by_test_id("wb-model")).to_contain_text("3 of 8")
    assert (box(change), box(root.get_by_test_id("wb-observers"))) == before


def test_a_refusal_and_what_was_done_move_nothing_that_a_hand_is_at(harness: Harness) -> None:
    root = harness.open("histogram", width=1000, height=900)
    low, menu, curve = (root.get_by_test_id(name) for name in ("wb-input-low", "wb-choose-rule", "wb-curve"))
    before = box(low), box(menu)
    low.fill("nan")
    low.press("Enter")
    expect(root.get_by_test_id("wb-refusal")).to_be_visible()
    assert (box(low), box(menu)) == before
    low.press("Escape")
    at = box(curve)
    root.get_by_test_id("wb-write-code").click()
    expect(root.get_by_test_id("wb-done")).to_be_visible()
    assert box(curve) == at


def test_writing_code_puts_away_what_was_refused(harness: Harness) -> None:
    root = harness.open("histogram", "wrong", height=900)
    expect(root.get_by_test_id("wb-refusal")).to_be_visible()
    root.get_by_test_id("wb-write-code").click()
    expect(root.get_by_test_id("wb-refusal")).to_be_hidden()


def test_both_ends_of_a_symmetric_range_are_dragged_together(harness: Harness) -> None:
    root = harness.open("histogram", "weight", width=1000, height=900)
    patch_detail(harness, "low: -4, high: 4")
    harness.drag(root.get_by_test_id("wb-handle-high"), -60)
    last = harness.events()[-1]
    assert last["final"] is True
    assert last["low"] == -last["high"] and 0 < last["high"] < 4
    harness.forget()
    root.get_by_test_id("wb-handle-high").focus()
    harness.page.keyboard.press("Home")
    last = harness.events()[-1]
    assert last["low"] == -last["high"] and 0 < last["high"] < 0.2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_side_in_force_can_be_read_under_the_pointer(harness: Harness, theme: str) -> None:
    root = harness.open("histogram", "compared", theme=theme, height=900)
    side = root.get_by_test_id("wb-side-B")
    colours = "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one).color]"
    plain = side.evaluate(colours)
    side.hover()
    assert side.evaluate(colours) == plain
    assert plain[0] != plain[1]


@pytest.mark.parametrize("order", ["graph", "cost"])
def test_heads_of_the_list_stand_apart(harness: Harness, order: str) -> None:
    root = harness.open("histogram", width=1000, height=700)
    root.get_by_test_id("wb-order").get_by_role("radio", name=order).click()
    harness.settle()
    ends = root.locator(".wb-list-heads span").evaluate_all(
        """all => all.map(one => {
          const range = document.createRange();
          range.selectNodeContents(one);
          const { left, right } = range.getBoundingClientRect();
          return [left, right];
        })"""
    )
    assert len(ends) == 4
    assert all(right + 6 <= left for (_, right), (left, _) in pairwise(ends)), ends


def test_the_end_of_a_long_name_is_in_sight(harness: Harness) -> None:
    root = harness.open("histogram", "huge", width=1000, height=700)
    name = root.get_by_test_id("wb-observer").first.locator(".wb-list-path")
    expect(name).to_have_text("layers.0.input")
    name.locator("bdi").evaluate("one => { one.textContent = 'backbone.body.layer2.1.conv1.output'; }")
    room, text = box(name), box(name.locator("bdi"))
    assert text["width"] > room["width"], "it is long enough to be cut"
    assert text["x"] + text["width"] <= room["x"] + room["width"] + 1


def test_no_line_crosses_what_is_said_of_clipping(harness: Harness) -> None:
    root = harness.open("histogram", "compared", height=900)
    text = root.get_by_test_id("wb-clip-high").element_handle()
    after = "(line, text) => Boolean(line.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)"
    for name in ("wb-values-float", "wb-values-integer", "wb-grid"):
        assert root.get_by_test_id(name).evaluate(after, text), f"{name} is drawn over it"


def test_an_axis_in_a_narrow_place_has_two_numbers_at_least(harness: Harness) -> None:
    root = harness.open("histogram", width=240, height=900)
    patch_detail(harness, "observed_low: -3.9, observed_high: 3.9, low: -3.4, high: 3.4")
    numbers = root.get_by_test_id("wb-plot").locator("svg > g").first.locator("text[text-anchor=middle]")
    assert numbers.count() >= 2


def test_dims_without_names_are_left_away(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    title = root.get_by_test_id("wb-observer-title")
    expect(title).to_contain_text("[N, C, H, W]")
    harness.do("patch({ observers: harness.state().observers.map(one => ({ ...one, dims: ['·', '·'] })) })")
    expect(title).not_to_contain_text("[")
    harness.do("patch({ observers: harness.state().observers.map(one => ({ ...one, dims: ['N', '·'] })) })")
    expect(title).to_contain_text("[N, ·]")


def test_what_to_run_for_an_observer_that_saw_nothing_is_the_batch(harness: Harness) -> None:
    root = harness.open("histogram", "unseen", height=700)
    expect(root.get_by_test_id("wb-empty-code")).to_contain_text("prepared(batch)")
    expect(root.get_by_test_id("wb-empty-code")).not_to_contain_text("prepare(model)")
