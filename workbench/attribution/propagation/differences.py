"""What differs between two runs of a model, shared out call by call: the multipliers of DeepLift, for any op.

The model runs twice, on the inputs and on the baselines, and the second run tells each call of the first what its
reference is. So nothing is laid side by side along the batch: sizes that a model has written down stay right, and a
call is known by its place in the run, not by the module or the function that made it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.precision import widened
from workbench.attribution.propagation.multipliers import SMALL, Difference, Sharing, sharing
from workbench.attribution.propagation.recording import Kept, Propagation, has_numbers, in_float32, line
from workbench.base.errors import AutogradError
from workbench.core.contribution import Contribution
from workbench.core.dispatch import apply, no_grad
from workbench.core.op import Op
from workbench.core.value import Value

__all__ = ["Explained", "Reference"]


class Waiting:
    """A call of the run on the inputs, until the run on the baselines comes to it."""

    __slots__ = ("followed", "kept", "op", "params", "place", "rule", "share")

    def __init__(
        self, op: Op, rule: Contribution, params: dict[str, Any], followed: tuple[bool, ...]
    ) -> None:
        self.op, self.rule, self.params, self.followed = op, rule, params, followed
        self.kept: Kept | None = None
        self.share: Sharing | None = None
        self.place = ""


class Explained(Propagation):
    """The run on the inputs, whose tape is gone back over in the end."""

    def __init__(self, method: str) -> None:
        super().__init__(method)
        self.calls: list[Waiting] = []

    def call(
        self,
        op: Op,
        rule: Contribution,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        followed: tuple[bool, ...],
        results: Any = None,
    ) -> Any:
        """Run a call; what it is to be compared with comes later."""
        waiting = Waiting(op, rule, params, followed)
        self.calls.append(waiting)
        one_factor = rule.kind == "product" and sum(followed) == 1
        if rule.kind in ("moved", "linear") or one_factor:
            # The gradient is exact, as long as what the values meet is the same in both runs.
            others = [
                one
                if isinstance(one, Value) and not goes and not (rule.kind == "linear" and has_numbers(one))
                else None
                for one, goes in zip(inputs, followed, strict=True)
            ]
            waiting.kept = self.keep(*others) if any(one is not None for one in others) else None
            if not one_factor:
                return apply(op, *inputs, **params)
            return self.by_gradient(op, inputs, params, followed)

        def back(outs: tuple[Any, ...]) -> Any:
            waiting.kept = self.keep(*inputs, *outs)
            return lambda *gradients: _share(self, waiting, gradients)

        return self.recorded(op, inputs, params, followed, back, results)


class Reference(Propagation):
    """The run on the baselines: it tells each call of the run before what its reference is."""

    def __init__(self, explained: Explained, small: float = SMALL) -> None:
        super().__init__(explained.method)
        self.small = small
        self.pending = iter(explained.calls)

    def call(
        self,
        op: Op,
        rule: Contribution,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        followed: tuple[bool, ...],
        results: Any = None,
    ) -> Any:
        """Run a call, and complete the one that stands at the same place of the run on the inputs."""
        waiting = next(self.pending, None)
        if waiting is None or not _same(waiting, op, params, followed):
            raise self.parted(waiting, op)
        if op.view:
            return apply(op, *inputs, **params)
        if results is None:
            with no_grad():
                results = apply(op, *inputs, **params)
        several = results if isinstance(results, tuple) else (results,)
        self.complete(waiting, inputs, several)
        if several[0].payload.dtype.kind in "fcV":
            # On the tape as well, though nobody goes back: what depends on the inputs is known by it.
            self.put(op, inputs, followed, several, _never)
        return results

    def complete(self, waiting: Waiting, inputs: tuple[Any, ...], outs: tuple[Any, ...]) -> None:
        """Work out how the difference of a call is shared out."""
        kept = waiting.kept
        if kept is None:
            return
        arrays = [one.payload if isinstance(one, Value) else one for one in inputs]
        if len(kept.arrays) == len(inputs):
            if not all(
                one is None or _equal(one, other) for one, other in zip(kept.arrays, arrays, strict=True)
            ):
                raise AutogradError(
                    f"{self.method}: {waiting.op.name} ({line()}) meets other places or weights with the baseline "
                    "than with the input, made from it in a way that has no gradient, such as a comparison or "
                    "argmax. That difference is nobody's share; compute them with ops that have one"
                )
        else:
            here, there = kept.arrays[: len(inputs)], kept.arrays[len(inputs) :]
            others = [one.payload for one in outs]
            if [np.shape(one) for one in here] != [np.shape(one) for one in arrays]:
                raise self.parted(waiting, waiting.op)
            wide = [[widened(one) for one in several] for several in (here, there, arrays, others)]
            difference = Difference(
                waiting.op,
                waiting.rule,
                waiting.params,
                waiting.followed,
                wide[0],
                wide[1],
                wide[2],
                wide[3],
                small=self.small,
                kind=there[0].dtype.char,
            )
            waiting.share = sharing(difference)
        kept.arrays = []
        waiting.kept = None

    def finish(self) -> None:
        """Refuse a run that ended before that on the inputs did."""
        waiting = next(self.pending, None)
        if waiting is not None:
            raise self.parted(waiting, None)

    def parted(self, waiting: Waiting | None, op: Op | None) -> AutogradError:
        """Return the refusal of a model that does not do the same with the baseline as with the input."""
        here = "stops" if op is None else f"calls {op.name} ({line()})"
        there = "had stopped" if waiting is None else f"called {waiting.op.name}"
        if op is not None and waiting is not None and waiting.op is op:
            there += " with other parameters or sizes"
        return AutogradError(
            f"{self.method}: with the baseline the model {here} where with the input it {there}. It decides by numbers "
            "which calls it makes, so that their differences cannot be shared out; choose a baseline for which it "
            "decides alike, or write the choice with where()"
        )


def _share(run: Propagation, waiting: Waiting, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    if waiting.share is None:
        raise AutogradError(f"{run.method}: the model was not run on the baselines to its end")
    return waiting.share(in_float32(gradients))


def _same(waiting: Waiting, op: Op, params: dict[str, Any], followed: tuple[bool, ...]) -> bool:
    return waiting.op is op and waiting.followed == followed and _alike(waiting.params, params)


def _alike(one: Any, other: Any) -> bool:
    """Say whether parameters are the same; arrays among them are compared by their numbers."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return _equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(_alike(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and np.array_equal(one, other)
    return not isinstance(one, np.ndarray) and not isinstance(other, np.ndarray) and bool(one == other)


def _never(*given: Any) -> tuple[Any, ...]:
    raise AssertionError("nobody goes back over the run on the baselines")
