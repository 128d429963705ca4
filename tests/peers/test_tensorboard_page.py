"""TensorBoard itself, in a browser, on a folder that we wrote: what its page shows is read from it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect, sync_playwright

import workbench as wb
from workbench.lab.browser import find_browser
from workbench.models import LeNet

pytest.importorskip("tensorboard", reason="TensorBoard reads here what we wrote")

POINTS = 60
PATIENCE = 60_000
"""Milliseconds: its page asks for much, and a busy machine is slow."""


def write(folder: Path) -> None:
    """Something of every kind that its page has a tab for."""
    generator = np.random.default_rng(0)
    with wb.tensorboard.SummaryWriter(folder / "run") as writer:
        for step in range(50):
            writer.add_scalar("loss/train", 1 / (step + 1), step)
        for step in range(0, 50, 10):
            writer.add_histogram("weights", generator.standard_normal(500) * (step + 1), step)
        writer.add_image("sample", generator.random((3, 24, 32)).astype(np.float32), 3)
        writer.add_graph(LeNet().eval(), wb.zeros(N=1, C=1, H=28, W=28))
        writer.add_embedding(
            generator.standard_normal((POINTS, 8)).astype(np.float32),
            metadata=[[f"point-{i}", i] for i in range(POINTS)],
            metadata_header=["name", "size"],
            label_img=wb.tensor(generator.random((POINTS, 1, 8, 8)).astype(np.float32)),
            tag="digits",
        )
    for trial in range(3):
        with wb.tensorboard.SummaryWriter(folder / f"trial{trial}") as writer:
            writer.add_hparams(
                {"rate": 0.1 / (trial + 1), "kind": "sgd"}, {"score": 0.5 + trial / 10}, run_name="x"
            )


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where TensorBoard serves such a folder, on this machine alone."""
    folder = tmp_path_factory.mktemp("log")
    write(folder)
    said = folder.parent / "tensorboard.txt"
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--load_fast", "false"]
    with (
        said.open("w") as stream,
        subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", "0"], stdout=stream, stderr=stream
        ) as process,
    ):
        try:
            yield _address(said, process)
        finally:
            process.terminate()


def _address(said: Path, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:\d+/", said.read_text())
        if found:
            return found.group()
        time.sleep(0.2)
    pytest.fail(f"TensorBoard did not start: {said.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page in the Chromium of this machine."""
    path = find_browser()
    if path is None:
        pytest.fail("no Chromium was found: run `make browser`, or name one in WORKBENCH_BROWSER")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(path), args=flags)
        made = browser.new_page(viewport={"width": 1400, "height": 900})
        made.set_default_timeout(PATIENCE)
        yield made
        browser.close()


def opened(page: Page, address: str, tab: str) -> None:
    # Another part of the same page is not loaded anew.
    page.goto("about:blank")
    page.goto(f"{address}#{tab}", wait_until="domcontentloaded")


def kept(page: Page, artefacts: Path, name: str) -> None:
    folder = artefacts / "screenshots" / "tensorboard"
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")


@pytest.mark.parametrize(
    ("tab", "facts"),
    [
        ("timeseries", ["trial2/x", "0.0207", "49"]),
        ("scalars", ["trial2/x", "tag: loss/train"]),
        ("histograms", ["weights"]),
        ("images", ["sample"]),
        ("graphs", ["Main Graph"]),
        ("hparams", ["trial1/x", "0.050000", "0.60000"]),
    ],
)
def test_its_page_shows_what_was_written(
    tab: str, facts: list[str], address: str, page: Page, artefacts: Path
) -> None:
    opened(page, address, tab)
    for fact in facts:
        expect(page.get_by_text(fact, exact=True).locator("visible=true").first).to_be_visible(
            timeout=PATIENCE
        )
    if tab == "histograms":
        # One for each step.
        expect(page.locator("vz-histogram-timeseries .histogram")).to_have_count(5, timeout=PATIENCE)
    if tab == "graphs":
        # Whether they are to be seen is not known of parts of a drawing with a title.
        expect(page.locator("text.nodelabel")).to_have_count(3, timeout=PATIENCE)
        told = page.locator("svg text").evaluate_all("all => all.map(one => one.firstChild.textContent)")
        assert {"input", "LeNet", "output", "1×1×28×28", "1×10"} <= set(told)
    if tab == "images":
        picture = page.locator("tf-image-loader img").first
        expect(picture).to_be_visible(timeout=PATIENCE)
        assert picture.evaluate("img => [img.naturalWidth, img.naturalHeight]") == [32, 24]
    kept(page, artefacts, tab)


def test_its_projector_shows_all_points_with_their_labels(address: str, page: Page, artefacts: Path) -> None:
    opened(page, address, "projector")
    # In a frame of a frame.
    frame = page.frame_locator("iframe").frame_locator("iframe")
    count = frame.locator(".numDataPoints")
    expect(count).to_have_text(str(POINTS), timeout=PATIENCE)
    expect(frame.locator(".dim")).to_have_text("8")
    frame.locator("vz-projector-inspector-panel #search-box input:visible").fill("point-1")
    expect(frame.get_by_text("11 matches.")).to_be_visible(timeout=PATIENCE)
    for name in ("point-1", "point-10", "point-19"):
        expect(frame.get_by_text(name, exact=True).first).to_be_attached()
    kept(page, artefacts, "projector")
