"""Attributions as a live view: a heatmap over its input, and everything that can be asked of the model."""

from __future__ import annotations

import threading
import weakref
from contextlib import nullcontext
from typing import Any

from workbench.attribution import AttributionResult
from workbench.attribution.asking import Ask, Shown
from workbench.attribution.study import Study
from workbench.live.answer import asked
from workbench.live.messages import (
    AskEvent,
    Head,
    HeatmapPart,
    HeatmapState,
    HeatmapStrip,
    Refusal,
    SampleEvent,
    SettingEvent,
    StopEvent,
)
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.tensor import Tensor
from workbench.widgets.base import ViewWidget
from workbench.widgets.heatmap_answer import classes_of, names_of_layers, told_of, why_alone
from workbench.widgets.heatmap_controls import BLUR_WIDTH, controls_of, other_of, work_of
from workbench.widgets.heatmap_parts import LONGEST, drawn_part
from workbench.widgets.heatmap_strip import MOST_SAMPLES, strip_of

__all__ = ["HeatmapModel", "HeatmapWidget", "attribution", "heatmap", "model_of_study"]

MOST_AVERAGED = 512
"""Of more points than this the mean is that of the first ones."""


class HeatmapModel(ViewModel):
    """Draws what `source` found, an `AttributionResult` or a `Study`, one sample at a time.

    What a study, or a result that knows what was asked, can answer is asked in the view: another class, model, method
    or layer, other settings. It is found beside whatever the kernel does, and until then the last picture stays.

    Raises:
        DimensionError: the samples are no pictures, or too large for one.
    """

    view = "heatmap"
    by_place = True

    def __init__(self, source: AttributionResult | Study, where: str = "") -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._where = where
        self._result = source if isinstance(source, AttributionResult) else None
        self._study = source if isinstance(source, Study) else Study.of(source)
        self._sample = 0
        self._refusal: Refusal | None = None
        self._answer: tuple[object, str] = (None, "")
        """What was told last, and why it could not be found, if so."""
        self._strip: tuple[object, HeatmapStrip | None, list[bytes]] = (None, None, [])
        self.of_board = False
        """True where a person can go back to a board."""
        if self._study is not None:
            _follow(self._study, self)
        # What cannot be drawn is said to whoever wants it drawn.
        self.snapshot()

    @property
    def result(self) -> AttributionResult:
        """What is drawn.

        Raises:
            RuntimeError: there is no answer yet.
        """
        shown = None if self._study is None else self._study.shown
        result = self._result if shown is None else shown.result
        if result is None:
            raise RuntimeError("there is no answer yet; study.wait() waits for it")
        return result

    @property
    def study(self) -> Study | None:
        """What is asked; None where a result does not say what it was."""
        return self._study

    @property
    def sample(self) -> int:
        """The sample that is drawn; assign to draw another.

        Raises:
            IndexError: there is no such sample.
        """
        return self._sample

    @sample.setter
    def sample(self, index: int) -> None:
        if not 0 <= index < self._count():
            raise IndexError(_no_sample(self._count(), index))
        study = self._study
        with self._lock:
            # Told only where it changes: views that follow each other come to rest here.
            if index == self._sample and (study is None or study.asked.samples == (index,)):
                return
            self._sample = int(index)
            self._refusal = None
        if study is not None:
            study.ask(samples=(self._sample,))
        else:
            self.changed()

    # ---------------------------------------------------------------------------------------- picture

    def snapshot(self) -> Snapshot:
        """Return the picture of the sample, with what the model made of it."""
        with self._lock:
            study, shown = self._study, self._shown()
            buffers: list[bytes] = []
            parts = self._parts(shown, buffers)
            strip = self._samples(buffers)
        # What is drawn belongs to the last answer, also while another sample is worked on.
        rows = (self._sample,) if shown is None else shown.rows
        result = None if shown is None else shown.result
        samples = (self._sample,) if shown is None else shown.ask.samples
        state = HeatmapState(
            kind="heatmap",
            head=self._head(result),
            parts=parts,
            **told_of(result, rows),
            **classes_of(result, rows, study, samples),
            sample=samples[0],
            samples=self._count(),
            averaged=len(samples) if len(samples) > 1 else 0,
            averaged_samples=[]
            if strip is None or len(samples) < 2
            else [one.index for one in strip.samples if one.index in set(samples)],
            controls=None if study is None else controls_of(study),
            alone="" if self._result is None or study is not None else why_alone(self._result),
            work=None if study is None else work_of(study),
            other=None if shown is None or study is None else other_of(shown),
            refusal=self._refused(),
            strip=strip,
            board=self.of_board,
        )
        return Snapshot(state, tuple(buffers))

    def _shown(self) -> Shown | None:
        if self._study is not None:
            return self._study.shown
        assert self._result is not None  # a model draws one or the other
        return _alone(self._result, self._sample)

    def _count(self) -> int:
        return self._study.samples if self._study is not None else len(self.result)

    def _head(self, result: AttributionResult | None) -> Head:
        study = self._study
        title = study.title if study is not None else "" if result is None else result.title
        code = study.code() if study is not None else "" if result is None else result.code
        live = study is not None and study.runs is not None
        return Head(title[:LONGEST], self._where[:LONGEST], self.made, live, code)

    def _parts(self, shown: Shown | None, buffers: list[bytes]) -> list[HeatmapPart]:
        study = self._study
        inputs: list[Tensor | None]
        if shown is not None:
            inputs = [one for one, _ in shown.result.pairs]
            rows = shown.rows
        else:
            assert study is not None
            inputs = list(study.inputs) if isinstance(study.inputs, tuple) else [study.inputs]
            rows = (self._sample,)
        tokens = None
        if study is not None and study.tokens is not None and (shown is None or len(shown.rows) == 1):
            tokens = study.tokens[self._sample if shown is None else shown.ask.samples[0]]
        names = [""] if len(inputs) == 1 else [f"input {at}" for at in range(len(inputs))]
        if shown is not None and None in inputs:
            names = names_of_layers(shown.result)
        return [
            drawn_part(
                value,
                rows,
                None if shown is None else (shown.result.pairs[at][1], rows),
                None if shown is None or shown.beside is None else shown.beside.pairs[at][1],
                name=names[at],
                # Words are those of the first input.
                tokens=tokens if at == 0 else None,
                buffers=buffers,
            )
            for at, value in enumerate(inputs)
        ]

    def _samples(self, buffers: list[bytes]) -> HeatmapStrip | None:
        study = self._study
        if study is None:
            return None
        index = len(buffers)
        key = (self._sample // MOST_SAMPLES, index, id(study.predictions))
        if self._strip[0] != key:
            made: list[bytes] = []
            self._strip = key, strip_of(study, self._sample, index, made), made
        buffers += self._strip[2]
        return self._strip[1]

    def _refused(self) -> Refusal | None:
        if self._refusal is not None:
            return self._refusal
        failure = "" if self._study is None else self._study.failure
        return Refusal("ask", failure) if failure else None

    # ----------------------------------------------------------------------------------------- events

    def sample_of(self, event: object) -> int | None:
        """Return the sample that was asked for."""
        return event.index if isinstance(event, SampleEvent) else None

    def show_sample(self, index: int) -> None:
        """Draw the sample that was chosen elsewhere."""
        self.handle(SampleEvent("sample", index))

    def show_points(self, points: tuple[int, ...]) -> None:
        """Draw the mean of the samples that were picked together elsewhere."""
        study = self._study
        if study is None or len(points) < 2:
            return
        if any(one >= study.samples for one in points):
            raise Refused(_no_sample(study.samples, max(points)))
        study.ask(samples=points[:MOST_AVERAGED])

    def show_place(self, places: tuple[str, ...]) -> None:
        """Explain by the layer that was picked elsewhere, where the method does that."""
        study = self._study
        if study is None or study.shown is None:
            raise Refused("nothing was asked yet")
        layers = study.layers()
        found = next((place for place in places if place in layers), None)
        if found is None:
            raise Refused(f"no layer lies at {' or '.join(places)}")
        study.ask_layer(found)

    def handle(self, event: object) -> None:
        """Draw another sample, ask another question, or stop. Raises `Refused` where that cannot be done."""
        try:
            with self._lock:
                self._refusal = None
            self._do(event)
        except ValueError as error:
            # Kept as well as raised: a page that is drawn anew shows it too.
            self._refusal = Refusal(str(getattr(event, "type", "")), str(error))
            self.changed()
            raise Refused(str(error)) from None

    def _do(self, event: object) -> None:
        study = self._study
        if isinstance(event, SampleEvent):
            if not 0 <= event.index < self._count():
                raise Refused(_no_sample(self._count(), event.index))
            self.sample = event.index
            return
        if study is None:
            assert self._result is not None  # a model draws one or the other
            raise Refused(why_alone(self._result))
        match event:
            case StopEvent():
                study.stop()
            case SettingEvent(name="baseline", value=value):
                study.ask(baseline=value)
            case SettingEvent(name=BLUR_WIDTH.name, value=value):
                study.ask(blur_width=BLUR_WIDTH.parse(value))
            case SettingEvent(name=name, value=value):
                settings = {one.name: one for one in study.methods[study.asked.method].settings}
                if name not in settings:
                    raise Refused(f"there is no setting {name!r}; there are {', '.join(settings) or 'none'}")
                study.ask(settings={name: settings[name].parse(value)})
            case AskEvent():
                study.ask(**_parts_of(event))
            case _:
                raise Refused(
                    f"of an attribution one asks for samples, classes and methods ({type(event).__name__})"
                )

    def _heard(self) -> None:
        study = self._study
        assert study is not None  # that is who tells
        shown, failure = study.shown, study.failure
        answered = shown is not self._answer[0] or failure != self._answer[1]
        self._answer = shown, failure
        # An answer is urgent, in whichever thread it was found; progress is not, unless a person has just asked.
        with asked() if answered else nullcontext():
            self.changed()
        with self._lock:
            if len(study.asked.samples) == 1:
                self._sample = study.asked.samples[0]


def _parts_of(event: AskEvent) -> dict[str, Any]:
    parts: dict[str, Any] = {
        name: value for name in ("model", "method", "layer") if (value := getattr(event, name)) is not None
    }
    if event.other is not None:
        parts["other"] = event.other or None
    if event.target is not None:
        if event.target in ("predicted", "true", "given"):
            parts["target"] = event.target
        elif event.target.isdecimal():
            parts["target"] = int(event.target)
        else:
            raise Refused(f"a target is a class's number, 'predicted' or 'true'; got {event.target!r}")
    return parts


def _follow(study: Study, model: HeatmapModel) -> None:
    """Let `model` hear of `study` without being kept alive by it."""
    reference = weakref.ref(model)

    def told() -> None:
        found = reference()
        if found is not None:
            found._heard()

    weakref.finalize(model, study.listen(told))


def _alone(result: AttributionResult, sample: int) -> Shown:
    return Shown(Ask("", "", (), "given", None, None, (sample,)), result, (sample,))


def _no_sample(count: int, index: int) -> str:
    if count == 1:
        return f"there is one sample, number 0; there is no sample {index}"
    return f"the samples are 0 to {count - 1:,}; there is no sample {index}"


def model_of_study(study: Study) -> HeatmapModel:
    """Return the view model of `study`; one that was asked nothing yet is asked now."""
    model = HeatmapModel(study)
    if study.shown is None and study.runs is None and not study.failure:
        study.ask()
    return model


class HeatmapWidget(ViewWidget):
    """Attributions in a cell."""

    def __init__(self, source: AttributionResult | Study, where: str = "", **traits: Any) -> None:
        super().__init__(HeatmapModel(source, where) if where else renderers.model_of(source), **traits)


def attribution(source: Any, inputs: Any = None, labels: Any = None, **settings: Any) -> HeatmapWidget:
    """Show attributions in this cell: of a result, of a `Study`, or of a model (or models by name) and its inputs.

    `labels` and `settings` are those of `workbench.attribution.Study`.

    Raises:
        TypeError: a model without inputs.
    """
    if isinstance(source, AttributionResult | Study):
        return HeatmapWidget(source)
    if inputs is None:
        raise TypeError(
            "a model is explained for inputs: wb.widgets.attribution(model, images, labels); a result of "
            "wb.attribution.explain(...) is shown as it is"
        )
    return HeatmapWidget(Study(source, inputs, labels, publish=False, **settings))


heatmap = attribution
"""The same by what it draws."""


renderers.register(AttributionResult, HeatmapModel)
renderers.register(Study, model_of_study)
