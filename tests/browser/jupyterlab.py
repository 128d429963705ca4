"""JupyterLab as the browser tests see it: a private server, and a driver for one page of it."""

from __future__ import annotations

import ast
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.notebooks.outputs import is_warning

SECOND = 1000  # Playwright counts milliseconds
START = 120 * SECOND  # a cold JupyterLab or kernel on a busy machine
# The notebook in front; the last one that was, if a panel has been opened beside it since.
FIND_NOTEBOOK = """() => {
  let last = null;
  window.testNotebook = () => {
    const books = [...window.jupyterapp.shell.widgets('main')].filter(one => one.content?.model?.cells);
    const current = window.jupyterapp.shell.currentWidget;
    last = books.includes(current) ? current : books.includes(last) ? last : books.find(one => one.isVisible);
    return last ?? books[0] ?? null;
  };
}"""
KERNEL_READY = """async () => {
  const widget = window.jupyterapp && window.testNotebook();
  if (!widget) return false;
  await widget.context.ready;
  await widget.sessionContext.ready;
  const kernel = widget.sessionContext.session?.kernel;
  if (!kernel) return false;
  await kernel.info;
  return true;
}"""


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: where it answers and which folder it serves."""

    url: str
    token: str
    folder: Path


def start_server(private: Path, folder: Path) -> tuple[Server, subprocess.Popen[bytes]]:
    """Start JupyterLab on `folder`, every Jupyter directory inside `private`; wait until it answers."""
    port, token = _free_port(), secrets.token_hex(16)
    settings = private / "config" / "lab" / "user-settings"
    _quiet_settings(settings)
    _without_build_check(private / "config" / "labconfig")
    environment = {
        **os.environ,
        "HOME": str(private),
        "JUPYTER_CONFIG_DIR": str(private / "config"),
        "JUPYTER_DATA_DIR": str(private / "data"),
        "JUPYTER_RUNTIME_DIR": str(private / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(private / "workspaces"),
        "IPYTHONDIR": str(private / "ipython"),
        "MPLCONFIGDIR": str(private / "matplotlib"),
    }
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *(f"--ServerApp.root_dir={folder}", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        *("--ServerApp.ip=127.0.0.1", f"--IdentityProvider.token={token}"),
        *("--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None"),
    ]
    with (private / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    server = Server(f"http://127.0.0.1:{port}", token, folder)
    _wait_for(server, process, private / "server.log")
    return server, process


def stop_server(process: subprocess.Popen[bytes]) -> None:
    """Let the server shut its kernels down; end it if it does not."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _quiet_settings(folder: Path) -> None:
    """Settings that keep toasts and save dialogs out of the tests' way."""
    wanted: dict[str, dict[str, Any]] = {
        "apputils-extension/notification": {
            "fetchNews": "false",
            "checkForUpdates": False,
            "doNotDisturbMode": True,
        },
        "docmanager-extension/plugin": {"autosave": False},
        "notebook-extension/tracker": {"windowingMode": "none"},
    }
    for plugin, values in wanted.items():
        path = folder / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")


