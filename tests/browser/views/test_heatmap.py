"""The heatmap view by itself: controls that ask nobody, values by pointer and keys."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.views.harness import Harness


def test_instant_controls_change_the_picture_and_ask_nobody(harness: Harness) -> None:
    root = harness.open("heatmap")
    seen = [harness.pixels("wb-heat-map")]
    for name in ("positive", "negative", "absolute"):
        root.get_by_test_id("wb-sign").get_by_role("radio", name=name).click()
        harness.settle()
        seen.append(harness.pixels("wb-heat-map"))
    root.get_by_test_id("wb-blend").fill("10")
    harness.settle()
    seen.append(harness.pixels("wb-heat-map"))
    root.get_by_test_id("wb-percentile").fill("60")
    harness.settle()
    seen.append(harness.pixels("wb-heat-map"))
    root.get_by_test_id("wb-map").select_option("grey")
    harness.settle()
    seen.append(harness.pixels("wb-heat-map"))
    assert all(one != other for one, other in pairwise(seen))
    assert harness.events() == []


def test_without_the_heatmap_the_input_is_left(harness: Harness) -> None:
    root = harness.open("heatmap")
    root.get_by_test_id("wb-blend").fill("0")
    harness.settle()
    assert harness.pixels("wb-heat-map") == harness.pixels("wb-heat-input")


def test_a_delta_over_its_tolerance_warns_with_the_reason(harness: Harness) -> None:
    root = harness.open("heatmap")
    verdict = root.get_by_test_id("wb-verdict")
    expect(verdict).to_contain_text("delta0.000210")
    expect(verdict).to_contain_text("time48 ms")
    expect(verdict).not_to_have_attribute("data-over", "")
    harness.do("show('wrong')")
    expect(verdict).to_have_attribute("data-over", "")
    expect(verdict).to_contain_text("off by 0.230, more than 0.0100")
    expect(verdict).to_contain_text("40 cells have no attribution")
    harness.picture("heatmap-wrong")


def test_a_cell_is_read_by_pointer_and_by_keys(harness: Harness) -> None:
    root = harness.open("heatmap")
    canvas = root.get_by_test_id("wb-heat-map")
    canvas.hover(position={"x": 115, "y": 60})
    readout = root.get_by_test_id("wb-readout")
    expect(readout).to_contain_text("H 5 · W 10   attribution")
    canvas.focus()
    harness.page.keyboard.press("ArrowDown")
    expect(readout).to_contain_text("H 6 · W 10")


def test_the_stepper_asks_for_samples(harness: Harness) -> None:
    root = harness.open("heatmap")
    root.get_by_test_id("wb-next").click()
    root.get_by_test_id("wb-sample").fill("40")
    root.get_by_test_id("wb-sample").press("Enter")
    harness.settle()
    assert harness.events() == [{"type": "sample", "index": 4}, {"type": "sample", "index": 40}]


NOTHING = {"type": "ask", "model": None, "other": None, "method": None, "layer": None, "target": None}


def test_a_click_on_a_class_asks_for_it(harness: Harness) -> None:
    root = harness.open("heatmap", "asked")
    root.locator("[data-testid=wb-score][data-index='9']").click()
    root.locator("[data-testid=wb-score][data-index='2']").press("Enter")
    harness.settle()
    assert harness.events() == [{**NOTHING, "target": "9"}, {**NOTHING, "target": "2"}]
    expect(root.locator("[data-testid=wb-score][aria-pressed='true']")).to_contain_text("seven")


def test_every_choice_is_asked_for(harness: Harness) -> None:
    root = harness.open("heatmap", "layered")
    for name, value in (
        ("model", "int8"),
        ("beside", "int8"),
        ("method", "saliency"),
        ("layer", "fc1"),
        ("target", "true"),
    ):
        root.get_by_test_id(f"wb-ask-{name}").select_option(value)
    harness.settle()
    keys = ("model", "other", "method", "layer", "target")
    values = ("int8", "int8", "saliency", "fc1", "true")
    assert harness.events() == [{**NOTHING, key: value} for key, value in zip(keys, values, strict=True)]


def test_every_kind_of_setting_is_asked_for(harness: Harness) -> None:
    root = harness.open("heatmap", "asked")
    root.get_by_test_id("wb-set-n_steps").fill("200")
    root.get_by_test_id("wb-set-n_steps").press("Enter")
    root.get_by_test_id("wb-set-method").select_option("riemann_left")
    root.get_by_test_id("wb-set-abs").click()
    harness.settle()
    assert harness.events() == [
        {"type": "setting", "name": "n_steps", "value": "200"},
        {"type": "setting", "name": "method", "value": "riemann_left"},
        {"type": "setting", "name": "abs", "value": "False"},
    ]


def test_a_neuron_of_several_indices_and_a_rule_set_in_python_are_shown_and_asked(harness: Harness) -> None:
    def one(name: str, kind: str, value: str, choices: list[str]) -> dict[str, object]:
        return {"name": name, "kind": kind, "value": value, "choices": choices, "label": name, "meaning": ""}

    root = harness.open("heatmap", "asked")
    settings = [
        one("neuron_selector", "place", "3, 4, 5", []),
        one("composite", "choice", "only_plus", ["only_plus", "epsilon", "epsilon_plus"]),
        one("baseline", "choice", "zeros", ["zeros", "mean"]),
    ]
    harness.do("patch(argument)", {"controls": {**harness.do("state()")["controls"], "settings": settings}})
    neuron, rule = root.get_by_test_id("wb-set-neuron_selector"), root.get_by_test_id("wb-set-composite")
    expect(neuron).to_have_value("3, 4, 5")
    expect(rule).to_have_value("only_plus")
    neuron.fill("3, 0:2, 5")
    neuron.press("Enter")
    rule.select_option("epsilon_plus")
    root.get_by_test_id("wb-set-baseline").select_option("mean")
    harness.settle()
    assert [(one["name"], one["value"]) for one in harness.events()] == [
        ("neuron_selector", "3, 0:2, 5"),
        ("composite", "epsilon_plus"),
        ("baseline", "mean"),
    ]


def test_settings_are_called_by_words_and_tell_their_names_in_python(harness: Harness) -> None:
    root = harness.open("heatmap", "asked")
    expect(root.get_by_test_id("wb-settings")).to_contain_text("steps")
    expect(root.get_by_test_id("wb-settings")).not_to_contain_text("n_steps")
    expect(root.get_by_label("steps")).to_have_value("50")
    expect(root.get_by_title("How many points. In Python: n_steps")).to_be_visible()


def test_a_method_made_ready_says_what_is_not_set_here(harness: Harness) -> None:
    root = harness.open("heatmap", "ready")
    expect(root.get_by_test_id("wb-ask-method")).to_have_value("Noise Tunnel")
    made = root.get_by_test_id("wb-made")
    expect(made).to_have_text("made ready: Integrated Gradients · times inputs False")
    expect(made).to_have_attribute("title", re.compile("made ready in Python, where this is set"))
    root.get_by_test_id("wb-ask-method").select_option("saliency")
    root.get_by_test_id("wb-set-n_steps").fill("20")
    root.get_by_test_id("wb-set-n_steps").press("Enter")
    harness.settle()
    assert harness.events() == [
        {**NOTHING, "method": "saliency"},
        {"type": "setting", "name": "n_steps", "value": "20"},
    ]
    harness.picture("heatmap-ready")


def test_the_samples_whose_mean_is_shown_are_marked(harness: Harness) -> None:
    root = harness.open("heatmap", "mean")
    marked = root.locator("[data-testid=wb-strip] [data-averaged]")
    expect(marked).to_have_count(5)
    expect(marked.first).to_have_accessible_name(re.compile("sample 1, .*one of those averaged"))
    expect(root.locator("[data-testid=wb-strip] [aria-pressed=true]")).to_have_count(0)


def test_a_result_that_cannot_be_asked_offers_nothing_to_ask(harness: Harness) -> None:
    root = harness.open("heatmap")
    expect(root.get_by_test_id("wb-score")).to_have_count(0)
    expect(root.locator("select[data-testid^=wb-ask]")).to_have_count(0)
    expect(root.get_by_test_id("wb-settings")).to_contain_text("steps50")
    expect(root.get_by_test_id("wb-alone")).to_have_text("This result does not say what was asked.")


def test_work_shows_rate_and_time_left_and_is_stopped(harness: Harness) -> None:
    root = harness.open("heatmap", "working")
    expect(root.get_by_test_id("wb-work")).to_contain_text(
        "1,280 of 3,200 rows through the model · 2.1 K rows/s"
    )
    expect(root.get_by_test_id("wb-progress-words")).to_contain_text("left")
    before = harness.pixels("wb-heat-map")
    root.get_by_test_id("wb-stop").click()
    harness.settle()
    assert harness.events() == [{"type": "stop"}]
    assert harness.pixels("wb-heat-map") == before
    harness.do("show('asked')")
    expect(root.get_by_test_id("wb-stop")).to_be_hidden()


def test_until_the_first_answer_the_input_is_there(harness: Harness) -> None:
    root = harness.open("heatmap", "begun")
    expect(root.get_by_test_id("wb-heat-input")).to_be_visible()
    expect(root.get_by_test_id("wb-heat-map")).to_have_count(0)
    expect(root.get_by_test_id("wb-verdict")).to_have_text("no answer yet")
    # Nothing is right before it is predicted.
    expect(root.get_by_test_id("wb-truth")).to_have_text("true seven")
    harness.do("show('asked')")
    expect(root.get_by_test_id("wb-heat-map")).to_be_visible()


def test_true_and_predicted_stand_together_and_wrong_samples_are_marked(harness: Harness) -> None:
    root = harness.open("heatmap", "asked")
    expect(root.get_by_test_id("wb-truth")).to_have_text("true seven ✓")
    expect(root.locator("[data-sample][data-wrong]")).to_have_count(3)
    root.get_by_test_id("wb-next-wrong").click()
    root.locator("[data-sample='20']").click()
    harness.settle()
    assert harness.events() == [{"type": "sample", "index": 5}, {"type": "sample", "index": 20}]
    harness.do("show('mistaken')")
    expect(root.get_by_test_id("wb-truth")).to_have_text("true two ✕ wrong")


def test_a_refusal_is_read_and_the_picture_stays(harness: Harness) -> None:
    root = harness.open("heatmap", "asked")
    before = harness.pixels("wb-heat-map")
    harness.do("show('refused')")
    harness.settle()
    expect(root.get_by_test_id("wb-refusal")).to_contain_text(
        "DeepLift has no rule for cumprod (model.py, line 12)"
    )
    assert harness.pixels("wb-heat-map") == before
    harness.do("show('asked')")
    expect(root.get_by_test_id("wb-refusal")).to_be_hidden()


def test_a_refusal_is_said_once_where_one_asked(harness: Harness) -> None:
    root = harness.open("heatmap", "asked")
    reason = "n_steps is a whole number; got 'many'"
    harness.do(f"answer = () => Promise.resolve({{accepted: false, reason: {json.dumps(reason)}}})")
    root.get_by_test_id("wb-set-n_steps").fill("many")
    root.get_by_test_id("wb-set-n_steps").press("Enter")
    harness.settle()
    expect(root.get_by_text(reason)).to_have_count(1)
    expect(root.get_by_test_id("wb-refusal")).to_contain_text(reason)
    # The state that comes has the reason, too.
    harness.do("patch(argument)", {"refusal": {"request": "setting", "reason": reason}})
    expect(root.get_by_text(reason)).to_have_count(1)
    harness.do("answer = () => Promise.resolve({accepted: true, reason: ''})")
    harness.do("patch(argument)", {"refusal": None})
    root.get_by_test_id("wb-set-n_steps").fill("60")
    root.get_by_test_id("wb-set-n_steps").press("Enter")
    harness.settle()
    expect(root.get_by_test_id("wb-refusal")).to_be_hidden()


def test_after_a_restart_the_last_picture_is_there(harness: Harness) -> None:
    root = harness.open("heatmap", "asked")
    harness.do("setStatus({ kind: 'disconnected', reason: 'kernel restarted' })")
    expect(root.get_by_test_id("wb-status")).to_contain_text("kernel restarted: last picture")
    expect(root.get_by_test_id("wb-heat-map")).to_be_visible()
    harness.do("answer = () => Promise.reject(new Error('the kernel restarted'))")
    root.locator("[data-testid=wb-score][data-index='9']").click()
    expect(root.get_by_test_id("wb-wrong")).to_contain_text("Python did not get this: the kernel restarted")


def test_two_models_and_their_difference_share_a_scale(harness: Harness) -> None:
    root = harness.open("heatmap", "beside")
    for name in ("map", "other", "difference"):
        expect(root.get_by_test_id(f"wb-heat-{name}")).to_be_visible()
    expect(root.get_by_test_id("wb-heat-scale")).to_have_count(1)
    root.get_by_test_id("wb-heat-difference").focus()
    harness.page.keyboard.press("ArrowRight")
    expect(root.get_by_test_id("wb-readout")).to_contain_text("int8 − float")
    harness.do("show('lopsided')")
    expect(root.get_by_test_id("wb-other-trouble")).to_contain_text("int8 has no answer: AutogradError")


def test_a_word_is_read_by_pointer_and_by_keys(harness: Harness) -> None:
    root = harness.open("heatmap", "text")
    root.locator("[data-token='3']").hover()
    readout = root.get_by_test_id("wb-readout")
    expect(readout).to_contain_text("“slow” · T 3   attribution −0.800")
    root.get_by_test_id("wb-heat-map").focus()
    harness.page.keyboard.press("ArrowRight")
    expect(readout).to_contain_text("“,” · T 4")
    harness.picture("heatmap-text")


def test_a_text_of_thousands_of_words_scrolls_in_its_own_place(harness: Harness) -> None:
    root = harness.open("heatmap", "novel")
    text = root.get_by_test_id("wb-heat-map")
    expect(text.locator("[data-token]")).to_have_count(5000)
    assert text.evaluate("one => one.clientHeight < 500 && one.scrollHeight > 2000")
    text.focus()
    harness.page.keyboard.press("End")
    expect(text.locator("[data-cursor]")).to_have_attribute("data-token", "4999")
    expect(text.locator("[data-token='4999']")).to_be_in_viewport()
    assert text.evaluate("one => one.scrollTop > 1000")
    before = text.locator("[data-token='7']").get_attribute("style")
    root.get_by_test_id("wb-sign").get_by_text("positive").click()
    expect(text.locator("[data-token='7']")).not_to_have_attribute("style", str(before))
    harness.picture("heatmap-novel")


def test_lines_and_several_inputs_are_read(harness: Harness) -> None:
    root = harness.open("heatmap", "series")
    root.get_by_test_id("wb-heat-map").focus()
    harness.page.keyboard.press("End")
    expect(root.get_by_test_id("wb-readout")).to_contain_text("C 2 · T 119")
    root = harness.open("heatmap", "several")
    root.locator(".wb-heat-text").focus()
    harness.page.keyboard.press("ArrowRight")
    expect(root.get_by_test_id("wb-readout")).to_contain_text("question: “the” · T 0")


REDRAW = """async () => {
  const slider = document.querySelector('[data-testid=wb-percentile]');
  const signs = [...document.querySelectorAll('[data-testid=wb-sign] [role=radio]')];
  const later = window.requestAnimationFrame.bind(window);
  const frame = () => new Promise(done => later(done));
  let work = 0;
  window.requestAnimationFrame = draw => later(time => {
    const start = performance.now();
    draw(time);
    work += performance.now() - start;
  });
  const median = times => times.sort((a, b) => a - b)[10];
  const painted = async change => {
    const [shown, drawn] = [[], []];
    for (let turn = 0; turn < 20; turn++) {
      await frame();
      work = 0;
      const start = performance.now();
      change(turn);
      await frame();
      await frame();
      shown.push(performance.now() - start);
      drawn.push(work);
    }
    return { 'to the second frame': median(shown), 'drawing': median(drawn) };
  };
  const percentile = await painted(turn => {
    slider.value = String(60 + turn);
    slider.dispatchEvent(new Event('input'));
  });
  const sign = await painted(turn => signs[turn % signs.length].click());
  return { percentile, sign };
}"""


def test_sign_and_percentile_of_a_large_picture_ask_nobody(harness: Harness, screenshots: Path) -> None:
    harness.open("heatmap", "huge")
    milliseconds = harness.page.evaluate(REDRAW)
    (screenshots / "heatmap-speed.json").write_text(json.dumps({"640 by 640, ms": milliseconds}))
    assert harness.events() == []


def test_a_narrow_board_keeps_its_methods_in_sight(harness: Harness) -> None:
    root = harness.open("heatmap", "board", width=400)
    frame = root.locator(".wb-board-scroll")
    frame.evaluate("one => (one.scrollLeft = one.scrollWidth)")
    harness.settle()
    left = frame.bounding_box()
    name = root.locator("tbody th").first.bounding_box()
    last = root.locator("[data-testid=wb-sort]").last.bounding_box()
    assert left is not None and name is not None and last is not None
    assert abs(name["x"] - left["x"]) <= 1, "beside the last column, too"
    assert last["x"] + last["width"] <= left["x"] + left["width"] + 1
    harness.picture("heatmap-board-narrow")


def test_rows_of_numbers_can_be_seen_on_a_board_and_rows_of_one_method_be_told_apart(
    harness: Harness,
) -> None:
    root = harness.open("heatmap", "flat board")
    for canvas in root.get_by_test_id("wb-board").locator("canvas").all():
        box = canvas.bounding_box()
        assert box is not None and box["height"] >= 16
    rows = root.get_by_test_id("wb-board-row")
    expect(rows.nth(1)).to_contain_text("made ready: times inputs False")
    expect(rows.nth(0)).not_to_contain_text("made ready")
    harness.picture("board-flat")


def test_the_board_sorts_in_the_page_and_opens_a_row(harness: Harness) -> None:
    root = harness.open("heatmap", "board")
    rows = root.get_by_test_id("wb-board-row")
    names = "rows => rows.map(row => row.dataset.method)"
    first = rows.evaluate_all(names)
    root.locator("[data-testid=wb-sort][data-column=insertion]").click()
    harness.settle()
    best_first = ["integrated_gradients", "input_x_gradient", "saliency"]
    assert rows.evaluate_all(names)[:3] == best_first
    root.locator("[data-testid=wb-sort][data-column=insertion]").click()
    harness.settle()
    assert rows.evaluate_all(names)[:3] == best_first[::-1]
    root.locator("[data-testid=wb-sort][data-column=insertion]").click()
    harness.settle()
    assert rows.evaluate_all(names) == first
    expect(root.locator("[data-column=deletion][data-best]")).to_contain_text("0.190")
    expect(root.locator("[data-method=deep_lift]").first).to_contain_text("DeepLift has no rule for cumprod")
    assert harness.events() == []
    root.locator("[data-testid=wb-open-row][data-method=saliency]").click()
    expect(root.locator("[data-testid=wb-open-row][data-method=kernel_shap]")).to_be_disabled()
    root.get_by_test_id("wb-stop").click()
    harness.settle()
    assert harness.events() == [{"type": "open_row", "method": "saliency"}, {"type": "stop"}]
    harness.picture("heatmap-board")
    harness.do("show('row')")
    root.get_by_test_id("wb-back").click()
    harness.settle()
    assert harness.events()[-1] == {"type": "open_row", "method": None}
    harness.do("show('done')")
    expect(root.get_by_test_id("wb-stop")).to_be_hidden()
