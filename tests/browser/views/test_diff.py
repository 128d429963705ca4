"""The view of differences in a browser: what stands beside what, folding, going from one to the next."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.views.harness import Harness


def test_both_graphs_stand_side_by_side_with_signs(harness: Harness) -> None:
    root = harness.open("diff", width=1000, height=700)
    expect(root.get_by_test_id("wb-diff-counts")).to_contain_text("~2 changed")
    expect(root.get_by_test_id("wb-diff-counts").get_by_role("button")).to_have_count(4)
    expect(root.get_by_test_id("wb-diff-notes")).to_contain_text("must hold: x.shape[2] >= 2")
    replaced = root.locator("[data-testid=wb-diff-row][data-status=replaced]")
    cells = replaced.locator(".wb-d-cell")
    assert [one.split() for one in cells.all_inner_texts()] == [
        ["−", "relu", "relu2"],
        ["+", "tanh", "relu2"],
    ]
    left, right = (cells.nth(i).bounding_box() for i in range(2))
    assert left is not None and right is not None
    assert left["y"] == right["y"] and left["x"] < right["x"]
    removed = root.locator("[data-testid=wb-diff-row][data-status=removed] .wb-d-cell")
    expect(removed.nth(1)).to_have_class("wb-d-cell wb-d-none")
    expect(root.get_by_test_id("wb-diff-row").first).not_to_contain_text("~")


def test_joined_and_narrow_are_one_column(harness: Harness) -> None:
    root = harness.open("diff", width=1000, height=700)
    root.get_by_test_id("wb-diff-mode").get_by_role("radio", name="joined").click()
    harness.settle()  # rows are drawn anew in the next frame
    replaced = root.locator("[data-testid=wb-diff-row][data-status=replaced] .wb-d-cell")
    over, under = (replaced.nth(i).bounding_box() for i in range(2))
    assert over is not None and under is not None
    assert over["x"] == under["x"] and over["y"] < under["y"]
    root = harness.open("diff", width=300, height=700)
    expect(root.get_by_test_id("wb-diff-mode")).to_be_hidden()
    expect(root.locator(".wb-d-join")).to_have_count(0)


def test_the_list_jumps_and_what_is_chosen_is_shared(harness: Harness) -> None:
    root = harness.open("diff", "folded", width=1000, height=700)
    last = root.get_by_test_id("wb-diff-list").get_by_test_id("wb-diff-entry")
    root.get_by_test_id("wb-diff-list").focus()
    harness.page.keyboard.press("End")
    harness.settle()
    chosen = root.locator("[data-testid=wb-diff-rows] [aria-selected=true]")
    expect(chosen).to_have_attribute("data-node", "norm_11_2")
    expect(chosen).to_be_in_viewport()
    expect(last.last).to_have_attribute("aria-selected", "true")
    harness.page.keyboard.press("ArrowUp")
    harness.settle()
    expect(chosen).to_have_attribute("data-node", "conv2d_11_2")
    assert harness.events()[-1] == {"type": "select", "id": "conv2d_11_2"}
    expect(root.get_by_test_id("wb-readout")).to_contain_text("layer3.3.conv2")
    harness.do("select(argument)", {"node": "conv2d_0_1", "from": "graph"})
    expect(chosen).to_have_attribute("data-node", "conv2d_0_1")


def test_keys_and_counts_go_from_one_difference_to_the_next(harness: Harness) -> None:
    root = harness.open("diff", width=1000, height=700)
    chosen = root.locator("[data-testid=wb-diff-rows] [aria-selected=true]")
    root.get_by_test_id("wb-diff-rows").focus()
    for status in ("changed", "removed", "replaced"):
        harness.page.keyboard.press("n")
        expect(chosen).to_have_attribute("data-status", status)
    harness.page.keyboard.press("p")
    expect(chosen).to_have_attribute("data-status", "removed")
    root.get_by_test_id("wb-diff-counts").get_by_role("button", name="1 moved").click()
    expect(chosen).to_have_attribute("data-status", "moved")
    # Round the end.
    root.get_by_role("button", name="Next difference").click()
    root.get_by_role("button", name="Next difference").click()
    expect(chosen).to_have_attribute("data-node", "conv2d")


def test_what_is_the_same_is_folded_until_asked_for(harness: Harness) -> None:
    root = harness.open("diff", width=1000, height=700)
    fold = root.get_by_test_id("wb-diff-fold")
    expect(fold).to_have_text("⋯4 the same: mul, add, sub, neg")
    before = root.get_by_test_id("wb-diff-row").count()
    fold.click()
    harness.settle()
    expect(fold).to_have_count(0)
    expect(root.get_by_test_id("wb-diff-row")).to_have_count(before + 4)
    root = harness.open("diff", width=1000, height=700)
    root.get_by_test_id("wb-diff-all").click()
    harness.settle()
    expect(root.get_by_test_id("wb-diff-fold")).to_have_count(0)
    root.get_by_test_id("wb-diff-all").click()
    harness.settle()
    expect(root.get_by_test_id("wb-diff-fold")).to_have_count(1)


def test_no_difference_says_so(harness: Harness) -> None:
    root = harness.open("diff", "none", width=900, height=700)
    expect(root.get_by_test_id("wb-diff-none")).to_have_text("No difference. 6 nodes are the same.")
    expect(root.get_by_test_id("wb-diff-list")).to_be_hidden()
    expect(root.get_by_role("button", name="Next difference")).to_be_hidden()


@pytest.mark.parametrize("width", [300, 1200])
def test_of_thousands_only_what_is_seen_is_in_the_page(harness: Harness, width: int) -> None:
    root = harness.open("diff", "huge", width=width, height=700)
    expect(root.get_by_test_id("wb-truncated")).to_have_text("1,234 more rows are not drawn.")
    rows = root.get_by_test_id("wb-diff-rows")
    assert rows.locator(".wb-d-item").count() < 80
    rows.evaluate("one => { one.scrollTop = one.scrollHeight / 2; }")
    harness.settle()
    assert 0 < rows.locator(".wb-d-item").count() < 80
    harness.picture(f"diff-huge-{width}")


def test_a_line_of_code_is_opened(harness: Harness) -> None:
    root = harness.open("diff", width=1000, height=700)
    root.get_by_test_id("wb-diff-row").first.click()
    root.get_by_test_id("wb-readout").get_by_role("button", name="model.py:12").click()
    assert harness.page.evaluate("() => harness.opened") == ["model.py:12"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", ["folded", "apart", "long"])
def test_pictures_to_look_at(harness: Harness, state: str, theme: str) -> None:
    for width in (360, 900):
        harness.open("diff", state, width=width, theme=theme, height=640)
        harness.picture(f"diff-{state}-{width}-{theme}")
