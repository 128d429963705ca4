"""Attacks side by side: what a metric says of the model's outputs under each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.attribution.checks import check_count, check_model
from workbench.attribution.modes import evaluating, outside
from workbench.attribution.precision import is_floating
from workbench.attribution.robust.perturbation import Perturbation
from workbench.attribution.robust.trials import extra_of, run_together
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["AttackComparator"]

NAME = "AttackComparator"
ORIGINAL = "Original"
"""What the inputs without an attack are called in results."""


@dataclass(frozen=True)
class _Attack:
    attack: Callable[..., Any]
    name: str
    attempts: int
    before: bool
    settings: dict[str, Any]
    arguments: Sequence[str]


@dataclass
class _Summary:
    """Mean, least and greatest of numbers that come one after the other."""

    numbers: list[Any] = field(default_factory=list)

    def add(self, number: Any) -> None:
        self.numbers.append(number)

    def result(self, kinds: Sequence[str]) -> dict[str, Any]:
        return {kind: _gathered(kind, self.numbers) for kind in kinds}


_KINDS: dict[str, Callable[..., Any]] = {"mean": np.mean, "max": np.max, "min": np.min}


def _gathered(kind: str, numbers: Sequence[Any]) -> Any:
    """Return the mean, least or greatest of numbers, or of each member of tuples, as tensors."""
    first = numbers[0]
    if isinstance(first, tuple):
        members = [_gathered(kind, [one[place] for one in numbers]) for place in range(len(first))]
        # A named tuple stays one.
        return type(first)(*members) if hasattr(first, "_fields") else tuple(members)
    arrays = [
        np.asarray(one.detach().numpy(force=True) if isinstance(one, Tensor) else one) for one in numbers
    ]
    # What is no floating point number has a mean that is one.
    if not is_floating(arrays[0].dtype) or not isinstance(first, Tensor):
        arrays = [one.astype(np.float64 if isinstance(first, Tensor) else np.float32) for one in arrays]
    names = first._names if isinstance(first, Tensor) else None
    return new(np.asarray(_KINDS[kind](np.stack(arrays), axis=0), arrays[0].dtype), names)


def _over_samples(number: Any) -> Any:
    """Return the mean over the samples of what a metric said."""
    if isinstance(number, tuple):
        members = [_over_samples(one) for one in number]
        return type(number)(*members) if hasattr(number, "_fields") else tuple(members)
    return number.mean(dim=0) if isinstance(number, Tensor) and number.ndim > 0 else number


class AttackComparator:
    """Compares what a metric says of a model's outputs for inputs as they are and under attacks.

    ``metric(outputs, **kwargs)`` returns a number, a tensor of one a sample, or a tuple of such. ``preproc_fn(inputs)``
    makes what the model takes. A module runs in evaluation mode.

    Raises:
        TypeError: the model or the metric cannot be called.

    >>> import workbench as wb
    >>> comparator = AttackComparator(lambda x: x.sum(1), lambda outputs: outputs)
    >>> comparator.add_attack(lambda x: x * 0.5, "halves")
    >>> {name: one for name, one in comparator.evaluate(wb.ones(1, 2)).items()}["halves"]["mean"].tolist()
    [1.0]
    """

    def __init__(
        self,
        forward_func: Callable[..., Any],
        metric: Callable[..., Any],
        preproc_fn: Callable[..., Any] | None = None,
    ) -> None:
        for name, one in (("forward_func", forward_func), ("metric", metric)):
            if not callable(one):
                raise TypeError(f"{NAME}: {name} is called, a {type(one).__name__} cannot be")
        check_model(NAME, forward_func)
        self.forward_func = forward_func
        self.metric = metric
        self.preproc_fn = preproc_fn
        self.attacks: dict[str, _Attack] = {}
        self._seen: dict[str, _Summary] = {}

    def add_attack(
        self,
        attack: Perturbation | Callable[..., Any],
        name: str | None = None,
        num_attempts: int = 1,
        apply_before_preproc: bool = True,
        attack_kwargs: dict[str, Any] | None = None,
        additional_attack_arg_names: list[str] | None = None,
    ) -> None:
        """Add an attack under a name, that of its class unless given.

        It is tried `num_attempts` times, on the inputs as they are or, without `apply_before_preproc`, on what
        `preproc_fn` makes. It gets `attack_kwargs`, and those arguments of `evaluate` that
        `additional_attack_arg_names` lists.

        Raises:
            TypeError: the attack cannot be called.
            RuntimeError: there is one of that name already.
            ValueError: less than one attempt.
        """
        name = type(attack).__name__ if name is None else name
        if not callable(attack):
            raise TypeError(f"{NAME}: an attack is called, a {type(attack).__name__} cannot be")
        if name in self.attacks or name == ORIGINAL:
            raise RuntimeError(f"{NAME}: there is an attack {name!r} already; give this one another name=")
        check_count(NAME, "num_attempts", num_attempts)
        self.attacks[name] = _Attack(
            attack,
            name,
            num_attempts,
            apply_before_preproc,
            attack_kwargs or {},
            additional_attack_arg_names or [],
        )

    def evaluate(
        self, inputs: Any, additional_forward_args: Any = None, perturbations_per_eval: int = 1, **kwargs: Any
    ) -> dict[str, Any]:
        """Return what the metric says: of ``Original``, and for each attack its mean, least and greatest over attempts.

        An attack of one attempt has a mean alone. `kwargs` are those of the metric, and of attacks that name them.
        `perturbations_per_eval` changed inputs go through the model at once.

        Raises:
            ValueError: `perturbations_per_eval` is below 1.
            TypeError: several inputs at once are no tensors.
        """
        check_count(NAME, "perturbations_per_eval", perturbations_per_eval)
        extra = extra_of(additional_forward_args)
        ready = inputs if self.preproc_fn is None else self.preproc_fn(inputs)
        found: dict[str, _Summary] = {ORIGINAL: _Summary()}
        waiting: list[tuple[str, Any]] = [(ORIGINAL, ready)]
        with evaluating(self.forward_func):
            for attack in self.attacks.values():
                found[attack.name] = _Summary()
                given = self._arguments(attack, kwargs)
                for _ in range(attack.attempts):
                    if len(waiting) >= perturbations_per_eval:
                        self._ask(waiting, extra, kwargs, found)
                        waiting = []
                    waiting.append((attack.name, self._attacked(attack, inputs, ready, given)))
            self._ask(waiting, extra, kwargs, found)
        return self._results(found)

    def _arguments(self, attack: _Attack, kwargs: dict[str, Any]) -> dict[str, Any]:
        for name in attack.arguments:
            if name not in kwargs:
                warnings.warn(
                    f"{NAME}: evaluate was given no {name!r}, which the attack {attack.name!r} takes",
                    stacklevel=outside(),
                )
        return {**{name: kwargs[name] for name in attack.arguments if name in kwargs}, **attack.settings}

    def _attacked(self, attack: _Attack, inputs: Any, ready: Any, given: dict[str, Any]) -> Any:
        if not attack.before:
            return attack.attack(ready, **given)
        changed = attack.attack(inputs, **given)
        return changed if self.preproc_fn is None else self.preproc_fn(changed)

    def _ask(
        self,
        waiting: list[tuple[str, Any]],
        extra: tuple[Any, ...],
        kwargs: dict[str, Any],
        found: dict[str, _Summary],
    ) -> None:
        outputs = run_together(self.forward_func, [one for _, one in waiting], extra)
        for (name, _), output in zip(waiting, outputs, strict=True):
            found[name].add(self.metric(output, **kwargs))

    def _results(self, found: dict[str, _Summary]) -> dict[str, Any]:
        """Return the results of a batch, and keep their means over its samples for `summary`."""
        results: dict[str, Any] = {ORIGINAL: found[ORIGINAL].result(["mean"])["mean"]}
        self._keep(ORIGINAL, results[ORIGINAL])
        for attack in self.attacks.values():
            kinds = ["mean"] if attack.attempts == 1 else ["mean", "min", "max"]
            results[attack.name] = found[attack.name].result(kinds)
            for kind in kinds:
                name = attack.name if attack.attempts == 1 else f"{attack.name} {kind.title()} Attempt"
                self._keep(name, results[attack.name][kind])
        return results

    def _keep(self, name: str, number: Any) -> None:
        self._seen.setdefault(name, _Summary()).add(_over_samples(number))

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return the means of all batches that were evaluated, by the attacks' names."""
        return {name: one.result(["mean"]) for name, one in self._seen.items()}

    def reset(self) -> None:
        """Forget the batches that were evaluated."""
        self._seen = {}
