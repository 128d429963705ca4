"""The fast gradient sign method: one step that raises the loss everywhere at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import autograd
from workbench.attribution.arguments import Question, ask
from workbench.attribution.base import check_finite
from workbench.attribution.checks import check_model, check_number
from workbench.attribution.evaluation import Evaluation
from workbench.attribution.modes import evaluating, outside
from workbench.attribution.robust.perturbation import Bounds, Perturbation, masks_of
from workbench.attribution.target import select
from workbench.base.errors import AutogradError
from workbench.core.dispatch import enable_grad
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["FGSM", "LossWarning", "loss_gradients"]

Array = np.ndarray[Any, Any]

LEAST_GRADIENT = 1e-6
"""A gradient below this is rounding: its sign says nothing, and the value stays."""

AWAY = "targeted=True goes the other way"
"""Instead of a negative step."""


class LossWarning(UserWarning):
    """An attack's loss means nothing for this output."""


class FGSM(Perturbation):
    """The fast gradient sign method, ``x + ε · sign ∂L/∂x``, or less it where a target is to be reached.

    `forward_func` is a module or a function from inputs [N, …] to outputs. `loss_func(outputs, target)` returns any
    shape, of which the sum is taken; without it the loss is ``−log`` of the target's output, which then should be a
    probability. What is changed stays between `lower_bound` and `upper_bound`. A module runs in evaluation mode.

    Raises:
        TypeError: `forward_func` or `loss_func` cannot be called.
        ValueError: the lower bound is not below the upper.

    Source: Goodfellow, Shlens, Szegedy: Explaining and Harnessing Adversarial Examples (2014).

    >>> import workbench as wb
    >>> x = wb.tensor([[0.25, 0.75]])
    >>> FGSM(lambda x: x, upper_bound=1.0).perturb(x, 0.5, target=0).tolist()
    [[-0.25, 0.75]]
    """

    def __init__(
        self,
        forward_func: Callable[..., Any],
        loss_func: Callable[..., Any] | None = None,
        lower_bound: float = float("-inf"),
        upper_bound: float = float("inf"),
    ) -> None:
        for name, one in (("forward_func", forward_func), ("loss_func", loss_func or callable)):
            if not callable(one):
                raise TypeError(f"{type(self).__name__}: {name} is called, a {type(one).__name__} cannot be")
        check_model(type(self).__name__, forward_func)
        self.forward_func = forward_func
        self.loss_func = loss_func
        self.bound = Bounds(type(self).__name__, lower_bound, upper_bound)

    def perturb(
        self,
        inputs: Any,
        epsilon: float,
        target: Any,
        additional_forward_args: Any = None,
        targeted: bool = False,
        mask: Any = None,
        *,
        memory: int | str | None = None,
    ) -> Any:
        """Return inputs that each are a step of `epsilon` away where the loss has a gradient.

        Away from the target's class; towards it if `targeted`. `target` is as in `attribute` of the methods, or
        whatever `loss_func` takes. A `mask` that broadcasts to the inputs says which values may change.

        Raises:
            TypeError, DTypeError, DimensionError, DimensionIndexError: inputs, target or mask do not fit.
            ValueError: NaN or infinite values or gradients, or a negative `epsilon`.
            AutogradError: the loss does not depend on the inputs through ops that have gradients.
        """
        question = question_of(self, inputs, target, additional_forward_args)
        epsilon = check_number(question.method, "epsilon", epsilon, AWAY)
        masks = masks_of(question, mask)
        values = [one.payload for one in question.inputs]
        with evaluating(self.forward_func):
            stepped = self.step(question, values, epsilon, target, targeted, masks, memory)
        return question.named([self.bound(one) for one in stepped])

    def step(
        self,
        question: Question,
        values: Sequence[Array],
        epsilon: float,
        target: Any,
        targeted: bool,
        masks: Sequence[Array],
        memory: int | str | None = None,
    ) -> list[Array]:
        """Return arrays one step from `values`, one an input, without bounds."""
        gradients = loss_gradients(self, question, values, target, memory)
        size = -epsilon if targeted else epsilon
        return [
            np.where(np.abs(slope) > LEAST_GRADIENT, one + size * np.sign(slope) * mask, one).astype(
                one.dtype
            )
            for slope, one, mask in zip(gradients, values, masks, strict=True)
        ]


