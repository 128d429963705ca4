"""The live link in a real JupyterLab: the sidebar, widgets in cells, restarts and reloads."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.jupyterlab import KERNEL_READY, SECOND, Lab
from workbench.live.messages import VIEWS

MODEL = """
import time
from workbench import live
from workbench.live.messages import Head, HistogramState, ModelFigures, ObserverRow

class Counter(live.ViewModel):
    view = "histogram"

    def __init__(self, title):
        super().__init__()
        self.title, self.batches, self.selected = title, 0, None

    def step(self):
        self.batches += 1
        self.changed()

    def row(self, name):
        seen = self.batches, None, [1.0], 0, 0, False, None
        return ObserverRow(name, f"{name}.output", ["C"], "float32", "affine", *seen)

    def snapshot(self):
        head = Head(f"{self.title}, batch {self.batches}", "", time.time(), True)
        figures = ModelFigures(None, None, None, None, None)
        rows = [self.row("conv1"), self.row("<b>conv2</b>")]
        return live.Snapshot(
            HistogramState("histogram", head, rows, self.selected, None, figures, 0, 0, "", None, None, False, "", ""))

    def handle(self, event):
        if event.type != "select":
            raise live.Refused(f"a counter cannot {event.type}")
        self.selected = event.id
        self.changed()

counter = live.show(Counter("counter"))
"""

LOOP = """
for step in range(1000):
    counter.step()
    time.sleep(0.02)
    if counter.selected:
        break
