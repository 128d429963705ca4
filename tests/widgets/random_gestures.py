"""``python -m tests.widgets.random_gestures FROM TO``: random gestures on the view of observers, and batches.

Networks prepared in every way, calibrated or in training, are given what a person may do, much of it wrong: a gesture
is done or refused in words, and then nothing has changed; every picture can be sent; what is written as code sets
another network the same way; whoever undoes everything is back at the beginning; and the model still runs, trains and
becomes codes. Beside a running cell no gesture ends the cell.
"""

from __future__ import annotations

import contextlib
import copy
import random
import re
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import workbench as wb
from tests.widgets import random_events
from workbench import nn
from workbench import quantization as q
from workbench.live.encode import encode_snapshot
from workbench.live.messages import ChooseEvent
from workbench.live.model import Refused
from workbench.quantization.observer_settings import settings_of
from workbench.widgets.histogram import HistogramModel

__all__ = ["WAYS", "beside_failure", "gesture_failure"]

X = wb.randn(8, 3, 6, 6, generator=wb.Generator().manual_seed(1))
LABELS = wb.zeros(8, dtype=wb.int64)
PARTS = ["conv", "norm", "relu"]
ENGINES = ("x86", "fbgemm", "qnnpack")
LEARNED = q.QConfig(
    q.LearnableFakeQuantize.with_args(observer=q.MovingAverageMinMaxObserver, dtype=wb.quint8),
    q.LearnableFakeQuantize.with_args(
        observer=q.MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=wb.qint8,
        qscheme=wb.per_tensor_symmetric,
    ),
)  # fmt: skip


class Net(nn.Module):
    """A convolution, normalised and rectified, and a linear layer, between stubs."""

    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
        self.conv, self.norm, self.relu = nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU()
        self.linear = nn.Linear(96, 4)

    def forward(self, x: Any) -> Any:
        """[8, 3, 6, 6] to [8, 4]."""
        x = self.relu(self.norm(self.conv(self.quant(x))))
        return self.dequant(self.linear(x.flatten(1)))


@dataclass(frozen=True)
class Way:
    """How a network is prepared, and made codes."""

    config: Callable[[random.Random], Any]
    model: Callable[[], Any]
    prepare: Callable[[Any, Any], Any]
    convert: Callable[[Any], Any]


def _layers() -> Any:
    return q.fuse_modules(Net().eval(), PARTS)


def _aware_layers() -> Any:
    return q.fuse_modules_qat(Net().train(), PARTS)


def _prepare_aware(model: Any, config: q.QConfig) -> Any:
    return q.prepare_qat(model, qconfig=config)


def _prepare_graph(model: Any, mapping: q.QConfigMapping) -> Any:
    return (q.prepare_qat_fx if model.training else q.prepare_fx)(model, mapping, (X,))


def _graph(mapping: Callable[[random.Random], Any], trained: bool = False) -> Way:
    return Way(mapping, lambda: Net().train(trained), _prepare_graph, q.convert_fx)


WAYS = {
    "by layers": Way(lambda rng: q.get_default_qconfig(rng.choice(ENGINES)), _layers, q.prepare, q.convert),
    "in few bits": Way(
        lambda rng: q.bits_qconfig(rng.choice([2, 4, 8]), rng.choice([4, 8])), _layers, q.prepare, q.convert
    ),
    "as a graph": _graph(lambda rng: q.get_default_qconfig_mapping(rng.choice(ENGINES))),
    "aware": Way(
        lambda rng: q.get_default_qat_qconfig(rng.choice(ENGINES)), _aware_layers, _prepare_aware, q.convert
    ),
    "aware, as a graph": _graph(lambda rng: q.get_default_qat_qconfig_mapping(rng.choice(ENGINES)), True),
    "learned": Way(lambda rng: LEARNED, _aware_layers, _prepare_aware, q.convert),
    "learned, as a graph": _graph(lambda rng: q.QConfigMapping().set_global(LEARNED), True),
}


def settings(known: q.Calibration) -> dict[str, str]:
    """How all observers are set: as text, in which NaN is NaN."""
    return {
        name: f"{type(one).__name__} {settings_of(one)} {one.quant_min} {one.quant_max} {one.override}"
        for name in known.names
        for one in [known[name]]
    }


