"""One run over the data: epochs, groups of batches, steps. A step completes, or it does not happen."""

from __future__ import annotations

import math
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from workbench.base.errors import AutogradError
from workbench.train import gradients, nonfinite_origin, randomness
from workbench.train.errors import TrainingError
from workbench.train.history import Epoch
from workbench.train.metrics import numbers_of
from workbench.train.modes import buffers_of, put_back
from workbench.train.output import Output, as_output

if TYPE_CHECKING:
    from workbench.train.position import Position
    from workbench.train.trainer import Trainer

__all__ = ["Loop"]

SMALLEST_SCALE = 1.0
"""Gradients that overflow at this loss scale do so without it as well."""


class Loop:
    """A run of a `Trainer` from where its counters are to `epochs` or `steps`, counted from the start of the run."""

    def __init__(
        self, trainer: Trainer, position: Position, validation: Any, epochs: int | None, steps: int | None
    ) -> None:
        self.trainer = trainer
        self.position = position
        self.validation = validation
        self.epochs = None if epochs is None else trainer.progress.first_epoch + epochs
        """Number of the last epoch."""
        self.steps = None if steps is None else trainer.progress.first_step + steps
        """Number of the last step."""
        self.parameters = gradients.parameters_of(trainer.optimizer)
        self._clock = 0.0

    # ------------------------------------------------------------------------------------------- epochs

    def run(self) -> bool:
        """Train until the end is reached, and return True, or until a stop is asked for, and return False."""
        progress = self.trainer.progress
        while not self.reached():
            if progress.batch == 0:
                progress.begin_epoch()
                for metric in self.trainer.metrics.values():
                    metric.reset()
                self.trainer.call("on_epoch_start")
            if not self._pass():
                # Left early: by a stop, or because it took the last of the steps that were asked for.
                return self.reached()
            self._close_epoch()
            if self.trainer.control.asked_to_stop():
                return False
        return True

    def reached(self) -> bool:
        """Say whether all epochs or steps that were asked for are done."""
        progress = self.trainer.progress
        by_epochs = self.epochs is not None and progress.epoch >= self.epochs
        return by_epochs or (self.steps is not None and progress.step >= self.steps)

    def _pass(self) -> bool:
        """Learn from the rest of the epoch's batches; return False where it ends before them."""
        trainer, control = self.trainer, self.trainer.control
        self._clock = time.perf_counter()
        if trainer.progress.group >= trainer.accumulate:  # an error came between the last batch and its step
            with trainer.shield.whole():
                self._step()
        # Closed at once where it is left early: a loader's workers live as long as its generator.
        with closing(self.position.batches()) as batches:
            while True:
                # Both or none: with the batch drawn the place in the data has moved on, and an interrupt in
                # between would lose it.
                with trainer.shield.whole():
                    batch = next(batches, self)
                    if batch is self:
                        break
                    self._learn(batch)
                if control.asked_to_wait():
                    self._wait()
                if control.asked_to_stop():
                    return False
                # Behind the very last batch the epoch is closed first.
                if self.reached() and self.position.batch != self.position.length:
                    return False
        # What is left of a group when the data end is a step as well.
        if trainer.progress.group:
            with trainer.shield.whole():
                self._step()
        if trainer.progress.batch == 0:
            again = " any more: it can be gone over once, as a generator can. Pass a list, or a DataLoader"
            raise ValueError(
                "there is nothing to learn from: the loader has no batches"
                + (again if trainer.progress.epoch else "")
            )
        return True

    def _wait(self) -> None:
        self.trainer.control.hold()
        self.trainer.call("on_pause")
        self.trainer.control.wait()
        self.trainer.call("on_resume")
        # The time that it waited is no time of training.
        self._clock = time.perf_counter()

    def _close_epoch(self) -> None:
        """Validate, and write down how the epoch went."""
        trainer, progress = self.trainer, self.trainer.progress
        validation: dict[str, float] = {}
        if self.validation is not None:
            trainer.call("on_validation_start")
            with randomness.aside():  # training goes the same way, with a validation or without
                validation = trainer.evaluate(self.validation).numbers
            trainer.call("on_validation_end")
        values = {name: metric.compute() for name, metric in trainer.metrics.items()}
        record = Epoch(
            progress.epoch + 1,
            progress.step,
            progress.epoch_loss / max(progress.epoch_samples, 1),
            progress.epoch_seconds,
            progress.epoch_samples / max(progress.epoch_seconds, 1e-9),
            numbers_of(values),
            validation,
        )
        # As one: an epoch that is counted, and whose record is lost, could not be gone on with.
        with trainer.shield.whole():
            trainer.history.epochs.append(record)
            progress.epoch += 1
            progress.begin_epoch()
            self.position.begin_epoch()
            # Before the callbacks, so that a checkpoint has the rate that the next epoch begins with.
            trainer.step_scheduler(record)
            trainer.call("on_epoch_end")

    # ------------------------------------------------------------------------------------------ batches

    def _learn(self, batch: Any) -> None:
        """Add a batch's gradients to the group, and take a step where that is full."""
        trainer, progress = self.trainer, self.trainer.progress
        trainer.last_batch = batch
        if progress.group == 0:
            trainer.optimizer.zero_grad()
        trainer.call("on_batch_start")
        # Running statistics move in the forward pass already. A batch that fails is to leave no trace of
        # them.
        before = buffers_of(trainer.model)
        try:
            output, loss = self._forward(batch, before)
            self._backward(output)
        except BaseException:
            put_back(before)
            self._drop_group()
            raise
        self._count(output, loss)
        trainer.call("on_batch_end")
        if progress.group == trainer.accumulate:
            self._step()

    def _forward(self, batch: Any, before: Any) -> tuple[Output, float]:
        trainer = self.trainer
        with trainer.precision.block():
            output = as_output(trainer.training_step(batch), batch)
        loss = float(output.loss.item())
        if not math.isfinite(loss):
            # The search computes the loss again, and is to find what this pass found.
            put_back(before)
            culprit, words = nonfinite_origin.of_loss(trainer.model, self._again, batch)
            raise self._error(f"the loss is {loss}", culprit, words)
        return output, loss

    def _again(self, batch: Any) -> None:
        with self.trainer.precision.block():
            self.trainer.training_step(batch)

    def _backward(self, output: Output) -> None:
        """Add the gradients, each batch weighed by its samples, in units of the first batch's."""
        trainer, progress = self.trainer, self.trainer.progress
        loss = output.loss
        if not loss.requires_grad:
            raise AutogradError(
                "the loss does not depend on any parameter: it was detached, made of plain numbers or under "
                "no_grad, or every parameter is frozen"
            )
        first = progress.group_first or output.count
        if not trainer.loss_is_sum and first and output.count != first:
            loss = loss * (output.count / first)
        scaler = trainer.precision.scaler
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()  # what overflows is found, and the step left out

    def _count(self, output: Output, loss: float) -> None:
        progress, count = self.trainer.progress, output.count
        now = time.perf_counter()
        seconds, self._clock = now - self._clock, now
        total = loss if self.trainer.loss_is_sum else loss * count
        progress.group_first = progress.group_first or count
        progress.group += 1
        progress.group_samples += count
        progress.group_loss += total
        progress.group_seconds += seconds
        progress.batch += 1
        progress.epoch_loss += total
        progress.epoch_samples += count
        progress.epoch_seconds += seconds
        progress.seconds += seconds
        for metric in self.trainer.metrics.values():
            metric.take(output)

    # -------------------------------------------------------------------------------------------- steps

    def _step(self) -> None:
        """Take one step with the gathered gradients; where that fails, they are forgotten."""
        trainer = self.trainer
        try:
            skipped = self._unscale()
            norm = self._check_gradients(skipped)
            trainer.call("on_step_start")
            with trainer.shield.whole(unbreakable=True):
                self._change(skipped, norm)
        # An interrupt, too: what was gathered belongs to a step that is not taken.
        except BaseException:
            self._drop_group()
            raise
        trainer.call("on_step_end")

    def _unscale(self) -> bool:
        """Bring the gradients back from the scale of the loss, and say whether that makes them overflow."""
        optimizer, scaler = self.trainer.optimizer, self.trainer.precision.scaler
        if scaler is None:
            return False
        scaler.unscale_(optimizer)
        return scaler.overflowed(optimizer)

    def _change(self, skipped: bool, norm: float) -> None:
        """Have the optimizer change the parameters, and write the step down."""
        trainer, progress = self.trainer, self.trainer.progress
        scaler = trainer.precision.scaler
        # Taken now, for what was gathered is forgotten with the step.
        rate = float(trainer.optimizer.param_groups[0]["lr"])
        loss = progress.group_loss / max(progress.group_samples, 1)
        speed = progress.group_samples / max(progress.group_seconds, 1e-9)
        if scaler is None:
            trainer.optimizer.step()
        else:
            scaler.step(trainer.optimizer)
            scaler.update()
        progress.step += 1
        progress.skipped += skipped
        progress.drop_group()
        trainer.history.record(loss, rate, norm, speed)
        # To a scheduler a step that was left out is none; PyTorch's would warn of it.
        if not skipped:
            trainer.step_scheduler()

    def _drop_group(self) -> None:
        """Forget what was gathered: it is no longer known to be whole."""
        self.trainer.progress.drop_group()
        self.trainer.optimizer.zero_grad()
        if self.trainer.precision.scaler is not None:
            self.trainer.precision.scaler.forget()

    def _check_gradients(self, skipped: bool) -> float:
        """Bring the gradients to the mean of the group, clip them, and return their norm; refuse what is not finite."""
        trainer, progress = self.trainer, self.trainer.progress
        if not trainer.loss_is_sum and progress.group_samples != progress.group_first:
            gradients.scale(self.parameters, progress.group_first / progress.group_samples)
        total = gradients.norm(self.parameters)
        norm = float(total)
        scaler = trainer.precision.scaler
        # Overflow is for the scaler to mend, by a smaller scale. At the smallest there is nothing left to
        # mend.
        if not math.isfinite(norm) and (
            scaler is None or not skipped or scaler.get_scale() <= SMALLEST_SCALE
        ):
            culprit, words = nonfinite_origin.of_gradients(trainer.named_parameters())
            raise self._error(f"the gradient is {norm}, though the loss is finite,", culprit, words)
        if trainer.clip_norm is not None and not skipped:
            gradients.clip(self.parameters, total, trainer.clip_norm)
        return norm

    def _error(self, what: str, culprit: str | None, words: str) -> TrainingError:
        progress = self.trainer.progress
        step, epoch = progress.step + 1, progress.epoch + 1
        of = "" if self.epochs is None else f" of {self.epochs}"
        return TrainingError(
            f"{what} at step {step} (epoch {epoch}{of}): training stopped, and this step changed no parameter. {words} "
            "The batch is kept as error.batch and trainer.last_batch.",
            step=step,
            epoch=epoch,
            batch=self.trainer.last_batch,
            culprit=culprit,
        )
