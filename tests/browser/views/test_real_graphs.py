"""Graphs as Python sends them: what a person meets who draws a model, a training, a script, eight bits, a pass."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.accessible import findings
from tests.browser.views.crowded import CROWDED
from tests.browser.views.harness import Harness
from tests.browser.views.real_graphs import CASES, state

FIRST = {"graph": "nothing", "diff": "none"}
"""An example state to be replaced."""


def opened(harness: Harness, name: str, width: int = 900, theme: str = "light") -> Locator:
    view, made = state(name)
    root = harness.open(view, FIRST[view], width=width, height=700, theme=theme)
    harness.do("patch(argument)", made)
    harness.settle()
    return root


def inside(one: Locator, other: Locator) -> bool:
    a, b = one.bounding_box(), other.bounding_box()
    assert a is not None and b is not None
    across = b["x"] - 1 <= a["x"] and a["x"] + a["width"] <= b["x"] + b["width"] + 1
    return across and b["y"] - 1 <= a["y"] and a["y"] + a["height"] <= b["y"] + b["height"] + 1


@pytest.mark.parametrize(("width", "theme"), [(400, "dark"), (900, "light")])
@pytest.mark.parametrize("name", CASES)
def test_a_real_picture_can_be_read_by_eyes_and_ears(
    harness: Harness, name: str, width: int, theme: str
) -> None:
    root = opened(harness, name, width, theme)
    harness.picture(f"real-{name}-{width}-{theme}")
    said = findings(harness.page, "#stage")
    parameters = root.get_by_test_id("wb-parameters")
    if parameters.count() and parameters.is_enabled():
        parameters.click()
        harness.settle()
        harness.picture(f"real-{name}-{width}-{theme}-parameters")
        said += findings(harness.page, "#stage")
    assert not said, "\n".join(said)
    field = root.get_by_test_id("wb-graph-field")
    if field.count():
        assert field.evaluate(CROWDED) == []


def test_an_empty_graph_says_what_to_run(harness: Harness) -> None:
    expect(opened(harness, "empty").get_by_test_id("wb-empty-code")).to_contain_text("wb.widgets.graph(")


def test_what_was_fused_is_a_box_around_its_nodes(harness: Harness) -> None:
    root = opened(harness, "compiled")
    box = root.locator("[data-kind=function]").first
    expect(box).to_have_attribute("data-scope", "conv1.fused_convolution relu")
    texts = root.get_by_test_id("wb-graph-field").locator("text").all_text_contents()
    assert "fused_convolution" in texts
    assert not [text for text in texts if text.startswith("@") or text == "fused_convolution relu"]
    # Colours are those of ops, and no colour stands for a single call of a function.
    expect(root.get_by_test_id("wb-legend")).to_contain_text("conv2d 20")
    expect(root.get_by_test_id("wb-legend")).not_to_contain_text("fused")


def test_boxes_of_control_flow_are_called_by_what_they_are(harness: Harness) -> None:
    root = opened(harness, "nested")
    titles = root.locator(".wb-g-title").all_text_contents()
    assert titles.count("if") >= 1 and titles.count("loop") >= 2, titles
    assert not [title for title in titles if "if__" in title or title.startswith("loop ")]
    assert {"then", "else", "body"} <= set(titles)


def test_titles_of_boxes_stand_over_the_edges_that_cross_them(harness: Harness) -> None:
    root = opened(harness, "hostile")
    title = root.locator(".wb-g-title").first
    expect(title).to_have_text("<b>bold</b>")
    behind = title.evaluate(
        """title => {
          const edges = title.ownerSVGElement.querySelector('.wb-g-edges');
          return Boolean(edges.compareDocumentPosition(title) & Node.DOCUMENT_POSITION_FOLLOWING);
        }"""
    )
    assert behind
    assert title.evaluate("one => getComputedStyle(one).paintOrder").startswith("stroke")


def test_one_value_that_several_read_is_one(harness: Harness) -> None:
    # The input feeds the layer and what is added behind it, all in one box.
    root = opened(harness, "long")
    root.get_by_test_id("wb-fold-all").click()
    harness.settle()
    labels = root.get_by_test_id("wb-edge-label").all_text_contents()
    assert not [label for label in labels if "+1" in label], labels


def test_a_graph_wider_than_the_window_opens_where_there_is_something(harness: Harness) -> None:
    root = opened(harness, "gradients")
    field = root.get_by_test_id("wb-graph-field")
    boxes = root.locator("[data-testid=wb-node], .wb-g-folded")
    assert sum(inside(box, field) for box in boxes.all()) >= 7


def test_what_failed_is_whole_whatever_is_shown_on_it(harness: Harness) -> None:
    root = opened(harness, "failed", 400)
    node, field = root.locator("[data-node='failed call']"), root.get_by_test_id("wb-graph-field")
    assert inside(node, field)
    root.get_by_test_id("wb-parameters").click()
    harness.settle()
    expect(node).to_contain_text("in_features 100")
    assert inside(node, field)
    ended = root.get_by_test_id("wb-ended").locator("span").last
    assert "\ninput[" in ended.inner_text(), "an error says what was given line by line"


@pytest.mark.parametrize("by", ["time", "memory", "flops", "bits"])
def test_a_measured_graph_has_a_colour_for_each_measure(harness: Harness, by: str) -> None:
    root = opened(harness, "profiled")
    root.get_by_test_id("wb-colour").select_option(by)
    harness.settle()
    legend = root.get_by_test_id("wb-legend")
    expect(legend.locator("i").first).to_be_visible()
    expect(legend).to_contain_text({"time": "s", "memory": "B", "flops": "flop", "bits": "32 bit"}[by])
    expect(root.locator("[data-node='conv2d'] path")).to_have_count(1)
    harness.picture(f"real-profiled-{by}")


@pytest.mark.parametrize("width", [400, 900, 1300])
def test_what_is_called_is_whole_in_a_difference(harness: Harness, width: int) -> None:
    root = opened(harness, "float and int8", width)
    cut = root.locator("[data-testid=wb-diff-rows] .wb-d-op").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)"
    )
    assert cut == []
    # A type is there as a whole, or not to be seen.
    half = root.locator("[data-testid=wb-diff-rows] .wb-d-type").evaluate_all(
        """all => all.filter(one => {
          const [a, b] = [one.getBoundingClientRect(), one.closest('.wb-d-cell').getBoundingClientRect()];
          return a.top < b.bottom - 1 && (a.right > b.right + 1 || one.scrollWidth > one.clientWidth + 1);
        }).map(one => one.textContent)"""
    )
    assert half == []


def test_of_many_notes_the_first_are_shown_and_the_others_on_demand(harness: Harness) -> None:
    root = opened(harness, "float and int8")
    notes = root.get_by_test_id("wb-diff-notes")
    expect(notes.locator("li")).to_have_count(4)
    more = root.get_by_test_id("wb-diff-more-notes")
    expect(more).to_have_text("and 5 more")
    more.click()
    expect(notes.locator("li")).to_have_count(8)
    expect(more).to_have_count(0)
