"""The histogram view by itself: ranges by hand, by key and typed, and the list of observers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.views.harness import Harness


def test_an_observer_without_values_says_what_to_run(harness: Harness) -> None:
    root = harness.open("histogram", "unseen", height=700)
    expect(root.get_by_test_id("wb-observer")).to_have_count(13)
    expect(root.get_by_test_id("wb-empty")).to_contain_text("has seen no values yet")
    expect(root.get_by_test_id("wb-detail")).to_be_hidden()
    harness.do("show('usual')")
    expect(root.get_by_test_id("wb-empty")).to_be_hidden()
    expect(root.get_by_test_id("wb-handle-low")).to_be_visible()


def test_an_observer_that_saw_only_nan_says_so(harness: Harness) -> None:
    root = harness.open("histogram", "broken", height=700)
    expect(root.get_by_test_id("wb-empty")).to_contain_text("no finite value in 3 batches, only 1,536 NaN")
    harness.do("show('unseen')")
    expect(root.get_by_test_id("wb-empty")).to_contain_text("has seen no values yet")


def test_long_numbers_fit_into_their_fields(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    detail = "{ ...harness.state().detail, low: -0.000363, high: 5.95e-43, scale: 1.19e-12 }"
    harness.do(f"patch({{ detail: {detail} }})")
    for name, text in (("low", "−0.000363"), ("high", "5.95e-43"), ("scale", "1.19e-12")):
        field = root.get_by_test_id(f"wb-input-{name}")
        expect(field).to_have_value(text.replace("e-", "e−"))
        assert field.evaluate("one => one.scrollWidth <= one.clientWidth"), text


def test_values_that_are_all_one_are_seen(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    counts = base64.b64encode(np.array([12], "<f4").tobytes()).decode()
    change = "observed_low: 3, observed_high: 3.0000001, bins: 1, low: 0, high: 3, values: null"
    given = f"{{ ...harness.state(), detail: {{ ...harness.state().detail, {change} }} }}"
    harness.do(f"give({given}, ['{counts}'])")
    harness.settle()
    boxes = root.get_by_test_id("wb-plot").locator("path[fill-opacity='0.85'], path[fill-opacity='0.5']")
    widths = boxes.evaluate_all("all => all.map(one => one.getBBox().width)")
    assert max(widths) >= 4


def test_the_texts_of_two_ends_at_one_place_do_not_touch(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    harness.do("patch({ detail: { ...harness.state().detail, low: -4.76e-43, high: 4.81e-43 } })")
    harness.settle()
    low, high = (
        root.get_by_test_id(f"wb-handle-{end}").locator("text").bounding_box() for end in ("low", "high")
    )
    assert low is not None and high is not None
    assert low["x"] + low["width"] + 4 <= high["x"]


def ranges(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == "set_range"]


def test_dragging_a_handle_sends_ranges_and_ends_with_a_final_one(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    high = root.get_by_test_id("wb-handle-high")
    harness.drag(high, 80)
    sent = ranges(harness.events())
    assert [event["final"] for event in sent] == [False] * (len(sent) - 1) + [True]
    assert len(sent) > 1
    assert sent[-1]["low"] == pytest.approx(-3.1)
    assert sent[-1]["high"] > 4.3
    assert float(high.get_attribute("data-value") or 0) == pytest.approx(sent[-1]["high"])


def test_only_one_range_is_on_its_way_at_a_time(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    harness.do("held = [], harness.answer = () => new Promise(resolve => harness.held.push(resolve))")
    # An answer that is seconds late holds up nothing; on a busy machine the hand itself takes as long.
    harness.page.evaluate(
        """() => { const set = window.setTimeout;
        window.setTimeout = (run, delay, ...more) => delay < 2000 ? set(run, delay, ...more) : 0; }"""
    )
    high = root.get_by_test_id("wb-handle-high")
    x, y = harness.middle(high)
    harness.page.mouse.move(x, y)
    harness.page.mouse.down()
    harness.page.mouse.move(x + 60, y, steps=12)
    # The first is sent with the next frame, which a busy machine draws later.
    harness.page.wait_for_function("() => harness.events.length > 0")
    harness.settle()
    assert len(ranges(harness.events())) == 1
    harness.do("held.pop()({ accepted: true, reason: '' })")
    harness.page.wait_for_function("() => harness.events.length === 2")
    harness.page.mouse.up()
    harness.do("held.pop()({ accepted: true, reason: '' })")
    harness.page.wait_for_function("() => harness.events.length === 3")
    last = ranges(harness.events())[-1]
    assert last["final"] is True
    assert last["high"] == pytest.approx(float(high.get_attribute("data-value") or 0))


def test_states_that_arrive_during_a_drag_do_not_fight_the_hand(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    high = root.get_by_test_id("wb-handle-high")
    x, y = harness.middle(high)
    harness.page.mouse.move(x, y)
    harness.page.mouse.down()
    harness.page.mouse.move(x + 50, y, steps=4)
    harness.settle()
    held = high.get_attribute("data-value")
    harness.do("show('usual')")
    harness.settle()
    assert high.get_attribute("data-value") == held
    grip = high.locator(".wb-grip").bounding_box()
    assert grip and grip["x"] + grip["width"] / 2 == pytest.approx(x + 50, abs=1.5)
    harness.page.mouse.up()


def test_after_a_drag_the_state_of_python_wins(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    high = root.get_by_test_id("wb-handle-high")
    harness.drag(high, 50)
    harness.page.wait_for_timeout(50)
    harness.do("show('usual')")
    expect(high).to_have_attribute("data-value", "4.2")


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("ArrowRight", 1),
        ("ArrowLeft", -1),
        ("Shift+ArrowRight", 1),
        ("PageDown", -1),
        ("End", 1),
        ("Home", -1),
    ],
)
def test_keys_move_a_handle(harness: Harness, key: str, change: int) -> None:
    root = harness.open("histogram", height=700)
    root.get_by_test_id("wb-handle-high").focus()
    harness.page.keyboard.press(key)
    sent = ranges(harness.events())
    assert sent[-1]["final"] is True
    assert (sent[-1]["high"] - 4.2) * change > 0
    assert sent[-1]["low"] == pytest.approx(-3.1)


def test_a_larger_step_with_shift(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    root.get_by_test_id("wb-handle-low").focus()
    harness.page.keyboard.press("ArrowRight")
    harness.page.keyboard.press("Shift+ArrowRight")
    small, large = (event["low"] for event in ranges(harness.events()) if event["final"])
    assert (large - small) == pytest.approx(10 * (small + 3.1), rel=1e-6)


def test_a_range_can_be_typed(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    field = root.get_by_test_id("wb-input-low")
    field.fill("−1.25")
    field.press("Enter")
    assert ranges(harness.events()) == [
        {"type": "set_range", "id": "conv2.output", "low": -1.25, "high": pytest.approx(4.2), "final": True}
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nan", "“nan” is not a finite number"),
        ("wide", "“wide” is not a finite number"),
        ("", "nothing was typed"),
        ("99", "the low end 99 is not below the high end 4.20"),
    ],
)
def test_nonsense_is_refused_in_place_and_the_range_stays(harness: Harness, text: str, reason: str) -> None:
    root = harness.open("histogram", height=700)
    field = root.get_by_test_id("wb-input-low")
    field.fill(text)
    field.press("Enter")
    expect(root.get_by_test_id("wb-refusal")).to_contain_text(reason)
    assert ranges(harness.events()) == []
    expect(root.get_by_test_id("wb-handle-low")).to_have_attribute("data-value", "-3.1")
    field.press("Escape")
    expect(root.get_by_test_id("wb-refusal")).to_be_hidden()
    expect(field).to_have_value("−3.10")


def test_dragging_one_end_past_the_other_puts_the_range_back(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    low = root.get_by_test_id("wb-handle-low")
    x, y = harness.middle(low)
    far = harness.middle(root.get_by_test_id("wb-handle-high"))[0] + 60
    harness.page.mouse.move(x, y)
    harness.page.mouse.down()
    harness.page.mouse.move(far, y, steps=10)
    harness.settle()
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("is not below the high end")
    harness.page.mouse.up()
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("The range stays as it was.")
    last = ranges(harness.events())[-1]
    assert (last["low"], last["high"], last["final"]) == (pytest.approx(-3.1), pytest.approx(4.2), True)
    expect(low).to_have_attribute("data-value", "-3.1")


def test_a_refusal_of_python_is_shown_and_the_handle_goes_back(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    harness.do("answer = async () => ({ accepted: false, reason: 'the observer is frozen' })")
    field = root.get_by_test_id("wb-input-high")
    field.fill("5")
    field.press("Enter")
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("the observer is frozen")
    expect(root.get_by_test_id("wb-handle-high")).to_have_attribute("data-value", "4.2")


def test_nan_and_inf_in_an_observer_are_shown_loudly(harness: Harness) -> None:
    root = harness.open("histogram", "wrong", height=800)
    expect(root.get_by_test_id("wb-nan-notice")).to_contain_text("12 NaN and 3 inf seen here")
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("the low end 2.1 is not below the high end 1.3")
    row = root.locator("[data-testid=wb-observer][data-id='conv2.output']")
    expect(row.locator(".wb-loud")).to_have_count(1)
    harness.picture("histogram-wrong")


def test_candidates_undo_redo_and_reset(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    best = root.locator("[data-testid=wb-candidate][data-best]")
    expect(best).to_have_count(1)
    root.locator("[data-testid=wb-candidate][data-name=KL]").click()
    root.get_by_test_id("wb-undo").click()
    expect(root.get_by_test_id("wb-redo")).to_be_disabled()
    harness.do("patch({ redo: 1 })")
    root.get_by_test_id("wb-redo").click()
    root.get_by_test_id("wb-reset").click()
    root.get_by_test_id("wb-handle-low").focus()
    harness.page.keyboard.press("Control+z")
    types = [event["type"] for event in harness.events()]
    assert types == ["set_range", "undo", "redo", "reset_range", "undo"]
    assert harness.events()[0]["final"] is True


def test_the_list_is_searched_sorted_and_walked(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    rows = root.get_by_test_id("wb-observer")
    expect(rows).to_have_count(13)
    root.get_by_test_id("wb-order").get_by_role("radio", name="worst").click()
    expect(rows.first).to_have_attribute("data-id", "conv2.output")
    root.get_by_test_id("wb-search").fill("fc weight")
    expect(rows).to_have_count(2)
    root.get_by_test_id("wb-search").fill("")
    root.get_by_test_id("wb-observers").focus()
    harness.page.keyboard.press("ArrowDown")
    assert harness.events()[-1]["type"] == "select"
    harness.do("select({ observer: 'fc1.weight', from: 'graph' })")
    assert harness.events()[-1] == {"type": "select", "id": "fc1.weight"}


def test_figures_clipping_and_outliers_are_there(harness: Harness) -> None:
    root = harness.open("histogram", height=800)
    figures = root.get_by_test_id("wb-figures")
    expect(root.get_by_test_id("wb-input-scale")).to_have_value("0.0286")
    expect(root.get_by_test_id("wb-input-zero-point")).to_have_value("108")
    expect(figures.locator("[data-figure=codes] b")).to_have_text("0 … 255")
    expect(figures.locator("[data-figure=accuracy] b")).to_have_text("98.9 % (−0.1)")
    expect(root.get_by_test_id("wb-clip-low")).to_contain_text("clip")
    expect(root.get_by_test_id("wb-optimum")).to_have_count(1)
    expect(root.get_by_text("outlier: C 17")).to_be_visible()


def test_what_is_clipped_away_is_told_legibly_in_a_narrow_place(harness: Harness) -> None:
    harness.open("histogram", width=240, height=900)
    low, high = (harness.at(f"wb-clip-{end}").bounding_box() for end in ("low", "high"))
    assert low is not None and high is not None
    apart = low["x"] + low["width"] <= high["x"] or low["y"] >= high["y"] + high["height"] - 3
    assert apart, "one is written over the other"
    harness.picture("histogram-240")


def sent(harness: Harness, kind: str) -> list[dict[str, Any]]:
    return [event for event in harness.events() if event["type"] == kind]


def test_observer_scheme_bits_and_ranges_are_chosen_by_menus(harness: Harness) -> None:
    root = harness.open("histogram", height=800)
    nothing = {"rule": None, "symmetric": None, "bits": None, "per_channel": None}
    for part, value, chosen in (
        ("rule", "kl", {"rule": "kl"}),
        ("symmetric", "symmetric", {"symmetric": True}),
        ("bits", "4", {"bits": 4}),
        ("per_channel", "channel", {"per_channel": True}),
    ):
        root.get_by_test_id(f"wb-choose-{part}").select_option(value)
        assert sent(harness, "choose")[-1] == {"type": "choose", "id": "conv2.output", **nothing, **chosen}


def test_a_choice_that_is_refused_says_why_and_goes_back(harness: Harness) -> None:
    root = harness.open("histogram", height=800)
    harness.do("answer = async () => ({ accepted: false, reason: 'conv2.output is no weight' })")
    menu = root.get_by_test_id("wb-choose-per_channel")
    menu.select_option("channel")
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("Refused: conv2.output is no weight")
    expect(menu).to_have_value("tensor")


def test_an_observer_of_which_nothing_can_be_chosen_says_so(harness: Harness) -> None:
    root = harness.open("histogram", "fixed", height=800)
    expect(root.get_by_test_id("wb-choose-rule")).to_have_count(0)
    expect(root.get_by_text("known without looking")).to_be_visible()


def test_scale_and_zero_point_can_be_typed(harness: Harness) -> None:
    root = harness.open("histogram", height=800)
    scale = root.get_by_test_id("wb-input-scale")
    scale.fill("0.05")
    scale.press("Enter")
    assert sent(harness, "set_scale") == [
        {"type": "set_scale", "id": "conv2.output", "scale": 0.05, "zero_point": 108}
    ]
    zero = root.get_by_test_id("wb-input-zero-point")
    for text, reason in (("1.5", "a zero point is a whole number"), ("nan", "is not a finite number")):
        zero.fill(text)
        zero.press("Enter")
        expect(root.get_by_test_id("wb-refusal")).to_contain_text(reason)
    scale.fill("-1")
    scale.press("Enter")
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("a scale lies above 0")
    assert len(sent(harness, "set_scale")) == 1
    scale.press("Escape")
    expect(scale).to_have_value("0.0286")


def test_two_sides_are_compared(harness: Harness) -> None:
    root = harness.open("histogram", height=900)
    root.get_by_test_id("wb-keep").click()
    assert harness.events()[-1] == {"type": "compare", "what": "keep"}
    harness.do("show('compared')")
    table = root.get_by_test_id("wb-compare-table")
    expect(table).to_contain_text("−8.8 dB")
    expect(table).to_contain_text("−0.8 points")
    expect(root.get_by_test_id("wb-side-B")).to_have_attribute("aria-pressed", "true")
    root.get_by_test_id("wb-side-B").click()
    root.get_by_test_id("wb-side-A").click()
    assert sent(harness, "compare")[1:] == [{"type": "compare", "what": "switch"}]
    table.get_by_role("button", name="fc1.weight").click()
    assert harness.events()[-1] == {"type": "select", "id": "fc1.weight"}
    root.get_by_test_id("wb-leave").click()
    assert harness.events()[-1] == {"type": "compare", "what": "leave"}
    harness.picture("histogram-compared")


def test_values_before_and_after_lie_over_the_histogram(harness: Harness) -> None:
    root = harness.open("histogram", height=800)
    root.get_by_test_id("wb-show-values").click()
    assert harness.events()[-1] == {"type": "show_values", "on": True}
    harness.do("show('compared')")
    expect(root.get_by_test_id("wb-values-float")).to_have_count(1)
    expect(root.get_by_test_id("wb-values-integer")).to_have_count(1)
    expect(root.get_by_test_id("wb-values")).to_contain_text("SQNR 15.8 dB")
    harness.do(
        "patch({ no_values: 'no batch is held', detail: { ...harness.state().detail, values: null } })"
    )
    expect(root.get_by_test_id("wb-values")).to_contain_text("no batch is held")
    expect(root.get_by_test_id("wb-values-float")).to_have_count(0)


def test_of_thousands_only_those_in_sight_are_in_the_page(harness: Harness) -> None:
    root = harness.open("histogram", "huge", height=700)
    rows = root.get_by_test_id("wb-observer")
    assert rows.count() < 80
    listed = root.get_by_test_id("wb-observers")
    # Rows in sight change places with the spaces around them: a browser that anchored one would scroll with it.
    assert listed.evaluate("list => getComputedStyle(list).overflowAnchor") == "none"
    listed.evaluate("list => { list.scrollTop = list.scrollHeight }")
    expect(root.locator("[data-testid=wb-observer][data-id=layer1999]")).to_be_visible()
    assert rows.count() < 80
    listed.focus()
    harness.page.keyboard.press("Home")
    assert harness.events()[-1] == {"type": "select", "id": "layer0"}
    root.get_by_test_id("wb-order").get_by_role("radio", name="cost").click()
    expect(rows.first.locator(".wb-list-sqnr")).to_have_text("22.0 dB")


def test_code_goes_into_a_new_cell_and_onto_the_clipboard(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    code = harness.do("state().head.code")
    root.get_by_test_id("wb-write-code").click()
    expect(root.get_by_test_id("wb-done")).to_have_text("in a new cell, and copied")
    assert harness.do("written") == harness.do("copied") == [code]
    harness.do("notebook = false")
    root.get_by_test_id("wb-write-code").click()
    expect(root.get_by_test_id("wb-done")).to_have_text("copied: there is no notebook here")
    assert harness.do("written") == [code]
    assert harness.do("copied") == [code, code]


def test_the_difference_is_opened_when_python_has_made_it(harness: Harness) -> None:
    root = harness.open("histogram", height=700)
    root.get_by_test_id("wb-show-difference").click()
    harness.page.wait_for_function("() => harness.opened.length === 1")
    assert harness.do("opened") == ["diff"]
    assert harness.events()[-1] == {"type": "show_difference", "id": harness.do("state().selected")}
    harness.do("answer = () => Promise.resolve({ accepted: false, reason: 'not calibrated yet: conv1' })")
    root.get_by_test_id("wb-show-difference").click()
    expect(root.get_by_test_id("wb-refusal")).to_contain_text("not calibrated yet: conv1")
    assert harness.do("opened") == ["diff"]
