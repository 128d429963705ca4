"""The graph view by itself: folding, walking, searching, panning."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.views.crowded import CROWDED
from tests.browser.views.harness import Harness


def test_a_graph_folds_scopes_and_says_what_they_hold(harness: Harness) -> None:
    root = harness.open("graph", height=900)
    nodes, scopes = root.get_by_test_id("wb-node"), root.get_by_test_id("wb-scope")
    expect(root.locator("[data-node='features.0.conv']")).to_be_visible()
    root.get_by_test_id("wb-fold-all").click()
    expect(scopes).to_have_count(2)
    expect(root.locator("[data-scope=features]")).to_contain_text("8 ops · 4.85 K parameters")
    expect(nodes).to_have_count(3)
    root.locator("[data-scope=features] [data-fold]").click()
    expect(root.locator("[data-scope='features.0']")).to_be_visible()


@pytest.mark.parametrize("width", [400, 900])
def test_parameters_stand_in_the_node_that_uses_them(harness: Harness, width: int) -> None:
    root = harness.open("graph", width=width, height=700)
    node = root.locator("[data-node='features.0.conv']")
    expect(node).not_to_contain_text("kernel_height")
    before = root.get_by_test_id("wb-node").count()
    root.get_by_test_id("wb-parameters").click()
    harness.settle()
    text = node.text_content() or ""
    for word in ("weight", "f32", "out_channels 16", "kernel_height 3", "bias"):
        assert word in text, text
    assert root.get_by_test_id("wb-node").count() <= before
    harness.picture(f"graph-parameters-{width}")


@pytest.mark.parametrize("parameters", [False, True], ids=["plain", "parameters"])
@pytest.mark.parametrize("width", [400, 900])
@pytest.mark.parametrize("state", ["usual", "transformer", "blocks"])
def test_nothing_lies_over_another_or_is_cut_and_words_can_be_read(
    harness: Harness, state: str, width: int, parameters: bool
) -> None:
    root = harness.open("graph", state, width=width, height=700)
    if parameters:
        root.get_by_test_id("wb-parameters").click()
        harness.settle()
    field = root.get_by_test_id("wb-graph-field")
    assert field.evaluate(CROWDED) == []
    height = root.locator(".wb-g-name").first.evaluate("text => text.getBoundingClientRect().height")
    assert height >= 10, "a name that nobody can read"
    harness.picture(f"graph-{state}-{width}-{'parameters' if parameters else 'plain'}")


def test_the_small_map_lies_beside_the_graph(harness: Harness) -> None:
    for width in (400, 900):
        root = harness.open("graph", "transformer", width=width, height=500)
        root.get_by_test_id("wb-unfold-all").click()
        field, small = root.get_by_test_id("wb-graph-field"), root.get_by_test_id("wb-minimap")
        expect(small).to_be_visible()
        a, b = field.bounding_box(), small.bounding_box()
        assert a and b
        assert a["x"] + a["width"] <= b["x"] or a["y"] + a["height"] <= b["y"]


def test_a_long_graph_fills_the_width_it_has(harness: Harness) -> None:
    root = harness.open("graph", width=900, height=520)
    used = root.get_by_test_id("wb-graph-field").evaluate(
        """field => {
          const boxes = [...field.querySelectorAll('[data-testid=wb-node], .wb-g-scope')];
          const rects = boxes.map(box => box.getBoundingClientRect());
          const span = Math.max(...rects.map(r => r.right)) - Math.min(...rects.map(r => r.left));
          return span / field.getBoundingClientRect().width;
        }"""
    )
    assert used > 0.5
    harness.picture("graph-columns")


def test_sizes_of_any_run_are_shown_on_demand(harness: Harness) -> None:
    root = harness.open("graph", "blocks", height=700)
    labels = root.get_by_test_id("wb-edge-label")
    assert any("N 4" in text for text in labels.all_text_contents())
    root.get_by_test_id("wb-symbols").click()
    harness.settle()
    texts = labels.all_text_contents()
    assert any("N n" in text and "H ?" in text for text in texts), texts


def test_blocks_of_control_flow_are_boxes_in_boxes(harness: Harness) -> None:
    root = harness.open("graph", "blocks", height=900)
    outer = root.locator("[data-scope='if y']")
    expect(outer).to_have_attribute("data-kind", "if")
    expect(root.locator("[data-scope='if y.then.loop a']")).to_have_attribute("data-kind", "loop")
    outer.locator("[data-fold]").click()
    expect(root.locator("[data-scope='if y.then']")).to_have_count(0)
    expect(outer).to_have_attribute("aria-expanded", "false")


def test_blocks_that_are_alike_stand_as_one_and_unfold(harness: Harness) -> None:
    root = harness.open("graph", "transformer", height=800)
    stack = root.locator("[data-scope='encoder.0…']")
    expect(stack).to_contain_text("×12")
    stack.locator("[data-fold]").click()
    expect(root.locator("[data-scope='encoder.11']")).to_have_count(1)
    stack.locator("[data-fold]").click()
    expect(root.locator("[data-scope='encoder.11']")).to_have_count(0)


def test_edges_carry_named_shapes_where_they_change(harness: Harness) -> None:
    root = harness.open("graph", height=900)
    labels = root.get_by_test_id("wb-edge-label")
    texts = labels.all_text_contents()
    assert any("C 16" in text and "H 28" in text for text in texts)
    assert len(texts) < 9, "a relu does not change the shape: no label"


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


def test_search_takes_regular_expressions_and_lists_what_it_finds(harness: Harness) -> None:
    root = harness.open("graph", height=700)
    field, found = root.get_by_test_id("wb-search"), root.get_by_test_id("wb-found-list")
    field.click()
    field.fill("^(conv|norm)$")
    expect(root.get_by_test_id("wb-found")).to_have_text("4 found")
    rows = found.get_by_role("option")
    expect(rows).to_have_count(4)
    rows.nth(3).click()
    assert harness.events()[-1] == {"type": "select", "id": "features.1.norm"}
    expect(root.get_by_test_id("wb-found")).to_have_text("4 of 4")
    harness.page.keyboard.press("ArrowDown")
    expect(rows.nth(0)).to_have_attribute("aria-selected", "true")
    expect(root.locator("[data-node='features.0.conv'][data-selected]")).to_be_visible()
    harness.picture("graph-search")
    field.fill("conv(")
    expect(root.get_by_test_id("wb-found")).to_have_text("conv( is no regular expression")
    expect(found).to_be_hidden()
    harness.page.keyboard.press("Escape")
    expect(root.get_by_test_id("wb-graph-field")).to_be_focused()


def saved(harness: Harness, name: str) -> str:
    """What a view saves: the text of the file."""
    harness.page.evaluate("() => { harness.saved.length = 0; }")
    harness.at("wb-menu-button").click()
    harness.at("wb-menu").get_by_role("menuitem", name=name).click()
    harness.page.wait_for_function("() => harness.saved.length === 1")
    text: str = harness.page.evaluate("() => harness.saved[0].text")
    return text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_file_has_the_whole_graph_with_text_that_is_text(harness: Harness, theme: str) -> None:
    harness.open("graph", "transformer", width=420, height=500, theme=theme)
    harness.at("wb-unfold-all").click()
    harness.settle()
    svg = saved(harness, "Export SVG")
    for block in range(12):
        assert f'data-node="encoder.{block}.gelu"' in svg, "far below the window"
    assert svg.count(">layer_norm</text>") == 13
    harness.page.set_content(svg)
    boxes = harness.page.evaluate(
        """() => {
          const rim = document.querySelector('svg').getBoundingClientRect();
          return [...document.querySelectorAll('[data-testid=wb-node] > rect:first-child')].filter(rect => {
            const box = rect.getBoundingClientRect();
            return box.left < rim.left || box.right > rim.right || box.top < rim.top || box.bottom > rim.bottom;
          }).length;
        }"""
    )
    assert boxes == 0
    harness.picture(f"graph-file-{theme}")


def test_a_picture_of_a_graph_that_is_huge_fits_a_canvas(harness: Harness) -> None:
    harness.open("graph", "flat", width=420, height=500)
    harness.page.evaluate("() => { harness.saved.length = 0; }")
    harness.at("wb-menu-button").click()
    # The press ends when the picture is drawn: on a busy machine that takes longer than a press may.
    harness.at("wb-menu").get_by_role("menuitem", name="Export PNG").click(timeout=60_000)
    harness.page.wait_for_function("() => harness.saved.length === 1", timeout=60_000)
    assert harness.page.evaluate("() => harness.saved[0].size") > 1000


def test_a_forward_that_fails_is_shown_as_far_as_it_came(harness: Harness) -> None:
    root = harness.open("graph", "failed", width=420, height=600)
    expect(root.get_by_test_id("wb-ended")).to_contain_text("The graph ends here: DimensionError: linear")
    node = root.locator("[data-node='failed call']")
    expect(node).to_contain_text("✕ fails here")
    field, box = root.get_by_test_id("wb-graph-field").bounding_box(), node.bounding_box()
    assert field and box
    assert box["y"] + box["height"] <= field["y"] + field["height"], "it is what a person looks for"
    harness.picture("graph-failed")
    harness.do("show('usual')")
    expect(root.get_by_test_id("wb-ended")).to_be_hidden()


def test_a_measured_graph_shows_times_and_how_values_are_spread(harness: Harness) -> None:
    root = harness.open("graph", "measured", width=900, height=700)
    root.get_by_test_id("wb-colour").select_option("time")
    expect(root.get_by_test_id("wb-legend")).to_contain_text("ms")
    inspector = root.get_by_test_id("wb-inspector")
    expect(inspector.get_by_test_id("wb-values").locator("rect")).to_have_count(32)
    expect(inspector).to_contain_text("zeros 50 %")
    expect(inspector).to_contain_text("3 not finite")
    inspector.get_by_role("button", name="cell 3, line 6").click()
    assert harness.page.evaluate("() => harness.opened") == ["cell 3, line 6"]
    harness.picture("graph-measured")


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
    root.get_by_test_id("wb-colour").select_option("time")
    expect(root.get_by_test_id("wb-legend")).to_contain_text("profile=True")


def test_five_thousand_nodes_without_a_scope_can_be_shown(harness: Harness) -> None:
    root = harness.open("graph", "flat", height=700)
    expect(root.get_by_test_id("wb-truncated")).to_contain_text("1,200 more nodes were left out")
    root.get_by_test_id("wb-fit").click()
    harness.settle()
    assert root.get_by_test_id("wb-node").count() < 500, "from afar nodes are no elements"
    root.get_by_test_id("wb-search").fill("4321")
    expect(root.locator("[data-node=n4321][data-selected]")).to_have_count(1)


def test_edges_are_there_wherever_a_large_graph_is_looked_at(harness: Harness) -> None:
    root = harness.open("graph", "flat", height=700)
    node = root.locator("[data-node=n4321]")
    root.get_by_test_id("wb-search").fill("4321")
    expect(node).to_have_count(1)
    edges = root.locator(".wb-g-edges")

    def drawn() -> int:
        # How many edges there are that begin or end within the window.
        return int(
            edges.evaluate(
                """path => {
                  const rim = path.ownerSVGElement.getBoundingClientRect();
                  const to = path.getScreenCTM();
                  return [...path.getAttribute('d').matchAll(/M([\\d.-]+) ([\\d.-]+)/g)].filter(([, x, y]) => {
                    const at = new DOMPoint(Number(x), Number(y)).matrixTransform(to);
                    return at.y > rim.top && at.y < rim.bottom;
                  }).length;
                }"""
            )
        )

    harness.settle()
    assert drawn() > 2
    field = root.get_by_test_id("wb-graph-field")
    field.hover()
    for _ in range(6):
        box = field.bounding_box()
        assert box
        harness.page.mouse.move(box["x"] + 60, box["y"] + 20)
        harness.page.mouse.down()
        harness.page.mouse.move(box["x"] + 60, box["y"] + box["height"] - 20, steps=3)
        harness.page.mouse.up()
        harness.settle()
        assert drawn() > 2


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


def test_from_afar_what_is_painted_slides_and_is_painted_anew_where_it_must(harness: Harness) -> None:
    root = harness.open("graph", "flat", height=700)
    root.get_by_test_id("wb-fit").click()
    harness.settle()
    field = root.get_by_test_id("wb-graph-field")
    svg = field.locator("> svg")
    moved = "one => one.style.transform"

    def where() -> tuple[float, float]:
        box = svg.locator("g > path.wb-g-edges").bounding_box()
        assert box
        return box["x"], box["y"]

    before = where()
    harness.drag(field, 60, 30)
    after = where()
    assert after == pytest.approx((before[0] + 60, before[1] + 30), abs=1)
    assert svg.evaluate(moved) == "translate(60px, 30px)"
    # What is found is marked: that is another picture.
    root.get_by_test_id("wb-search").fill("4321")
    harness.settle()
    expect(root.locator("[data-node=n4321]")).to_have_count(1)
    field.focus()
    for _ in range(12):
        harness.page.keyboard.press("+")
    harness.settle()
    assert svg.evaluate(moved) == ""
