"""The mode in which a model is explained: that of evaluation, whatever it was in before."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from workbench.attribution.behind import parts_behind
from workbench.nn import Module
from workbench.nn.traversal import parts

__all__ = ["TrainingModeWarning", "evaluating", "outside"]


class TrainingModeWarning(UserWarning):
    """A model in training mode was explained in evaluation mode."""


class evaluating:
    """A block with the modules behind `forward`, and `others` that it runs, in evaluation mode; each is put back after.

    Warns with `TrainingModeWarning` where a part was in training mode: what is explained is then not what the
    model computes as it stands.
    """

    # Written out, as it is in every call: a block made of a generator takes longer.
    __slots__ = ("_forward", "_learning", "_others")

    def __init__(self, forward: Callable[..., Any], others: Sequence[Module] = ()) -> None:
        self._forward = forward
        self._others = others

    def __enter__(self) -> None:
        running = parts_behind(self._forward)
        if self._others:
            running += [part for one in self._others for part in parts(one)]
        # Only those that were in training: a part that is frozen stays as it is.
        self._learning = [part for part in running if part.training]
        if self._learning:
            warnings.warn(
                f"the model ({type(self._learning[0]).__name__}) is in training mode; it is explained in evaluation "
                "mode, without dropout and with the statistics that normalisation has learned. Call model.eval() first",
                TrainingModeWarning,
                stacklevel=outside(),
            )
        for part in self._learning:
            part.training = False

    def __exit__(self, *exception: object) -> None:
        for part in self._learning:
            part.training = True


def outside() -> int:
    """Return how many calls above the caller the first is that is not of this package: the line that asked."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and _ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    return level


def _ours(name: str) -> bool:
    return name == "contextlib" or name.startswith("workbench.attribution")
