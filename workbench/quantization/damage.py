"""What each observed point costs the model: the model's results with this point alone quantized.

Everything else stays in floating point. A graph is run from the point on only, with the values before it as they were;
a model of layers is run whole. What is known stays until the point's range changes, or the weights do.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.base.errors import DimensionError, DTypeError, QuantizationError
from workbench.core import dispatch
from workbench.fx import GraphModule, Interpreter, Node
from workbench.nn import Parameter
from workbench.quantization.analysis import sqnr, together
from workbench.quantization.fake_quantize import FakeQuantizeBase, fake_quantize
from workbench.quantization.observed import float_layer
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.points import Point, floating_twin, followed
from workbench.quantization.turns import turns

__all__ = ["Damage", "Damages"]

SLICE = 0.05
"""Seconds that are worked at a time, beside whatever else runs."""

REST, LONG_REST = 1.0, 20.0
"""How many times as long as it worked it rests: where nothing flows through the model, and while values do."""

MOST_HELD = 512 << 20
"""Most bytes of values of a graph that are kept to begin from."""

_KNOWN = (QuantizationError, DTypeError, DimensionError)


@dataclass(frozen=True)
class Damage:
    """What it costs to quantize one observed point and nothing else."""

    name: str
    sqnr: float
    """Of the model's results, in dB: infinite where they stay the same."""


class _Rounding(FakeQuantizeBase):
    """Rounds by the range that is in force at an observer when this is made."""

    def __init__(self, observer: ObserverBase) -> None:
        super().__init__()
        self.scheme = observer.scheme
        self.qparams = observer.qparams()
        self.axis = getattr(observer, "ch_axis", 0) if observer.qscheme.per_channel else None

    def forward(self, x: Any) -> Any:
        """Round [any dims]."""
        return fake_quantize(x, self.scheme, *self.qparams, self.axis)


class Damages:
    """Finds what each of the `points` of a prepared `model` costs, on one batch of inputs, at once or beside it.

    `done` is called in the working thread when more is known.
    """

    def __init__(
        self, model: Any, points: list[Point], inputs: tuple[Any, ...], done: Callable[[], None]
    ) -> None:
        self.model = model
        self.points = {point.name: point for point in points}
        self.inputs = inputs
        self.trouble = ""
        """Why it cannot be found out; empty if it can."""
        self._done = done
        self._lock = threading.Lock()
        self._state = threading.Lock()
        self._busy = False
        self._known: dict[str, tuple[tuple[int, ...], float]] = {}
        self._weights = [point for point in points if point.layer is not None]
        self._skipped: dict[str, int] = {}
        """How far the counts of what an observer saw are ahead of those of the one that it stands for."""
        self._twin: Any = None
        self._held: tuple[tuple[int, ...], Any, dict[Node, Any]] | None = None

    def follow(self, old: ObserverBase, new: ObserverBase) -> None:
        """Go by `new`, which was put in the place of `old`."""
        for point in self._weights:
            if point.observer is old:
                ahead = new.data_version - old.data_version
                self._skipped[point.name] = self._skipped.get(point.name, 0) + ahead
        self.points = {point.name: point for point in followed([*self.points.values()], old, new)}
        self._weights = followed(self._weights, old, new)

    def of(self, name: str) -> float | None:
        """Return what was found last for a point, in dB; None where nothing was yet."""
        found = self._known.get(name)
        return None if found is None else found[1]

    def known(self) -> list[Damage]:
        """Return what was found, the dearest first."""
        found = [Damage(name, ratio) for name, (_, ratio) in self._known.copy().items()]
        return sorted(found, key=lambda one: one.sqnr)

    @property
    def progress(self) -> tuple[int, int]:
        """How many points are up to date, and how many there are."""
        return len(self.points) - len(self._stale()), len(self.points)

    def _trained(self) -> tuple[int, ...]:
        """Numbers that change when a weight does, and not when another observer is chosen for it."""
        return tuple(
            point.observer.data_version - self._skipped.get(point.name, 0) for point in self._weights
        )

    def _stale(self) -> list[Point]:
        """The points that are to be looked at, those first that nothing is known of, then those that waited longest."""
        trained = self._trained()
        places = {name: place for place, name in enumerate(self._known.copy(), 1)}
        found = [
            point
            for name, point in self.points.items()
            if name not in self._known or self._known[name][0] != (point.observer.version, *trained)
        ]
        return sorted(found, key=lambda point: places.get(point.name, 0))

    def work(self, budget: float = math.inf) -> tuple[int, int]:
        """Bring points up to date for `budget` seconds, at least one; return the progress.

        Raises `QuantizationError` where no observer has seen anything.
        """
        with self._lock, dispatch.no_grad():
            end = time.perf_counter() + budget
            ready = [one for one in self._stale() if one.observer.has_range]
            if not ready and not self._known:
                raise QuantizationError("not calibrated yet: call the prepared model with some data first")
            for point in ready:
                key = point.observer.version, *self._trained()
                # Anew, so that what was looked at last comes last.
                ratio = self._ratio(point)
                self._known.pop(point.name, None)
                self._known[point.name] = key, ratio
                if time.perf_counter() >= end:
                    break
        return self.progress

    def latest(self) -> list[Damage]:
        """Return what is known, the dearest first; what is outdated is looked at again beside."""
        with self._state:
            ready = any(one.observer.has_range for one in self._stale())
            if ready and not self._busy and not self.trouble:
                self._busy = True
                # A daemon: Python must not wait for figures when it ends.
                threading.Thread(target=self._run, name="workbench-damages", daemon=True).start()
        return self.known()

    def _run(self) -> None:
        try:
            while True:
                before = self._flowed()
                start = time.perf_counter()
                done, _ = self.work(SLICE)
                worked = time.perf_counter() - start
                flowing = self._flowed() != before
                self._done()
                if done == len(self.points) or not any(one.observer.has_range for one in self._stale()):
                    return
                time.sleep(worked * (LONG_REST if flowing else REST))
        except _KNOWN as error:
            self.trouble = str(error)
        finally:
            with self._state:
                self._busy = False

    def _flowed(self) -> int:
        return sum(point.observer.batches for point in self.points.values())

    # ------------------------------------------------------------------------------------------ running

    def _ratio(self, point: Point) -> float:
        trained = self._trained()
        if self._twin is None:
            self._twin = floating_twin(self.model)
            for part in self._twin.modules():
                part.register_forward_pre_hook(_give_way)
        if self._held is None or self._held[0] != trained:
            self._held = (trained, *_first_run(self._twin, self.inputs))
        _, scores, values = self._held
        restore = _quantize_alone(self._twin, point)
        try:
            found = _run_from(self._twin, point, self.inputs, values)
        finally:
            restore()
        return sqnr(scores, together(found))