"""

WIDGET = """
from workbench.widgets.base import ViewWidget
widget = ViewWidget(counter)
widget
"""


def open_sidebar(lab: Lab) -> Locator:
    lab.command("workbench:open")
    panel = lab.page.locator("#workbench-panel")
    expect(panel).to_be_visible()
    return panel


def observers(place: Locator) -> Locator:
    return place.get_by_test_id("wb-section-histogram")


def conv2(place: Locator) -> Locator:
    return place.locator("[data-testid=wb-observer][data-id='<b>conv2</b>']")


@pytest.fixture
def model(lab: Lab) -> Lab:
    """A notebook whose cells are the model, a loop that changes it until something is picked, and a widget."""
    lab.new([MODEL, LOOP, WIDGET])
    return lab


def test_the_sidebar_says_what_to_run(lab: Lab) -> None:
    panel = open_sidebar(lab)
    notice = panel.get_by_test_id("wb-notice")
    expect(notice).to_contain_text("Open a notebook")
    lab.new(["import workbench.live"])
    expect(notice).to_contain_text("import workbench as wb")
    expect(panel.get_by_test_id("wb-empty")).to_have_count(len(VIEWS))
    lab.screenshot("link-empty", panel)
    lab.run_cell(0)
    expect(notice).to_be_hidden()


def test_a_model_shown_by_a_running_cell_is_drawn_and_answered_before_the_cell_ends(model: Lab) -> None:
    panel = open_sidebar(model)
    model.run_cell(0)
    title = observers(panel).get_by_test_id("wb-title")
    expect(title).to_have_text("counter, batch 0")
    model.start_cell(1)
    expect(title).not_to_have_text("counter, batch 0")
    expect(observers(panel).get_by_test_id("wb-status")).to_contain_text("live")
    conv2(panel).click()
    expect(conv2(panel)).to_have_attribute("aria-selected", "true")
    assert model.python("counter.selected") == "<b>conv2</b>"
    assert model.python("step") < 999, "the event reached Python only after the cell had ended"
    assert model.python("live.selection.observer") == "<b>conv2</b>"
    expect(title).to_have_text(f"counter, batch {model.python('counter.batches')}")
    model.screenshot("link-panel", panel)


def test_a_refused_event_says_why_in_the_view(model: Lab) -> None:
    panel = open_sidebar(model)
    model.run_cell(0)
    model.python("setattr(Counter, 'handle', lambda self, event: 1 / 0)")
    conv2(panel).click()
    expect(observers(panel)).to_contain_text("internal error (ZeroDivisionError)")
    expect(panel).not_to_contain_text("division by zero")


def test_the_newest_model_is_shown_and_others_can_be_chosen(model: Lab) -> None:
    panel = open_sidebar(model)
    model.run_cell(0)
    title = observers(panel).get_by_test_id("wb-title")
    expect(title).to_have_text("counter, batch 0")
    model.python("live.show(Counter('second')) and None")
    expect(title).to_have_text("second, batch 0")
    observers(panel).get_by_test_id("wb-choice").select_option(label="counter, batch 0")
    expect(title).to_have_text("counter, batch 0")
    model.python("live.withdraw(counter)")
    expect(title).to_have_text("second, batch 0")
    model.python("live.withdraw(live.models()[0])")
    expect(observers(panel).get_by_test_id("wb-empty")).to_be_visible()


def test_a_kernel_restart_is_said_and_survived(model: Lab) -> None:
    panel = open_sidebar(model)
    model.run_cell(0)
    expect(conv2(panel)).to_be_visible()
    model.restart_kernel()
    expect(panel.get_by_test_id("wb-notice")).to_contain_text("The kernel restarted")
    expect(observers(panel).get_by_test_id("wb-status")).to_contain_text("restarted")
    conv2(panel).click()
    expect(observers(panel)).to_contain_text("run the cell again")
    model.screenshot("link-restarted", panel)
    model.run_cell(0)
    expect(panel.get_by_test_id("wb-notice")).to_be_hidden()
    expect(observers(panel).get_by_test_id("wb-status")).to_contain_text("live")
    model.start_cell(1)
    conv2(panel).click()
    assert model.python("step") < 999


def test_a_kernel_that_dies_comes_back(model: Lab) -> None:
    panel = open_sidebar(model)
    model.run_cell(0)
    expect(conv2(panel)).to_be_visible()
    model.page.evaluate(
        "() => { const { kernel } = window.testNotebook().sessionContext.session;"
        " kernel.requestExecute({ code: 'import os; os._exit(1)' }); }"
    )
    notice = panel.get_by_test_id("wb-notice")
    expect(notice).to_contain_text("last pictures", timeout=60 * SECOND)
    model.page.wait_for_function(
        "() => window.testNotebook().sessionContext.session?.kernel?.status === 'idle'", timeout=60 * SECOND
    )
    for close in model.page.locator(".jp-Dialog button.jp-mod-accept").all():
        close.click()
    model.run_cell(0)
    expect(notice).to_be_hidden()
    expect(observers(panel).get_by_test_id("wb-status")).to_contain_text("live")
    model.start_cell(1)
    conv2(panel).click()
    assert model.python("step") < 999


def test_a_page_that_is_reloaded_while_a_cell_runs_is_joined_again(model: Lab) -> None:
    panel = open_sidebar(model)
    model.run_cell(0)
    model.page.evaluate("async () => { await window.testNotebook().context.save(); }")
    path = model.page.evaluate("() => window.testNotebook().context.path")
    model.start_cell(1)
    # The fixture's own reload waits for what a kernel says only after its cell has ended.
    model.page.goto(f"{model.server.url}/lab/tree/{path}?token={model.server.token}")
    model.page.wait_for_function("() => window.jupyterapp !== undefined", timeout=120 * SECOND)
    model.page.evaluate("async () => { await window.jupyterapp.restored; }")
    panel = open_sidebar(model)
    expect(observers(panel).get_by_test_id("wb-status")).to_contain_text("live", timeout=20 * SECOND)
    conv2(panel).click()
    expect(conv2(panel)).to_have_attribute("aria-selected", "true")
    assert model.python("step") < 999, "the event reached Python only after the cell had ended"


def test_two_pages_see_the_same(model: Lab) -> None:
    panel = open_sidebar(model)
    model.run_cell(0)
    path = model.page.evaluate("() => window.testNotebook().context.path")
    other = model.page.context.new_page()
    other.goto(f"{model.server.url}/lab/workspaces/other/tree/{path}?token={model.server.token}")
    other.wait_for_function("() => window.jupyterapp !== undefined", timeout=120 * SECOND)
    other.evaluate("async () => { await window.jupyterapp.restored; }")
    other.evaluate("async () => { await window.jupyterapp.commands.execute('workbench:open'); }")
    there = other.locator("#workbench-panel")
    expect(conv2(there)).to_be_visible(timeout=60 * SECOND)
    conv2(there).click()
    for place in (there, panel):
        expect(conv2(place)).to_have_attribute("aria-selected", "true")
    other.close()
    model.python("counter.step()")
    expect(observers(panel).get_by_test_id("wb-title")).to_have_text("counter, batch 1")


def test_a_widget_is_drawn_and_answered_while_another_cell_runs(model: Lab) -> None:
    model.run_cell(0)
    model.run_cell(2)
    output = model.cell(2)
    expect(output.get_by_test_id("wb-title")).to_have_text("counter, batch 0")
    model.start_cell(1)
    expect(output.get_by_test_id("wb-title")).not_to_have_text("counter, batch 0")
    conv2(output).click()
    assert model.python("counter.selected") == "<b>conv2</b>"
    assert model.python("step") < 999, "the event reached Python only after the cell had ended"
    expect(conv2(output)).to_have_attribute("aria-selected", "true")
    model.screenshot("link-widget", output)


def test_a_widget_says_that_its_kernel_restarted_and_keeps_its_picture(model: Lab) -> None:
    model.run_cell(0)
    model.run_cell(2)
    output = model.cell(2)
    expect(conv2(output)).to_be_visible()
    model.restart_kernel()
    expect(output.get_by_test_id("wb-status")).to_contain_text("kernel restarted")
    conv2(output).click()
    expect(output).to_contain_text("run the cell again")
    expect(output.get_by_test_id("wb-title")).to_have_text("counter, batch 0")
    model.run_cell(0)
    expect(output.get_by_test_id("wb-status")).to_contain_text("kernel restarted")


def test_a_saved_notebook_shows_the_last_picture_without_its_kernel(model: Lab) -> None:
    model.run_cell(0)
    model.run_cell(2)
    expect(conv2(model.cell(2))).to_be_visible()
    model.python("counter.step()")
    expect(model.cell(2).get_by_test_id("wb-title")).to_have_text("counter, batch 1")
    model.command("docmanager:save")
    path = model.page.evaluate("() => window.testNotebook().context.path")
    model.page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll(); }")
    model.start()
    model.open(path)
    expect(model.cell(2).get_by_test_id("wb-title")).to_have_text("counter, batch 1")
    expect(model.cell(2).get_by_test_id("wb-status")).to_contain_text("kernel restarted: last picture")
    expect(conv2(model.cell(2))).to_be_visible()


def test_a_view_opens_as_a_tab(model: Lab) -> None:
    model.run_cell(0)
    model.command("workbench:open-tab", {"view": "histogram"})
    tab = model.page.locator("#workbench-tab-histogram")
    expect(tab.get_by_test_id("wb-title")).to_have_text("counter, batch 0")
    model.screenshot("link-tab")


def test_nothing_is_built_for_a_section_that_nobody_sees(model: Lab) -> None:
    panel = open_sidebar(model)
    model.run_cell(0)
    expect(conv2(panel)).to_be_visible()
    panel.get_by_role("button", name="Observers", exact=True).click()
    expect(conv2(panel)).to_be_hidden()
    watched = "sorted(__import__('workbench.live.jupyter').live.jupyter.connect().watched())"
    model.wait_python(watched, sorted(set(VIEWS) - {"histogram"}))
    model.command("application:toggle-right-area")
    model.wait_python(watched, [])


def test_the_launcher_has_a_card(lab: Lab) -> None:
    lab.command("launcher:create")
    card = lab.page.locator(".jp-LauncherCard", has_text="First light")
    expect(card).to_be_visible()
    card.click()
    expect(lab.page.locator("#workbench-panel")).to_be_visible()


def test_the_slider_of_a_tensor_in_a_cell_reaches_python_and_not_the_notebooks_commands(lab: Lab) -> None:
    lab.new(
        ["import workbench as wb\nwidget = wb.widgets.TensorWidget(wb.randn(T=5, H=8, W=8), 'x')\nwidget"]
    )
    lab.run_cell(0)
    output = lab.cell(0)
    expect(output.get_by_test_id("wb-title")).to_have_text("x")
    slider = output.get_by_label("Which T is shown")
    slider.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "x", "d", "d"):  # x cuts a cell, d d deletes one
        slider.press(key)
    lab.wait_python("widget.model.snapshot().state.picture.sliders[0].index", 3)
    lab.wait_python("widget.state['picture']['sliders'][0]['index']", 3)
    expect(output.get_by_test_id("wb-title")).to_have_text("x")
    lab.screenshot("link-tensor", output)


LOOP_UNTIL_CONV2 = """
while counter.selected != "<b>conv2</b>":
    counter.step()
    time.sleep(0.02)
