"""Running a model for attributions: in evaluation mode, in batches of bounded size, leaving nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from workbench import autograd
from workbench.attribution.arguments import Question
from workbench.attribution.target import check_output, select
from workbench.base.errors import AutogradError
from workbench.core.dispatch import enable_grad, no_grad
from workbench.core.value import new
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["MOST_ROWS", "evaluating", "gradients", "gradients_at_inputs", "outputs"]

Array = np.ndarray[Any, Any]
Forward = Callable[..., Any]

MOST_ROWS = 256
"""Most samples that go through a model at once, unless a method is told otherwise."""


@contextmanager
def evaluating(forward: Forward) -> Iterator[None]:
    """Put the module that `forward` is, or is a method of, into evaluation mode; put each part back afterwards."""
    # What is called may be a method of the module.
    owner = forward if isinstance(forward, Module) else getattr(forward, "__self__", None)
    # Only those that were in training: a part that is frozen stays as it is.
    learning = [part for part in owner.modules() if part.training] if isinstance(owner, Module) else []
    for part in learning:
        part.training = False
    try:
        yield
    finally:
        for part in learning:
            part.training = True


def gradients(
    forward: Forward, question: Question, values: Sequence[Array], rows: Array
) -> tuple[list[Array], Array]:
    """Return the gradients of the rows' targets for `values`, one array an input, and the targets' values [rows].

    Row i is of sample ``rows[i]``. Parameters collect no gradients.

    Raises:
        AutogradError: the output does not depend on the inputs through ops that have gradients.
    """
    leaves = []
    for array, value in zip(values, question.inputs, strict=True):
        leaf: Tensor = new(array, value._names)
        leaves.append(leaf.requires_grad_())
    with enable_grad():
        output = forward(*leaves, *question.arguments(rows))
        index = select(output, question.target, rows, question.method)
        if not output.requires_grad:
            raise AutogradError(_UNCONNECTED.format(method=question.method))
        # One pass back for all rows: none depends on another, so each gets the gradient of its own number.
        seed = np.zeros(output.shape, output.payload.dtype)
        seed[index] = 1
        found = autograd.grad(output, leaves, new(seed, output._names), allow_unused=True)
    if all(one is None for one in found):
        raise AutogradError(_UNCONNECTED.format(method=question.method))
    # An input that the output does not depend on counts for nothing.
    arrays = [
        np.zeros_like(leaf.payload) if one is None else one.detach().numpy(force=True)
        for leaf, one in zip(leaves, found, strict=True)
    ]
    return arrays, output.detach().numpy(force=True)[index]


def gradients_at_inputs(forward: Forward, question: Question) -> list[Array]:
    """Return the gradients of the targets for the inputs themselves, at most `MOST_ROWS` samples at a time.

    Raises as `gradients` does.
    """
    parts = []
    for start in range(0, question.samples, MOST_ROWS):
        rows = np.arange(start, min(start + MOST_ROWS, question.samples))
        values = [value.payload[rows] for value in question.inputs]
        parts.append(gradients(forward, question, values, rows)[0])
    return [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]


_UNCONNECTED = (
    "{method}: the output does not depend on the inputs through ops that have gradients: something between them "
    "leaves the tape, such as detach(), numpy() or argmax()"
)


def outputs(
    forward: Forward, question: Question, values: Sequence[Array], selecting: bool = True
) -> tuple[Array, Array]:
    """Return the value of each sample's target [N] and the model's whole output, computed without gradients.

    `values` hold one row a sample, or a single one for all. If not `selecting`, the target is not looked at and
    the first is empty.
    """
    # For `concatenate`, which takes no empty list.
    picked: list[Array] = [np.zeros(0)]
    whole: list[Array] = []
    with no_grad():
        for start in range(0, question.samples, MOST_ROWS):
            rows = np.arange(start, min(start + MOST_ROWS, question.samples))
            inputs = [
                new(_rows_of(array, value.shape, rows), value._names)
                for array, value in zip(values, question.inputs, strict=True)
            ]
            output = forward(*inputs, *question.arguments(rows))
            check_output(output, rows, question.method)
            whole.append(output.numpy(force=True))
            if selecting:
                picked.append(whole[-1][select(output, question.target, rows, question.method)])
    return np.concatenate(picked), np.concatenate(whole)


def _rows_of(array: Array, shape: tuple[int, ...], rows: Array) -> Array:
    # Written out: a broadcast is read-only, and its entries share memory.
    chosen = array[rows] if len(array) == shape[0] else array
    return np.ascontiguousarray(np.broadcast_to(chosen, (len(rows), *shape[1:])))
