"""The sidebar beside the cells: it follows them, shows the same sample and age, has their menus, wastes no room."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.browser.every_view import CELLS
from tests.browser.jupyterlab import SECOND, Lab
from workbench.live.messages import VIEWS


def section(lab: Lab, view: str) -> Locator:
    return lab.page.locator("#workbench-panel").get_by_test_id(f"wb-section-{view}")


def height(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["height"]


def menu_of(lab: Lab, place: Locator) -> list[str]:
    place.get_by_test_id("wb-menu-button").click()
    names = lab.page.get_by_test_id("wb-menu").get_by_role("menuitem").all_inner_texts()
    lab.page.keyboard.press("Escape")
    return names


def test_sections_take_the_height_of_what_they_hold_and_those_with_nothing_a_line(lab: Lab) -> None:
    lab.new([CELLS["start"], "few = wb.ones(H=2, W=3)", "wb.attribution.explain(model, batch)"])
    lab.run_cell(0)
    lab.command("workbench:open")
    for view in VIEWS:
        if view != "shapes":
            expect(section(lab, view).get_by_test_id("wb-empty-code")).to_be_visible()
            assert height(section(lab, view)) < 40, view
            copy = section(lab, view).get_by_role("button", name="Copy this code").bounding_box()
            panel = section(lab, view).bounding_box()
            assert copy is not None and panel is not None
            assert copy["x"] + copy["width"] <= panel["x"] + panel["width"], (
                f"{view}: the button is out of sight"
            )
    # Shapes follows the cells without being told.
    expect(section(lab, "shapes").get_by_test_id("wb-title")).to_have_text("batch", timeout=60 * SECOND)
    lab.run_cell(1)
    expect(section(lab, "shapes").get_by_test_id("wb-title")).to_have_text("few")
    lab.run_cell(2)
    expect(section(lab, "heatmap").get_by_test_id("wb-heat-map")).to_be_visible()
    for view in ("shapes", "heatmap"):
        hidden, room = section(lab, view).evaluate(
            "one => [one.scrollHeight - one.clientHeight, one.clientHeight]"
        )
        assert hidden <= 0 and room <= VIEWS[view].height, view
        spare = section(lab, view).evaluate(
            """one => {
              const end = element => element.getBoundingClientRect().bottom;
              return end(one) - end(one.querySelector('.wb-content'));
            }"""
        )
        assert spare < 24, view


def test_cell_sidebar_and_tab_show_one_sample_say_one_age_and_have_one_menu(lab: Lab) -> None:
    lab.new([CELLS["start"], "explained = wb.attribution.explain(model, batch)\nwb.widgets.attribution(explained)",
             CELLS["scatter"]])  # fmt: skip
    lab.run_all()
    lab.command("workbench:open")
    cell, side = lab.cell(1), section(lab, "heatmap")
    projector = section(lab, "scatter")
    expect(side.get_by_test_id("wb-sample")).to_have_value("0", timeout=60 * SECOND)
    expect(projector.get_by_test_id("wb-title")).to_have_text("cloud")
    cell.get_by_test_id("wb-next").click()
    for place in (cell, side):
        expect(place.get_by_test_id("wb-sample")).to_have_value("1")
    for place in (projector, lab.cell(2)):
        expect(place.get_by_test_id("wb-neighbours")).to_have_attribute("data-of", "1")
    search = projector.get_by_test_id("wb-search")
    search.fill("#4")
    search.press("Enter")
    for place in (cell, side):
        expect(place.get_by_test_id("wb-sample")).to_have_value("4")
    made = [place.get_by_test_id("wb-status").get_attribute("title") for place in (cell, side)]
    assert made[0] == made[1]

    cell.get_by_test_id("wb-menu-button").click()
    lab.page.get_by_test_id("wb-menu").get_by_role("menuitem", name="Open in a tab").click()
    tab = lab.page.locator("#workbench-tab-heatmap")
    expect(tab.get_by_test_id("wb-sample")).to_have_value("4")
    menus = [menu_of(lab, place) for place in (cell, side, tab)]
    assert menus[0] == menus[1] == menus[2]
    assert menus[0][:2] == ["Open at the side", "Open in a tab"]


DRAWN = """view => {
  // Looked for each time: a graph that is drawn anew has other elements.
  const node = [...view.querySelectorAll('[data-testid=wb-node]')].find(one => one.textContent.includes('conv2d'));
  const dot = view.querySelector('[data-testid=wb-legend] i');
  const probe = document.createElement('i');
  return !!node && !!dot && [...node.querySelectorAll('[fill]')].some(one => {
    probe.style.backgroundColor = one.getAttribute('fill');
    return probe.style.backgroundColor === dot.style.backgroundColor;
  });
}"""
"""Is the node of the convolution there, in the colour that the legend says?"""


def test_graphs_in_and_out_of_sight_are_drawn_anew_in_another_theme(lab: Lab) -> None:
    lab.new([CELLS["start"] + CELLS["graph"], "print('x\\n' * 60)", CELLS["graph"]])
    lab.run_all()
    try:
        for theme in ("Dark", "Light"):
            lab.command("apputils:change-theme", {"theme": f"JupyterLab {theme}"})
            for index in (0, 2):
                graph = lab.cell(index).get_by_test_id("wb-graph")
                expect(graph).to_have_attribute("data-theme", theme.lower())
                expect(graph.get_by_test_id("wb-node").filter(has_text="conv2d")).to_have_count(1)
                lab.page.wait_for_function(DRAWN, arg=graph.element_handle())
    finally:
        lab.command("apputils:change-theme", {"theme": "JupyterLab Light"})  # other tests share the settings
