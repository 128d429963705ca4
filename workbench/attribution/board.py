"""The board: methods compared on the same question, row by row, by what measures say of their attributions."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.attribution.background import Runs, Stopped, attempt, own_copy
from workbench.attribution.base import Attribution
from workbench.attribution.board_methods import Method, by_key, check_known, fitting, made_of, title_of
from workbench.attribution.board_rows import DELTA, TIME, Column, Figure, Row
from workbench.attribution.checks import check_model
from workbench.attribution.explain import explain
from workbench.attribution.method_settings import takes, takes_layer
from workbench.attribution.methods import name_of
from workbench.attribution.metrics.measures import MEASURES, Judged, measure
from workbench.attribution.of_samples import repeated_by_sample
from workbench.attribution.result import AttributionResult
from workbench.attribution.wording import with_own, written
from workbench.base import events, renderer_lookup
from workbench.base.listeners import Listeners

__all__ = ["Board", "Column", "Figure", "Row", "compare"]

USUAL = ("deletion", "insertion", "infidelity", "sensitivity")
"""The measures that are asked unless others are."""


class Board:
    """Explains `inputs` [N, …] by several `methods` and measures the attributions, one row after the other.

    A method is asked for by its name, by its class, or made ready (``NoiseTunnel(Saliency(model))``), which is asked as
    it is set, of the board's own copy of the model.

    It works in a thread of its own, on a copy of the model; rows are there as soon as they are done, and `wait` waits
    for all. `measures` are names of `workbench.attribution.metrics.MEASURES`; figures are means over the samples, delta
    and time come with each method. A method that refuses the model stays as a row that says why. `settings` are those
    of methods, by row and name: ``{"integrated_gradients": {"n_steps": 200}}``; a method's second row is ``"… #2"``.

    Raises:
        ValueError: there is no such method or measure, or no row for some settings.
        TypeError: something is no method.

    >>> import workbench as wb
    >>> images = wb.rand(N=2, C=1, H=28, W=28)
    >>> board = Board(wb.models.DigitsNet(), images, methods=["saliency"], measures=["sparseness"])
    >>> [row.standing for row in board.wait().rows]
    ['done']
    """

    def __init__(
        self,
        model: Callable[..., Any],
        inputs: Any,
        targets: Any = None,
        methods: Sequence[Method] | None = None,
        measures: Sequence[str] = USUAL,
        *,
        layer: str | None = None,
        baselines: Any = None,
        additional_forward_args: Any = None,
        class_names: Sequence[Any] | None = None,
        settings: dict[str, dict[str, Any]] | None = None,
        title: str = "",
        publish: bool = True,
    ) -> None:
        check_model("Board", model)
        self._methods = by_key(fitting(layer) if methods is None else methods)
        for name in measures:
            check_known("measure", name, MEASURES)
        for name in settings or {}:
            check_known("row", name, self._methods)
        self.model, self.inputs, self.targets, self.layer = model, inputs, targets, layer
        self.baselines, self.additional_forward_args = baselines, additional_forward_args
        self.class_names = class_names
        self.settings = settings or {}
        self.title = title or type(model).__name__
        self.measures = tuple(measures)
        self.columns = (
            *(
                Column(name, one.title, "high" if one.higher_is_better else "low", one.meaning)
                for name, one in ((name, MEASURES[name]) for name in measures)
            ),
            DELTA,
            TIME,
        )
        self.rows = [Row(key, title_of(key, one), made=made_of(one)) for key, one in self._methods.items()]
        self._runs = Runs(self._tell)
        self._listeners: Listeners[[]] = Listeners()
        self._ended = threading.Event()
        self._seconds: float | None = None
        # A daemon: Python must not wait for figures when it ends.
        self._thread = threading.Thread(target=self._work, name="workbench-board", daemon=True)
        self._thread.start()
        if publish:
            events.publish(self)

    @property
    def running(self) -> bool:
        """True until the last row is done, or it was stopped."""
        return not self._ended.is_set()

    @property
    def seconds(self) -> float:
        """How long it takes, or took."""
        return self._runs.seconds if self._seconds is None else self._seconds

    def wait(self, timeout: float | None = None) -> Board:
        """Return the board once all rows are done; Ctrl+C stops it and keeps those that are.

        Raises:
            TimeoutError: they are not after `timeout` seconds.
        """
        try:
            if not self._ended.wait(timeout):
                raise TimeoutError(f"the board is not done after {timeout:g} s; stop() ends it")
        except KeyboardInterrupt:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End with the next run of the model; what is known stays."""
        self._runs.stop()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` at every change, in whichever thread makes it; return a function that stops it."""
        return self._listeners.add(listener)

    def sorted(self, column: str) -> list[Row]:
        """Return the rows, the best of a column first; those without the figure come last.

        Raises:
            ValueError: there is no such column.
        """
        found = next((one for one in self.columns if one.name == column), None)
        if found is None:
            names = [one.name for one in self.columns]
            raise ValueError(f"there is no column {column!r}; there are {', '.join(names)}")
        sign = 1.0 if found.better == "low" else -1.0

        def key(row: Row) -> float:
            value = row.figures.get(column, Figure(None)).value
            return math.inf if value is None else sign * value

        return sorted(self.rows, key=key)

    def best(self, column: str) -> str | None:
        """Return the method that is best in a column; None if fewer than two have the figure."""
        known = [
            one for one in self.sorted(column) if one.figures.get(column, Figure(None)).value is not None
        ]
        return known[0].method if len(known) > 1 else None

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Return the figures by method and column; None where there is none."""
        names = [one.name for one in self.columns]
        return {
            row.method: {name: row.figures.get(name, Figure(None)).value for name in names}
            for row in self.rows
        }

    def code(self) -> str:
        """Return Python that makes the same board."""
        parts = ["model", "inputs", *(["targets"] if self.targets is not None else [])]
        # Names alone can be written; what else is compared is the reader's.
        methods = list(self._methods.values())
        names = [name_of(one) for one in methods]
        given: dict[str, Any] = {
            "methods": methods if None in names else names,
            "metrics": list(self.measures),
            "layer": self.layer,
            "baselines": self.baselines,
            "additional_forward_args": self.additional_forward_args,
            "settings": self.settings or None,
        }
        given = {name: value for name, value in given.items() if value is not None}
        parts += [f"{name}={written(name, value)}" for name, value in given.items()]
        return with_own(f"wb.attribution.compare({', '.join(parts)})", given)

    def __repr__(self) -> str:
        best = {one.name: self.best(one.name) for one in self.columns}
        lines = [["method", *(f"{one.title} {'↓' if one.better == 'low' else '↑'}" for one in self.columns)]]
        for row in self.rows:
            cells = [_text(row.figures.get(one.name), best[one.name] == row.method) for one in self.columns]
            lines.append([row.title, *(cells if row.standing == "done" else [*cells[:-1], row.standing])])
        widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
        text = [
            "  ".join(
                one.rjust(wide) if at else one.ljust(wide)
                for at, (one, wide) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        text += [f"{row.title}: {row.trouble}" for row in self.rows if row.trouble]
        return "\n".join(text)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)

    # --------------------------------------------------------------------------------------------- work

    def _tell(self) -> None:
        self._listeners.tell()

    def _work(self) -> None:
        try:
            model, trouble = attempt(f"a board of {self.title}", lambda: own_copy(self.model, self._runs))
            if model is None:
                for row in self.rows:
                    row.standing, row.trouble = "refused", trouble
                return
            # The first run of a model readies what later ones find: no method is to pay for it. One that has no
            # gradients has no such run, and each row says so in its own words.
            attempt(
                f"a first run of {self.title}",
                lambda: explain(
                    model,
                    self.inputs,
                    self.targets,
                    "saliency",
                    additional_forward_args=self.additional_forward_args,
                    publish=False,
                ),
            )
            for row in self.rows:
                self._check()
                row.standing = "running"
                self._tell()
                self._fill(row, model)
                self._tell()
        except Stopped:
            for row in self.rows:
                if row.standing in ("waiting", "running"):
                    row.standing = "stopped"
        finally:
            self._seconds = self._runs.seconds
            self._ended.set()
            self._tell()

    def _check(self) -> None:
        # Not the runs' own check, which says it once, to whoever runs the model.
        if self._runs.stopped:
            raise Stopped("the board was stopped")

    def _fill(self, row: Row, model: Callable[..., Any]) -> None:
        result, trouble = attempt(
            f"{row.method} on a board",
            lambda: explain(**self._asked(row.method, model, self.inputs, self.targets), publish=False),
        )
        if result is None:
            row.standing, row.trouble = "refused", trouble
            return
        row.figures["delta"] = _delta(result)
        row.figures["time"] = Figure(result.seconds)
        # With the board's own model: the copy would be kept alive.
        row.result = replace(result, asked=self._asked(row.method, self.model, self.inputs, self.targets))
        if result.interrupted:
            row.standing, row.trouble = "stopped", f"stopped after {result.progress:.0%} of its rows"
            raise Stopped(row.trouble)
        self._tell()
        judged = self._judged(row.method, model, result)
        for name in self.measures:
            figure = self._measured(name, judged)
            # Of one that was ended in its middle nobody knows what it says.
            self._check()
            row.figures[name] = figure
            self._tell()
        row.standing = "done"

    def _measured(self, name: str, judged: Judged) -> Figure:
        mean, trouble = attempt(f"{name} on a board", lambda: measure(name, judged).mean)
        if mean is None:
            return Figure(None, trouble.partition(": ")[2])
        return Figure(mean) if math.isfinite(mean) else Figure(None, "it has no meaning here")

    def _judged(self, method: str, model: Callable[..., Any], result: AttributionResult) -> Judged:
        samples = len(result)

        def again(forward: Callable[..., Any], inputs: Any, target: Any) -> Any:
            asked = self._asked(method, forward, inputs, target)
            # A measure may ask of each sample several times in a row: what goes by samples goes along.
            times = len(inputs[0] if isinstance(inputs, tuple) else inputs) // samples
            for name in ("baselines", "additional_forward_args"):
                asked[name] = repeated_by_sample(asked[name], samples, times)
            return explain(**asked, publish=False).attributions

        return Judged.of(
            model,
            result,
            baselines=self.baselines,
            additional_forward_args=self.additional_forward_args,
            explain=again,
            multiply_by_inputs=self._methods[method].multiplies_by_inputs,
        )

    def _asked(self, method: str, model: Callable[..., Any], inputs: Any, targets: Any) -> dict[str, Any]:
        """Return what `explain` is given for a row."""
        asked = self._methods[method]
        ready = isinstance(asked, Attribution)
        kind = type(asked) if isinstance(asked, Attribution) else asked
        layer = {"layer": self.layer} if not ready and takes_layer(kind) and self.layer is not None else {}
        return {
            "model": model,
            "inputs": inputs,
            "targets": targets,
            "method": asked.on(model) if isinstance(asked, Attribution) else asked,
            "baselines": self.baselines if takes(kind, "baselines") else None,
            "additional_forward_args": self.additional_forward_args,
            "class_names": self.class_names,
            "title": self.title,
            **layer,
            **self.settings.get(method, {}),
        }


def compare(
    model: Callable[..., Any],
    inputs: Any,
    targets: Any = None,
    methods: Sequence[Method] | None = None,
    metrics: Sequence[str] = USUAL,
    **more: Any,
) -> Board:
    """Compare methods on the same question: a `Board`, which is filled row by row while the program goes on.

    Without `methods` those that explain inputs are compared, but for the costliest; with a `layer` those that explain
    by one, too. `metrics` are the measures; `more` is what else a `Board` takes.

    Raises as `Board` does.

    >>> import workbench as wb
    >>> board = compare(lambda x: x * x, wb.ones(2, 3), 1, ["saliency", "input_x_gradient"], ["deletion"])
    >>> board.wait().to_dict()["saliency"]["deletion"] is not None
    True
    """
    return Board(model, inputs, targets, methods, metrics, **more)


def _delta(result: AttributionResult) -> Figure:
    if result.delta is None:
        return Figure(None, "the method promises no sum")
    sizes = np.abs(result.delta.numpy())
    worst = float(sizes.max())
    if result.within_tolerance():
        return Figure(worst)
    if result.absorbed is not None:
        return Figure(worst, result.absorbed.trouble())
    assert result.tolerance is not None
    over = int((sizes > result.tolerance.numpy()).sum())
    return Figure(worst, f"over its tolerance for {over} of {len(sizes)} samples")


def _text(figure: Figure | None, best: bool) -> str:
    if figure is None:
        return "…"
    if figure.value is None:
        return "–"
    return f"{figure.value:.3g}" + (" !" if figure.note else "") + (" *" if best else "")