def question_of(attack: FGSM, inputs: Any, target: Any, additional_forward_args: Any) -> Question:
    """Return what an attack is asked; a `loss_func` may take any target."""
    own = target if attack.loss_func is None else None
    question = ask(type(attack).__name__, inputs, None, own, additional_forward_args)
    check_finite(question)
    return question


def loss_gradients(
    attack: FGSM, question: Question, values: Sequence[Array], target: Any, memory: int | str | None
) -> list[Array]:
    """Return the gradients of the loss at `values`, one array an input."""

    def run(part: Sequence[Array], rows: Array) -> list[Array]:
        leaves = [leaf.requires_grad_() for leaf in question.tensors(part)]
        with enable_grad():
            output = attack.forward_func(*leaves, *question.arguments(rows))
            if attack.loss_func is None:
                top, seed = _logarithm(question, output, rows)
            else:
                top = attack.loss_func(output, _part(target, rows, question.samples))
                seed = np.ones(top.shape, top.payload.dtype)
            if not top.requires_grad:
                raise AutogradError(f"{question.method}: {_UNCONNECTED}")
            found = autograd.grad(top, leaves, new(seed, top._names), allow_unused=True)
        return [_checked(question, leaf, one) for leaf, one in zip(leaves, found, strict=True)]

    def make(start: int, stop: int) -> tuple[list[Array], Array]:
        return [one[start:stop] for one in values], np.arange(start, stop)

    evaluation = Evaluation(question, attack.forward_func, memory)
    return evaluation.gather(evaluation.stream(question.samples, make, run, "loss gradients"))


def _logarithm(question: Question, output: Any, rows: Array) -> tuple[Tensor, Array]:
    """Return the output, and the gradient of ``−log`` of the targets' numbers for it."""
    index = select(output, question.target, rows, question.method)
    numbers = output.detach().numpy(force=True)
    if (numbers[index] <= 0).any():
        warnings.warn(
            f"{question.method}: without loss_func the loss is −log of the target's output, and "
            f"{int((numbers[index] <= 0).sum())} of {len(rows)} are not positive: a step then lowers the loss that is "
            "meant. For scores give one of theirs, loss_func=wb.nn.CrossEntropyLoss(reduction='none')",
            LossWarning,
            stacklevel=outside(),
        )
    seed = np.zeros(output.shape, numbers.dtype)
    with np.errstate(divide="ignore"):
        seed[index] = -1 / numbers[index]
    return output, seed


def _part(target: Any, rows: Array, samples: int) -> Any:
    """Return the target of `rows`, where it goes by samples."""
    if len(rows) == samples:
        return target
    if isinstance(target, Tensor) and target.ndim > 0 and target.shape[0] == samples:
        return new(target.payload[rows], target._names)
    if isinstance(target, list) and len(target) == samples:
        return [target[row] for row in rows]
    return target


def _checked(question: Question, leaf: Tensor, gradient: Any) -> Array:
    if gradient is None:
        return np.zeros_like(leaf.payload)
    array = np.asarray(gradient.detach().numpy(force=True))
    wrong = int((~np.isfinite(array)).sum())
    if wrong:
        raise ValueError(
            f"{question.method}: {wrong:,} of {array.size:,} gradients of the loss are NaN or infinite, and have no "
            "direction; where the output can be 0, give a loss_func of the scores before the softmax"
        )
    return array


_UNCONNECTED = (
    "the loss does not depend on the inputs through ops that have gradients: something between them leaves the tape, "
    "such as detach(), numpy() or argmax()"
)
