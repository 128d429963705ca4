"""The view of attributions in JupyterLab: asked while a cell runs, two models, a board, links, code, a restart."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.browser.frames import await_another_picture, picture
from tests.browser.jupyterlab import SECOND, Lab

PREPARE = """
import time
import workbench as wb
from workbench import quantization as q
wb.manual_seed(0)
model = wb.models.DigitsNet().eval()
inputs = wb.rand(N=8, C=1, H=28, W=28)
labels = [3, 1, 4, 1, 5, 9, 2, 6]
"""

# Ends when everything was seen, which is said by a file: nothing else reaches a kernel that is busy.
WAIT = """
import pathlib
seen, end = pathlib.Path("attribution-seen"), time.monotonic() + 120
while not seen.exists() and time.monotonic() < end:
    time.sleep(0.05)
in_time = seen.exists()
"""

CONVERT = """
fused = q.fuse_modules(model, [["conv1", "bn1", "relu1"], ["conv2", "bn2", "relu2"], ["fc1", "relu3"]])
prepared = q.prepare(fused)
prepared(inputs)
models = {"float": model, "int8": q.convert(prepared)}
wb.widgets.attribution(models, inputs, labels, method="occlusion")
"""

TEXT = """
table = wb.tensor([[[1.0, -1.0], [3.0, 2.0], [-2.0, 0.5]]], names=("N", "word", "F"))
score = lambda x: (x * wb.tensor([1.0, 2.0])).sum("F").tanh().sum("word")
wb.widgets.attribution(score, table, tokens=[["a", "kind", "day"]])
"""

BOARD = """
board = wb.attribution.compare(model, inputs, 3, ["saliency", "input_x_gradient", "occlusion"], ["deletion"])
wb.widgets.board(board)
"""


GRAPH = "wb.widgets.graph(model, inputs[:2])"

CLOUD = """
embedding = wb.embedding.Embedding(model.features(inputs).detach().numpy(), labels=labels)
embedding.project()
wb.widgets.projector(embedding)
"""


def opened(lab: Lab, cells: list[str], name: str) -> Locator:
    lab.new([PREPARE, *cells], f"{name}.ipynb")
    lab.run_cell(0)
    lab.run_cell(1)
    view = lab.cell(1).get_by_test_id("wb-heatmap")
    expect(view).to_be_visible()
    return view


def test_what_is_asked_while_a_cell_runs_is_answered_before_it_ends(lab: Lab) -> None:
    show = "view = wb.widgets.attribution(model, inputs, labels)\nview"
    view = opened(lab, [show, WAIT], "attribution-asked")
    heat = view.get_by_test_id("wb-heat-map")
    expect(heat).to_be_visible()
    lab.start_cell(2)
    before = picture(heat)
    row = view.get_by_test_id("wb-score").and_(view.locator("[aria-pressed=false]")).first
    index = row.get_attribute("data-index")
    row.click()
    expect(view.get_by_test_id("wb-target").locator("b").first).to_have_text(str(index))
    expect(view.locator(f"[data-testid=wb-score][data-index='{index}']")).to_have_attribute(
        "aria-pressed", "true"
    )
    of_class = picture(heat)
    assert of_class != before
    view.get_by_test_id("wb-ask-method").select_option("saliency")
    expect(view.get_by_test_id("wb-verdict").locator("[data-figure=delta]")).to_contain_text("none")
    assert picture(heat) != of_class
    (lab.server.folder / "attribution-seen").touch()
    assert lab.python("in_time")
    lab.screenshot("attribution-asked", view)


def test_two_models_stand_side_by_side_and_a_refusal_is_said(lab: Lab) -> None:
    view = opened(lab, [CONVERT], "attribution-beside")
    expect(view.get_by_test_id("wb-heat-map")).to_be_visible()
    view.get_by_test_id("wb-ask-beside").select_option("int8")
    for kind in ("map", "other", "difference"):
        expect(view.get_by_test_id(f"wb-heat-{kind}")).to_be_visible()
    lab.screenshot("attribution-beside", view)
    view.get_by_test_id("wb-ask-method").select_option("saliency")
    trouble = view.get_by_test_id("wb-other-trouble")
    expect(trouble).to_contain_text("int8 has no answer")
    expect(trouble).to_contain_text("a layer in integer codes; occlusion, feature_ablation")
    expect(view.get_by_test_id("wb-heat-map")).to_be_visible()
    lab.screenshot("attribution-refused", view)


def test_a_text_is_coloured_read_and_asked_anew(lab: Lab) -> None:
    view = opened(lab, [TEXT], "attribution-text")
    words = view.locator("[data-token]")
    expect(words).to_have_text(["a", "kind", "day"])
    before = words.nth(1).get_attribute("style")
    words.nth(1).hover()
    expect(view.get_by_test_id("wb-readout")).to_contain_text("kind")
    expect(view.get_by_test_id("wb-set-n_steps")).to_have_value("50")
    expect(view.locator("label[title$='In Python: n_steps']")).to_be_visible()
    view.get_by_test_id("wb-ask-method").select_option("saliency")
    expect(words.nth(1)).not_to_have_attribute("style", str(before))
    lab.screenshot("attribution-text", view)


def test_a_board_fills_sorts_and_opens_a_row(lab: Lab) -> None:
    view = opened(lab, [BOARD], "attribution-board")
    rows = view.get_by_test_id("wb-board-row")
    expect(rows).to_have_count(3)
    expect(view.locator("[data-testid=wb-board-row][data-standing=done]")).to_have_count(
        3, timeout=60 * SECOND
    )
    view.locator("[data-testid=wb-sort][data-column=time]").click()
    expect(view.locator("th[aria-sort$=cending] [data-column=time]")).to_have_count(1)
    lab.screenshot("attribution-board", view)
    found = [row.get_attribute("data-method") for row in rows.all()]
    by_time = lab.python(
        "[row.method for row in sorted(board.rows, key=lambda row: row.figures['time'].value)]"
    )
    assert found in (by_time, by_time[::-1])
    view.locator("[data-testid=wb-open-row][data-method=occlusion]").click()
    expect(view.get_by_test_id("wb-heat-map")).to_be_visible()
    lab.screenshot("attribution-board-row", view)
    view.get_by_test_id("wb-back").click()
    expect(rows).to_have_count(3)


def test_after_a_restart_the_last_picture_stays(lab: Lab) -> None:
    view = opened(lab, ["wb.widgets.attribution(model, inputs, labels)"], "attribution-restarted")
    heat = view.get_by_test_id("wb-heat-map")
    expect(heat).to_be_visible()
    before = picture(heat)
    lab.restart_kernel()
    expect(view.get_by_test_id("wb-status")).to_have_attribute("data-status", "disconnected")
    expect(view.get_by_test_id("wb-status")).to_contain_text("restarted")
    assert picture(heat) == before
    lab.screenshot("attribution-restarted", view)


def test_the_code_that_is_written_gives_the_same_attributions(lab: Lab) -> None:
    show = "view = wb.widgets.attribution(model, inputs, labels)\nview"
    view = opened(lab, [show], "attribution-code")
    expect(view.get_by_test_id("wb-heat-map")).to_be_visible()
    view.get_by_test_id("wb-ask-method").select_option("input_x_gradient")
    view.get_by_test_id("wb-next").click()
    expect(view.get_by_test_id("wb-truth")).to_contain_text("1")
    lab.wait_python("view.model.study.runs is None and view.model.study.shown.ask.samples == (1,)", True)
    view.get_by_test_id("wb-menu-button").click()
    lab.page.get_by_test_id("wb-menu").get_by_role("menuitem", name="Write as code").click()
    expect(lab.cell(2).locator(".cm-content")).to_contain_text("wb.attribution.explain(model, inputs[1:2]")
    lab.run_cell(2)
    expect(lab.cell(2).get_by_test_id("wb-heatmap").get_by_test_id("wb-heat-map")).to_be_visible()
    shown = "view.model.result.attributions.numpy()"
    assert lab.python(f"float(abs({shown} - Out[3].attributions.numpy()).max())") == 0.0


def test_pictures_are_blurred_for_a_baseline_and_the_code_says_how(lab: Lab) -> None:
    show = "view = wb.widgets.attribution(model, inputs, labels)\nview"
    view = opened(lab, [show], "attribution-blurred")
    heat = view.get_by_test_id("wb-heat-map")
    expect(heat).to_be_visible()
    from_zeros = picture(heat)
    baseline = view.get_by_test_id("wb-set-baseline")
    expect(baseline.locator("option")).to_have_text(["zeros", "mean", "blurred"])
    baseline.select_option("blurred")
    width = view.get_by_test_id("wb-set-blur_width")
    expect(width).to_have_value("3.5")
    width.fill("1.25")
    width.press("Enter")
    lab.wait_python("view.model.study.runs is None and view.model.study.shown.ask.blur_width == 1.25", True)
    expect(width).to_have_value("1.25")
    await_another_picture(heat, from_zeros)
    width.fill("-1")
    width.press("Enter")
    expect(view.get_by_text("above 0 and finite; got -1")).to_have_count(1)
    expect(width).to_have_value("1.25")
    try:
        for theme in ("Dark", "Light"):
            lab.command("apputils:change-theme", {"theme": f"JupyterLab {theme}"})
            expect(lab.page.locator("body")).to_have_attribute(
                "data-jp-theme-light", str(theme == "Light").lower()
            )
            lab.screenshot(f"attribution-blurred-{theme.lower()}", view)
    finally:
        lab.command("apputils:change-theme", {"theme": "JupyterLab Light"})  # other tests share the settings
    view.get_by_test_id("wb-menu-button").click()
    lab.page.get_by_test_id("wb-menu").get_by_role("menuitem", name="Write as code").click()
    expect(lab.cell(2).locator(".cm-content")).to_contain_text("wb.attribution.blurred(inputs[0:1], 1.25)")
    lab.run_cell(2)
    shown = "view.model.result.attributions.numpy()"
    assert lab.python(f"float(abs({shown} - Out[3].attributions.numpy()).max())") == 0.0


def test_a_result_of_a_method_made_ready_is_asked_on(lab: Lab) -> None:
    tunnel = """method = wb.attribution.NoiseTunnel(wb.attribution.Saliency(model))
