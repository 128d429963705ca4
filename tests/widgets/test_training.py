"""A training as a view: what travels, what a person may ask of it while it runs, and what stays when it is gone."""

from __future__ import annotations

import gc
import json
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.live.models import gesture
from tests.train.parts import loader, trainer
from workbench.base import events
from workbench.live.answer import answer
from workbench.live.encode import encode_snapshot
from workbench.live.ledger import Ledger
from workbench.live.messages import (
    PauseEvent,
    ResumeEvent,
    SampleEvent,
    StopEvent,
    TrainingCurve,
    TrainingState,
)
from workbench.live.model import Refused
from workbench.live.registry import Registry, registry
from workbench.live.renderers import Renderers, renderers
from workbench.live.selection import Selection
from workbench.train import Callback, LiveCurves, Trainer, TrainingError
from workbench.widgets import base
from workbench.widgets.base import MissingBundle
from workbench.widgets.training import TrainingModel, TrainingWidget, model_of


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    renderers.stop()
    for model in registry.models():
        registry.withdraw(model)


def curves_of(made: Trainer) -> LiveCurves:
    return next(one for one in made.callbacks if isinstance(one, LiveCurves))


def drawn(made: Trainer) -> tuple[TrainingState, list[bytes]]:
    """The state of a training as it travels."""
    model = model_of(curves_of(made))
    plain, buffers = encode_snapshot("training", model.snapshot())
    json.dumps(plain, allow_nan=False)
    state = model.snapshot().state
    assert isinstance(state, TrainingState)
    return state, buffers


def points(curve: TrainingCurve, buffers: list[bytes]) -> Any:
    return np.frombuffer(buffers[curve.points_buffer], "<f8").reshape(2, curve.points)


class Slow(Callback):
    """Makes every step wait until it is let go, so that a test can act between two steps."""

    def __init__(self) -> None:
        self.steps = threading.Semaphore(0)
        self.holds = False

    def on_batch_start(self, trainer: Trainer) -> None:
        self.holds = True
        self.steps.acquire(timeout=20)
        self.holds = False

    def let_go(self, steps: int = 1) -> None:
        """Exactly so many steps go on, whatever was let go before and is not used yet."""
        while self.steps.acquire(blocking=False):
            pass
        self.steps.release(steps)


@pytest.fixture
def running() -> Iterator[tuple[Trainer, Slow, TrainingModel]]:
    """A training in another thread, of which nobody knows when it ends."""
    slow = Slow()
    made = trainer(callbacks=[slow], scheduler=None)
    thread = threading.Thread(target=lambda: made.fit(loader(), epochs=1000))
    thread.start()
    wait(lambda: made.status == "running")
    yield made, slow, model_of(curves_of(made))
    made.stop()
    slow.steps.release(10_000)
    thread.join(timeout=20)
    assert not thread.is_alive()


