"""One run of a model over rows: what it gives, and the gradients of the targets, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import autograd
from workbench.attribution.arguments import Question
from workbench.attribution.precision import range_of
from workbench.attribution.target import check_output, select
from workbench.base.errors import AutogradError
from workbench.core.dispatch import enable_grad, no_grad
from workbench.core.value import new
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain

__all__ = ["differentiated", "gradients_for", "gradients_of", "run_rows"]

Array = np.ndarray[Any, Any]
Forward = Callable[..., Any]


def run_rows(forward: Forward, question: Question, values: Sequence[Array], rows: Array) -> Tensor:
    """Return the model's output for rows, computed without gradients.

    Raises:
        TypeError: the model returns no tensor.
        DimensionError: the first dim of the output is not the rows.
    """
    with no_grad():
        output = forward(*question.tensors(values), *question.arguments(rows))
    check_output(output, rows, question.method, gradients=False)
    checked: Tensor = output
    return checked


def gradients_of(
    forward: Forward, question: Question, values: Sequence[Array], rows: Array
) -> tuple[list[Array], Array]:
    """Return the gradients of the rows' targets for `values`, one array an input, and the targets' values [rows].

    Row i is of sample ``rows[i]``. Parameters collect no gradients.

    Raises:
        AutogradError: the output does not depend on the inputs through ops that have gradients.
        ValueError: gradients are NaN or infinite.
    """
    found, output, index = differentiated(forward, question, values, rows)
    return found, plain(output)[index]


def differentiated(
    forward: Forward, question: Question, values: Sequence[Array], rows: Array
) -> tuple[list[Array], Tensor, tuple[Array, ...]]:
    """Return the gradients of the rows' targets, the model's output, and where in it the targets are."""
    leaves = [leaf.requires_grad_() for leaf in question.tensors(values)]
    with enable_grad():
        output = forward(*leaves, *question.arguments(rows))
        index = select(output, question.target, rows, question.method)
        return gradients_for(output, index, leaves, question.method), output, index


def gradients_for(
    output: Tensor, index: tuple[Array, ...], leaves: Sequence[Tensor], method: str
) -> list[Array]:
    """Return the gradients of ``output[index]``, one number a row, for each of `leaves`.

    A leaf that the output does not depend on gets zeros.

    Raises:
        AutogradError: the output depends on none of the leaves through ops that have gradients.
        ValueError: gradients are NaN or infinite.
    """
    if not output.requires_grad:
        raise AutogradError(_UNCONNECTED.format(method=method))
    # One pass back for all rows: none depends on another, so each gets the gradient of its own number.
    seed = np.zeros(output.shape, output.payload.dtype)
    seed[index] = 1
    found = autograd.grad(output, list(leaves), new(seed, output._names), allow_unused=True)
    if all(one is None for one in found):
        raise AutogradError(_UNCONNECTED.format(method=method))
    arrays = [
        np.zeros_like(leaf.payload) if one is None else plain(one)
        for leaf, one in zip(leaves, found, strict=True)
    ]
    for position, array in enumerate(arrays):
        _check_gradient(array, position, method)
    return arrays


def _check_gradient(array: Array, position: int, method: str) -> None:
    is_finite = np.isfinite(array)
    if not is_finite.all():
        wrong = int((~is_finite).sum())
        raise ValueError(
            f"{method}: {wrong:,} of {array.size:,} gradients for input {position} are NaN or infinite, and "
            "attributions of those mean nothing; wb.autograd.detect_anomaly() names the op that they come from"
            + range_of(array.dtype)
        )


_UNCONNECTED = (
    "{method}: the output does not depend on the inputs through ops that have gradients: something between them "
    "leaves the tape, such as detach(), numpy(), argmax() or a layer in integer codes; occlusion, feature_ablation and "
    "the other methods that perturb inputs need no gradients"
)
