"""`Trainer`: a model, its loss and its optimizer, and everything that training them takes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from workbench.base.deferred_interrupts import Shield
from workbench.base.dims import near_miss
from workbench.core import dispatch
from workbench.nn import Module
from workbench.tensor import Tensor
from workbench.train import gradients, randomness, state
from workbench.train.callbacks import default_callbacks
from workbench.train.callbacks.base import Callback
from workbench.train.checks import check_count, check_model, check_settings, folder_of, kind_of, listed
from workbench.train.control import Control, State
from workbench.train.errors import Interrupted
from workbench.train.evaluate import Evaluation, measure
from workbench.train.history import Epoch, History
from workbench.train.loop import Loop
from workbench.train.metrics import MetricLike, collect
from workbench.train.modes import mode
from workbench.train.output import Output, join
from workbench.train.position import Position, check_loader
from workbench.train.precision import Precision, PrecisionName
from workbench.train.progress import Progress
from workbench.train.schedule import Schedule

__all__ = ["Trainer"]

Resume = bool | str | Path | None


class Trainer:
    """Trains a model, tells how it goes, and can be stopped, saved and gone on with at any step.

    `loss` is called as ``loss(predictions, targets)`` and gives the mean over a batch's samples. `optimizer` changes
    the parameters; `scheduler` its learning rate, after every step, or with ``schedule="epoch"`` after every epoch.

    * `metrics`: `Metric` objects, their names, or functions of predictions and targets.
    * `callbacks`: see `Callback`. Progress, live curves and what `checkpoint` and `log` ask for are added.
    * `precision`: ``"float32"``, or mixed with ``"bfloat16"`` or ``"float16"`` (with loss scaling).
    * `accumulate`: batches that make one step; its gradient is that of the mean over all their samples.
    * `clip_norm`: the largest norm that all gradients together may have.
    * `checkpoint`: a folder: for a checkpoint after every epoch and every stop; the last 3 and the best stay.
    * `log`: a folder for TensorBoard, or a writer.
    * `seed`: starts the random streams (the default generator's, Python's and NumPy's) when training begins.

    For batches that are not ``(inputs, targets)`` override `training_step`.

    >>> import workbench as wb
    >>> data = wb.data.TensorDataset(wb.eye(3, names=("N", "C")), wb.arange(3, names=("N",)))
    >>> model = wb.nn.Linear(3, 3)
    >>> optimizer = wb.optim.SGD(model.parameters(), lr=1.0)
    >>> trainer = Trainer(model, wb.nn.CrossEntropyLoss(), optimizer, metrics="accuracy", progress=False, seed=0)
    >>> loader = wb.data.DataLoader(data, 3)
    >>> history = trainer.fit(loader, epochs=9)
    >>> history.losses[-1] < history.losses[0], trainer.step
    (True, 9)
    >>> trainer.predict(loader).names
    ('N', 'out_features')
    """

    def __init__(
        self,
        model: Any,
        loss: Callable[[Any, Any], Any] | None,
        optimizer: Any,
        *,
        metrics: MetricLike | Iterable[MetricLike] | Mapping[str, MetricLike] | None = None,
        scheduler: Any = None,
        schedule: Literal["step", "epoch"] = "step",
        callbacks: Callback | Iterable[Callback] | None = (),
        precision: PrecisionName = "float32",
        accumulate: int = 1,
        clip_norm: float | None = None,
        checkpoint: str | Path | None = None,
        log: Any = None,
        progress: bool = True,
        seed: int | None = None,
        name: str | None = None,
    ) -> None:
        check_model(model, loss, optimizer)
        check_settings(accumulate, clip_norm, seed)
        self.model = model
        self.loss = loss
        self.optimizer = optimizer
        self.metrics = collect(metrics)
        """Metrics of the epoch under way, by name."""
        if getattr(scheduler, "optimizer", optimizer) is not optimizer:
            raise ValueError(
                "the scheduler changes the learning rate of another optimizer than the one that is passed here: make "
                "it of this one"
            )
        self.schedule = Schedule(scheduler, schedule)
        self.precision = Precision(precision)
        self.accumulate = accumulate
        self.clip_norm = clip_norm
        self.seed = seed
        self.folder: Path | None
        """Where checkpoints are, and ``resume="last"`` looks."""
        self.name = type(model).__name__ if name is None else name
        self.history = History()
        self.progress = Progress()
        self.last_batch: Any = None
        """The batch that was learned from last, or that an error arose in."""
        self.outcome: Evaluation | None = None
        """The last evaluation."""
        self.message = ""
        """Why the training ended, where that was not asked for from outside."""
        # Not of the random streams: two trainings with one seed are still two.
        self.run_id = secrets.token_hex(6)
        """Tells the checkpoints of one training from those of another."""
        self.resumed_from: Path | None = None
        """The checkpoint that the training went on from."""
        self.control = Control()
        self.shield = Shield()
        self.position: Position | None = None
        self.loop: Loop | None = None
        self._where: dict[str, Any] | None = None
        self.loss_is_sum = getattr(loss, "reduction", "mean") == "sum"
        given = listed(callbacks)
        self.folder = folder_of(given, checkpoint)
        made = default_callbacks(given, folder=self.folder, log=log, progress=progress)
        # Of equal order those that were given come before our own, as the sort keeps their order.
        self.callbacks = sorted([*given, *made], key=lambda one: one.order)
        """In the order in which they are called."""

    # ---------------------------------------------------------------------------- what may be overridden

    def training_step(self, batch: Any) -> Any:
        """Return the loss of a batch: a tensor of one number, or an `Output` with predictions and targets for metrics.

        Override it for batches that are not ``(*inputs, targets)``.
        """
        if not isinstance(batch, tuple | list) or len(batch) < 2:
            raise TypeError(
                f"a batch is (inputs, targets), got {kind_of(batch)}: override training_step(self, batch) in a class "
                "made from Trainer, and return the loss"
                + (
                    ". Data that are one batch go into a list, [(inputs, targets)]"
                    if isinstance(batch, Tensor)
                    else ""
                )
            )
        if self.loss is None:
            raise TypeError(
                "this Trainer has no loss: pass one, or override training_step(self, batch) to return it"
            )
        predictions = self.model(*batch[:-1])
        return Output(self.loss(predictions, batch[-1]), predictions, batch[-1])

    def validation_step(self, batch: Any) -> Any:
        """Return what `training_step` does, when evaluating."""
        return self.training_step(batch)

    def predict_step(self, batch: Any) -> Any:
        """Return the predictions for a batch: of its inputs, where it has targets too."""
        inputs = batch[:-1] if isinstance(batch, tuple | list) and len(batch) > 1 else batch
        return self.model(*inputs) if isinstance(inputs, tuple | list) else self.model(inputs)

    # ------------------------------------------------------------------------------------------- training

    def fit(
        self,
        loader: Any,
        validation: Any = None,
        *,
        epochs: int | None = None,
        steps: int | None = None,
        resume: Resume = None,
    ) -> History:
        """Train for so many `epochs` (1 unless told) or `steps`, whichever ends first, and return the history.

        Called again it trains for as many more. With `resume` it goes on with what was begun instead, at the very
        batch, and `epochs` and `steps` count from where that began: True takes up what this trainer has in memory,
        after a stop or an interrupt; ``"last"`` the newest good checkpoint, if there is one; ``"best"`` that with the
        best monitored value; a path that file.

        An interrupt (KeyboardInterrupt) is raised between two steps, and the trainer can go on after it. Raises
        `TrainingError`, before the step changes anything, where the loss or a gradient is not finite;
        `CheckpointError` for a checkpoint that cannot be used.
        """
        epochs = 1 if epochs is None and steps is None else epochs
        check_count("epochs", epochs)
        check_count("steps", steps)
        check_loader("loader", loader)
        if validation is not None:
            check_loader("validation", validation)
            if Position(validation).length == 0:
                raise ValueError("there is nothing to validate with: the validation loader has no batches")
        if not isinstance(resume, bool | str | Path | None):
            raise TypeError(f"resume is True, 'last', 'best' or a path, got {type(resume).__name__}")
        position = Position(loader)
        if position.length == 0:
            raise ValueError("there is nothing to learn from: the loader has no batches")
        # Outside of the `try`: where another `fit` is running, its state is not ours to end.
        self.control.begin()
        ended: State = "failed"
        self.message = ""
        try:
            self._enter(position, resume)
            self.position = position
            self.loop = Loop(self, position, validation, epochs, steps)
            with mode(self.model, training=True), dispatch.enable_grad(), self.shield.installed():
                try:
                    self.call("on_fit_start")
                    ended = "finished" if self.loop.run() else "stopped"
                    self._where = position.state_dict()
                    self.call("on_fit_end")
                except BaseException as error:
                    # First of all, while the place is still that of the error.
                    self._where = position.state_dict()
                    ended = "stopped" if isinstance(error, KeyboardInterrupt) else "failed"
                    self.message = "interrupted" if ended == "stopped" else str(error)
                    self.call_all("on_exception", error)
                    if ended == "stopped":
                        raise self._interrupted().with_traceback(error.__traceback__) from None
                    raise
        finally:
            # Nobody is to ask a position that goes no further, least of all the callbacks below.
            self.position = None
            self.control.end(ended)
            self.call_all("on_end")
        return self.history

    def _interrupted(self) -> Interrupted:
        taken = f"{self.step:,} step{'' if self.step == 1 else 's'}"
        return Interrupted(f"stopped after {taken}, all of them whole; fit(…, resume=True) goes on")

    def _enter(self, position: Position, resume: Resume) -> None:
        """Begin a run, or go on with one."""
        if resume is True:
            if self._where is None:
                raise ValueError("there is nothing to go on with: this trainer has not trained yet")
            position.load_state_dict(self._where)
        elif not resume or not self._load_any(resume, position):
            self._begin()

    def _begin(self) -> None:
        self.progress.begin_run()
        # Only at the very beginning: called again, `fit` is to draw on, and not the same batches once more.
        if self.seed is not None and self.progress.step == 0:
            randomness.seed_all(self.seed)

    def _load_any(self, resume: str | Path, position: Position) -> bool:
        """Take over a checkpoint; return False where there is none yet to go on from."""
        if resume not in ("last", "best"):
            if isinstance(resume, str) and (near := near_miss(resume, ("last", "best"))):
                raise ValueError(
                    f"resume is True, 'last', 'best' or a path, got {resume!r}. Did you mean {near!r}?"
                )
            state.load(self, resume, position)
            return True
        if self.folder is None:
            raise ValueError(f"resume={resume!r} looks into a folder: Trainer(…, checkpoint='runs/mine')")
        return state.load_newest(self, self.folder, position, best=resume == "best")

    # ---------------------------------------------------------------------------------------------- using

    def evaluate(self, loader: Any) -> Evaluation:
        """Return the mean loss and the metrics over all batches, in evaluation mode and without gradients."""

        def step(batch: Any) -> Any:
            with self.precision.block():
                return self.validation_step(batch)

        # Of their own: those of the epoch under way go on counting.
        metrics = {name: state.fresh(metric) for name, metric in self.metrics.items()}
        self.outcome = measure(self.model, step, loader, metrics, sums=self.loss_is_sum)
        return self.outcome

    def predict(self, loader: Any) -> Any:
        """Return the predictions for all batches together, along ``N``; names of dims stay.

        Batches may have targets, which are left aside. Raises ValueError where there is no batch.
        """
        if isinstance(loader, Tensor):
            raise TypeError(
                "predict takes a loader, which gives batches: for one batch call predict_step(batch)"
            )
        check_loader("loader", loader)
        with mode(self.model, training=False), dispatch.no_grad():
            parts = []
            for batch in loader:
                with self.precision.block():
                    parts.append(self.predict_step(batch))
            if not parts:
                raise ValueError("there is nothing to predict: the loader gave no batch")
            return join(parts)

    # -------------------------------------------------------------------------------------------- control

    def stop(self, message: str = "") -> bool:
        """Ask, from any thread, that the training ends after this batch; return False where none runs."""
        self.message = message or self.message
        return self.control.stop()

    def pause(self) -> bool:
        """Ask, from any thread, that the training waits after this batch; return False where none runs."""
        return self.control.pause()

    def resume(self) -> bool:
        """Let a training that waits go on; return False where none runs."""
        return self.control.resume()

    @property
    def status(self) -> State:
        """``idle``, ``running``, ``paused``, ``stopped``, ``finished`` or ``failed``."""
        return self.control.state

    @property
    def step(self) -> int:
        """Steps taken."""
        return self.progress.step

    @property
    def epoch(self) -> int:
        """Epochs completed."""
        return self.progress.epoch

    def call(self, hook: str, *arguments: Any) -> None:
        """Call a hook of every callback, in order, until one raises."""
        for callback in self.callbacks:
            getattr(callback, hook)(self, *arguments)

    def call_all(self, hook: str, *arguments: Any, after: int = 0) -> None:
        """Call a hook of every callback, also where one raises; the last error is raised in the end."""
        for i, callback in enumerate(self.callbacks[after:], after + 1):
            try:
                getattr(callback, hook)(self, *arguments)
            # The others are told all the same: each may have something to close.
            except BaseException:
                self.call_all(hook, *arguments, after=i)
                raise

    def step_scheduler(self, epoch: Epoch | None = None) -> None:
        """Have the scheduler go one step further, if it does so now: after a step, or after `epoch`."""
        self.schedule.step(epoch)

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """Yield the parameters that the optimizer changes, with their names in the model."""
        names = (
            {id(one): name for name, one in self.model.named_parameters()}
            if isinstance(self.model, Module)
            else {}
        )
        for i, one in enumerate(gradients.parameters_of(self.optimizer)):
            yield names.get(id(one), f"parameter {i} of the optimizer"), one

    # -------------------------------------------------------------------------------------------- state

    def where(self) -> dict[str, Any] | None:
        """Return where in its data this is; None before the first training."""
        return self._where if self.position is None else self.position.state_dict()

    def take_place(self, where: dict[str, Any] | None) -> None:
        """Go on from a place in the data when `fit` resumes."""
        self._where = where

    def state_dict(self) -> dict[str, Any]:
        """Return everything that training needs to go on exactly; memory is shared."""
        return state.collect(self)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over the state of another, all or nothing; `CheckpointError` where it does not fit."""
        state.apply(self, state_dict)

    def save(self, path: str | Path) -> None:
        """Write a checkpoint, which replaces the file whole or not at all."""
        state.save(self, path)

    def load(self, path: str | Path) -> None:
        """Take over a checkpoint, or nothing of it (`CheckpointError`); ``fit(…, resume=True)`` goes on from there."""
        state.load(self, path)

    def __repr__(self) -> str:
        return (
            f"<Trainer {self.name}: {self.status}, {self.epoch} epochs, {self.step} steps, "
            f"{type(self.optimizer).__name__}, {self.precision.name}>"
        )
