"""The mode in which a model is explained: that of evaluation, whatever it was in before."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from workbench.attribution.behind import modules_behind
from workbench.nn import Module
from workbench.nn.traversal import in_training

__all__ = ["TrainingModeWarning", "evaluating", "outside"]


class TrainingModeWarning(UserWarning):
    """A model in training mode was explained in evaluation mode."""


@contextmanager
def evaluating(forward: Callable[..., Any], others: Sequence[Module] = ()) -> Iterator[None]:
    """Put the modules behind `forward`, and `others` that it runs, into evaluation mode; put each part back afterwards.

    Warns with `TrainingModeWarning` where a part was in training mode: what is explained is then not what the
    model computes as it stands.
    """
    # Only those that were in training: a part that is frozen stays as it is.
    running = [*modules_behind(forward), *others]
    learning = list({id(part): part for one in running for part in in_training(one)}.values())
    if learning:
        warnings.warn(
            f"the model ({type(learning[0]).__name__}) is in training mode; it is explained in evaluation mode, "
            "without dropout and with the statistics that normalisation has learned. Call model.eval() first",
            TrainingModeWarning,
            stacklevel=outside(),
        )
    for part in learning:
        part.training = False
    try:
        yield
    finally:
        for part in learning:
            part.training = True


def outside() -> int:
    """Return how many calls above the caller the first is that is not of this package: the line that asked."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and _ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    return level


def _ours(name: str) -> bool:
    return name == "contextlib" or name.startswith("workbench.attribution")