def wait(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not reached():
        assert time.monotonic() < end, "this was waited for in vain"
        time.sleep(0.005)


# ----------------------------------------------------------------------------------------------- what travels


def test_everything_that_is_known_travels() -> None:
    stop = events.subscribe(LiveCurves, lambda source: None)
    try:
        made = trainer(callbacks=[LiveCurves(interval=0)], name="clusters")
        made.fit(loader(), loader(), epochs=3)
    finally:
        stop()
    state, buffers = drawn(made)
    assert (state.head.title, state.head.live, state.status) == ("clusters", False, "finished")
    assert (state.counters.step, state.counters.steps, state.counters.epochs) == (12, 12, 3)
    curves = {(one.name, one.part): one for one in state.curves}
    np.testing.assert_array_equal(
        points(curves["loss", "train"], buffers), [range(1, 13), made.history.losses]
    )
    means = np.frombuffer(buffers[curves["loss", "train"].means_buffer], "<f8").reshape(3, 12)
    np.testing.assert_array_equal(means, [range(1, 13), made.history.losses, np.ones(12)])
    validation = [epoch.validation["accuracy"] for epoch in made.history.epochs]
    np.testing.assert_array_equal(points(curves["accuracy", "validation"], buffers), [[4, 8, 12], validation])
    assert curves["accuracy", "validation"].stretches == 0
    assert [(one.epoch, one.step) for one in state.epochs] == [(1, 4), (2, 8), (3, 12)]
    assert [one.name for one in state.strips] == ["update / weight", "gradient norm", "dead units"]
    for strip in state.strips:
        values = np.frombuffer(buffers[strip.values_buffer], "<f4")
        assert values.size == len(strip.layers) * len(strip.steps)
        assert np.isfinite(values).all()


def test_before_the_first_step_it_says_what_to_run() -> None:
    made = trainer()
    widget = wb.widgets.training(made)
    assert (widget.state["status"], widget.state["head"]["title"]) == ("idle", "Sequential")
    assert widget.state["advice"].startswith("trainer.fit(")
    assert all(curve["points"] == 0 for curve in widget.state["curves"])
    widget.close()


def test_a_million_steps_travel_as_a_thousand_points_and_keep_their_extremes() -> None:
    made = trainer()
    curves_of(made).trainer = made
    random = np.random.default_rng(0)
    losses = np.exp(-np.arange(1_000_000) / 3e5) * random.uniform(0.9, 1.1, 1_000_000)
    losses[777_777], losses[123_456] = 50.0, -3.0
    for name in ("losses", "rates", "norms", "speeds"):
        setattr(made.history, name, losses.tolist())
    made.progress.step = 1_000_000
    model = model_of(curves_of(made))
    state, buffers = drawn(made)
    assert sum(map(len, buffers)) < 200_000
    loss = points(state.curves[0], buffers)
    assert state.curves[0].points <= 1025
    assert {(777_778, 50.0), (123_457, -3.0)} <= set(map(tuple, loss.T.tolist()))
    assert loss[0, -1] == 1_000_000
    made.history.losses.append(0.5)
    started = time.perf_counter()
    model.snapshot()
    assert time.perf_counter() - started < 1.0, "a picture costs what came since the last one"


def test_spikes_are_looked_for_bit_by_bit() -> None:
    made = trainer()
    curves_of(made).trainer = made
    losses = [1.0] * 120_000
    losses[110_000] = 7.0
    for name in ("losses", "rates", "norms", "speeds"):
        setattr(made.history, name, list(losses))
    model = model_of(curves_of(made))
    asked: list[object] = []
    model.listen(asked.append)
    for _ in range(10):
        asked.clear()
        state: Any = model.snapshot().state
        if not asked:
            break
    assert [(one.step, one.value, one.usual) for one in state.spikes] == [(110_001, 7.0, 1.0)]


def test_a_long_text_is_cut() -> None:
    made = trainer(name="x" * 5000)
    curves_of(made).trainer = made
    made.message = "y" * 50_000
    state, _ = drawn(made)
    assert (len(state.head.title), len(state.message)) == (200, 2000)


# ------------------------------------------------------------------------------------------------- how it ends


def test_a_loss_that_is_nan_says_what_and_why() -> None:
    made = trainer(scheduler=None)
    made.fit(loader(), steps=3)
    with wb.no_grad():
        made.model[4].weight[0] = float("nan")
    with pytest.raises(TrainingError):
        made.fit(loader(), steps=3)
    state, _ = drawn(made)
    assert (state.status, state.head.live) == ("failed", False)
    assert "the loss is nan at step 4" in state.message
    assert state.failure is not None
    assert (state.failure.kind, state.failure.step, state.failure.culprit) == ("TrainingError", 4, "4.weight")
    assert state.advice == "trainer.fit(loader, validation, steps=3, resume=True)"
    with wb.no_grad():
        made.model[4].weight[0] = 0.0
    made.fit(loader(), steps=3, resume=True)
    state, _ = drawn(made)
    assert (state.status, state.failure, state.counters.step, state.advice) == ("finished", None, 6, "")


def test_an_error_of_anybody_else_is_named() -> None:
    class Broken(Callback):
        def on_step_end(self, trainer: Trainer) -> None:
            raise KeyError("lr")

    made = trainer(callbacks=[Broken()])
    with pytest.raises(KeyError):
        made.fit(loader())
    state, _ = drawn(made)
    assert state.failure is not None
    assert (state.failure.kind, state.failure.step, state.message) == ("KeyError", None, "'lr'")


def test_an_interrupt_is_a_stop_and_no_failure() -> None:
    class Interrupt(Callback):
        def on_step_end(self, trainer: Trainer) -> None:
            raise KeyboardInterrupt

    made = trainer(callbacks=[Interrupt()])
    with pytest.raises(KeyboardInterrupt):
        made.fit(loader(), epochs=2)
    state, _ = drawn(made)
    assert (state.status, state.message, state.failure) == ("stopped", "interrupted", None)
    assert state.advice == "trainer.fit(loader, validation, epochs=2, resume=True)"


def test_the_last_picture_of_a_training_that_is_gone_stays() -> None:
    made = trainer(name="short-lived")
    live = Renderers(Registry())
    live.register(LiveCurves, TrainingModel)
    live.start()
    try:
        made.fit(loader(), epochs=2)
    finally:
        live.stop()
    (model,) = live._registry.models("training")
    assert isinstance(model, TrainingModel)
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None, "a picture keeps a training with its model and its last batch alive"
    state: Any = model.snapshot().state
    assert (state.head.title, state.status, state.counters.step, state.advice) == (
        "short-lived",
        "finished",
        8,
        "",
    )
    with pytest.raises(Refused, match="is gone from the kernel; what is shown is its last picture"):
        model.handle(StopEvent("stop"))


# ---------------------------------------------------------------------------------------------------- gestures


def ask(model: TrainingModel, what: str) -> Any:
    registry.know(model)
    return answer(gesture(model.id, {"type": what}), registry, Selection(), Ledger())


def test_pause_resume_and_stop_reach_a_training_that_runs(
    running: tuple[Trainer, Slow, TrainingModel],
) -> None:
    made, slow, model = running
    told: list[object] = []
    model.listen(told.append)
    slow.let_go(2)
    wait(lambda: made.step == 2 and slow.holds)
    assert ask(model, "pause").accepted
    assert told
    state: Any = model.snapshot().state
    assert (state.status, state.asked, state.head.live) == ("running", "pause", True)
    assert ask(model, "pause").reason == "it pauses after this batch"
    slow.let_go()
    wait(lambda: made.status == "paused")
    held = made.step
    state = model.snapshot().state
    assert (state.status, state.asked, state.head.live) == ("paused", "", True)
    assert ask(model, "pause").reason == "it is paused already"
    slow.let_go()
    time.sleep(0.05)
    assert made.step == held
    assert ask(model, "resume").accepted
    wait(lambda: made.step > held and slow.holds)
    assert ask(model, "resume").reason == "it is not paused: it runs"
    assert ask(model, "stop").accepted
    state = model.snapshot().state
    assert (state.status, state.asked) == ("running", "stop")
    assert ask(model, "stop").reason == "it stops after this batch already"
    assert "nothing to pause" in ask(model, "pause").reason
    slow.let_go()
    wait(lambda: made.status == "stopped")
    reply = ask(model, "resume")
    assert not reply.accepted
    assert reply.reason.startswith("there is nothing to resume: the training was stopped at step ")
    assert "trainer.fit(…, resume=True) goes on with it" in reply.reason


def test_a_training_that_is_held_can_be_stopped(running: tuple[Trainer, Slow, TrainingModel]) -> None:
    made, slow, model = running
    assert ask(model, "pause").accepted
    slow.let_go()
    wait(lambda: made.status == "paused")
    assert ask(model, "stop").accepted
    wait(lambda: made.status == "stopped")


@pytest.mark.parametrize("event", [PauseEvent("pause"), ResumeEvent("resume"), StopEvent("stop")])
def test_what_does_not_fit_is_refused_in_words(event: Any) -> None:
    made = trainer()
    curves_of(made).trainer = made
    model = model_of(curves_of(made))
    with pytest.raises(
        Refused, match=rf"nothing to {event.type}: the training has not begun; trainer.fit\(…\) begins it"
    ):
        model.handle(event)
    made.fit(loader())
    with pytest.raises(Refused, match=f"nothing to {event.type}: the training has finished, after 4 steps"):
        model.handle(event)
    assert made.control.asked_to_stop() is False


def test_other_events_are_refused() -> None:
    made = trainer()
    curves_of(made).trainer = made
    model = model_of(curves_of(made))
    with pytest.raises(Refused, match="paused, resumed and stopped, and nothing else"):
        model.handle(SampleEvent("sample", 0))
    assert "has no event of type 'select'" in ask(model, "select").reason


# ---------------------------------------------------------------------------------------------- widget and panel


def test_the_widget_hears_its_training_and_no_other() -> None:
    made = trainer()
    widget = wb.widgets.training(made)
    assert isinstance(widget, TrainingWidget)
    told: list[object] = []
    widget.model.listen(told.append)
    trainer().fit(loader())
    assert told == []
    made.fit(loader())
    assert len(told) >= 6
    assert made.history.losses
    widget.draw()
    assert widget.state["strips"], "layers are looked at while a widget shows them"
    widget.close()
    told.clear()
    made.fit(loader())
    assert told == []
    assert not events.listening(curves_of(made))


def test_a_widget_that_could_not_be_made_is_ended_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(view: str) -> str:
        raise MissingBundle(view)

    monkeypatch.setattr(base, "bundle", missing)
    with pytest.raises(MissingBundle):
        wb.widgets.training(trainer())
    gc.collect()  # what is raised here would be a warning


def test_widget_and_panel_show_one_view_model() -> None:
    made = trainer()
    first, second = wb.widgets.training(made), wb.widgets.training(made)
    assert first.model is second.model
    first.close()
    second.close()
    renderers.start()
    made.fit(loader())
    (shown,) = registry.models("training")
    assert shown is model_of(curves_of(made))


def test_a_trainer_is_shown_in_the_panel_before_it_trains() -> None:
    made = trainer()
    shown = wb.live.show(made)
    assert shown is model_of(curves_of(made))
    assert registry.models("training") == (shown,)
    state: Any = shown.snapshot().state
    assert state.status == "idle"
    renderers.start()
    made.fit(loader())
    assert registry.models("training") == (shown,)


def test_only_a_trainer_is_shown() -> None:
    with pytest.raises(TypeError, match="training shows a Trainer, got History"):
        wb.widgets.training(wb.train.History())  # type: ignore[arg-type]


def test_trainings_are_compared_over_the_same_axes() -> None:
    made, other, kept = trainer(), trainer(name="other"), trainer()
    made.fit(loader(), epochs=2)
    other.fit(loader(), loader(), epochs=3)
    kept.fit(loader())
    widget = wb.widgets.training(made, against={"longer": other, "kept": kept.history})
    longer, of_history = widget.state["others"]
    assert (longer["name"], of_history["name"]) == ("longer", "kept")
    loss = longer["curves"][0]
    values = np.frombuffer(widget.buffers[loss["points_buffer"]], "<f8").reshape(2, loss["points"])
    np.testing.assert_array_equal(values, [range(1, 13), other.history.losses])
    assert {("accuracy", "validation")} <= {(one["name"], one["part"]) for one in longer["curves"]}
    assert widget.model is not model_of(curves_of(made)), "the panel shows this training alone"
    widget.close()


def test_a_training_that_goes_on_is_compared_as_it_is() -> None:
    made, other = trainer(), trainer()
    made.fit(loader())
    other.fit(loader())
    widget = wb.widgets.training(made, other)
    other.fit(loader(), epochs=1, resume=True)
    widget.draw()
    assert widget.state["others"][0]["curves"][0]["points"] == len(other.history.losses) > 0
    widget.close()


def test_trainers_of_one_name_are_told_apart() -> None:
    made = trainer(name="a")
    widget = wb.widgets.training(made, [trainer(name="a"), trainer(name="b"), trainer(name="a")])
    assert [one["name"] for one in widget.state["others"]] == ["a", "b", "a (2)"]
    widget.close()


def test_what_cannot_be_compared_is_refused_in_words() -> None:
    made = trainer()
    with pytest.raises(TypeError, match=r'a History has no name; give it one: against=\{"before": history\}'):
        wb.widgets.training(made, [made.history])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="trainers and histories by name, got list"):
        wb.widgets.training(made, {"x": [0.5]})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"against takes trainers, or .* got int"):
        wb.widgets.training(made, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 7 others, got 8"):
        wb.widgets.training(made, [trainer() for _ in range(8)])


def test_a_long_training_that_is_compared_travels_coarsely() -> None:
    made, other = trainer(), trainer()
    for name in ("losses", "rates", "norms", "speeds"):
        setattr(other.history, name, [1.0, 2.0] * 50_000)
    widget = wb.widgets.training(made, other)
    assert all(one["points"] <= 257 for one in widget.state["others"][0]["curves"])
    widget.close()