wb.attribution.explain(model, inputs, method=method, nt_samples=2)"""
    view = opened(lab, [tunnel], "attribution-ready")
    expect(view.get_by_test_id("wb-made")).to_have_text("made ready: Saliency")
    expect(view.get_by_test_id("wb-ask-method").locator("option:checked")).to_have_text(
        "Noise Tunnel, made ready"
    )
    heat = view.get_by_test_id("wb-heat-map")
    before = picture(heat)
    copies = view.get_by_test_id("wb-set-nt_samples")
    copies.fill("4")
    copies.press("Enter")
    expect(heat).to_be_visible()
    row = view.get_by_test_id("wb-score").and_(view.locator("[aria-pressed=false]")).first
    index = row.get_attribute("data-index")
    row.click()
    expect(view.get_by_test_id("wb-target").locator("b").first).to_have_text(str(index))
    assert picture(heat) != before
    lab.screenshot("attribution-ready", view)


def test_a_layer_and_points_that_are_picked_elsewhere_are_explained(lab: Lab) -> None:
    show = "view = wb.widgets.attribution(model, inputs, labels)\nview"
    view = opened(lab, [show, GRAPH, CLOUD], "attribution-linked")
    expect(view.get_by_test_id("wb-heat-map")).to_be_visible()
    lab.run_cell(2)
    lab.run_cell(3)
    lab.cell(2).get_by_test_id("wb-node").filter(has_text="conv2d").nth(1).click()
    expect(view.get_by_test_id("wb-ask-method")).to_have_value("layer_grad_cam")
    expect(view.get_by_test_id("wb-ask-layer")).to_have_value("conv2")
    lab.screenshot("attribution-layer", view)
    cloud = lab.cell(3).get_by_test_id("wb-points")
    cloud.scroll_into_view_if_needed()
    box = cloud.bounding_box()
    assert box is not None
    lab.page.keyboard.down("Shift")
    lab.page.mouse.move(box["x"] + 4, box["y"] + 4)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4, steps=8)
    lab.page.mouse.up()
    lab.page.keyboard.up("Shift")
    expect(view.get_by_test_id("wb-mean")).to_contain_text("mean of 8 samples")
    lab.screenshot("attribution-mean", view)
    chosen = view.get_by_test_id("wb-strip").locator("[aria-pressed=true]")
    expect(chosen).to_have_count(0)
    expect(view.get_by_test_id("wb-strip").locator("[data-averaged]")).to_have_count(8)
    view.get_by_test_id("wb-strip").locator("[data-sample='0']").click()
    expect(view.get_by_test_id("wb-mean")).to_have_count(0)
    expect(chosen).to_have_attribute("data-sample", "0")