def _without_build_check(folder: Path) -> None:
    """Let no page ask whether JupyterLab's own bundle is up to date: node answers, for a second or two of each."""
    folder.mkdir(parents=True)
    (folder / "page_config.json").write_text(json.dumps({"buildCheck": False, "buildAvailable": False}))


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    request = urllib.request.Request(
        f"{server.url}/api/status", headers={"Authorization": f"token {server.token}"}
    )
    end = time.monotonic() + START / SECOND
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(request, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    stop_server(process)
    raise RuntimeError(f"JupyterLab did not start; its output:\n{log.read_text(errors='replace')}")


class Lab:
    """One page of JupyterLab. `page` is Playwright's; the methods are what every test needs.

    Example::

        def test_histogram_shows_what_python_says(lab: Lab) -> None:
            lab.new(["import workbench as wb", "wb.show(wb.randn(100, names=('N',)))"])
            lab.run_all()
            expect(lab.cell(1).locator(".wb-histogram")).to_be_visible()
            lab.screenshot("histogram", lab.cell(1))
            assert lab.python("1 + 1") == 2
    """

    def __init__(self, page: Page, server: Server, shots: Path) -> None:
        self.page = page
        self.server = server
        self.page_errors: list[str] = []
        """Uncaught exceptions of the page, with their stacks, since it was opened."""
        self._shots = shots
        page.add_init_script(f"({FIND_NOTEBOOK})()")
        page.on("pageerror", lambda error: self.page_errors.append(error.stack or str(error)))

    # Opening

    def start(self) -> None:
        """Open JupyterLab with an empty workspace; the `lab` fixture has done so already."""
        self.page.goto(f"{self.server.url}/lab?token={self.server.token}&reset", timeout=START)
        self._await_application()

    def reload(self) -> None:
        """Reload the page, as a person would; wait until JupyterLab and the notebook's kernel are back."""
        self.page.reload(timeout=START)
        self._await_application()
        self.page.wait_for_function(KERNEL_READY, timeout=START)

    def visit(self, path: str, workspace: str = "") -> None:
        """Leave this page for that of a notebook, as a person would who types its address.

        A second page takes a `workspace` of its own: JupyterLab would leave one that is in use again for another.
        """
        place = f"workspaces/{workspace}/tree" if workspace else "tree"
        self.page.goto(f"{self.server.url}/lab/{place}/{path}?token={self.server.token}", timeout=START)
        self._await_application()

    def _await_application(self) -> None:
        self.page.wait_for_function("() => window.jupyterapp !== undefined", timeout=START)
        self.page.evaluate("async () => { await window.jupyterapp.restored; }")
        self.page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=START)

    def new(self, cells: Sequence[str], name: str | None = None) -> Path:
        """Write a notebook with these code cells, open it, wait for its kernel; returns its path."""
        # Seconds of grammars that are read with it: not for those who only collect.
        import nbformat

        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        path = self.server.folder / (name or f"test-{secrets.token_hex(4)}.ipynb")
        nbformat.write(notebook, path)
        self.open(path.name)
        return path

    def open(self, path: str) -> None:
        """Open a notebook by its path below the served folder, e.g. ``notebooks/00-first-light.ipynb``."""
        self.command("docmanager:open", {"path": path})
        self.page.wait_for_function(KERNEL_READY, timeout=START)
        expect(self.notebook).to_be_visible()

    def command(self, name: str, arguments: dict[str, Any] | None = None) -> None:
        """Execute a command of JupyterLab and wait until it is done."""
        self.page.evaluate(
            "async ([name, args]) => { await window.jupyterapp.commands.execute(name, args); }",
            [name, arguments or {}],
        )

    # Cells

    @property
    def notebook(self) -> Locator:
        """The notebook in front."""
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    def cell(self, index: int) -> Locator:
        """Cell number `index` of the notebook in front, its output included."""
        return self.notebook.locator(".jp-Notebook-cell").nth(index)

    def select(self, index: int) -> None:
        """Make cell number `index` the active one."""
        self.page.evaluate(
            "index => { const book = window.testNotebook().content;"
            " book.activeCellIndex = index; book.deselectAll(); }",
            index,
        )

    def start_cell(self, index: int) -> None:
        """Start cell number `index` and return at once, while it runs."""
        self.select(index)
        self.page.evaluate("() => { void window.jupyterapp.commands.execute('notebook:run-cell'); }")
        self.page.wait_for_function(
            "index => window.testNotebook().content.widgets[index].model.executionState !== 'idle'"
            " || window.testNotebook().content.widgets[index].model.executionCount !== null",
            arg=index,
        )

    def run_cell(self, index: int, *, check: bool = True) -> None:
        """Run cell number `index` to its end; fails with the traceback if it raises and `check` is true."""
        self.select(index)
        self.command("notebook:run-cell")
        if check:
            self.check_cells([index])

    def run_all(self, *, check: bool = True) -> None:
        """Run the whole notebook to its end; fails with the first traceback if `check` is true."""
        self.command("notebook:run-all-cells")
        if check:
            self.check_cells()

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """The outputs of cell number `index`, as they would be saved."""
        found = self.page.evaluate(
            "index => window.testNotebook().content.model.cells.get(index).toJSON().outputs ?? []",
            index,
        )
        return list(found)

    def check_cells(self, indices: Sequence[int] | None = None) -> None:
        """Fail with what the first cell (of these, or of all) raised or warned of."""
        count = self.page.evaluate("() => window.testNotebook().content.model.cells.length")
        for index in range(count) if indices is None else indices:
            for output in self.outputs(index):
                if output["output_type"] == "error":
                    raise AssertionError(f"cell {index} raised:\n" + "\n".join(output["traceback"]))
                if is_warning(output):
                    raise AssertionError(f"cell {index} warned: {output['text']}")

    # Kernel

    def python(self, expression: str) -> Any:
        """Value of a Python expression in the notebook's kernel; it must fit JSON. Waits for a running cell.

        Dimensions, numbers and lists come back as they are; use ``.tolist()`` for arrays.
        """
        reply = self.page.evaluate(
            """async code => {
              const kernel = window.testNotebook().sessionContext.session.kernel;
              const future = kernel.requestExecute(
                { code: '', silent: true, store_history: false, user_expressions: { value: code } });
              const message = await future.done;
              return message.content.user_expressions.value;
            }""",
            f"__import__('json').dumps({expression})",
        )
        if reply["status"] != "ok":
            raise AssertionError(f"{expression} raised {reply['ename']}: {reply['evalue']}")
        return json.loads(ast.literal_eval(reply["data"]["text/plain"]))

    def wait_python(self, expression: str, expected: Any, *, seconds: float = 10) -> None:
        """Wait until a Python expression has the expected value: after a gesture, Python follows later."""
        end = time.monotonic() + seconds
        while (found := self.python(expression)) != expected:
            if time.monotonic() > end:
                raise AssertionError(f"{expression} is {found!r} after {seconds} s, expected {expected!r}")
            self.page.wait_for_timeout(50)

    def restart_kernel(self) -> None:
        """Restart the notebook's kernel without a dialog, and wait until it is ready."""
        self.page.evaluate(
            "async () => { await window.testNotebook().sessionContext.session.kernel.restart(); }"
        )
        self.page.wait_for_function(KERNEL_READY, timeout=START)

    # Artefacts

    def screenshot(self, name: str, what: Locator | None = None) -> Path:
        """Save a picture of an element (or of the page) as ``artefacts/screenshots/<name>.png``."""
        path = self._shots / f"{name}.png"
        if what is None:
            self.page.screenshot(path=path)
        else:
            what.scroll_into_view_if_needed()
            what.screenshot(path=path)
        return path
