"""How long a graph takes to open, search and fold, and each frame while it is moved: measured, reported, not judged.

The figures are in ``artefacts/graph-speed.json``; what is asserted is that the work was done.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.browser.views.harness import Harness
from workbench.live.encode import encode_snapshot
from workbench.models import resnet50
from workbench.widgets.graph import GraphModel

# Each gesture from its event to the frame after the one that shows it; the longest frame of 40 while a hand pans.
MEASURE = """async state => {
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const field = () => document.querySelector('[data-testid=wb-graph-field]');
  const press = name => document.querySelector(`[data-testid=${name}]`).click();
  const timed = async run => {
    const start = performance.now();
    run();
    await frame();
    await frame();
    return performance.now() - start;
  };
  const found = {};
  // Made beforehand: a page does not make states, it gets them.
  if (typeof state === 'string') state = harness.example(state);
  found.open = await timed(() => harness.patch(state));
  found.fold = await timed(() => press('wb-fold-all'));
  found.unfold = await timed(() => press('wb-unfold-all'));
  const search = document.querySelector('[data-testid=wb-search]');
  found.search = await timed(() => {
    search.value = 'relu|gelu';
    search.dispatchEvent(new Event('input', { bubbles: true }));
  });
  found.found = document.querySelector('[data-testid=wb-found]').textContent;
  for (const [what, zoom] of [['pan', 'wb-unfold-all'], ['pan_afar', 'wb-fit']]) {
    press(zoom);
    await frame();
    await frame();
    const box = field().getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const at = (type, dx, dy) => field().dispatchEvent(new PointerEvent(type, {
      bubbles: true, button: 0, buttons: 1, pointerId: 1, clientX: x + dx, clientY: y + dy }));
    const capture = [Element.prototype.setPointerCapture, Element.prototype.hasPointerCapture];
    // Of a pointer that is none the browser refuses to hear more.
    Element.prototype.setPointerCapture = () => {};
    Element.prototype.hasPointerCapture = () => false;
    at('pointerdown', 0, 0);
    const frames = [];
    let last = await frame();
    for (let step = 1; step <= 40; step++) {
      at('pointermove', 0, -step * 25);
      const now = await frame();
      frames.push(now - last);
      last = now;
    }
    at('pointerup', 0, -1000);
    [Element.prototype.setPointerCapture, Element.prototype.hasPointerCapture] = capture;
    frames.sort((a, b) => a - b);
    found[what] = { longest: frames.at(-1), median: frames[20] };
  }
  return found;
}"""


@pytest.fixture(scope="module")
def figures(artefacts: Path) -> Any:
    """Figures of all graphs, written when the last was measured."""
    found: dict[str, Any] = {}
    yield found
    (artefacts / "graph-speed.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def measured_model() -> dict[str, object]:
    model = GraphModel(wb.graph.trace(resnet50().eval(), wb.zeros(N=1, C=3, H=224, W=224)), "ResNet-50")
    return encode_snapshot("graph", model.snapshot())[0]


@pytest.mark.parametrize("name", ["resnet50", "flatter", "deep"])
def test_speed_is_reported(harness: Harness, figures: dict[str, Any], name: str) -> None:
    harness.open("graph", "nothing", width=1100, height=800)
    # As it arrives: the page has the state as data, and draws it for the first time.
    found = harness.page.evaluate(MEASURE, measured_model() if name == "resnet50" else name)
    figures[name] = found
    print(name, json.dumps(found))
    assert found["found"].endswith("found") and not found["found"].startswith("0")
    assert all(found[what] > 0 for what in ("open", "fold", "unfold", "search"))
