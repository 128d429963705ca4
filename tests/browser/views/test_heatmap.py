"""The heatmap view by itself: controls that ask nobody, values by pointer and keys."""

from __future__ import annotations

from itertools import pairwise

from playwright.sync_api import expect

from tests.browser.views.harness import Harness


def test_instant_controls_change_the_picture_and_ask_nobody(harness: Harness) -> None:
    root = harness.open("heatmap")
    seen = [harness.pixels("wb-heat-map")]
    for name in ("positive", "negative", "absolute"):
        root.get_by_test_id("wb-sign").get_by_role("radio", name=name).click()
        harness.settle()
        seen.append(harness.pixels("wb-heat-map"))
    root.get_by_test_id("wb-blend").fill("10")
    harness.settle()
    seen.append(harness.pixels("wb-heat-map"))
    root.get_by_test_id("wb-percentile").fill("60")
    harness.settle()
    seen.append(harness.pixels("wb-heat-map"))
    root.get_by_test_id("wb-map").select_option("grey")
    harness.settle()
    seen.append(harness.pixels("wb-heat-map"))
    assert all(one != other for one, other in pairwise(seen))
    assert harness.events() == []


def test_without_the_heatmap_the_input_is_left(harness: Harness) -> None:
    root = harness.open("heatmap")
    root.get_by_test_id("wb-blend").fill("0")
    harness.settle()
    assert harness.pixels("wb-heat-map") == harness.pixels("wb-heat-input")


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
