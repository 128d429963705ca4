"""Notebooks that are opened again: their views are drawn whatever becomes of the kernel's connection meanwhile.

JupyterLab's widget manager asks the kernel first and reads the notebook's file then. These tests hold or lose one of
its messages, which a busy machine does by itself now and then.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.jupyterlab import SECOND, Lab

CELLS = [
    "import workbench as wb\nwb.widgets.TensorWidget(wb.arange(48.0).reshape(6, 8), 'first')",
    "wb.widgets.TensorWidget(wb.ones(H=3, W=4), 'second')",
]
CHANNELS = re.compile(r"/api/kernels/[^/]+/channels")
STATES = "application/vnd.jupyter.widget-state+json"
TRUST = "() => { for (const cell of window.testNotebook().content.widgets) cell.model.trusted = true; }"
# Keeps the manager from reading the file, the first time that it does so, until the test lets it.
HOLD = """async () => {
  const renderer = window.testNotebook().content.widgets[0].outputArea.widgets[0].widgets[1];
  const manager = window.testManager = await renderer._manager.promise;
  const read = manager.set_state;
  manager.set_state = state => new Promise(resolve => {
    manager.set_state = read;
    window.testLet = () => resolve(manager.set_state(state));
  });
}"""
# What a long notebook does when one scrolls: its outputs are drawn late.
DRAW_AGAIN = """() => {
  for (const { outputArea } of window.testNotebook().content.widgets) {
    outputArea.model.fromJSON(outputArea.model.toJSON());
  }
}"""
# The manager's renderer marks its panel when it gives up.
TRIED = """() => [...window.testNotebook().content.widgets].every(({ outputArea }) => {
  const renderer = outputArea.widgets[0]?.widgets[1];
  return renderer && (renderer.hasClass('jupyter-widgets') || renderer.widgets.length > 0);
})"""


class Wire:
    """What goes between the page and its kernels.

    `heard` sees each question for the widgets' comms, and may keep it back; of the kernel's state, `deaf` words
    are lost.
    """

    def __init__(self, lab: Lab) -> None:
        self.asked = 0
        self.deaf = 0
        self.heard: Callable[[int, WebSocketRoute, Callable[[], None]], None] = lambda number, page, go: go()
        lab.page.route_web_socket(CHANNELS, self._connect)

    def _connect(self, page: WebSocketRoute) -> None:
        server = page.connect_to_server()

        def pass_on(message: str | bytes) -> None:
            data = message.encode() if isinstance(message, str) else message
            if b"comm_info_request" in data and b'"jupyter.widget"' in data:
                self.asked += 1
                self.heard(self.asked, page, lambda: server.send(message))
            else:
                server.send(message)

        def pass_back(message: str | bytes) -> None:
            data = message.encode() if isinstance(message, str) else message
            if self.deaf and b'"execution_state"' in data:
                self.deaf -= 1
            else:
                page.send(message)

        page.on_message(pass_on)
        server.on_message(pass_back)


@pytest.fixture(scope="module")
def written() -> list[str]:
    """The text of the notebook with two views, once it was run and saved."""
    return []


@pytest.fixture
def saved(lab: Lab, written: list[str]) -> str:
    """Path of a notebook with two views, saved; its kernel is gone and the page is new."""
    if not written:
        path = lab.new(CELLS)
        for index, title in enumerate(("first", "second")):
            lab.run_cell(index)
            expect(lab.cell(index).get_by_test_id("wb-title")).to_have_text(title)
        lab.command("docmanager:save")
        lab.page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll(); }")
        written.append(path.read_text(encoding="utf-8"))
    file = lab.server.folder / f"saved-{secrets.token_hex(4)}.ipynb"
    file.write_text(written[0], encoding="utf-8")
    return file.name


def forget_states(lab: Lab, path: str) -> None:
    """Take the widgets' states out of the file; with that it is no longer trusted."""
    file = lab.server.folder / path
    text = file.read_text(encoding="utf-8")
    assert STATES in text
    file.write_text(text.replace(STATES, "other"), encoding="utf-8")


def expect_views(lab: Lab) -> None:
    for index, title in enumerate(("first", "second")):
        expect(lab.cell(index).get_by_test_id("wb-title")).to_have_count(1, timeout=40 * SECOND)
        expect(lab.cell(index).get_by_test_id("wb-title")).to_have_text(title)
        expect(lab.cell(index).locator(".wb-still")).to_have_count(0)


def expect_views_after_stills(lab: Lab, path: str) -> None:
    """Open a notebook: its pictures stand there until its views come."""
    lab.start()
    lab.open(path)
    expect(lab.cell(0).locator(".wb-still")).to_contain_text("first")
    expect_views(lab)


