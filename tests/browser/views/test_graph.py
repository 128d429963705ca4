"""The graph view by itself: folding, walking, searching, panning."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.views.harness import Harness


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


def seen_nodes(harness: Harness) -> int:
    """How many nodes lie in the field, at least in part."""
    return int(
        harness.at("wb-graph-field").evaluate(
            """field => {
              const box = field.getBoundingClientRect();
              return [...field.querySelectorAll('[data-testid=wb-node]')].filter(node => {
                const one = node.getBoundingClientRect();
                return one.right > box.left && one.left < box.right && one.bottom > box.top && one.top < box.bottom;
              }).length;
            }"""
        )
    )


def test_a_graph_that_was_zoomed_and_is_made_narrow_is_still_seen(harness: Harness) -> None:
    root = harness.open("graph", width=1200, height=700)
    field = root.get_by_test_id("wb-graph-field")
    x, y = harness.middle(root.locator("[data-node='features.0.conv']"))
    # Zoomed about a point at the side, as by a wheel, until one end of the graph fills the window.
    field.focus()
    harness.page.mouse.move(x - 250, y)
    for _ in range(12):
        harness.page.mouse.wheel(0, -120)
    harness.settle()
    for width in (400, 320, 1200, 360):
        harness.page.evaluate(
            "width => { document.getElementById('stage').style.width = `${width}px`; }", width
        )
        harness.settle()
        harness.settle()
        assert seen_nodes(harness) > 0, width


@pytest.mark.parametrize("width", [400, 900])
def test_what_a_click_opens_leaves_the_view_as_high_as_it_was(harness: Harness, width: int) -> None:
    for view, empty, chosen in (("graph", "usual", "selected"), ("scatter", "usual", "selected")):
        root = harness.open(view, empty, width=width)  # as in a cell: nothing bounds its height
        before = root.bounding_box()
        harness.do("show(argument)", chosen)
        harness.settle()
        after = root.bounding_box()
        assert before is not None and after is not None
        assert after["height"] == before["height"], view
        harness.picture(f"{view}-chosen-{width}")
