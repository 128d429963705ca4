"""The runs view by itself: curves of many runs, what is asked of Python, and the table of hyperparameters."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.views.harness import Harness


def paths(harness: Harness, chart: str = "loss/train", kind: str = "run") -> list[str | None]:
    """The runs whose curves a chart draws."""
    found = harness.page.locator(f"[data-chart='{chart}'] [data-curve='{kind}']")
    names: list[str | None] = found.evaluate_all("all => all.map(one => one.dataset.run).sort()")
    return names


def asked(harness: Harness, kind: str) -> list[dict[str, object]]:
    return [event for event in harness.events() if event["type"] == kind]


def test_curves_with_raw_values_behind_are_read_run_by_run(harness: Harness) -> None:
    root = harness.open("runs", width=1000, height=800)
    assert paths(harness) == ["0", "1", "2"] and paths(harness, kind="run raw") == ["0", "1", "2"]
    field = root.get_by_test_id("wb-smoothing-field")
    field.fill("0")
    field.press("Enter")
    harness.settle()
    assert paths(harness, kind="run raw") == []
    chart = root.locator("[data-chart='loss/train'] svg")
    chart.focus()
    chart.press("End")
    chart.press("ArrowLeft")
    readout, rail = root.get_by_test_id("wb-readout"), root.get_by_test_id("wb-runs-rail")
    expect(readout).to_have_text("step 398 — loss/train: 3 runs, their values stand in the list")
    expect(rail.locator(".wb-runs-value").first).to_have_text(re.compile(r"^0\.\d+$"))
    root.get_by_test_id("wb-pick-run").nth(2).click()
    chart.focus()
    chart.press("Home")
    expect(readout).to_contain_text(
        re.compile(r"^step 0 — loss/train: wide/lr 0\.003 \d\.\d+, 20\d\d-\d\d-\d\d")
    )
    pale = root.locator("[data-chart='loss/train'] [data-curve=run][opacity]")
    # Words are written at once, curves drawn in the next frame.
    expect(pale, "the others step back").to_have_count(2)
    harness.picture("runs-picked")
    assert asked(harness, "show_runs") == []


def test_what_runs_across_and_what_is_zoomed_ask_nobody(harness: Harness) -> None:
    root = harness.open("runs", width=1000, height=800)
    chart = root.locator("[data-chart='loss/train'] svg")
    own = chart.locator("[data-curve=run][data-run='0']")
    before = own.get_attribute("d")
    root.get_by_test_id("wb-across").get_by_role("radio", name="relative").click()
    harness.settle()
    expect(chart).to_contain_text("min")
    assert own.get_attribute("d") != before, "it was faster than the others"
    root.get_by_test_id("wb-across").get_by_role("radio", name="wall time").click()
    harness.settle()
    expect(chart.get_by_text(re.compile(r"^\d\d:\d\d$")).first).to_be_visible()
    harness.picture("runs-wall")
    chart.focus()
    chart.press("+")
    harness.settle()
    expect(root.get_by_test_id("wb-all-steps")).to_be_enabled()
    chart.press("0")
    harness.settle()
    expect(root.get_by_test_id("wb-all-steps")).to_be_disabled()
    root.get_by_test_id("wb-scale").get_by_role("radio", name="log").click()
    harness.settle()
    assert [event for event in harness.events() if event["type"] != "tail"] == []


def test_runs_are_put_away_at_once_and_python_is_told(harness: Harness) -> None:
    root = harness.open("runs", width=1000, height=800)
    root.get_by_test_id("wb-run").nth(1).click()
    harness.settle()
    assert paths(harness) == ["0", "2"]
    assert asked(harness, "show_runs") == [{"type": "show_runs", "hidden": [1]}]
    find = root.get_by_test_id("wb-find-runs")
    find.fill("^wide")
    harness.settle()
    assert paths(harness) == ["2"]
    expect(root.get_by_test_id("wb-runs-note")).to_have_text("1 of 3 runs")
    find.fill("(")
    expect(find).to_have_attribute("aria-invalid", "true")
    expect(root.get_by_test_id("wb-runs-note")).to_have_text("this is no regular expression")
    find.fill("")
    harness.settle()
    assert paths(harness) == ["0", "1", "2"]
    assert asked(harness, "show_runs")[-1] == {"type": "show_runs", "hidden": []}


def test_pages_tags_and_steps_are_asked_for(harness: Harness) -> None:
    root = harness.open("runs", "huge", width=1000, height=800)
    expect(root.get_by_test_id("wb-page-words")).to_have_text("1–12 of 200")
    expect(root.get_by_test_id("wb-before")).to_be_disabled()
    root.get_by_test_id("wb-after").click()
    assert asked(harness, "show_page") == [{"type": "show_page", "page": "scalars", "first": 12}]
    harness.page.keyboard.press("/")
    expect(root.get_by_test_id("wb-find-tags")).to_be_focused()
    harness.page.keyboard.type("loss(")
    expect(root.get_by_test_id("wb-find-tags")).to_have_attribute("aria-invalid", "true")
    harness.page.keyboard.press("Backspace")
    harness.page.wait_for_function("() => harness.events.some(event => event.type === 'filter_tags')")
    assert asked(harness, "filter_tags")[-1] == {"type": "filter_tags", "pattern": "loss"}
    harness.do("show('images')")
    step = root.get_by_test_id("wb-step-field")
    step.fill("200")
    step.press("Enter")
    assert asked(harness, "show_step") == [{"type": "show_step", "step": 200}]


def test_more_is_asked_for_only_while_somebody_looks(harness: Harness) -> None:
    harness.page.clock.install()
    root = harness.open("runs", width=700, height=800)
    harness.page.clock.run_for(9_000)
    assert len(asked(harness, "tail")) >= 3
    harness.page.evaluate("document.getElementById('stage').style.display = 'none'")
    harness.forget()
    harness.page.clock.run_for(9_000)
    assert harness.events() == []
    harness.page.evaluate("document.getElementById('stage').style.display = ''")
    root.get_by_test_id("wb-follow").click()
    harness.forget()
    harness.page.clock.run_for(9_000)
    assert harness.events() == [], "a person said no"
    # One that is not answered is not asked again.
    harness.page.evaluate("() => { harness.answer = () => new Promise(() => {}); }")
    root.get_by_test_id("wb-follow").click()
    harness.page.clock.run_for(9_000)
    assert len(asked(harness, "tail")) == 1


def test_brushes_keep_runs_of_the_table_and_of_the_curves(harness: Harness) -> None:
    root = harness.open("runs", "table", width=1000, height=900)
    rows = root.get_by_test_id("wb-pick-row")
    expect(rows).to_have_count(8)
    axis = root.locator("[data-column='width'][data-testid=wb-axis]")
    axis.focus()
    for _ in range(3):
        axis.press("ArrowUp")
    harness.settle()
    kept = root.locator("[data-row][data-kept=true]").count()
    assert 0 < kept < 8
    expect(rows).to_have_count(kept)
    expect(root.get_by_test_id("wb-table-facts")).to_have_text(f"{kept} of 8 runs")
    hidden = asked(harness, "show_runs")[-1]["hidden"]
    assert isinstance(hidden, list) and len(hidden) == 8 - kept
    expect(root.get_by_test_id("wb-run").nth(hidden[0])).to_be_disabled()
    harness.picture("runs-brushed")
    root.get_by_test_id("wb-brush-none").click()
    harness.settle()
    expect(rows).to_have_count(8)
    root.get_by_test_id("wb-brush-column").select_option("learning rate")
    low = root.get_by_test_id("wb-brush-low")
    low.fill("0.009")
    low.press("Enter")
    harness.settle()
    expect(rows).to_have_count(5)
    box = axis.bounding_box()
    assert box
    harness.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    harness.page.mouse.down()
    harness.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 110, steps=4)
    harness.page.mouse.up()
    harness.settle()
    expect(axis.locator(".wb-chart-brush")).to_have_count(1)


def test_a_row_is_sorted_picked_and_stands_out_in_the_curves(harness: Harness) -> None:
    root = harness.open("runs", "table", width=1000, height=900)
    sort = root.locator("[data-testid=wb-sort][data-column='loss/validation']")
    sort.click()
    harness.settle()
    cells = root.locator("[data-testid=wb-table] tbody td:last-child")
    words = cells.all_inner_texts()
    numbers = [float(word) for word in words[:6]]
    assert numbers == sorted(numbers) and words[6:] == ["NaN", "–"]
    sort.click()
    harness.settle()
    words = cells.all_inner_texts()
    assert [float(word) for word in words[:6]] == numbers[::-1] and words[6:] == ["NaN", "–"], (
        "at the end either way"
    )
    root.get_by_test_id("wb-pick-row").first.focus()
    harness.page.keyboard.press("Enter")
    harness.settle()
    expect(root.get_by_test_id("wb-pick-row").first).to_have_attribute("aria-pressed", "true")
    run = root.locator("[data-testid=wb-pick-run][aria-pressed=true]")
    expect(run).to_have_count(1)
    picked = run.get_attribute("data-run")
    harness.do("show('usual')")
    harness.settle()
    if picked in ("0", "1", "2"):
        assert root.locator("[data-chart='loss/train'] [data-curve=run][opacity]").count() == 2


def test_ridges_and_texts_are_read_by_keys(harness: Harness) -> None:
    root = harness.open("runs", "histograms", width=1000, height=800)
    ridge = root.get_by_test_id("wb-ridges").first.locator("svg")
    ridge.focus()
    ridge.press("ArrowUp")
    ridge.press("ArrowUp")
    expect(root.get_by_test_id("wb-readout")).to_contain_text(
        re.compile(r"^step 880 — parameters/conv1/weight: \d+ from 0 to 0\.167$")
    )
    harness.do("show('texts')")
    harness.settle()
    expect(root.get_by_test_id("wb-text-card").first).to_contain_text("<img src=x")
    assert harness.page.locator("img").count() == 0
