"""The training view by itself: curves, figures, layers, and buttons that ask Python."""

from __future__ import annotations

import re
from itertools import pairwise

from playwright.sync_api import expect

from tests.browser.views.harness import Harness


def curve(harness: Harness, chart: str, part: str) -> str:
    """The path of a curve."""
    path = harness.page.locator(f"[data-chart='{chart}'] [data-curve='{part}']").get_attribute("d")
    assert path is not None
    return path


def test_a_training_shows_where_it_is_and_draws_loss_and_metrics_apart(harness: Harness) -> None:
    root = harness.open("training")
    expect(root.get_by_test_id("wb-state")).to_have_text("running")
    words = root.get_by_test_id("wb-progress-words")
    expect(words).to_have_text("epoch 5 of 10batch 12 of 100step 412 of 1,000")
    expect(root.get_by_test_id("wb-progress")).to_have_attribute("aria-valuenow", "41")
    expect(root.get_by_test_id("wb-figures")).to_contain_text("time leftabout 30.6 s")
    charts = root.get_by_test_id("wb-chart")
    names = charts.evaluate_all("charts => charts.map(chart => chart.dataset.chart)")
    assert names == ["loss", "metric accuracy", "rate", "norm", "throughput"]
    loss = root.locator("[data-chart=loss]")
    assert loss.locator("[data-curve]").evaluate_all("paths => paths.map(p => p.dataset.curve)") == [
        "train raw", "train", "validation",
    ]  # fmt: skip
    expect(loss.locator("[data-spike='280']")).to_contain_text("280")
    expect(loss.get_by_text("epoch 1", exact=True)).to_be_visible()
    expect(loss.locator("[data-mark=failed]")).to_have_count(0)


def test_smoothing_and_scale_are_instant_and_ask_nobody(harness: Harness) -> None:
    root = harness.open("training")
    before, raw = curve(harness, "loss", "train"), curve(harness, "loss", "train raw")
    slider = root.get_by_test_id("wb-smoothing")
    slider.focus()
    slider.press("ArrowLeft")
    harness.settle()
    expect(root.get_by_test_id("wb-smoothing-field")).to_have_value("0.89")
    assert curve(harness, "loss", "train") != before
    field = root.get_by_test_id("wb-smoothing-field")
    field.fill("0")
    field.press("Enter")
    harness.settle()
    assert root.locator("[data-chart=loss] [data-curve='train raw']").count() == 0, "nothing is smoothed"
    assert curve(harness, "loss", "train").count("L") == raw.count("L")
    linear = curve(harness, "loss", "train")
    root.get_by_test_id("wb-scale").get_by_role("radio", name="log").click()
    harness.settle()
    assert curve(harness, "loss", "train") != linear
    assert harness.events() == []
    harness.picture("training-log")


def test_exact_values_are_read_by_pointer_and_by_keys(harness: Harness) -> None:
    root = harness.open("training")
    readout = root.get_by_test_id("wb-readout")
    loss = root.locator("[data-chart=loss] svg")
    loss.hover(position={"x": 200, "y": 60})
    expect(readout).to_contain_text(
        re.compile(r"^step \d+ · epoch \d — loss: train \d\.\d{7,}, smoothed \d\.\d{7,}")
    )
    expect(readout).to_contain_text(re.compile(r"validation \d\.\d+ at step \d00"))
    box, text = loss.bounding_box(), readout.bounding_box()
    assert box and text and text["y"] + text["height"] <= box["y"] + 1, "it covers what it explains"
    harness.picture("training-hover")
    loss.focus()
    loss.press("s")
    expect(readout).to_contain_text("step 280")
    expect(readout).to_contain_text("▼ spike, usual is")
    loss.press("ArrowRight")
    expect(readout).to_contain_text("step 281 · epoch 3")
    loss.press("Home")
    expect(readout).to_contain_text("step 1 · epoch 1")
    loss.press("Escape")
    expect(readout).to_contain_text("for exact values; s: next spike")
    assert harness.events() == []


def test_buttons_ask_python_and_follow_what_it_does(harness: Harness) -> None:
    root = harness.open("training")
    pause, stop, state = (root.get_by_test_id(f"wb-{name}") for name in ("pause", "stop", "state"))
    pause.focus()
    harness.page.keyboard.press("Enter")
    harness.do("show('pausing')")
    expect(state).to_have_text("pausing …")
    expect(pause).to_contain_text("Resume")
    harness.do("show('paused')")
    expect(state).to_have_text("paused")
    harness.picture("training-paused")
    pause.click()
    harness.do("show('usual')")
    expect(pause).to_contain_text("Pause")
    stop.click()
    harness.do("show('stopping')")
    expect(state).to_have_text("stopping …")
    expect(stop).to_be_disabled()
    assert harness.events() == [{"type": "pause"}, {"type": "resume"}, {"type": "stop"}]
    harness.do("show('stopped')")
    expect(state).to_have_text("stopped")
    expect(pause).to_be_hidden()
    advice = root.get_by_test_id("wb-advice")
    advice.get_by_role("button").click()
    assert harness.page.evaluate("() => harness.copied") == [
        "trainer.fit(loader, validation, epochs=10, resume=True)"
    ]
    harness.picture("training-stopped")


