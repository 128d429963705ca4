"""Pictures without JavaScript in wide and narrow cells: no dim breaks, nothing overlaps or reaches beyond the cell."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

import workbench as wb
from workbench.widgets.pictures import html

# Dims, names of layers and figures: what holds text and no other of them.
FAULTS = """() => {
  const said = [];
  const parts = [...document.querySelectorAll('span[style*=border-left], [title]')]
    .filter(one => one.checkVisibility() && one.textContent !== '');
  const boxes = parts.map(one => one.getBoundingClientRect());
  const words = one => JSON.stringify(one.textContent);
  parts.forEach((one, index) => {
    const box = boxes[index];
    const line = parseFloat(getComputedStyle(one).lineHeight);
    if (box.height > 1.3 * line) said.push(`${words(one)} breaks: ${box.height} pixels high`);
    if (box.right > innerWidth + 0.5 || box.left < 0) said.push(`${words(one)} reaches beyond the cell`);
    boxes.slice(index + 1).forEach((other, after) => {
      const next = parts[index + 1 + after];
      const apart = box.right <= other.left + 0.5 || other.right <= box.left + 0.5
        || box.bottom <= other.top + 0.5 || other.bottom <= box.top + 0.5;
      if (!apart) said.push(`${words(one)} overlaps ${words(next)}`);
    });
  });
  return said;
}"""


def network() -> Any:
    """A summary with a long kind of layer, several dims, and layers inside layers."""
    layer = wb.nn.TransformerEncoderLayer(64, 4, 128)
    return wb.summary(wb.nn.TransformerEncoder(layer, 2), wb.rand(5, 2, 64))


def images() -> Any:
    """A summary with named dims of weights and images."""
    layers = [wb.nn.Conv2d(1, 4, 3), wb.nn.BatchNorm2d(4), wb.nn.Flatten(), wb.nn.Linear(4 * 6 * 6, 1000)]
    return wb.summary(wb.nn.Sequential(*layers).eval(), wb.rand(N=128, C=1, H=8, W=8))


def long_name() -> Any:
    """A tensor whose name takes more than a narrow cell."""
    return wb.rand(a_name_that_takes_more_than_a_narrow_cell_has_to_give=3, C=2)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [330, 500, 830])
@pytest.mark.parametrize("value", [network, images, long_name])
def test_dims_names_and_figures_neither_break_nor_overlap(
    page: Page, value: Any, width: int, theme: str
) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    colours = "color:#fff;background:#111" if theme == "dark" else "color:#111;background:#fff"
    page.set_content(f'<body style="margin:0;{colours}">{html(value())}</body>')
    assert page.locator("[title]").count() > 1
    assert page.evaluate(FAULTS) == []
