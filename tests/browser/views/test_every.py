"""What all views have in common: how they begin, fit, export and end."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.views.harness import Harness
from workbench.live.messages import VIEWS


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


BLINK = """async () => {
  const stage = document.getElementById('stage');
  stage.style.display = 'none';
  document.body.dataset.harnessTheme = 'dark';
  document.body.className = 'changed';
  await new Promise(done => setTimeout(done));  // the view has heard, and asked for the next frame
  // Behind the view's own turn, and before sizes are looked at: nobody is told of another size.
  await new Promise(done => requestAnimationFrame(() => { stage.style.display = ''; done(); }));
}"""

DRAWN = """root => [
  ...[...root.querySelectorAll('canvas')].map(one => one.toDataURL()),
  ...[...root.querySelectorAll('svg')].map(one => one.outerHTML)
]"""


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_that_hides_a_view_for_a_blink_while_its_theme_changes_finds_it_drawn(
    harness: Harness, view: str
) -> None:
    root = harness.open(view, width=420, height=700)
    harness.settle()
    harness.page.evaluate(BLINK)
    expect(root).to_have_attribute("data-theme", "dark")
    harness.settle()
    found = root.evaluate(DRAWN)
    harness.do("show('usual')")
    harness.settle()
    assert found == root.evaluate(DRAWN)


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
    assert ("Export SVG" in names) == (view in ("diff", "histogram", "graph", "runs", "scatter", "training"))
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


def rows_with(harness: Harness, batches: int) -> list[dict[str, object]]:
    """The rows as they are after so many batches: all of them are built anew."""
    rows: list[dict[str, object]] = harness.do("state().observers")
    return [{**row, "batches": batches} for row in rows]


def candidates_with(harness: Harness, sqnr: float) -> dict[str, object]:
    """The observer in detail with other figures: the buttons of its candidates are built anew."""
    detail: dict[str, Any] = harness.do("state().detail")
    return {**detail, "candidates": [{**one, "sqnr": sqnr} for one in detail["candidates"]]}


def test_a_picture_that_comes_between_press_and_release_does_not_take_the_click(harness: Harness) -> None:
    root = harness.open("histogram", width=1000, height=700)
    row = root.get_by_test_id("wb-observer").nth(1)
    harness.forget()
    harness.page.mouse.move(*harness.middle(row.locator(".wb-list-name")))
    for batches in range(1000, 1020):
        harness.page.mouse.down()
        harness.do("patch(argument)", {"observers": rows_with(harness, batches)})
        harness.settle()
        harness.page.mouse.up()
        harness.settle()
    assert [event["type"] for event in harness.events()] == ["select"] * 20
    expect(row.locator(".wb-list-name")).to_have_attribute("title", re.compile("1019 batches"))


def test_a_key_that_is_held_presses_a_button_that_a_picture_rebuilds(harness: Harness) -> None:
    root = harness.open("histogram", width=1000, height=700)
    root.get_by_test_id("wb-candidate").first.focus()
    harness.forget()
    for sqnr in range(30, 40):
        harness.page.keyboard.down(" ")
        harness.do("patch(argument)", {"detail": candidates_with(harness, sqnr)})
        harness.settle()
        harness.page.keyboard.up(" ")
        harness.settle()
        expect(root.get_by_test_id("wb-candidate").first).to_be_focused()
    assert [event["final"] for event in harness.events()] == [True] * 10


def test_the_focus_stays_on_a_part_that_a_picture_builds_anew(harness: Harness) -> None:
    root = harness.open("shapes", width=900, height=700)
    canvas = root.get_by_test_id("wb-raster")
    canvas.focus()
    for count in (7, 8):
        harness.do("patch(argument)", {"count": count})
        harness.settle()
        expect(root.get_by_test_id("wb-raster")).to_be_focused()
    harness.page.evaluate("() => document.activeElement.blur()")
    harness.do("patch(argument)", {"count": 9})
    harness.settle()
    assert harness.page.evaluate("() => document.activeElement === document.body")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_what_waits_is_said_in_the_head(harness: Harness, view: str, theme: str) -> None:
    root = harness.open(view, width=420, theme=theme, height=700)
    mark = root.get_by_test_id("wb-waiting")
    expect(mark).to_be_empty()
    harness.do("wait(argument)", 3)
    expect(mark).to_have_text("↻3 waiting for Python; nothing needs to be done again")
    expect(mark).to_have_attribute("role", "status")
    harness.picture(f"waiting-{view}-{theme}")
    harness.do("wait(argument)", 0)
    expect(mark).to_be_empty()


def test_a_refusal_stays_while_pictures_come_until_something_else_is_done(harness: Harness) -> None:
    root = harness.open("graph", width=900, height=700)
    harness.page.evaluate("() => { harness.answer = async () => ({accepted: false, reason: 'no'}); }")
    root.get_by_test_id("wb-graph-field").focus()
    harness.page.keyboard.press("ArrowDown")
    expect(root.get_by_test_id("wb-wrong")).to_contain_text("Refused: no")
    harness.do("patch(argument)", {"truncated": 3})
    harness.settle()
    expect(root.get_by_test_id("wb-wrong")).to_contain_text("Refused: no")
    harness.page.evaluate("() => { harness.answer = async () => ({accepted: true, reason: ''}); }")
    harness.page.keyboard.press("ArrowDown")
    expect(root.get_by_test_id("wb-wrong")).to_be_hidden()
    harness.do("refuse(argument)", "asked before the page was loaded again")
    expect(root.get_by_test_id("wb-wrong")).to_contain_text("Refused: asked before")
