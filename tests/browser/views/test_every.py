"""What all views have in common: how they begin, fit, export and end."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.views.harness import Harness

VIEWS = ("shapes", "histogram", "graph", "heatmap", "scatter", "training")


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
