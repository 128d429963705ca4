"""What the attribution methods share: how they are asked, and how they answer."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.attribution.arguments import Question
from workbench.attribution.gradients import evaluating

__all__ = ["Answer", "Attribution", "ConvergenceWarning", "check_finite", "warn_of_delta"]

Array = np.ndarray[Any, Any]


class ConvergenceWarning(UserWarning):
    """Attributions do not add up to what they explain."""


@dataclass(frozen=True)
class Answer:
    """Attributions as arrays, and what is known of how good they are."""

    attributions: list[Array]
    """One for each input, of its shape and type."""
    scores: Array | None = None
    """The model's whole output for the inputs, where the method computed it."""
    delta: Array | None = None
    """float64 [N]: Σ attributions − (F(input) − F(baseline)); None where the method promises no sum."""
    tolerance: Array | None = None
    """float64 [N]: a delta beyond this is worth a warning."""


class Attribution(ABC):
    """A way to say how much each value of an input contributed to one number of a model's output.

    `forward` is a module, or any function from inputs [N, …] to outputs [N, …]. A module runs in evaluation mode, so
    that no sample's attributions depend on the others; each part's mode is put back. Parameters collect no gradients.

    Raises:
        TypeError: `forward` cannot be called.
    """

    name: ClassVar[str]
    """What the method is called."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        if not callable(forward):
            raise TypeError(
                f"{type(self).__name__}: forward is a module or a function, a {type(forward).__name__} cannot be called"
            )
        self.forward = forward

    def answer(self, question: Question, **settings: Any) -> Answer:
        """Return the answer to a checked question.

        Raises:
            ValueError: inputs or baselines hold NaN or infinite values, or gradients came out so.
        """
        check_finite(question)
        with evaluating(self.forward):
            return self._compute(question, **settings)

    @abstractmethod
    def _compute(self, question: Question, **settings: Any) -> Answer:
        """Return the answer to a checked question; the model is in evaluation mode."""


def warn_of_delta(method: str, answer: Answer) -> None:
    """Warn the caller's caller where attributions do not add up to what they explain."""
    if answer.delta is None or answer.tolerance is None:
        return
    over = int((np.abs(answer.delta) > answer.tolerance).sum())
    if over:
        warnings.warn(
            f"{method}: the attributions of {over} of {len(answer.delta)} samples do not add up to the output's "
            f"change, off by up to {np.abs(answer.delta).max():.3g}; take more steps, e.g. n_steps=200",
            ConvergenceWarning,
            stacklevel=3,  # over this and the method, to the line that asked
        )


def check_finite(question: Question) -> None:
    """Raise ValueError, with counts, where inputs or baselines hold NaN or infinite values."""
    arrays = [("input", one.numpy()) for one in question.inputs]
    arrays += [("baseline", one) for one in question.baselines]
    for position, (kind, array) in enumerate(arrays):
        finite = int(np.isfinite(array).sum())
        if finite != array.size:
            nan = int(np.isnan(array).sum())
            raise ValueError(
                f"{question.method}: {kind} {position % len(question.inputs)} holds {nan:,} NaN and "
                f"{array.size - finite - nan:,} infinite of {array.size:,} values, and attributions of those mean "
                "nothing; replace them first"
            )
