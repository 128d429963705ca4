"""What a reader of attributions has to know: that some are not finite, or that no slope can say anything here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import autograd
from workbench.attribution.arguments import Question
from workbench.attribution.precision import is_floating, range_of
from workbench.attribution.propagation.recording import line
from workbench.core.contribution import Contribution
from workbench.core.dispatch import apply, enable_grad, interpreting, no_grad
from workbench.core.op import Op
from workbench.core.value import Value, new
from workbench.tensor import Tensor

__all__ = ["DoubtfulWarning", "flat_at", "not_finite"]

Array = np.ndarray[Any, Any]


class DoubtfulWarning(UserWarning):
    """Attributions that are not what they seem to be."""


def not_finite(arrays: Sequence[Array]) -> str:
    """Say how many attributions are NaN or infinite, and of how many samples; nothing where all are finite.

    >>> not_finite([np.array([[1.0, np.inf], [1.0, 2.0]])])[:47]
    '1 of 4 attributions (of 1 of 2 samples) are NaN'
    """
    count = total = 0
    samples: set[int] = set()
    for array in arrays:
        if not is_floating(array.dtype):
            continue
        total += array.size
        finite = np.isfinite(array)
        if not finite.all():
            count += array.size - int(finite.sum())
            samples |= set(np.flatnonzero(~finite.reshape(len(array), -1).all(axis=1)).tolist())
    if not count:
        return ""
    return (
        f"{count:,} of {total:,} attributions (of {len(samples)} of {len(arrays[0])} samples) are NaN or infinite; "
        "look at what the model gives for these samples, for the baselines, and for what lies between"
        + range_of(*[one.dtype for one in arrays])
    )


def flat_at(forward: Callable[..., Any], question: Question, row: int) -> str:
    """Say which call takes every slope away between a sample and the output; nothing where none does.

    That is a call whose gradient is zero wherever it is asked, as rounding, or that has none, as a comparison, with no
    other way from the inputs to the output. Whether the output rests on the inputs at all is not said.
    """
    rows = np.array([row])
    inputs = question.tensors([one.payload[rows] for one in question.inputs])
    paths = _Paths(inputs)
    with no_grad(), interpreting(paths):
        output = forward(*inputs, *question.arguments(rows))
    if not isinstance(output, Tensor) or id(output) not in paths.reached or id(output) in paths.sloped:
        return ""
    return (
        f"no slope leads from the output to the inputs: {paths.cut} at {paths.where} changes in steps. A method that "
        "asks for outputs alone, such as FeatureAblation or ShapleyValueSampling, can say more"
    )


class _Paths:
    """Sees what is made of the inputs, and by which calls a slope goes on."""

    transparent = True

    def __init__(self, inputs: Sequence[Any]) -> None:
        self.held: list[Any] = list(inputs)  # an identity is another's once its value is gone
        self.reached = {id(one) for one in inputs}
        self.sloped = set(self.reached)
        self.cut = self.where = ""
        self.known: dict[tuple[Op, str], bool] = {}

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        results = apply(op, *inputs, **params)
        if not any(id(one) in self.reached for one in inputs):
            return results
        several = results if isinstance(results, tuple) else (results,)
        self.held += several
        self.reached |= {id(one) for one in several}
        if any(id(one) in self.sloped for one in inputs):
            if self._is_flat(op, inputs, params):
                if not self.cut:
                    self.cut, self.where = op.name, line()
            else:
                self.sloped |= {id(one) for one in several}
        return results

    def _is_flat(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> bool:
        """Say whether a call has a slope for none of what comes from the inputs, whatever numbers it is given."""
        rule = op.contribution
        if isinstance(rule, Contribution) and rule.kind not in ("elementwise", "ends"):
            return False  # a slope of 0 is that of a factor, or of what is one of one, here
        key = op, repr(sorted(params.items()))
        if key not in self.known:
            self.known[key] = self._slopes(op, inputs, params)
        return self.known[key]

    def _slopes(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> bool:
        random = np.random.default_rng(0)

        def drawn(one: Any) -> Any:
            # Of all operands: where a factor happens to be 0 there is no slope, and no step.
            if isinstance(one, Value) and is_floating(one.payload.dtype):
                made = new(random.standard_normal(one.payload.shape).astype(one.payload.dtype), one._names)
                return made.requires_grad_() if id(one) in self.sloped else made
            return 0.7 if isinstance(one, int | float) and not isinstance(one, bool) else one

        given: list[Any] = [drawn(one) for one in inputs]
        asked: list[Any] = [one for one in given if isinstance(one, Tensor) and one.requires_grad]
        if not asked:
            return True
        with enable_grad():
            results: Any = apply(op, *given, **params)
        wanted = [one for one in (results if isinstance(results, tuple) else (results,)) if one.requires_grad]
        if not wanted:
            return True
        ones = [new(np.ones_like(one.payload), one._names) for one in wanted]
        found = autograd.grad(wanted, asked, ones, allow_unused=True)
        return not any(one is not None and one.payload.any() for one in found)