def _give_way(module: Any, inputs: Any) -> None:
    """Let those go first who answer a person: a large model takes seconds for one point."""
    turns.wait()


def _quantize_alone(twin: Any, point: Point) -> Callable[[], None]:
    """Have a twin round at one point, and return what takes that back."""
    rounding = _Rounding(point.observer).eval()
    if point.layer is not None and point.slot.endswith("weight_post_process"):
        # Nobody calls the observer of such a weight.
        layer = float_layer(twin.get_submodule(point.path))
        weight = layer.weight
        layer.weight = Parameter(rounding(weight.detach()), requires_grad=False)
        return lambda: setattr(layer, "weight", weight)
    held = twin.get_submodule(point.slot)
    _put(twin, point.slot, rounding)
    return lambda: _put(twin, point.slot, held)


def _put(model: Any, path: str, module: Any) -> None:
    place, _, name = path.rpartition(".")
    setattr(model.get_submodule(place) if place else model, name, module)


def _first_run(twin: Any, inputs: tuple[Any, ...]) -> tuple[Any, dict[Node, Any]]:
    """Return what a twin gives in floating point, and the values of its graph to begin from."""
    if not isinstance(twin, GraphModule):
        return together(twin(*inputs)), {}
    run = Interpreter(twin, garbage_collect_values=False)
    result = run.run(*inputs)
    held: dict[Node, Any] = {}
    size = 0
    for node, value in run.env.items():
        size += int(getattr(getattr(value, "payload", None), "nbytes", 0))
        # An input is taken from its place in the row, so that either all are given or none.
        if size <= MOST_HELD or node.op == "placeholder":
            held[node] = value
    return together(result), held


def _run_from(twin: Any, point: Point, inputs: tuple[Any, ...], values: dict[Node, Any]) -> Any:
    if not isinstance(twin, GraphModule):
        return twin(*inputs)
    changed: set[Node] = set()
    place = point.slot if point.layer is None else point.path
    for node in twin.graph.nodes:
        begins = node.op == "call_module" and str(node.target) == place
        if begins or node.op == "output" or any(one in changed for one in node.all_input_nodes):
            changed.add(node)
    kept = {node: value for node, value in values.items() if node not in changed}
    return Interpreter(twin).run(*inputs, initial_env=kept)
