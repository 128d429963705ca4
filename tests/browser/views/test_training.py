"""The training view by itself: curves, figures, layers, and buttons that ask Python."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

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
    expect(root.get_by_test_id("wb-figures")).to_contain_text("time leftabout 31 s")
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
    expect(readout).to_contain_text("to zoom; s: next spike")
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
    harness.do("show('stopped')")
    expect(root.get_by_test_id("wb-advice")).to_be_visible()
    harness.do("setStatus({ kind: 'disconnected', reason: 'kernel restarted' })")
    expect(root.get_by_test_id("wb-advice")).to_have_count(0)


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


def test_thousands_of_points_are_redrawn_as_few_and_the_time_is_told(
    harness: Harness, artefacts: Path
) -> None:
    root = harness.open("training", "huge", height=760)
    expect(root.get_by_test_id("wb-progress-words")).to_contain_text("step 20,480 of 24,000")
    # As many as there are columns to tell apart, whatever was recorded.
    assert 1000 < curve(harness, "loss", "train raw").count("L") < 5000
    # The least of several: other programs make single ones slower. Told, not judged: machines differ.
    spent = harness.page.evaluate(
        """() => { let work = null; window.requestAnimationFrame = callback => { work = callback; return 1; };
        const slider = document.querySelector('[data-testid=wb-smoothing]'); let least = Infinity;
        for (let turn = 0; turn < 12; turn++) {
            slider.value = String(turn / 20); slider.dispatchEvent(new Event('input'));
            const start = performance.now(); work(start); least = Math.min(least, performance.now() - start); }
        return least; }"""
    )
    (artefacts / "training-speed.json").write_text(json.dumps({"redrawn": spent}) + "\n", encoding="utf-8")
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


def shown_steps(harness: Harness) -> tuple[str, str]:
    """The steps that the fields say are shown."""
    return harness.at("wb-first-step").input_value(), harness.at("wb-last-step").input_value()


def test_a_part_of_the_steps_is_marked_by_dragging_and_given_back(harness: Harness) -> None:
    root = harness.open("training")
    loss = root.locator("[data-chart=loss] svg")
    before = curve(harness, "rate", "train")
    harness.drag(loss, 100)
    low, high = map(int, shown_steps(harness))
    assert 1 < low < high < 412
    assert curve(harness, "rate", "train") != before, "all charts show the same steps"
    assert harness.page.evaluate("() => getSelection().toString()") == "", "a drag selects no text"
    expect(root.get_by_test_id("wb-all-steps")).to_be_enabled()
    loss.dblclick(position={"x": 200, "y": 60})
    harness.settle()
    assert shown_steps(harness) == ("1", "412")
    assert curve(harness, "rate", "train") == before
    expect(root.get_by_test_id("wb-all-steps")).to_be_disabled()
    assert harness.events() == []


def test_a_part_of_the_steps_is_typed_or_chosen_with_keys_and_undone(harness: Harness) -> None:
    root = harness.open("training")
    first = root.get_by_test_id("wb-first-step")
    first.fill("200")
    first.press("Enter")
    harness.settle()
    assert shown_steps(harness) == ("200", "412")
    first.fill("5000")
    first.press("Enter")
    harness.settle()
    assert shown_steps(harness) == ("200", "412"), "what cannot be shown is taken back"
    loss = root.locator("[data-chart=loss] svg")
    loss.focus()
    loss.press("Home")
    expect(root.get_by_test_id("wb-readout")).to_contain_text("step 200")
    loss.press("+")
    harness.settle()
    assert shown_steps(harness) == ("200", "306")
    loss.press("-")
    harness.settle()
    assert shown_steps(harness) == ("200", "412")
    loss.press("Control+z")
    loss.press("Control+z")
    harness.settle()
    assert shown_steps(harness) == ("200", "412")
    loss.press("0")
    harness.settle()
    assert shown_steps(harness) == ("1", "412")
    loss.press("Control+z")
    harness.settle()
    assert shown_steps(harness) == ("200", "412")


def test_new_steps_leave_the_part_that_is_shown(harness: Harness) -> None:
    root = harness.open("training")
    harness.drag(root.locator("[data-chart=loss] svg"), 100)
    before = shown_steps(harness)
    harness.do("show('finished')")
    harness.settle()
    assert shown_steps(harness) == before
    root.get_by_test_id("wb-all-steps").click()
    expect(harness.at("wb-first-step")).to_have_value("1")
    expect(harness.at("wb-last-step")).to_have_value("1000")


def test_what_is_not_finite_is_marked_counted_and_jumped_to(harness: Harness) -> None:
    root = harness.open("training", "strange")
    norm = root.locator("[data-chart=norm]")
    expect(norm.locator("[data-mark=missing]")).to_have_count(1)
    expect(norm.locator("figcaption")).to_contain_text("✕ 39 not finite")
    svg = norm.locator("svg")
    svg.focus()
    svg.press("n")
    expect(root.get_by_test_id("wb-readout")).to_contain_text("gradient norm not finite")
    root.get_by_test_id("wb-scale").get_by_role("radio", name="log").click()
    harness.settle()
    expect(root.locator("[data-chart=loss] figcaption")).to_contain_text("what is not above 0 is not drawn")
    expect(root.locator("[data-chart=rate] figcaption")).to_contain_text("linear: nothing is above 0")


def test_runs_are_compared_and_put_away(harness: Harness) -> None:
    root = harness.open("training", "compared")
    loss = root.locator("[data-chart=loss]")
    expect(loss.locator("[data-run='2'][data-curve=train]")).to_have_count(1)
    colours = loss.locator("path[data-curve=train]").evaluate_all(
        "paths => paths.map(path => path.getAttribute('stroke'))"
    )
    assert len(set(colours)) == 3
    expect(loss.locator("figcaption")).to_contain_text("lr 0.1")
    own, first, _ = root.get_by_test_id("wb-run").all()
    expect(own).to_be_disabled()
    first.click()
    harness.settle()
    expect(first).to_have_attribute("aria-pressed", "false")
    expect(loss.locator("[data-run='1']")).to_have_count(0)
    expect(loss.locator("[data-run='2'][data-curve=train]")).to_have_count(1)
    first.press("Enter")
    harness.settle()
    expect(loss.locator("[data-run='1'][data-curve=train]")).to_have_count(1)
    harness.picture("training-compared")


def test_one_of_many_charts_is_found(harness: Harness) -> None:
    root = harness.open("training", "many", height=800)
    root.locator("[data-chart=loss] svg").focus()
    harness.page.keyboard.press("/")
    search = root.get_by_test_id("wb-find-chart")
    expect(search).to_be_focused()
    search.fill("Suite 31")
    harness.settle()
    assert root.get_by_test_id("wb-chart").filter(visible=True).count() == 1
    search.fill("no such chart")
    expect(root.get_by_text("No chart has this in its name.")).to_be_visible()
    search.press("Escape")
    harness.settle()
    assert root.get_by_test_id("wb-chart").filter(visible=True).count() == 64
    harness.picture("training-many")


def test_layers_with_long_names_are_told_apart(harness: Harness) -> None:
    root = harness.open("training", "deep")
    strip = root.locator(".wb-strip")
    expect(strip.locator("code")).to_have_text(
        "model.backbone.encoder.stages.*.attention_with_relative_positions.out_proj"
    )
    expect(root.get_by_test_id("wb-strip-words")).to_contain_text("100 more layers are not drawn")
    root.get_by_test_id("wb-strip").hover(position={"x": 300, "y": 8})
    expect(root.get_by_test_id("wb-strip-words")).to_contain_text("out_proj · update / weight")


def test_two_views_on_one_page_clip_their_own_curves(harness: Harness) -> None:
    root = harness.open("training")
    names = root.locator("clipPath").evaluate_all("clips => clips.map(clip => clip.id)")
    harness.page.reload()
    again = root.locator("clipPath").evaluate_all("clips => clips.map(clip => clip.id)")
    assert not set(names) & set(again), "bundles that share a page would take each other's clips"


def test_charts_out_of_sight_are_drawn_when_they_come_into_sight(harness: Harness) -> None:
    root = harness.open("training", "many", height=800)
    harness.page.wait_for_timeout(100)  # until the browser has told what can be seen
    before, far = curve(harness, "loss", "train"), curve(harness, "throughput", "train")
    first = root.get_by_test_id("wb-first-step")
    first.fill("200")
    first.press("Enter")
    harness.settle()
    assert curve(harness, "loss", "train") != before
    assert curve(harness, "throughput", "train") == far, "it was drawn although nobody sees it"
    root.locator("[data-chart=throughput]").scroll_into_view_if_needed()
    harness.page.wait_for_timeout(100)
    assert curve(harness, "throughput", "train") != far


def test_no_value_of_a_legend_is_cut_whatever_its_run_is_called(harness: Harness) -> None:
    for name in ("hostile", "compared", "strange"):
        root = harness.open("training", name, width=400)
        harness.settle()
        cut = root.evaluate(
            """root => [...root.querySelectorAll('.wb-chart-value')]
                .filter(one => one.getBoundingClientRect().right > root.getBoundingClientRect().right)
                .map(one => one.textContent)"""
        )
        assert cut == []
