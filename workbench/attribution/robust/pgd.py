"""Projected gradient descent: steps of the fast gradient sign method that stay near where they began."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.checks import check_count, check_number
from workbench.attribution.modes import evaluating
from workbench.attribution.robust.fgsm import AWAY, FGSM, question_of
from workbench.attribution.robust.perturbation import masks_of
from workbench.base.random import default_generator

__all__ = ["PGD"]

Array = np.ndarray[Any, Any]


class PGD(FGSM):
    """Projected gradient descent: `FGSM` step after step, each put back into a ball around the input, and the bounds.

    Its arguments and what they raise are those of `FGSM`.

    Source: Madry, Makelov, Schmidt, Tsipras, Vladu: Towards Deep Learning Models Resistant to Adversarial Attacks
    (2017).

    >>> import workbench as wb
    >>> x = wb.tensor([[0.5, 0.5]])
    >>> PGD(lambda x: x).perturb(x, radius=0.25, step_size=0.125, step_num=5, target=0).tolist()
    [[0.25, 0.5]]
    """

    def __init__(
        self,
        forward_func: Callable[..., Any],
        loss_func: Callable[..., Any] | None = None,
        lower_bound: float = float("-inf"),
        upper_bound: float = float("inf"),
    ) -> None:
        super().__init__(forward_func, loss_func, lower_bound, upper_bound)

    def perturb(  # type: ignore[override]
        self,
        inputs: Any,
        radius: float,
        step_size: float,
        step_num: int,
        target: Any,
        additional_forward_args: Any = None,
        targeted: bool = False,
        random_start: bool = False,
        norm: str = "Linf",
        mask: Any = None,
        *,
        memory: int | str | None = None,
    ) -> Any:
        """Return inputs after `step_num` steps of `step_size` that are at most `radius` away by `norm`.

        `norm` is ``"Linf"``, of each value, or ``"L2"``, of all values of a sample of one input. With `random_start`
        the first step is taken from an even draw in the ball. The rest is as in `FGSM`.

        Raises as `FGSM.perturb` does; ValueError for another norm, a negative radius, step or number of steps.
        """
        question = question_of(self, inputs, target, additional_forward_args)
        method = question.method
        radius = check_number(method, "radius", radius)
        step_size = check_number(method, "step_size", step_size, AWAY)
        check_count(method, "step_num", step_num, 0)
        if norm not in ("Linf", "L2"):
            raise ValueError(f'{method}: norm is "Linf" or "L2", got {norm!r}')
        masks = masks_of(question, mask)
        starts = [one.payload for one in question.inputs]
        values: Sequence[Array] = starts
        if random_start:
            values = [
                self.bound(start + _draw(start, radius, norm) * part)
                for start, part in zip(starts, masks, strict=True)
            ]
        with evaluating(self.forward_func):
            for _ in range(step_num):
                stepped = self.step(question, values, step_size, target, targeted, masks, memory)
                values = [
                    self.bound(start + _clipped(one - start, radius, norm))
                    for start, one in zip(starts, stepped, strict=True)
                ]
        # Not the memory of the inputs, also where no step was taken.
        return question.named([np.array(one) for one in values])


def _clipped(change: Array, radius: float, norm: str) -> Array:
    """Return a change put back into the ball."""
    if norm == "Linf":
        return np.clip(change, -radius, radius)
    lengths = np.linalg.norm(change.reshape(len(change), -1), axis=1)
    scale = np.where(lengths > radius, radius / np.where(lengths > 0, lengths, 1), 1).astype(change.dtype)
    return np.asarray(change * scale.reshape(-1, *(1,) * (change.ndim - 1)))


def _draw(value: Array, radius: float, norm: str) -> Array:
    """Return an even draw from the ball around 0, of a value's shape and type."""
    stream = default_generator.numpy
    if norm == "Linf":
        return np.asarray(stream.uniform(-radius, radius, value.shape).astype(value.dtype))
    direction = stream.standard_normal((len(value), value[0].size))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    # The volume of a ball grows with this power of its radius.
    length = radius * stream.random((len(value), 1)) ** (1 / value[0].size)
    return np.asarray((direction * length).reshape(value.shape).astype(value.dtype))