def test_a_refusal_is_said_with_its_reason(harness: Harness) -> None:
    root = harness.open("training")
    harness.do("answer = () => Promise.resolve({ accepted: false, reason: 'it is paused already' })")
    root.get_by_test_id("wb-pause").click()
    expect(root.get_by_test_id("wb-wrong")).to_contain_text("Refused: it is paused already")


def test_a_picture_without_its_kernel_does_not_claim_to_run(harness: Harness) -> None:
    root = harness.open("training")
    harness.do("setStatus({ kind: 'disconnected', reason: 'kernel restarted' })")
    expect(root.get_by_test_id("wb-state")).to_have_text("was running")
    expect(root.get_by_test_id("wb-pause")).to_be_disabled()
    expect(root.get_by_test_id("wb-stop")).to_have_attribute("title", "Nobody can be asked: kernel restarted")
    harness.do("setStatus({ kind: 'live' })")
    expect(root.get_by_test_id("wb-state")).to_have_text("running")


def test_a_training_that_failed_says_what_and_why(harness: Harness) -> None:
    root = harness.open("training", "wrong")
    failure = root.get_by_test_id("wb-failure")
    expect(failure).to_contain_text("TrainingError at step 413, first seen in fc1")
    expect(failure).to_contain_text("the loss is nan at step 413")
    expect(failure).to_have_attribute("role", "alert")
    expect(root.locator("[data-mark=failed]")).to_have_count(5)
    expect(root.locator("[data-chart=loss]")).to_contain_text("✕ step 413")
    harness.picture("training-wrong")


def test_a_training_that_has_not_begun_says_what_to_run(harness: Harness) -> None:
    root = harness.open("training", "idle")
    expect(root.get_by_test_id("wb-state")).to_have_text("not begun")
    expect(root.get_by_test_id("wb-empty-code")).to_contain_text("trainer.fit(loader, validation, epochs=5)")
    expect(root.get_by_test_id("wb-chart")).to_have_count(0)
    harness.do("show('started')")
    expect(root.get_by_test_id("wb-empty")).to_have_text("The first step is under way.")
    harness.do("show('first')")
    expect(root.get_by_test_id("wb-chart").first).to_be_visible()
    expect(root.get_by_test_id("wb-empty")).to_be_hidden()
    harness.picture("training-first")


def test_layers_are_switched_and_read(harness: Harness) -> None:
    root = harness.open("training")
    seen = [harness.pixels("wb-strip")]
    choice = root.get_by_test_id("wb-strip-choice")
    for name in ("gradient norm", "dead units"):
        choice.get_by_role("radio", name=name).click()
        harness.settle()
        seen.append(harness.pixels("wb-strip"))
    assert all(one != other for one, other in pairwise(seen))
    strip, readout = root.get_by_test_id("wb-strip"), root.get_by_test_id("wb-readout")
    strip.focus()
    harness.page.keyboard.press("End")
    expect(readout).to_contain_text(re.compile(r"step 408 · epoch 5 — relu1 · dead units [\d.]+ %"))
    harness.page.keyboard.press("ArrowDown")
    expect(readout).to_contain_text("relu2")
    strip.hover(position={"x": 300, "y": 8})
    expect(readout).to_contain_text("relu1")
    expect(root.locator("[data-chart=loss] circle[r='3.5']")).to_have_count(2)


def test_two_thousand_points_are_redrawn_within_a_frame(harness: Harness) -> None:
    root = harness.open("training", "huge", height=760)
    expect(root.get_by_test_id("wb-progress-words")).to_contain_text("step 20,480 of 24,000")
    assert curve(harness, "loss", "train raw").count("L") > 1000
    # The least of several: other programs make single ones slower.
    spent = harness.page.evaluate(
        """() => { let work = null; window.requestAnimationFrame = callback => { work = callback; return 1; };
        const slider = document.querySelector('[data-testid=wb-smoothing]'); let least = Infinity;
        for (let turn = 0; turn < 12; turn++) {
            slider.value = String(turn / 20); slider.dispatchEvent(new Event('input'));
            const start = performance.now(); work(start); least = Math.min(least, performance.now() - start); }
        return least; }"""
    )
    assert spent < 16
    harness.picture("training-huge")


def test_focus_and_cursor_outlive_new_steps(harness: Harness) -> None:
    root = harness.open("training")
    loss = root.locator("[data-chart=loss] svg")
    loss.focus()
    loss.press("Home")
    harness.do("show('paused')")
    harness.settle()
    expect(loss).to_be_focused()
    expect(root.get_by_test_id("wb-readout")).to_contain_text("step 1 · epoch 1")


def test_a_training_whose_buffers_are_too_short_is_refused_in_place(harness: Harness) -> None:
    root = harness.open("training")
    harness.do("show('short')")
    expect(root.get_by_test_id("wb-wrong")).to_contain_text("did not arrive")
    expect(root.get_by_test_id("wb-chart")).to_have_count(5)
