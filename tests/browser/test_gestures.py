"""What a person does reaches Python while a cell runs, however busy the machine: of 200 gestures none is lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.jupyterlab import SECOND, Lab

ROWS = ["conv1", "conv2", "conv3", "conv4", "fc"]
GESTURES = 200

MODEL = f"""
import time
from workbench import live
from workbench.live.messages.common import Head
from workbench.live.messages.histogram import HistogramState, ModelFigures, ObserverRow
from workbench.widgets.base import ViewWidget

class Listener(live.ViewModel):
    view = "histogram"

    def __init__(self):
        super().__init__()
        self.batches, self.selected, self.heard = 0, None, []

    def step(self):
        self.batches += 1
        self.changed()

    def row(self, name):
        return ObserverRow(name, name, ["C"], "float32", "affine", self.batches, None, [1.0], 0, 0, False, None)

    def snapshot(self):
        head = Head(f"listener, batch {{self.batches}}", "", time.time(), True)
        rows = [self.row(name) for name in {ROWS}]
        figures = ModelFigures(None, None, None, None, None)
        rest = None, figures, 0, 0, "", None, None, False, "", ""
        return live.Snapshot(HistogramState("histogram", head, rows, self.selected, *rest))

    def handle(self, event):
        self.heard.append(event.id)
        self.selected = event.id
        self.changed()

listener = live.show(Listener())
ViewWidget(listener)
"""

# Ends when everything was heard: the cell runs the whole time. A failure ends it by a long silence, however slow the
# machine is at pressing.
LOOP = f"""
known, end = 0, time.monotonic() + 180
while len(listener.heard) < {GESTURES} and time.monotonic() < end:
    listener.step()
    time.sleep(0.01)
    if len(listener.heard) > known:
        known, end = len(listener.heard), time.monotonic() + 180
in_time = list(listener.heard)
"""


@pytest.fixture
def busy() -> Iterator[None]:
    """Processes that keep all cores but one busy; they end by themselves if nobody ends them."""
    script = "import time\nend = time.monotonic() + 600\nwhile time.monotonic() < end: pass"
    burning = [
        subprocess.Popen([sys.executable, "-c", script]) for _ in range(max(1, (os.cpu_count() or 1) - 1))
    ]
    yield
    for process in burning:
        process.kill()
        process.wait()


class Person:
    """Does what a person does on the list of observers, and knows what Python should hear."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.done: list[str] = []
        self._chance = random.Random(0)

    def click(self, place: Locator, times: int) -> None:
        """Press and release on rows; a press takes as long as a hand's, so that pictures come in between."""
        list_ = place.get_by_test_id("wb-observers")
        list_.scroll_into_view_if_needed()
        for _ in range(times):
            name = self._chance.choice([row for row in ROWS if row not in self.done[-1:]])
            row = list_.locator(f"[data-id='{name}']")
            row.hover(position={"x": 20, "y": 8})  # waits until nothing covers it, as a person does
            self.page.mouse.down()
            self.page.wait_for_timeout(self._chance.randint(0, 60))
            self.page.mouse.up()
            self.done.append(name)

    def type(self, place: Locator, times: int) -> None:
        """Walk through the rows with the arrow keys, from the one that was chosen last."""
        list_ = place.get_by_test_id("wb-observers")
        list_.focus()
        at = ROWS.index(self.done[-1])
        for _ in range(times):
            self._keep_focus(list_)
            step = 1 if at == 0 or (at < len(ROWS) - 1 and self._chance.random() < 0.5) else -1
            at += step
            self.page.keyboard.press("ArrowDown" if step > 0 else "ArrowUp")
            self.done.append(ROWS[at])

    def _keep_focus(self, list_: Locator) -> None:
        """Come back where JupyterLab took the focus, as it does when it opens a notebook; the view loses none."""
        holder = list_.evaluate(
            "list => list === document.activeElement ? 'list' : document.activeElement?.tagName"
        )
        assert holder != "BODY", "a view that was drawn anew lost the focus"
        if holder != "list":
            list_.focus()


def sidebar(lab: Lab) -> Locator:
    lab.command("workbench:open")
    section = lab.page.locator("#workbench-panel").get_by_test_id("wb-section-histogram")
    expect(section.get_by_test_id("wb-status")).to_contain_text("live", timeout=60 * SECOND)
    return section


def test_of_200_gestures_on_a_busy_machine_none_is_lost(lab: Lab, busy: None) -> None:
    lab.new([MODEL, LOOP])
    lab.run_cell(0)
    panel = sidebar(lab)
    lab.page.evaluate("async () => { await window.testNotebook().context.save(); }")
    path = lab.page.evaluate("() => window.testNotebook().context.path")
    widget = lab.cell(0)
    lab.start_cell(1)
    person = Person(lab.page)
    person.click(widget, 30)
    person.click(panel, 30)
    person.type(panel, 30)
    # The connection breaks and comes back.
    lab.page.evaluate("() => { void window.testNotebook().sessionContext.session.kernel.reconnect(); }")
    person.click(panel, 10)
    person.type(panel, 20)
    # The page goes while what was done last is on its way, and there is no kernel to ask for a while.
    lab.visit(path)
    panel = sidebar(lab)
    person.click(panel, 40)
    person.type(panel, GESTURES - len(person.done))
    # The cell ends when it has heard them all, or by the silence: then the two lists say which were lost, and when.
    lab.wait_python("'in_time' in globals()", True, seconds=300)
    assert lab.python("in_time") == person.done
    row = panel.locator(f"[data-id='{person.done[-1]}']")
    expect(row).to_have_attribute("aria-selected", "true")
    expect(panel.get_by_test_id("wb-waiting")).to_be_empty()
