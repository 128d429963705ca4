"""What a page has drawn: views draw in the frame after a change, and write words at once."""

from __future__ import annotations

import time

from playwright.sync_api import Locator, Page

__all__ = ["await_another_picture", "picture", "settle"]

COLOURS = """canvas => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200) seen.add(data[at] << 8 | data[at + 1]);
  return seen.size;
}"""
"""How many opaque colours are on a canvas."""


def settle(page: Page) -> None:
    """Wait until two more frames were drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def picture(canvas: Locator) -> str:
    """Return what a canvas shows, which must be something, once what was asked is drawn."""
    settle(canvas.page)
    assert canvas.evaluate(COLOURS) > 8
    return str(canvas.evaluate("canvas => canvas.toDataURL()"))


def await_another_picture(canvas: Locator, before: str, seconds: float = 15) -> None:
    """Wait until a canvas shows something else than `before`: what Python knows already, the page hears later."""
    end = time.monotonic() + seconds
    while picture(canvas) == before:
        assert time.monotonic() < end, f"the picture is the same after {seconds} s"
