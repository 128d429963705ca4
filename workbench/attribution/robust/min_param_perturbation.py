"""The least setting of an attack that misleads a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from workbench.attribution.checks import check_count, check_model
from workbench.attribution.modes import evaluating
from workbench.attribution.robust.perturbation import Perturbation
from workbench.attribution.robust.trials import extra_of, run_together
from workbench.base.errors import DimensionError
from workbench.ops.reduce.extremes import argmax
from workbench.tensor import Tensor
from workbench.tensor.factories import tensor

__all__ = ["MinParamPerturbation"]

NAME = "MinParamPerturbation"
Setting = int | float


class MinParamPerturbation:
    """Searches the least value of one setting of an attack with which the model is wrong.

    ``attack(inputs, **{arg_name: value})`` is tried with values from `arg_min` up to below `arg_max` in steps of
    `arg_step`: one after the other (``mode="linear"``), or halving (``"binary"``), for attacks that succeed with all
    greater values when they do with one. Each value is tried `num_attempts` times, for attacks by chance.
    ``preproc_fn(inputs)`` makes what the model takes; the attack is on what it is given (`apply_before_preproc`) or on
    what it makes. ``correct_fn(outputs, target, …)`` says whether the model is right; without it, whether the greatest
    of the outputs [N, classes] is the target's for all samples.

    Raises:
        TypeError: the model, the attack or a function cannot be called, or an end of the range is no number.
        ValueError: a mode that there is not, less than one attempt, or a range with less than one step.

    >>> import workbench as wb
    >>> search = MinParamPerturbation(lambda x: x, lambda x, by: x - by * wb.tensor([1.0, 0.0]), "by", 0, 10, 1)
    >>> search.evaluate(wb.tensor([[3.5, 1.0]]), target=0)[1]
    3
    """

    def __init__(
        self,
        forward_func: Callable[..., Any],
        attack: Callable[..., Any] | Perturbation,
        arg_name: str,
        arg_min: Setting,
        arg_max: Setting,
        arg_step: Setting,
        mode: str = "linear",
        num_attempts: int = 1,
        preproc_fn: Callable[..., Any] | None = None,
        apply_before_preproc: bool = False,
        correct_fn: Callable[..., Any] | None = None,
    ) -> None:
        called = {
            "forward_func": forward_func,
            "attack": attack,
            "preproc_fn": preproc_fn or callable,
            "correct_fn": correct_fn or callable,
        }
        for name, one in called.items():
            if not callable(one):
                raise TypeError(f"{NAME}: {name} is called, a {type(one).__name__} cannot be")
        check_model(NAME, forward_func)
        for name, number in (("arg_min", arg_min), ("arg_max", arg_max), ("arg_step", arg_step)):
            if isinstance(number, bool) or not isinstance(number, int | float | np.number):
                raise TypeError(f"{NAME}: {name} is a number, got {type(number).__name__}")
        if not arg_step > 0 or not arg_max > arg_min + arg_step:
            raise ValueError(
                f"{NAME}: from {arg_min} to {arg_max} there is no step of {arg_step}; the range is longer than a step, "
                "and a step is above 0"
            )
        if str(mode).lower() not in ("linear", "binary"):
            raise ValueError(f'{NAME}: mode is "linear" or "binary", got {mode!r}')
        check_count(NAME, "num_attempts", num_attempts)
        self.forward_func = forward_func
        self.attack = attack
        self.arg_name = arg_name
        self.arg_min, self.arg_max, self.arg_step = arg_min, arg_max, arg_step
        self.mode = mode.lower()
        self.num_attempts = num_attempts
        self.preproc_fn = preproc_fn
        self.apply_before_preproc = apply_before_preproc
        self.correct_fn = _is_right if correct_fn is None else correct_fn

    def evaluate(
        self,
        inputs: Any,
        additional_forward_args: Any = None,
        target: Any = None,
        perturbations_per_eval: int = 1,
        attack_kwargs: dict[str, Any] | None = None,
        correct_fn_kwargs: dict[str, Any] | None = None,
    ) -> tuple[Any, Setting | None]:
        """Return the changed inputs with which the model is wrong and the setting that made them; None, None if none.

        `perturbations_per_eval` changed inputs go through the model at once. `attack_kwargs` are further settings of
        the attack, `correct_fn_kwargs` of `correct_fn`. The changed inputs are those before `preproc_fn` if
        `apply_before_preproc`.

        Raises:
            TypeError: there is neither a target nor a `correct_fn`.
            DimensionError: there is not one target, or one for each sample.
            ValueError: `perturbations_per_eval` is below 1, or the model's outputs are no [N, classes] that the
                greatest could be taken of.
        """
        check_count(NAME, "perturbations_per_eval", perturbations_per_eval)
        right = dict(correct_fn_kwargs or {})
        if target is not None:
            right = {"target": target, **right}
        if self.correct_fn is _is_right and "target" not in right:
            raise TypeError(
                f"{NAME}: give target=, the class of each sample, or make it with a correct_fn that needs none"
            )
        ready = inputs if self.preproc_fn is None else self.preproc_fn(inputs)
        asked = _Search(self, inputs, ready, attack_kwargs or {}, extra_of(additional_forward_args), right)
        with evaluating(self.forward_func):
            if self.mode == "linear":
                return asked.linear(perturbations_per_eval)
            return asked.binary(perturbations_per_eval)


class _Search:
    """One search."""

    def __init__(
        self,
        of: MinParamPerturbation,
        inputs: Any,
        ready: Any,
        settings: dict[str, Any],
        extra: tuple[Any, ...],
        right: dict[str, Any],
    ) -> None:
        self.of, self.inputs, self.ready = of, inputs, ready
        self.settings, self.extra, self.right = settings, extra, right

    def linear(self, together: int) -> tuple[Any, Setting | None]:
        """Try the settings one after the other."""
        return self._first(self._attempts(self._values()), together)

    def binary(self, together: int) -> tuple[Any, Setting | None]:
        """Halve the range until a step is left."""
        low, high, step = self.of.arg_min, self.of.arg_max, self.of.arg_step
        best: tuple[Any, Setting | None] = (None, None)
        while high > low:
            steps = (high - low) // step // 2
            if steps == 0 and low + step < high:
                steps = 1
            middle = low + steps * step
            found = self._first(self._attempts(iter([middle])), together)
            if found[1] is not None:
                high = middle
                if best[1] is None or middle < best[1]:
                    best = found
            if math.isclose(low, middle):
                break
            if found[1] is None:
                low = middle
        return best

    def _values(self) -> Iterator[Setting]:
        value = self.of.arg_min
        while value < self.of.arg_max:
            yield value
            value += self.of.arg_step

    def _attempts(self, values: Iterator[Setting]) -> Iterator[tuple[Setting, Any, Any]]:
        """Yield the setting, the changed inputs, and what the model takes of them."""
        of = self.of
        for value in values:
            for _ in range(of.num_attempts):
                settings = {**self.settings, of.arg_name: value}
                changed = of.attack(self.inputs if of.apply_before_preproc else self.ready, **settings)
                made = of.preproc_fn is not None and of.apply_before_preproc
                yield value, changed, of.preproc_fn(changed) if made and of.preproc_fn else changed

    def _first(
        self, attempts: Iterator[tuple[Setting, Any, Any]], together: int
    ) -> tuple[Any, Setting | None]:
        """Return the first attempt with which the model is wrong."""
        waiting: list[tuple[Setting, Any, Any]] = []
        for attempt in attempts:
            waiting.append(attempt)
            if len(waiting) == together:
                found = self._wrong(waiting)
                if found is not None:
                    return found
                waiting = []
        return (self._wrong(waiting) if waiting else None) or (None, None)

    def _wrong(self, waiting: list[tuple[Setting, Any, Any]]) -> tuple[Any, Setting] | None:
        outputs = run_together(self.of.forward_func, [one[2] for one in waiting], self.extra)
        for (value, changed, _), output in zip(waiting, outputs, strict=True):
            if not self.of.correct_fn(output, **self.right):
                return changed, value
        return None


def _is_right(outputs: Any, target: Any) -> bool:
    if not isinstance(outputs, Tensor) or outputs.ndim != 2:
        shape = list(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise ValueError(
            f"{NAME}: outputs of {shape} are no [N, classes]; give correct_fn, which says when they are right"
        )
    wanted = target if isinstance(target, Tensor) else tensor(target)
    if wanted.ndim > 1 or wanted.numel() not in (1, outputs.shape[0]):
        raise DimensionError(
            f"targets of shape {list(wanted.shape)} for {outputs.shape[0]} samples: give one class, or one for each",
            op=NAME,
        )
    return bool((argmax(outputs, dim=1) == wanted).all())
