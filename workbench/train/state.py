"""The state of a `Trainer`: collected, saved, and taken over all or nothing."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.base.errors import short
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy
from workbench.train import checkpoint, gradients, randomness
from workbench.train.errors import CheckpointError, CheckpointWarning
from workbench.train.metrics import Metric
from workbench.train.progress import Progress
from workbench.train.serialization import pack, unpack

if TYPE_CHECKING:
    from workbench.train.position import Position
    from workbench.train.trainer import Trainer

__all__ = ["apply", "collect", "fresh", "load", "load_newest", "save"]


PARTS = (
    "run", "settings", "model", "optimizer", "scheduler", "scaler", "gradients", "progress", "metrics", "callbacks",
    "history", "place", "random",
)  # fmt: skip
"""What the state of a trainer consists of."""


def fresh(metric: Metric) -> Metric:
    """Return a metric like this one that has seen no batch."""
    copied = copy.copy(metric)
    copied.reset()
    return copied


def collect(trainer: Trainer) -> dict[str, Any]:
    """Return everything that `trainer` needs to go on exactly."""
    scheduler, scaler = trainer.schedule.scheduler, trainer.precision.scaler
    gathered = trainer.progress.group > 0
    parameters = gradients.parameters_of(trainer.optimizer)
    return {
        "run": trainer.run_id,
        "settings": {
            "accumulate": trainer.accumulate,
            "precision": trainer.precision.name,
            "optimizer": type(trainer.optimizer).__name__,
        },
        # A plain dict, which has among its keys what a state has beside them, too.
        "model": trainer.model.state_dict(destination={}),
        "optimizer": trainer.optimizer.state_dict(),
        "scheduler": None if scheduler is None else scheduler.state_dict(),
        "scaler": None if scaler is None else scaler.state_dict(),
        "gradients": {
            i: one.grad.detach() for i, one in enumerate(parameters) if gathered and one.grad is not None
        },
        "progress": asdict(trainer.progress),
        "metrics": {name: metric.state_dict() for name, metric in trainer.metrics.items()},
        "callbacks": {key: one.state_dict() for key, one in _keyed(trainer).items()},
        "history": trainer.history.state_dict(),
        "place": trainer.where(),
        "random": randomness.capture(),
    }


def _keyed(trainer: Trainer) -> dict[str, Any]:
    """Callbacks by the name of their class, numbered where there are several of one."""
    found: dict[str, Any] = {}
    for one in trainer.callbacks:
        name, number = type(one).__name__, 1
        key = name
        while key in found:
            number += 1
            key = f"{name} {number}"
        found[key] = one
    return found


def apply(trainer: Trainer, state: Mapping[str, Any], position: Position | None = None) -> None:
    """Have `trainer` go on from `state`; where it does not fit `CheckpointError` says what, and nothing changes.

    `position`, if given, is brought to the place in the data, and must fit too.
    """
    if trainer.control.active and trainer.position is not None:
        raise RuntimeError("a state is taken over between trainings: stop() this one first")
    _check(trainer, state)
    # Copied: what `collect` returns shares its memory with what is about to change.
    before = _copied(collect(trainer))
    try:
        _apply(trainer, state)
        if position is not None and state["place"] is not None:
            _go_to(position, state["place"])
    # All that a state that does not fit may cause, wherever it is noticed. Everything else is a fault of its
    # own.
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError, IndexError) as error:
        _apply(trainer, before)
        words = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise CheckpointError(
            f"this state does not fit this trainer, and nothing was changed: {words}"
        ) from error
    # Interrupted halfway, too, it is as it was.
    except BaseException:
        _apply(trainer, before)
        raise


def _go_to(position: Position, place: Mapping[str, Any]) -> None:
    try:
        position.load_state_dict(place)
    except ValueError as error:
        raise CheckpointError(
            f"{error}. To train on with other data, or other batches, from the start of an epoch call load(path), then "
            "fit(loader) without resume"
        ) from error


def _check(trainer: Trainer, state: Mapping[str, Any]) -> None:
    if not isinstance(state, Mapping):
        raise CheckpointError(f"this is no state of a Trainer, but a {type(state).__name__}")
    missing = [name for name in PARTS if name not in state]
    if missing:
        raise CheckpointError(f"this is no state of a Trainer: it lacks {', '.join(missing)}")
    for name in ("settings", "progress", "metrics", "callbacks", "gradients"):
        if not isinstance(state[name], Mapping):
            raise CheckpointError(
                f"this is no state of a Trainer: its {name} are a {type(state[name]).__name__}"
            )
    odd = [
        name for name, value in state["progress"].items() if isinstance(value, bool) or not _fits(name, value)
    ]
    if odd or "accumulate" not in state["settings"]:
        raise CheckpointError(
            f"this is no state of a Trainer: {odd[0]} is {short(state['progress'][odd[0]])}"
            if odd
            else "this is no state of a Trainer: it does not say how many batches make a step"
        )
    own = {"scheduler": trainer.schedule.scheduler, "scaler": trainer.precision.scaler}
    for name, one in own.items():
        if (state[name] is None) != (one is None):
            raise CheckpointError(
                f"this state does not fit this trainer, and nothing was changed: it has {'no' if one else 'a'} {name}, "
                f"and the trainer has {'one' if one else 'none'}"
            )
    used = state["settings"].get("optimizer")
    # A class made of the one that trained goes on with its state.
    if used is not None and used not in [one.__name__ for one in type(trainer.optimizer).__mro__]:
        raise CheckpointError(
            f"this state does not fit this trainer, and nothing was changed: it was trained with {used}, and the "
            f"trainer has {type(trainer.optimizer).__name__}. The model's weights alone are taken over by "
            "model.load_state_dict(wb.load_weights(path))"
        )
    theirs = state["settings"]["accumulate"]
    if state["progress"].get("group") and theirs != trainer.accumulate:
        raise CheckpointError(
            "this state does not fit this trainer, and nothing was changed: it was taken amid a step of "
            f"{theirs} batches, and here accumulate={trainer.accumulate}"
        )


def _fits(name: str, value: Any) -> bool:
    """Say whether a counter has the type that it has in `Progress`, and is no less than 0."""
    known = {one.name: type(one.default) for one in fields(Progress)}.get(name)
    whole = isinstance(value, int) and value >= 0
    return known is not None and (whole or (known is float and isinstance(value, float)))


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    tensors: dict[str, Any] = {}
    told = pack(state, tensors)
    copies = {
        key: value.detach().clone() if isinstance(value, Tensor) else from_numpy(value.copy())
        for key, value in tensors.items()
    }
    return dict(unpack(told, copies))


def _apply(trainer: Trainer, state: Mapping[str, Any]) -> None:
    trainer.model.load_state_dict(state["model"])
    trainer.optimizer.load_state_dict(state["optimizer"])
    if trainer.schedule.scheduler is not None:
        trainer.schedule.scheduler.load_state_dict(state["scheduler"])
    if trainer.precision.scaler is not None:
        trainer.precision.scaler.load_state_dict(state["scaler"])
    # Metrics and callbacks may come and go between two runs; those that the state knows take theirs over.
    for name, metric in trainer.metrics.items():
        if name in state["metrics"]:
            metric.load_state_dict(state["metrics"][name])
    for key, one in _keyed(trainer).items():
        if key in state["callbacks"]:
            one.load_state_dict(state["callbacks"][key])
    trainer.history.load_state_dict(state["history"])
    trainer.progress = Progress(**state["progress"])
    for i, parameter in enumerate(gradients.parameters_of(trainer.optimizer)):
        parameter.grad = state["gradients"].get(i)
    trainer.run_id = str(state["run"])
    trainer.take_place(state["place"])
    # Last, so that nothing drawn on the way counts.
    randomness.restore(state["random"])


# ------------------------------------------------------------------------------------------------- files


def save(
    trainer: Trainer,
    path: str | Path,
    *,
    monitor: str | None = None,
    value: float | None = None,
    mode: str = "min",
) -> None:
    """Write the trainer's state as a checkpoint."""
    progress = trainer.progress
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    summary = checkpoint.Summary(
        trainer.run_id, progress.step, progress.epoch, time.time(), monitor, value, mode
    )
    checkpoint.save(collect(trainer), path, summary)


def load(trainer: Trainer, path: str | Path, position: Position | None = None) -> None:
    """Take over a checkpoint."""
    try:
        apply(trainer, checkpoint.load(path), position)
    except CheckpointError as error:
        if str(path) in str(error):
            raise
        raise CheckpointError(f"{path}: {error}") from error
    trainer.resumed_from = Path(path)


def load_newest(trainer: Trainer, folder: Path, position: Position, *, best: bool) -> bool:
    """Take over the newest, or best, good checkpoint of a folder; return False where it has none at all.

    A `CheckpointWarning` tells of those that were passed over.
    """
    if not checkpoint.files(folder):
        return False
    found, path, problems = checkpoint.newest(folder, best=best)
    if problems:
        warnings.warn(
            f"went on from {path}, because:\n  " + "\n  ".join(problems), CheckpointWarning, stacklevel=5
        )
    try:
        apply(trainer, found, position)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    trainer.resumed_from = path
    return True
