"""The mode in which a model is explained: that of evaluation, whatever it was in before."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from workbench.nn import Module
from workbench.nn.traversal import in_training

__all__ = ["TrainingModeWarning", "evaluating", "modules_behind", "outside"]


class TrainingModeWarning(UserWarning):
    """A model in training mode was explained in evaluation mode."""


def modules_behind(forward: Callable[..., Any]) -> list[Module]:
    """Return the modules that a forward function runs, as far as can be seen from outside.

    These are the module that it is, or is a method of, and those that its code names: in a closure, as a global, or
    as what a `functools.partial` holds.

    >>> import workbench as wb
    >>> model = wb.nn.Linear(2, 1)
    >>> modules_behind(lambda x: model(x).exp()) == [model]
    True
    """
    if isinstance(forward, functools.partial):
        inside = [forward.func, *forward.args, *forward.keywords.values()]
        return _distinct([one for each in inside if callable(each) for one in modules_behind(each)])
    if isinstance(forward, Module):
        return [forward]
    inner = getattr(forward, "forward_func", None)
    if callable(inner):  # a layer or a neuron of a model, as a function
        return modules_behind(inner)
    owner = getattr(forward, "__self__", None)
    if isinstance(owner, Module):
        return [owner]
    if not inspect.isfunction(forward):
        return []
    known = inspect.getclosurevars(forward)
    return _distinct(
        [one for one in (*known.nonlocals.values(), *known.globals.values()) if isinstance(one, Module)]
    )


def _distinct(modules: list[Module]) -> list[Module]:
    return list({id(one): one for one in modules}.values())


@contextmanager
def evaluating(forward: Callable[..., Any]) -> Iterator[None]:
    """Put the modules behind `forward` into evaluation mode; put each part back afterwards.

    Warns with `TrainingModeWarning` where a part was in training mode: what is explained is then not what the
    model computes as it stands.
    """
    # Only those that were in training: a part that is frozen stays as it is.
    learning = [part for one in modules_behind(forward) for part in in_training(one)]
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
