"""Infidelity: how far attributions are from saying what a perturbation does to the output."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question, ask
from workbench.attribution.base import check_finite
from workbench.attribution.checks import check_count
from workbench.attribution.evaluation import MOST_ROWS
from workbench.attribution.metrics.scoring import (
    Scorer,
    check_attributions,
    per_sample,
    repeated,
)
from workbench.base.errors import DimensionError
from workbench.base.foreign import told
from workbench.core.value import dims_of, new
from workbench.tensor import Tensor

__all__ = ["infidelity", "infidelity_perturb_func_decorator"]

Array = np.ndarray[Any, Any]
NAME = "infidelity"


def infidelity_perturb_func_decorator(
    multiply_by_inputs: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for a function that gives perturbed inputs only, so that `infidelity` can use it.

    The decorated function returns ``(perturbations, perturbed inputs)``, with the perturbation ``I = x − x'``. Of
    methods that multiply by the input, ``multiply_by_inputs=True``, it is divided by what they multiplied with,
    ``I = (x − x') / (x − baseline)``, or by 1 where that is 0.

    >>> import workbench as wb
    >>> perturb = infidelity_perturb_func_decorator(False)(lambda x: x - 0.5)
    >>> [one[0].tolist() for one in perturb(wb.tensor([[1.0, 2.0]]))]
    [[[0.5, 0.5]], [[0.5, 1.5]]]
    """

    def decorate(perturb_func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(perturb_func)
        def perturb(inputs: Any, baselines: Any = None) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
            changed = perturb_func(inputs) if baselines is None else perturb_func(inputs, baselines)
            values = inputs if isinstance(inputs, tuple) else (inputs,)
            perturbed = changed if isinstance(changed, tuple) else (changed,)
            _check_perturbed(values, perturbed, "perturbed inputs")
            starts = baselines if isinstance(baselines, tuple) else (baselines,) * len(values)
            if not multiply_by_inputs:
                starts = (None,) * len(values)
            pairs = zip(values, perturbed, starts, strict=True)
            return tuple(_perturbation(*one, multiply_by_inputs) for one in pairs), perturbed

        return perturb

    return decorate


def _perturbation(value: Tensor, perturbed: Tensor, baseline: Any, divide: bool) -> Tensor:
    change = value.detach() - perturbed.detach()
    if not divide:
        return change
    factor = value.detach() if baseline is None else value.detach() - baseline
    array = factor.numpy()
    # Nothing was multiplied there, and nothing is divided.
    return change / new(np.where(array == 0, array.dtype.type(1), array), factor._names)


def infidelity(
    forward_func: Callable[..., Any],
    perturb_func: Callable[..., Any],
    inputs: Any,
    attributions: Any,
    baselines: Any = None,
    additional_forward_args: Any = None,
    target: Any = None,
    n_perturb_samples: int = 10,
    max_examples_per_batch: int | None = None,
    normalize: bool = False,
    *,
    memory: int | str | None = None,
    show_progress: bool = False,
) -> Tensor:
    """Return how far attributions are from the output's change under perturbations, [N]; lower is better.

    ``E_I [ (Σ I · a − (F(x) − F(x − I)))² ]`` over perturbations I, which ``perturb_func(inputs)``, or
    ``perturb_func(inputs, baselines)`` where there are baselines, returns together with the perturbed inputs: it gets
    each sample several times in a row. If `normalize`, the attributions are first scaled by the one number a sample
    that makes it least, so that their unit does not matter.

    At most `max_examples_per_batch` perturbed samples are made and run at once.

    Raises:
        TypeError, DTypeError, DimensionError: as `attribute` of the methods does, for inputs, target and baselines, and
            where attributions or what `perturb_func` returned do not go with the inputs.
        ValueError: NaN or infinite values, or a number of perturbations below 1.

    Source: Yeh, Hsieh, Suggala, Inouye, Ravikumar: On the (In)fidelity and Sensitivity of Explanations (2019).

    >>> import workbench as wb
    >>> weights = wb.tensor([[3.0, -1.0]])
    >>> perturb = infidelity_perturb_func_decorator(False)(lambda x: x - wb.rand_like(x))
    >>> infidelity(lambda x: x @ weights.T, perturb, wb.ones(1, 2), weights).item() < 1e-9
    True
    """
    question = ask(NAME, inputs, baselines, target, additional_forward_args, any_type=True)
    check_finite(question)
    count = check_count(NAME, "n_perturb_samples", n_perturb_samples)
    if max_examples_per_batch is not None:
        check_count(NAME, "max_examples_per_batch", max_examples_per_batch)
    most = MOST_ROWS if max_examples_per_batch is None else max_examples_per_batch
    weights = check_attributions(question, attributions)
    scorer = Scorer(forward_func, question, "output", memory, show_progress, max_examples_per_batch)
    start = scorer.at_inputs()
    sums = np.zeros((3, question.samples))
    done = 0
    while done < count:
        times = min(max(most // question.samples, 1), count - done)
        explained, change = _perturbed(scorer, perturb_func, weights, start, baselines, times)
        sums += ((explained**2).sum(1), (explained * change).sum(1), (change**2).sum(1))
        done += times
    squares, products, changes = sums / count
    scale = products / np.where(squares == 0, 1.0, squares) if normalize else 1.0
    # A square that is 0 but for rounding is not below it.
    return per_sample(question, np.maximum(scale**2 * squares - 2 * scale * products + changes, 0))


def _perturbed(
    scorer: Scorer,
    perturb_func: Callable[..., Any],
    weights: tuple[Array, ...],
    start: Array,
    baselines: Any,
    times: int,
) -> tuple[Array, Array]:
    """Return ``Σ I · a`` and ``F(x) − F(x − I)``, each [N, times]."""
    question = scorer.question
    perturbations, perturbed = _call(question, perturb_func, baselines, times)
    rows = np.repeat(np.arange(question.samples), times)
    values = [one.detach().numpy(force=True) for one in perturbed]
    found = scorer.scores(
        len(rows), lambda start, stop: ([one[start:stop] for one in values], rows[start:stop])
    )
    explained = np.zeros(len(rows))
    for weight, perturbation in zip(weights, perturbations, strict=True):
        steps = perturbation.detach().numpy(force=True).astype(np.float64).reshape(len(rows), -1)
        explained += np.einsum("nf,nf->n", steps, weight.reshape(len(weight), -1)[rows])
    shape = (question.samples, times)
    return explained.reshape(shape), (start[rows] - found).reshape(shape)


def _call(
    question: Question, perturb_func: Callable[..., Any], baselines: Any, times: int
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    values = tuple(repeated(value, times) for value in question.inputs)
    if baselines is None:
        returned = perturb_func(values if len(values) > 1 else values[0])
    else:
        given = baselines if isinstance(baselines, tuple) else (baselines,)
        starts = tuple(
            repeated(one, times) if isinstance(one, Tensor) and one.shape[0] == question.samples > 1 else one
            for one in given
        )
        returned = perturb_func(*((values, starts) if len(values) > 1 else (values[0], starts[0])))
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise TypeError(
            f"{NAME}: perturb_func returns (perturbations, perturbed inputs); one that returns perturbed inputs only "
            "goes through infidelity_perturb_func_decorator"
        )
    perturbations, perturbed = (one if isinstance(one, tuple) else (one,) for one in returned)
    _check_perturbed(values, perturbations, "perturbations")
    _check_perturbed(values, perturbed, "perturbed inputs")
    return perturbations, perturbed


def _check_perturbed(values: tuple[Tensor, ...], given: tuple[Any, ...], what: str) -> None:
    if len(given) != len(values):
        raise DimensionError(f"perturb_func returned {len(given)} {what} for {len(values)} inputs", op=NAME)
    for value, one in zip(values, given, strict=True):
        if not isinstance(one, Tensor):
            raise TypeError(f"{NAME}: {what} are tensors, perturb_func returned {told(one)}")
        if one.shape != value.shape:
            raise DimensionError(
                f"perturb_func was given inputs of shape {list(value.shape)}, and returned {what} of shape "
                f"{list(one.shape)}: it keeps the shape",
                op=NAME,
                operands=(dims_of(value).operand("inputs"), dims_of(one).operand(what)),
            )