def test_a_connection_that_opens_again_while_the_file_is_read_loses_no_view(lab: Lab, saved: str) -> None:
    held: list[Callable[[], None]] = []
    wire = Wire(lab)
    wire.heard = lambda number, page, go: held.append(go)
    lab.start()
    lab.open(saved)
    while not held:
        lab.page.wait_for_timeout(50)
    expect(lab.cell(0).locator(".wb-still")).to_contain_text("first")
    lab.page.evaluate(HOLD)
    wire.heard = lambda number, page, go: go()
    for go in held:
        go()
    lab.page.wait_for_function("() => window.testLet !== undefined")
    lab.page.evaluate("() => window.testNotebook().sessionContext.connectionStatusChanged.emit('connected')")
    lab.page.wait_for_function("() => window.testManager.restoredStatus")
    lab.page.evaluate(DRAW_AGAIN)
    lab.page.wait_for_function(TRIED)
    lab.page.evaluate("() => window.testLet()")
    expect_views(lab)


def test_a_question_that_is_lost_with_the_connection_loses_no_view(lab: Lab, saved: str) -> None:
    wire = Wire(lab)
    wire.heard = lambda number, page, go: page.close(code=3001) if number == 1 else go()
    expect_views_after_stills(lab, saved)


def test_a_kernel_that_owes_an_answer_is_asked_again(lab: Lab, saved: str) -> None:
    wire = Wire(lab)

    def lose(number: int, page: WebSocketRoute, go: Callable[[], None]) -> None:
        if number == 1:
            page.close(code=3001)
        elif number > 2:
            go()

    wire.heard = lose
    expect_views_after_stills(lab, saved)


def test_a_kernel_whose_state_is_not_known_is_asked(lab: Lab, saved: str) -> None:
    wire = Wire(lab)

    def lose(number: int, page: WebSocketRoute, go: Callable[[], None]) -> None:
        if number == 1:
            page.close(code=3001)
            wire.deaf = 4
        else:
            go()

    wire.heard = lose
    expect_views_after_stills(lab, saved)


def test_a_notebook_that_is_saved_again_without_running_keeps_its_views(lab: Lab, saved: str) -> None:
    lab.start()
    lab.open(saved)
    expect_views(lab)
    lab.page.evaluate("() => { window.testNotebook().context.model.dirty = true; }")
    lab.command("docmanager:save")
    lab.page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll(); }")
    lab.start()
    lab.open(saved)
    expect_views(lab)


def test_views_that_were_not_saved_leave_their_static_pictures(lab: Lab, saved: str) -> None:
    forget_states(lab, saved)
    lab.start()
    lab.open(saved)
    for index, title in enumerate(("first", "second")):
        expect(lab.cell(index).locator(".wb-still")).to_contain_text(title)
        expect(lab.cell(index)).not_to_contain_text("model not found")
        expect(lab.cell(index)).not_to_contain_text("Loading widget")
    lab.page.evaluate(TRUST)
    for index, title in enumerate(("first", "second")):
        expect(lab.cell(index).locator(".wb-still")).to_contain_text(title)
        expect(lab.cell(index).locator(".wb-still svg")).to_be_visible()
        expect(lab.cell(index)).not_to_contain_text("model not found")
        expect(lab.cell(index)).not_to_contain_text("Loading widget")
    lab.screenshot("reopened-static")


CLOUD = """
import numpy as np
import workbench as wb
vectors = np.random.default_rng(0).standard_normal((200, 4))
made = wb.embedding.Embedding(vectors, labels=[0, 1] * 100, title="cloud")
made.project()
wb.widgets.ScatterWidget(made)
"""
GRAPH = """
model = wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU()).eval()
traced = wb.graph.trace(model, wb.zeros(N=2, C=4))
wb.widgets.GraphWidget(traced)
"""
MANY = [
    CLOUD,
    GRAPH,
    "wb.widgets.TensorWidget(wb.rand(N=4, C=3, H=8, W=8), 'images')",
    "wb.widgets.flow(traced)",
]


def test_every_kind_of_view_comes_back(lab: Lab) -> None:
    lab.new(MANY)
    lab.run_all()
    titles = []
    for index in range(len(MANY)):
        expect(lab.cell(index).get_by_test_id("wb-title")).not_to_be_empty()
        titles.append(lab.cell(index).get_by_test_id("wb-title").inner_text())
    lab.command("docmanager:save")
    path = str(lab.page.evaluate("() => window.testNotebook().context.path"))
    lab.page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll(); }")
    lab.start()
    lab.open(path)
    for index, title in enumerate(titles):
        expect(lab.cell(index).get_by_test_id("wb-title")).to_have_text(title)
        expect(lab.cell(index).locator(".wb-still")).to_have_count(0)
        lab.screenshot(f"reopened-{index}", lab.cell(index))
    lab.page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll(); }")
    forget_states(lab, path)
    lab.start()
    lab.open(path)
    lab.page.evaluate(TRUST)
    for index in range(len(MANY)):
        expect(lab.cell(index).locator(".wb-still")).to_be_visible()
        lab.screenshot(f"reopened-still-{index}", lab.cell(index))
