"""How long a million points take from NumPy to pixels, to turn, to point at, to catch: measured, reported, not judged.

The figures are in ``artefacts/scatter-speed.json``, beside those of jupyter-scatter in the same browser where it is
installed; what is asserted is that the work was done.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.browser.views.harness import Harness
from workbench.embedding import Embedding
from workbench.live.encode import encode_snapshot
from workbench.widgets.scatter import ScatterModel

COUNT = 1_000_000

OURS = """async ([state, buffers]) => {
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const found = {};
  let start = performance.now();
  harness.give(state, buffers);
  await frame();
  await frame();
  found.shown = performance.now() - start;
  const field = document.querySelector('[data-testid=wb-cloud]');
  field.focus();
  for (const manner of ['auto', 'points']) {
    if (manner === 'points') {
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'd', code: 'KeyD', bubbles: true }));
    }
    await frame();
    const frames = [];
    let last = await frame();
    for (let step = 0; step < 9; step++) {
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }));
      const now = await frame();
      frames.push(now - last);
      last = now;
    }
    found['turn_' + manner] = frames.sort((a, b) => a - b)[4];
  }
  const box = field.getBoundingClientRect();
  const at = (type, x, y, more) => field.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0, pointerId: 1,
    clientX: box.left + x, clientY: box.top + y, ...more }));
  const capture = [Element.prototype.setPointerCapture, Element.prototype.hasPointerCapture];
  // Of a pointer that is none the browser refuses to hear more.
  Element.prototype.setPointerCapture = () => {};
  Element.prototype.hasPointerCapture = () => false;
  // Picking runs in the frame after the move.
  const request = globalThis.requestAnimationFrame;
  let work = null;
  globalThis.requestAnimationFrame = run => ((work = run), 0);
  at('pointermove', box.width / 2, box.height / 2, {});
  globalThis.requestAnimationFrame = request;
  start = performance.now();
  work(start);
  found.hover = performance.now() - start;
  at('pointerdown', box.width / 2 - 40, box.height / 2 - 40, { shiftKey: true });
  at('pointermove', box.width / 2 + 40, box.height / 2 + 40, { shiftKey: true });
  start = performance.now();
  at('pointerup', box.width / 2 + 40, box.height / 2 + 40, { shiftKey: true });
  found.select = performance.now() - start;
  [Element.prototype.setPointerCapture, Element.prototype.hasPointerCapture] = capture;
  found.caught = harness.events.at(-1).indices.length;
  return found;
}"""

PEER = """async ([code, state]) => {
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const read = value => value === null || typeof value !== 'object' ? value
    : value.base64 !== undefined ? new DataView(bytes(value.base64).buffer)
    : Array.isArray(value) ? value.map(read)
    : Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, read(entry)]));
  const values = read(state);
  const model = { get: key => values[key], set: (key, value) => { values[key] = value; }, save_changes() {}, on() {},
    off() {}, send() {} };
  const widget = (await import(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })))).default;
  await widget.render({ model, el: document.body.appendChild(document.createElement('div')) });
  await new Promise(done => setTimeout(done, 5000));
  const canvas = [...document.querySelectorAll('canvas')].find(one => one.width > 300);
  const box = canvas.getBoundingClientRect();
  const frames = [];
  let last = await frame();
  for (let step = 0; step < 9; step++) {
    canvas.dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, deltaY: step % 2 ? 40 : -40,
      clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }));
    const now = await frame();
    frames.push(now - last);
    last = now;
  }
  return frames.sort((a, b) => a - b)[4];
}"""


def plain(value: Any) -> Any:
    """A widget's state as JSON takes it, bytes as base64."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


def jupyter_scatter(page: Page, points: Any, groups: Any) -> float | None:
    """The frame of jupyter-scatter while it is zoomed, in milliseconds; None where it is not installed."""
    if importlib.util.find_spec("jscatter") is None:
        return None
    jscatter = pytest.importorskip("jscatter")
    table = {"x": points[:, 0], "y": points[:, 1], "group": groups.astype(str)}
    frame = pytest.importorskip("pandas").DataFrame(table).astype({"group": "category"})
    widget = jscatter.Scatter(data=frame, x="x", y="y", color_by="group", height=560, width=640).widget
    left = ("_esm", "_css", "layout", "comm")
    state = {key: plain(value) for key, value in widget.get_state().items() if key not in left}
    code = (Path(jscatter.__file__).parent / "bundle.js").read_text(encoding="utf-8")
    page.goto("about:blank")
    median: float = page.evaluate(PEER, [code, state])
    return median


SHOWN = """async ([state, buffers]) => {
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const start = performance.now();
  harness.give(state, buffers);
  await frame();
  await frame();
  return performance.now() - start;
}"""


def components(harness: Harness, random: np.random.Generator) -> dict[str, float]:
    """Three principal components of 10,000 × 200, from NumPy to the first picture, in milliseconds: medians of five."""
    vectors = random.standard_normal((10_000, 200)).astype(np.float32)
    times: dict[str, list[float]] = {"pca": [], "pca_python": [], "pca_shown": []}
    for _ in range(5):
        harness.open("scatter", "nothing", width=900, height=640)
        start = time.perf_counter()
        embedding = Embedding(vectors).project("pca", dims=3)
        times["pca"].append(1000 * (time.perf_counter() - start))
        state, buffers = encode_snapshot("scatter", ScatterModel(embedding).snapshot())
        times["pca_python"].append(1000 * (time.perf_counter() - start))
        sent = [base64.b64encode(one).decode() for one in buffers]
        times["pca_shown"].append(harness.page.evaluate(SHOWN, [state, sent]))
    return {name: float(np.median(each)) for name, each in times.items()}


def test_speed_is_reported(harness: Harness, artefacts: Path) -> None:
    harness.page.set_default_timeout(120_000)
    random = np.random.default_rng(0)
    found: dict[str, Any] = components(harness, random)
    groups = random.integers(0, 8, COUNT)
    middles = 3 * random.standard_normal((8, 3))
    points = (middles[groups] + 0.6 * random.standard_normal((COUNT, 3))).astype(np.float32)
    embedding = Embedding(points, groups).project("given", positions=points)
    start = time.perf_counter()
    model = ScatterModel(embedding)
    state, buffers = encode_snapshot("scatter", model.snapshot())
    python = 1000 * (time.perf_counter() - start)
    harness.open("scatter", "nothing", width=900, height=640)
    found |= harness.page.evaluate(OURS, [state, [base64.b64encode(one).decode() for one in buffers]])
    found |= {"python": python, "bytes": sum(map(len, buffers))}
    found["jupyter_scatter_frame"] = jupyter_scatter(harness.page, points, groups)
    harness.errors.clear()  # the peer's own
    (artefacts / "scatter-speed.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found))
    assert found["bytes"] <= 12_000_000
    assert found["caught"] > 100
    assert all(
        found[what] > 0 for what in ("shown", "turn_auto", "turn_points", "hover", "select", "pca_shown")
    )