class Story:
    """One prepared network, its view, and what has happened to it."""

    def __init__(self, seed: int, way: str = "") -> None:
        self.rng = random.Random(seed)
        self.way = way or self.rng.choice(list(WAYS))
        wb.manual_seed(seed)
        self.kind = WAYS[self.way]
        self.config = self.kind.config(self.rng)
        # A mapping is the program's own: what is written later begins with it as it was.
        self.model = self.kind.prepare(self.kind.model(), copy.deepcopy(self.config))
        measured = (X, LABELS) if self.rng.random() < 0.7 else None
        self.calibration = q.Calibration(self.model, evaluate=measured)
        self.view = HistogramModel(self.calibration, "cell 1")
        self.trained = self.model.training
        self.optimizer = wb.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        self.learning = False
        self.begun = settings(self.calibration)
        self.log: list[object] = [self.way]

    def tell(self) -> str:
        """Go through it; return what went wrong last, if anything did."""
        try:
            self.call()
            for _ in range(self.rng.randrange(3, 25)):
                self.rng.choice(
                    [self.gesture, self.gesture, self.gesture, self.call, self.train, self.draw]
                )()
            self.end()
        except Exception:  # a judge says of whatever went wrong how it came about
            return "\n  ".join([traceback.format_exc(), *map(str, self.log)])
        return ""

    def gesture(self) -> None:
        """Do something in the view, or have it refused."""
        event = random_events.draw(self.rng, list(self.calibration.names))
        known = self.calibration
        before = settings(known), known.undo_count + known.unfinished, known.active
        self.log.append(event)
        try:
            self.view.handle(event)
        except Refused as refusal:
            self.log.append(f"refused: {refusal}")
            assert (settings(known), known.undo_count + known.unfinished, known.active) == before
            return
        if isinstance(event, ChooseEvent):
            now = settings_of(known[event.id])
            for part in ("rule", "symmetric", "bits", "per_channel"):
                wanted = getattr(event, part)
                assert wanted is None or getattr(now, part) == wanted, part

    def call(self) -> None:
        """Show the model a batch, often a strange one."""
        x = random_events.batch(self.rng)
        # What is normalised over a batch is refused one sample, and none, by the layer itself.
        if not (self.trained and x.shape[0] < 2):
            self.log.append(f"a batch {list(x.shape)}")
            self.model(x)

    def train(self) -> None:
        """Train it by a step; where scales can be learned, have them learned from now on, or no longer."""
        if self.trained:
            if "learned" in self.way and self.rng.random() < 0.4:
                self.learn()
            self.log.append(f"a step, learning {self.learning}")
            self.step()

    def learn(self) -> None:
        """Have scales learned from now on, or no longer."""
        self.learning = not self.learning
        for one in self.model.modules():
            if isinstance(one, q.LearnableFakeQuantize):
                (one.enable_param_learning if self.learning else one.enable_static_estimate)()

    def step(self) -> None:
        """Train by one step."""
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(X), LABELS).backward()
        try:
            self.optimizer.step()
        except ValueError as refusal:
            if "remembers" not in str(refusal):
                raise
            self.optimizer.state.clear()

    def beside(self, seconds: float) -> str:
        """Make gestures while a thread calibrates or trains as a cell does; return what went wrong in either."""
        over, failures = threading.Event(), []

        def run() -> None:
            steps = 0
            try:
                while not over.is_set():
                    self.step() if self.trained else self.model(X)
                    steps += 1
                    if "learned" in self.way and steps % 40 == 0:
                        self.learn()
            except Exception:  # whatever ends the cell is what this looks for
                failures.append(traceback.format_exc())

        self.model(X)
        cell = threading.Thread(target=run, name="cell")
        cell.start()
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end and not failures:
                self.look()
        except Exception:  # a judge says of whatever went wrong how it came about
            failures.append(traceback.format_exc())
        over.set()
        cell.join()
        return "\n  ".join([*failures, *map(str, self.log[-4:])]) if failures else ""

    def look(self) -> None:
        """Do something in the view, or have it refused, and make a picture now and then."""
        event = random_events.draw(self.rng, list(self.calibration.names))
        self.log.append(event)
        with contextlib.suppress(Refused):
            self.view.handle(event)
        if self.rng.random() < 0.3:
            encode_snapshot("histogram", self.view.snapshot())

    def draw(self) -> None:
        """Make a picture, and write it as it is sent."""
        self.log.append("a picture")
        if self.rng.random() < 0.3:
            self.view.settle()
        encode_snapshot("histogram", self.view.snapshot())

    def write(self) -> None:
        """Write it as code, and prepare another network by that."""
        self.log.append("written as code")
        code = re.sub(r"= get_default_\w+\(\)", "= mapping", self.calibration.code())
        names = {"model": self.kind.model(), "example_inputs": (X,), "mapping": copy.deepcopy(self.config)}
        exec(code, names)
        prepared: Any = names["prepared"]
        assert settings(prepared.calibration) == settings(self.calibration), code
        prepared(X)

    def end(self) -> None:
        """Undo everything, and make the model codes."""
        self.draw()
        self.write()
        self.log.append("all undone")
        try:
            while self.calibration.undo_count or self.calibration.unfinished:
                self.calibration.undo()
        except wb.QuantizationError as refusal:
            if not (self.learning and "learned here" in str(refusal)):
                raise
        else:
            assert settings(self.calibration) == self.begun
        self.log.append("converted")
        try:
            with wb.no_grad():
                self.kind.convert(self.model.eval())(X)
        except wb.QuantizationError as refusal:
            self.log.append(f"refused: {refusal}")


def gesture_failure(seed: int) -> str | None:
    """Return what goes wrong in the story of a seed."""
    # Batches of infinities are given on purpose.
    with np.errstate(all="ignore"):
        found = Story(seed).tell()
    return f"seed {seed}: {found}" if found else None


def beside_failure(way: str, seed: int, seconds: float = 0.5) -> str | None:
    """Return what goes wrong where gestures are made beside a running cell."""
    often = sys.getswitchinterval()
    # Threads take turns as often as they can.
    sys.setswitchinterval(1e-4)
    try:
        found = Story(seed, way).beside(seconds)
    finally:
        sys.setswitchinterval(often)
    return f"{way}, seed {seed}: {found}" if found else None


def main(arguments: Sequence[str]) -> int:
    """Judge the stories of some seeds; print what fails as it does, and how many did."""
    first, last = map(int, arguments)
    warnings.simplefilter("error")
    aside: list[object] = []
    usual = threading.excepthook

    def note(failure: threading.ExceptHookArgs) -> None:
        aside.append(failure)
        usual(failure)

    # What is measured beside fails beside.
    threading.excepthook = note
    failed = 0
    for seed in range(first, last):
        for found in (gesture_failure(seed), beside_failure(list(WAYS)[seed % len(WAYS)], seed)):
            failed += found is not None
            print(f"{found}\n" if found else "", end="", flush=True)
    print(f"{2 * (last - first)} judged, {failed} failed, {len(aside)} failed beside")
    return min(failed + len(aside), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
