"""What metrics share: the numbers that a model gives to changed inputs, and attributions checked against inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question
from workbench.attribution.base import InterruptedWarning
from workbench.attribution.checks import check_model
from workbench.attribution.evaluation import Evaluation, Make
from workbench.attribution.model_runs import run_rows
from workbench.attribution.modes import evaluating, outside
from workbench.attribution.target import select
from workbench.base.dims import unify_names
from workbench.base.errors import DimensionError
from workbench.base.foreign import told
from workbench.core.value import dims_of, new
from workbench.tensor import Tensor

__all__ = ["Scorer", "check_attributions", "per_sample", "repeated"]

Array = np.ndarray[Any, Any]


@dataclass
class Scorer:
    """Asks a model for the number that a question is about, for changed inputs.

    Rows go through the model by an `Evaluation`: in batches under `memory`, with progress, until interrupted.

    Raises:
        TypeError: the model cannot be called, or is a module of another library.
        ValueError: a `score` that there is not.
    """

    forward: Callable[..., Any]
    question: Question
    score: str | None = "output"
    """``output``: the target's number as it is; ``probability``: after a softmax over the outputs of a sample; None:
    probability where the output is a list of classes [N, 2 or more], else the number."""
    memory: int | str | None = None
    show_progress: bool = False
    most_rows: int | None = None

    def __post_init__(self) -> None:
        check_model(self.question.method, self.forward)
        if self.score not in (None, "output", "probability"):
            raise ValueError(
                f'{self.question.method}: score is "probability", "output" or None for what fits the output; got '
                f"{self.score!r}"
            )
        self.evaluation = Evaluation(
            self.question, self.forward, self.memory, self.most_rows, self.show_progress
        )

    def scores(self, count: int, make: Make) -> Array:
        """Return float64 [count]: the numbers of rows that ``make(start, stop)`` gives with the samples they are of.

        NaN for rows that were not reached before an interruption, of which an `InterruptedWarning` tells.

        Raises as `target.select` does; ValueError where the model gives NaN or infinite numbers, or none that a
        softmax could be taken of.
        """
        with evaluating(self.forward):
            found = self.evaluation.gather(self.evaluation.stream(count, make, self._run, "outputs"), count)[
                0
            ]
        if self.evaluation.interrupted:
            warnings.warn(
                f"{self.question.method} was stopped before its last row; what was not reached is NaN",
                InterruptedWarning,
                stacklevel=outside(),
            )
        return found

    def at_inputs(self) -> Array:
        """Return float64 [N]: the number of each sample as it is."""
        return self.scores(self.question.samples, self.question.part)

    def _run(self, values: Sequence[Array], rows: Array) -> list[Array]:
        output = run_rows(self.forward, self.question, values, rows)
        return [self._picked(output, rows)]

    def _picked(self, output: Any, rows: Array) -> Array:
        method = self.question.method
        index = select(output, self.question.target, rows, method, gradients=False)
        numbers = output.numpy(force=True).astype(np.float64)
        classes = numbers.ndim == 2 and numbers.shape[1] > 1
        if self.score == "probability" or (self.score is None and classes):
            if not classes:
                raise ValueError(
                    f"{method}: probabilities are asked for, and an output of shape {list(numbers.shape)} is no list "
                    'of classes a sample; score="output" takes the numbers as they are'
                )
            numbers = _probabilities(numbers)
        picked = np.asarray(numbers[index])
        if not np.isfinite(picked).all():
            raise ValueError(
                f"{method}: the model's output is NaN or infinite for {int((~np.isfinite(picked)).sum())} of "
                f"{len(picked)} samples, and a metric of those means nothing"
            )
        return picked


def _probabilities(numbers: Array) -> Array:
    # Probabilities already, where the model ends in a softmax.
    if numbers.min() >= 0 and np.allclose(numbers.sum(axis=1), 1, atol=1e-4):
        return numbers
    shifted = np.exp(numbers - numbers.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def check_attributions(question: Question, attributions: Any, broadcast: bool = False) -> tuple[Array, ...]:
    """Return attributions as float64 arrays, one an input, checked against the inputs.

    If `broadcast`, sizes may be 1 where an attribution has no opinion on a dim, such as channels.

    Raises:
        TypeError: attributions are not tensors in the inputs' form.
        DimensionError: shapes or names do not go with the inputs'.
        ValueError: attributions hold NaN or infinite values.
    """
    method = question.method
    given = attributions if isinstance(attributions, tuple) else (attributions,)
    if len(given) != len(question.inputs):
        raise DimensionError(
            f"{len(given)} attributions for {len(question.inputs)} inputs: give one for each input, as `attribute` "
            "returns them",
            op=method,
        )
    return tuple(
        _attribution(method, value, one, broadcast) for value, one in zip(question.inputs, given, strict=True)
    )


def _attribution(method: str, value: Tensor, one: Any, broadcast: bool) -> Array:
    if not isinstance(one, Tensor):
        raise TypeError(f"{method}: attributions are tensors, as `attribute` returns them; got {told(one)}")
    fits = one.ndim == value.ndim and all(
        size == wanted or (broadcast and size == 1 and axis > 0)
        for axis, (size, wanted) in enumerate(zip(one.shape, value.shape, strict=True))
    )
    operands = (dims_of(value).operand("inputs"), dims_of(one).operand("attributions"))
    if not fits:
        raise DimensionError(
            f"attributions of shape {list(one.shape)} do not go with inputs of shape {list(value.shape)}: they have "
            "one number for each value of the input" + (", or sizes of 1" if broadcast else ""),
            op=method,
            operands=operands,
        )
    unify_names(method, dims_of(value), dims_of(one))
    array = one.detach().numpy(force=True).astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(
            f"{method}: attributions hold {int((~np.isfinite(array)).sum()):,} NaN or infinite of {array.size:,} "
            "values, and a metric of those means nothing"
        )
    return array


def per_sample(question: Question, values: Array, name: str | None = None) -> Tensor:
    """Return [N] or [N, name] as a tensor whose first dim has the name of the inputs' samples."""
    names = question.inputs[0]._names
    # No names at all where the inputs have none.
    return new(values, None if names is None else (names[0], name)[: values.ndim])


def repeated(value: Tensor, times: int) -> Tensor:
    """Return `value` with each of its samples `times` times in a row, off the tape."""
    return new(np.repeat(value.detach().numpy(force=True), times, axis=0), value._names)
