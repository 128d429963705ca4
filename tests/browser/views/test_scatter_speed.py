"""How long a million points take from NumPy to pixels, to turn, to point at, to catch: measured, reported, not judged.

The figures are in ``artefacts/scatter-speed.json``, beside those of jupyter-scatter in the same browser where it is
installed; what is asserted is that the work was done.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import time
from collections.abc import Callable
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

PICTURE = """const picture = canvas => {
  // The pixels themselves are asked for: what another process draws may come later than the frame.
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext('2d', { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const words = new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer);
  return words.reduce((mark, word) => Math.imul(mark ^ word, 16777619) + 1 | 0, 0);
};"""

OURS = """() => {
  PICTURE
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const cloud = () => document.querySelector('[data-testid=wb-cloud]');
  const press = key => cloud().dispatchEvent(
    new KeyboardEvent('keydown', { key, code: key === 'd' ? 'KeyD' : '', bubbles: true }));
  const at = (type, x, y, more) => {
    const box = cloud().getBoundingClientRect();
    cloud().dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0, pointerId: 1,
      clientX: box.left + box.width / 2 + x, clientY: box.top + box.height / 2 + y, ...more }));
  };
  // Of a pointer that is none the browser refuses to hear more.
  Element.prototype.setPointerCapture = () => {};
  Element.prototype.hasPointerCapture = () => false;
  const timed = work => {
    const start = performance.now();
    work();
    return performance.now() - start;
  };
  window.speed = {
    async shown() {
      const start = performance.now();
      harness.give(...window.given);
      await frame();
      await frame();
      return [performance.now() - start];
    },
    async turn(frames) {
      const found = [];
      const canvas = document.querySelector('[data-testid=wb-points]');
      await frame();
      for (let step = 0; step < frames; step++) {
        const start = performance.now();
        press('ArrowLeft');
        await frame();
        picture(canvas);
        found.push(performance.now() - start);
      }
      return found;
    },
    points: async () => (cloud().focus(), press('d'), await frame(), [0]),
    hover(step) {
      // Picking runs in the frame after the move.
      const request = globalThis.requestAnimationFrame;
      let work = null;
      globalThis.requestAnimationFrame = run => ((work = run), 0);
      at('pointermove', step, step, {});
      globalThis.requestAnimationFrame = request;
      return [timed(() => work(0))];
    },
    select(step) {
      at('pointerdown', -40 - step, -40, { shiftKey: true });
      at('pointermove', 40, 40, { shiftKey: true });
      return [timed(() => at('pointerup', 40, 40, { shiftKey: true }))];
    }
  };
}"""

PEER = """async ([code, state]) => {
  PICTURE
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
  let last = picture(canvas);
  while (frames.length < 5) {
    const start = performance.now();
    canvas.dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, deltaY: -40,
      clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }));
    // It draws in the frame of the wheel, or in one of those after it.
    let now = last;
    while (now === last) {
      if (performance.now() - start > 30000) return null;
      await frame();
      now = picture(canvas);
    }
    last = now;
    frames.push(performance.now() - start);
  }
  return frames.sort((a, b) => a - b)[2];
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
    median: float = page.evaluate(PEER.replace("PICTURE", PICTURE), [code, state])
    return median


class Clock:
    """Times of what a page does, by the wall and of the processor in its thread, which a busy machine changes less."""

    def __init__(self, harness: Harness) -> None:
        self.page = harness.page
        self._session = self.page.context.new_cdp_session(self.page)
        self._session.send("Performance.enable")

    def _thread(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(float(one["value"]) for one in metrics if one["name"] == "ThreadTime")

    def measure(self, call: str, repeats: int = 1) -> dict[str, float]:
        """Milliseconds of ``speed.call``: medians of what it says, and of the processor's for each that it says."""
        wall: list[float] = []
        processor: list[float] = []
        for step in range(repeats):
            before = self._thread()
            found = self.page.evaluate(f"step => speed.{call.replace('step', str(step))}")
            processor.append((self._thread() - before) / len(found))
            wall += found
        return {
            "wall": float(np.median(wall)),
            "least": min(wall),
            "processor": float(np.median(processor)),
        }


def given(harness: Harness, make: Callable[[], Embedding]) -> tuple[dict[str, float], int]:
    """Give a page what it is sent of an embedding; the milliseconds that Python takes for it, and the bytes of it."""
    wall, processor = time.perf_counter(), time.process_time()
    state, buffers = encode_snapshot("scatter", ScatterModel(make()).snapshot())
    took = {
        "wall": 1000 * (time.perf_counter() - wall),
        "processor": 1000 * (time.process_time() - processor),
    }
    harness.page.evaluate(OURS.replace("PICTURE", PICTURE))
    sent = [base64.b64encode(one).decode() for one in buffers]
    harness.page.evaluate("given => { window.given = given; }", [state, sent])
    return took, sum(map(len, buffers))


def components(harness: Harness, vectors: Any) -> dict[str, dict[str, float]]:
    """Three principal components, from NumPy to the first picture."""
    harness.open("scatter", "nothing", width=900, height=640)
    python, _ = given(harness, lambda: Embedding(vectors).project("pca", dims=3))
    return {"pca_python": python, "pca_shown": Clock(harness).measure("shown()")}


def test_speed_is_reported(harness: Harness, artefacts: Path) -> None:
    harness.page.set_default_timeout(120_000)
    random = np.random.default_rng(0)
    vectors = random.standard_normal((10_000, 200)).astype(np.float32)
    components(harness, vectors)  # the first time SciPy is loaded, and the page's code compiled
    found: dict[str, Any] = components(harness, vectors)
    groups = random.integers(0, 8, COUNT)
    middles = 3 * random.standard_normal((8, 3))
    points = (middles[groups] + 0.6 * random.standard_normal((COUNT, 3))).astype(np.float32)
    harness.open("scatter", "nothing", width=900, height=640)
    found["python"], found["bytes"] = given(
        harness, lambda: Embedding(points, groups).project("given", positions=points)
    )
    clock = Clock(harness)
    found["shown"] = clock.measure("shown()")
    found["turn_density"] = clock.measure("turn(9)")
    clock.measure("points()")
    found["turn_points"] = clock.measure("turn(9)")
    found["hover"] = clock.measure("hover(step)", 7)
    found["select"] = clock.measure("select(step)", 7)
    caught = harness.page.evaluate("harness.events.at(-1).indices.length")
    found["jupyter_scatter_frame"] = jupyter_scatter(harness.page, points, groups)
    harness.errors.clear()  # the peer's own
    (artefacts / "scatter-speed.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found))
    assert found["bytes"] <= 12_000_000
    assert caught > 100
    assert all(one["wall"] > 0 for one in found.values() if isinstance(one, dict))
