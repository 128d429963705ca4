"""What a page has drawn: views draw in the frame after a change, and write words at once."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

__all__ = ["picture", "settle"]

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
