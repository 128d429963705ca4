"""Fixtures for tests in a real browser. Use `lab`; `tests/browser/jupyterlab.py` documents its methods.

================  ========  ===========================================================================
fixture           lasts     what
================  ========  ===========================================================================
``lab``           a test    JupyterLab in a fresh page with an empty workspace; a `Lab`
``server``        session   the private JupyterLab server behind it; serves a scratch folder in which
                            ``notebooks/`` and ``assets/`` are copies of the repository's
``screenshots``   session   ``artefacts/screenshots``, where `Lab.screenshot` puts pictures
``page``          a test    Playwright's bare page (`pytest-playwright`) in the Chromium found here
================  ========  ===========================================================================

Every test in this folder carries the marker ``browser``. A failed test leaves a picture of its last page in
``artefacts/screenshots/failed``. An uncaught exception in the workbench's own JavaScript fails the test.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.jupyterlab import SECOND, Lab, Server, start_server, stop_server
from workbench.lab.browser import find_browser

HERE = Path(__file__).parent
# How long `expect` waits for the page: two busy cores are slow, and waiting costs nothing when all is well.
expect.set_options(timeout=15 * SECOND)
# Chromium believes the last such list only: these are Playwright's, and the two pages behind the address bar's
# suggestions, which each window would load although nobody sees them; they took longer than most pages of ours.
UNWANTED = (
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,"
    "LensOverlay,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,AvoidCorsURLLoaderRestartOnRedirect,"
    "TcpPortRandomizationWin,OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch,"
    "msForceBrowserSignIn,msEdgeUpdateLaunchServicesPreferredVersion,WebUIOmniboxPopup,WebUIOmniboxAimPopup"
)
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    f"--disable-features={UNWANTED}",
]
OWN_CODE = re.compile(r"@workbench|workbench/widgets|anywidget")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if (
        report.when == "call"
        and report.failed
        and isinstance(lab := getattr(item, "funcargs", {}).get("lab"), Lab)
    ):
        name = re.sub(r"[^\w.-]+", "-", item.name)
        picture = lab.screenshot(f"failed/{name}")
        report.sections.append(("last page", str(picture)))
    return report


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """How pytest-playwright starts the browser: the Chromium of this machine, with flags for containers."""
    path = find_browser()
    if path is None:
        pytest.fail("no Chromium was found: run `make browser`, or name one in WORKBENCH_BROWSER")
    return {**browser_type_launch_args, "executable_path": str(path), "args": FLAGS}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """A page of a fixed size, without animation, so that pictures of two runs can be compared."""
    return {**browser_context_args, "viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"}


@pytest.fixture(scope="session")
def screenshots(artefacts: Path) -> Path:
    """Folder for pictures of the views; they are looked at, not compared, and not committed."""
    folder = artefacts / "screenshots"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def server(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A JupyterLab server of its own: private settings, private runtime files, a scratch folder to serve."""
    folder = tmp_path_factory.mktemp("served")
    for name in ("notebooks", "assets"):
        if (root / name).is_dir():
            shutil.copytree(
                root / name, folder / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints", "runs")
            )
    running, process = start_server(tmp_path_factory.mktemp("jupyter"), folder)
    yield running
    stop_server(process)


@pytest.fixture
def lab(page: Page, server: Server, screenshots: Path) -> Iterator[Lab]:
    """JupyterLab in a fresh page with an empty workspace. Kernels of the test are ended after it."""
    page.set_default_timeout(20 * SECOND)
    driver = Lab(page, server, screenshots)
    driver.start()
    yield driver
    page.evaluate("async () => { await window.jupyterapp?.serviceManager.sessions.shutdownAll(); }")
    own = [error for error in driver.page_errors if OWN_CODE.search(error)]
    assert not own, "the page raised:\n" + "\n".join(own)