"""
NOTE_STATUSES = """() => {
  const kernel = window.testNotebook().sessionContext.session.kernel;
  window.testStatuses = [kernel.status];
  kernel.statusChanged.connect((_, status) => window.testStatuses.push(status));
}"""


def test_the_status_bar_says_busy_while_a_cell_runs_whatever_the_page_asks_meanwhile(lab: Lab) -> None:
    lab.new([MODEL, LOOP_UNTIL_CONV2])
    lab.run_cell(0)
    section = observers(open_sidebar(lab))
    expect(section.get_by_test_id("wb-status")).to_contain_text("live", timeout=60 * SECOND)
    lab.start_cell(1)
    status = lab.page.locator("#jp-main-statusbar").get_by_text("Python 3")
    expect(status).to_contain_text("Busy")
    lab.page.evaluate(NOTE_STATUSES)
    row = section.locator("[data-testid=wb-observer][data-id=conv1]")
    row.click()
    expect(row).to_have_attribute("aria-selected", "true")
    # A view that comes and goes is told to the kernel, too.
    section.page.get_by_role("button", name="Graph", exact=True).click()
    expect(section.get_by_test_id("wb-waiting")).to_be_empty()
    assert lab.page.evaluate("() => window.testStatuses") == ["busy"]
    expect(status).to_contain_text("Busy")
    conv2(section).click()
    expect(status).to_contain_text("Idle")
    assert lab.page.evaluate("() => window.testStatuses") == ["busy", "idle"]


def test_the_status_bar_of_a_second_page_says_busy_while_a_cell_runs(lab: Lab) -> None:
    path = lab.new([MODEL, LOOP_UNTIL_CONV2])
    lab.run_cell(0)
    section = observers(open_sidebar(lab))
    expect(section.get_by_test_id("wb-status")).to_contain_text("live", timeout=60 * SECOND)
    lab.command("docmanager:save")
    second = Lab(lab.page.context.new_page(), lab.server, lab.screenshot("two-pages").parent)
    second.visit(path.name, "second")
    second.page.wait_for_function(KERNEL_READY, timeout=60 * SECOND)
    status = second.page.locator("#jp-main-statusbar").get_by_text("Python 3")
    expect(status).to_contain_text("Idle")
    lab.start_cell(1)
    expect(status).to_contain_text("Busy")
    second.page.evaluate(NOTE_STATUSES)
    row = section.locator("[data-testid=wb-observer][data-id=conv1]")
    row.click()
    expect(row).to_have_attribute("aria-selected", "true")
    expect(section.get_by_test_id("wb-waiting")).to_be_empty()
    # What the kernel said of it has come to both pages by then.
    expect(observers(open_sidebar(second)).get_by_test_id("wb-status")).to_contain_text("live")
    assert second.page.evaluate("() => window.testStatuses") == ["busy"]
    conv2(section).click()
    expect(status).to_contain_text("Idle")
    second.page.close()


def test_a_page_that_opens_while_a_cell_runs_says_busy(lab: Lab) -> None:
    path = lab.new([MODEL, LOOP_UNTIL_CONV2])
    lab.run_cell(0)
    section = observers(open_sidebar(lab))
    expect(conv2(section)).to_be_visible()
    lab.command("docmanager:save")
    lab.start_cell(1)
    second = Lab(lab.page.context.new_page(), lab.server, lab.screenshot("two-pages").parent)
    second.visit(path.name, "second")
    for page in (second.page, lab.page):
        expect(page.locator("#jp-main-statusbar").get_by_text("Python 3")).to_contain_text("Busy")
    second.screenshot("link-opened-while-busy")
    conv2(section).click()
    for page in (second.page, lab.page):
        expect(page.locator("#jp-main-statusbar").get_by_text("Python 3")).to_contain_text("Idle")
    second.page.close()


COSTLY = """
class Costly(Counter):
    def snapshot(self):
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass
        return super().snapshot()

costly = live.show(Costly("costly"))
"""
RUN = """
for step in range(40):
    costly.step()
    time.sleep(0.05)
"""


def test_the_last_picture_of_a_run_comes_when_its_cell_has_ended(lab: Lab) -> None:
    lab.new([MODEL, COSTLY, RUN])
    lab.run_cell(0)
    lab.run_cell(1)
    title = observers(open_sidebar(lab)).get_by_test_id("wb-title")
    expect(title).to_have_text("costly, batch 0", timeout=60 * SECOND)
    lab.run_cell(2)
    # A picture that costs so much rests for twelve seconds while work goes on.
    expect(title).to_have_text("costly, batch 40", timeout=8 * SECOND)
