"""Mounts one view on a bare page, without Python and JupyterLab behind it: see ``extensions/views/harness``."""

from __future__ import annotations

import base64
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page

from tests.browser.frames import settle

__all__ = ["Harness", "build_harness"]

EXTENSIONS = Path(__file__).resolve().parents[3] / "extensions"


def build_harness(folder: Path, extensions: Path = EXTENSIONS) -> Path:
    """Bundle the test page of `extensions` into `folder`; the compiler is the one that builds the widgets."""
    found = sorted(EXTENSIONS.glob("node_modules/@esbuild/*/bin/esbuild*"))
    if not found:
        raise FileNotFoundError(
            f"esbuild is not installed under {EXTENSIONS}; run `npm ci` there, or `make install`"
        )
    source = extensions / "views" / "harness"
    output = f"--outfile={folder / 'harness.js'}"
    options = ["--bundle", "--target=es2022", "--log-level=warning", output]
    subprocess.run([str(found[0]), str(source / "main.ts"), *options], check=True, cwd=extensions)
    shutil.copy(source / "index.html", folder / "index.html")
    return folder / "index.html"


class Harness:
    """One view on one page, with an example state."""

    def __init__(self, page: Page, index: Path, pictures: Path) -> None:
        self.page = page
        self.index = index
        self.pictures = pictures
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console", lambda message: self.errors.append(message.text) if message.type == "error" else None
        )

    def open(self, view: str, state: str = "usual", **options: object) -> Locator:
        """Show an example state of a view; options: theme, width, height, renderer."""
        query = urlencode({"view": view, "state": state, **options})
        self.page.goto(f"{self.index.as_uri()}?{query}")
        self.settle()
        return self.page.get_by_test_id(f"wb-{view}")

    def settle(self) -> None:
        """Wait until two more frames were drawn."""
        settle(self.page)

    def events(self) -> list[dict[str, Any]]:
        """What the view sent, in order."""
        events: list[dict[str, Any]] = self.page.evaluate("() => harness.events")
        return events

    def forget(self) -> None:
        """Forget the events so far."""
        self.page.evaluate("() => { harness.events.length = 0; }")

    def do(self, script: str, argument: object = None) -> Any:
        """Run ``harness.…`` in the page."""
        return self.page.evaluate(f"(argument) => {{ return harness.{script}; }}", argument)

    def at(self, name: str) -> Locator:
        """The elements with a test id."""
        return self.page.get_by_test_id(name)

    def pixels(self, name: str) -> bytes:
        """What is drawn on a canvas: red, green, blue and alpha of each pixel."""
        # As one text: millions of numbers, each a value of the protocol's, take the driver a minute.
        data: str = self.at(name).evaluate(
            """c => {
                const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
                let text = '';
                for (let start = 0; start < data.length; start += 8192)
                    text += String.fromCharCode(...data.subarray(start, start + 8192));
                return btoa(text);
            }"""
        )
        return base64.b64decode(data)

    def drawn(self, name: str) -> tuple[int, int]:
        """A mark of what is drawn on a canvas, other for another picture, and in how many opaque colours it is."""
        mark, colours = self.at(name).evaluate(
            """c => {
                const words = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
                const seen = new Set();
                let mark = 0;
                for (const word of words) {
                    mark = Math.imul(mark ^ word, 16777619) + 1 | 0;
                    if (word >>> 24 > 200) seen.add(word);
                }
                return [mark, seen.size];
            }"""
        )
        return mark, colours

    def middle(self, target: Locator) -> tuple[float, float]:
        """The middle of an element, in pixels of the window."""
        box = target.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, target: Locator, across: float, down: float = 0, steps: int = 6) -> None:
        """Drag an element by its middle."""
        x, y = self.middle(target)
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + across, y + down, steps=steps)
        self.page.mouse.up()
        self.settle()

    def picture(self, name: str) -> None:
        """Keep a screenshot as a test artefact."""
        self.page.screenshot(path=self.pictures / f"{name}.png", full_page=True)
