"""What a `Trainer` is made of, looked at before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from workbench.base.errors import AutogradError, short
from workbench.nn import Module
from workbench.optim import LBFGS
from workbench.train import gradients
from workbench.train.callbacks import ModelCheckpoint
from workbench.train.callbacks.base import Callback

__all__ = ["check_count", "check_model", "check_settings", "folder_of", "kind_of", "listed"]


def check_count(label: str, value: Any) -> None:
    """Raise ValueError for what is neither None nor a whole number from 1."""
    if value is None:
        return
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < 1:
        raise ValueError(f"{label} must be 1 or more, got {value!r}" + ("" if whole else ", no whole number"))


def check_model(model: Any, loss: Any, optimizer: Any) -> None:
    """Raise TypeError for what is no model, loss or optimizer, AutogradError where they do not belong together."""
    if not isinstance(model, Module):
        raise TypeError(f"a Trainer trains an nn.Module, got {_told(model, 'Model')}")
    if isinstance(loss, type):
        raise TypeError(f"loss is called as loss(predictions, targets), got {_told(loss)}")
    if loss is not None and not callable(loss):
        raise TypeError(f"loss is called as loss(predictions, targets), and {type(loss).__name__} cannot be")
    if isinstance(optimizer, list | tuple):
        raise TypeError(
            f"a Trainer has one optimizer, got {len(optimizer)} in a {type(optimizer).__name__}: parts of a model get "
            "settings of their own as parameter groups, Adam([{'params': …, 'lr': …}, …]). Models that are trained in "
            "turn, as those of a GAN, take a loop of your own"
        )
    if isinstance(optimizer, type) or not all(
        hasattr(optimizer, name) for name in ("step", "zero_grad", "param_groups", "state_dict")
    ):
        raise TypeError(
            "optimizer is an Optimizer, such as wb.optim.Adam(model.parameters()), got "
            + _told(optimizer, arguments="model.parameters()")
        )
    if isinstance(optimizer, LBFGS):
        raise TypeError(
            "LBFGS computes the loss several times in a step, by a closure, which a Trainer does not do: write that "
            "loop yourself, or take another optimizer"
        )
    # By identity: equal numbers in another model are other parameters.
    own = {id(one) for one in model.parameters()}
    if not any(id(one) in own for one in gradients.parameters_of(optimizer)):
        raise AutogradError(
            "the optimizer changes none of the model's parameters: it was made of another model, or before this one "
            "was made anew. Make it again of model.parameters()"
        )


def _told(given: Any, otherwise: str = "", arguments: str = "") -> str:
    """Say what was given; of a class, that one of it is wanted."""
    if not isinstance(given, type):
        return type(given).__name__
    name = given.__name__ or otherwise
    return f"the class {name} itself: make one, {name}({arguments})"


def check_settings(accumulate: Any, clip_norm: Any, seed: Any) -> None:
    """Raise ValueError for settings that make no sense."""
    check_count("accumulate", accumulate)
    if clip_norm is not None and (
        isinstance(clip_norm, bool) or not isinstance(clip_norm, Real) or not float(clip_norm) > 0
    ):
        raise ValueError(f"clip_norm must be above 0, or None, got {clip_norm!r}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral)):
        raise ValueError(f"seed must be a whole number, or None, got {seed!r}")


def listed(callbacks: Any) -> list[Callback]:
    """Return callbacks as a list: one alone is one; TypeError for what is none."""
    if callbacks is None:
        return []
    if isinstance(callbacks, Callback):
        return [callbacks]
    if isinstance(callbacks, type) or not isinstance(callbacks, Iterable):
        raise TypeError(f"callbacks are Callback objects, got {_told(callbacks)}")
    given = list(callbacks)
    for one in given:
        if not isinstance(one, Callback):
            raise TypeError(f"callbacks are Callback objects, got {_told(one)}")
    return given


def folder_of(given: list[Callback], checkpoint: Any) -> Path | None:
    """Return the one folder for checkpoints: that of a `ModelCheckpoint` among the callbacks, or the one named."""
    own = next((one.folder for one in given if isinstance(one, ModelCheckpoint)), None)
    if checkpoint is None:
        return own
    if not isinstance(checkpoint, str | Path):
        raise TypeError(
            f"checkpoint is a folder, such as 'runs/mine', got {short(checkpoint)}: a ModelCheckpoint goes among the "
            "callbacks"
        )
    if own not in (None, Path(checkpoint)):
        raise ValueError(
            f"checkpoint={str(checkpoint)!r}, and the ModelCheckpoint among the callbacks saves to {str(own)!r}: "
            "leave one of the two away"
        )
    return Path(checkpoint)


def kind_of(batch: Any) -> str:
    """Say what a batch is, for an error."""
    if isinstance(batch, tuple | list):
        return f"{type(batch).__name__} of {len(batch)}"
    return type(batch).__name__
