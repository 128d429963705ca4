"""Layer-wise relevance propagation, call by call: the output's value, shared out among what made it.

What goes back over the tape is relevance itself, not a multiplier: what is 0 may have some.

- What weighs and adds up (linear layers, convolutions, sums, means, residual sums) shares by a rule of `lrp_rules`.
- Functions of one value pass it on.
- Products of two values that both depend on the input give half to each, with the ε-rule (Achtibat et al.: AttnLRP,
  2024); a quotient gives all to its numerator.
- Normalisation divides by a deviation that takes no part, and shares its centring by the ε-rule; gates take no part
  either, so that what they let through has it all (Arras et al. 2017).
- Softmax: the weights take no part, and what they weigh has all of it (Ali et al. 2022); or, as "taylor",
  ``R_x = x·(R - s·Σ R)``, which AttnLRP derives and which does not conserve it.

What a call takes and does not hand on (a bias, ε, a constant in a value's place) it counts: `Relevance.taken`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from workbench.attribution.precision import widened
from workbench.attribution.propagation.composites import Composite
from workbench.attribution.propagation.lrp_rules import EpsilonRule, PropagationRule, Weighing, stabilised
from workbench.attribution.propagation.recording import (
    Back,
    Kept,
    Propagation,
    conjugate,
    has_numbers,
    to_sizes,
)
from workbench.core import scope
from workbench.core.contribution import Contribution
from workbench.core.dispatch import apply, no_grad
from workbench.core.op import Op, ops
from workbench.core.tape import Call
from workbench.core.value import Value, new

__all__ = ["Relevance"]

Array = Any


class Relevance(Propagation):
    """The run whose tape relevance goes back over."""

    def __init__(self, method: str, composite: Composite, softmax: str = "constant") -> None:
        super().__init__(method)
        self.composite = composite
        self.softmax = softmax
        self.weighing: set[int] = set()
        """Serials of the calls that weighed something."""
        self.taken: dict[str, float] = defaultdict(float)
        """How much relevance of the whole batch was taken on the way back, by what took it: see `Absorbed`."""
        self.counted = 0
        """How often something was counted."""

    def count(self, by: str, amount: float) -> None:
        """Count relevance that goes no further."""
        self.taken[by] += amount
        self.counted += 1

    def constant(self, value: Any) -> Any:
        """Return a factor of what is composed, off the tape: it takes no part."""
        return ops.detach(value)

    def call(
        self,
        op: Op,
        rule: Contribution,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        followed: tuple[bool, ...],
        results: Any = None,
    ) -> Any:
        """Run a call and put it on the tape with the rule for relevance."""
        if rule.kind == "moved" and op.view:
            return apply(op, *inputs, **params)
        if rule.kind in ("moved", "selected") or rule.relevance == "chosen":
            return self.by_gradient(op, inputs, params, followed)
        if rule.kind in ("linear", "product"):
            return self.weighed(op, inputs, params, followed)
        if rule.relevance == "weights":
            if self.softmax == "constant":
                with no_grad():
                    return apply(op, *inputs, **params)
            return self.recorded(
                op, inputs, params, followed, lambda outs: self._of_weights(inputs, outs, params)
            )
        if rule.kind == "elementwise":
            return self.elementwise(op, rule, inputs, params, followed, results)
        raise self.refusal(op, "how its relevance is shared out among its inputs is not known")

    def gradient_of(
        self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], followed: tuple[bool, ...],
        outs: tuple[Any, ...],
    ) -> Back:  # fmt: skip
        """Return the gradient of a call that passes values on; what arrives at constants among them is counted."""
        rule = super().gradient_of(op, inputs, params, followed, outs)
        if op.contribution.kind == "selected" and all(followed):  # type: ignore[union-attr]
            return rule

        def back(*gradients: Any) -> tuple[Any, ...]:
            found = rule(*gradients)
            self.count("constants", _total(*gradients) - _total(*found))
            return found

        return back

    def weighed(
        self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], followed: tuple[bool, ...]
    ) -> Any:
        """Run a call that weighs and adds up."""
        several = sum(followed) > 1
        one = op.contribution.kind == "product" and not several  # type: ignore[union-attr]
        chosen = self._rule(op, inputs, followed) if one else EpsilonRule()
        back = self._by_rule if one else self._by_shares
        results = self.recorded(
            op, inputs, params, followed, lambda outs: back(op, chosen, inputs, params, followed, outs)
        )
        first = results[0] if isinstance(results, tuple) else results
        if one and first._grad_fn is not None:
            self.weighing.add(first._grad_fn.serial)
        return results

    def elementwise(
        self,
        op: Op,
        rule: Contribution,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        followed: tuple[bool, ...],
        results: Any = None,
    ) -> Any:
        """Run a call that gives at each place what the values there make."""
        several = sum(followed) > 1
        if several and rule.relevance is None:
            raise self.refusal(
                op, "several of its inputs depend on what is explained, and no rule says whose it is"
            )
        sizes = [np.shape(one.payload) if isinstance(one, Value) else () for one in inputs]

        def back(*gradients: Any) -> tuple[Any, ...]:
            relevance = widened(gradients[0].payload)
            if several and rule.relevance == "halves":
                relevance = relevance / np.asarray(2, relevance.dtype)
            only_first = several and rule.relevance == "first"
            return tuple(
                [
                    new(np.asarray(to_sizes(relevance, size))) if goes and not (only_first and i) else None
                    for i, (size, goes) in enumerate(zip(sizes, followed, strict=True))
                ]
            )

        return self.recorded(op, inputs, params, followed, lambda outs: back, results)

    def _rule(self, op: Op, inputs: tuple[Any, ...], followed: tuple[bool, ...]) -> PropagationRule:
        """Return the rule of a call: that of the module that makes it, else that of the composite."""
        module = scope.module()
        own = getattr(module, "rule", None) if module is not None else None
        if isinstance(own, PropagationRule):
            return own
        return self.composite(op, self._is_first(inputs[followed.index(True)]))

    def _is_first(self, value: Any) -> bool:
        """Say whether nothing between the inputs and a value has weighed anything."""
        pending, seen = [value], set()
        while pending:
            node = pending.pop()._grad_fn
            if node is None or node.serial in seen or node.serial < self.start:
                continue
            if node.serial in self.weighing:
                return False
            seen.add(node.serial)
            pending += [one for one in node.inputs or () if isinstance(one, Value)]
        return True

    def _by_rule(
        self, op: Op, rule: PropagationRule, inputs: tuple[Any, ...], params: dict[str, Any],
        followed: tuple[bool, ...], outs: tuple[Any, ...],
    ) -> Back:  # fmt: skip
        """Share by a rule: one input is a value, another the weights."""
        at = followed.index(True)
        layer = op.contribution.layer  # type: ignore[union-attr]
        others = [i for i, one in enumerate(inputs) if i != at and has_numbers(one)]
        has_bias = layer in ("convolution", "dense") and 2 in others
        # What is normalised by statistics that were measured has no weights that could be told from these.
        alone = layer == "normalization" or not others or at == 2
        weight, bias = None if alone else others[0], 2 if has_bias and not alone else None
        kept = self.keep(*inputs, outs[0])

        def replaced(x: Array, w: Array | None, b: Array | None) -> list[Any]:
            arrays = list(kept.arrays[: len(inputs)])
            arrays[at] = x
            if weight is not None:
                arrays[weight] = w
            if bias is not None:
                arrays[bias] = np.zeros_like(arrays[bias]) if b is None else b
            return [new(one) if isinstance(one, np.ndarray) else one for one in arrays]

        def forward(x: Array, w: Array | None, b: Array | None) -> Array:
            return op(*replaced(x, w, b), **params).payload

        def gradient(place: int, arrived: Array, values: list[Any]) -> Array:
            wanted = tuple([i == place for i in range(len(inputs))])
            call = Call(op, tuple(values), params, (new(kept.arrays[-1]),), wanted)
            return conjugate(op.vjp(call, new(conjugate(np.asarray(arrived))))[place].payload)  # type: ignore[operator]

        def count_added(arrived: Array, b: Array | None) -> None:
            arrays = kept.arrays
            if bias is not None and b is not None:
                w = None if weight is None else arrays[weight]
                found = gradient(bias, arrived, replaced(arrays[at], w, b))
                self.count("biases", _total(found * b))
            elif alone and others:
                zero = forward(np.zeros_like(arrays[at]), None, None)
                self.count("normalization" if layer == "normalization" else "biases", _total(arrived * zero))

        def back(*gradients: Any) -> tuple[Any, ...]:
            _unrounded(op, kept, params)
            arrays, counted = kept.arrays, self.counted
            weighing = Weighing(
                arrays[at],
                None if weight is None else arrays[weight],
                None if bias is None else arrays[bias],
                arrays[-1],
                forward,
                lambda arrived, w: gradient(at, arrived, replaced(arrays[at], w, None)),
                self.count,
                count_added,
            )
            relevance = widened(gradients[0].payload)
            share = np.asarray(np.real(rule.share(weighing, relevance)))
            if self.counted == counted:  # a rule that does not count what it takes
                self.count("rules", _total(relevance) - _total(share))
            return tuple([new(share) if i == at else None for i in range(len(inputs))])

        return back

    def _by_shares(
        self, op: Op, rule: PropagationRule, inputs: tuple[Any, ...], params: dict[str, Any],
        followed: tuple[bool, ...], outs: tuple[Any, ...],
    ) -> Back:  # fmt: skip
        """Share by what each value adds: of products of several, each has an equal part."""
        kept = self.keep(*inputs, outs[0])
        parts = sum(followed) if op.contribution.kind == "product" else 1  # type: ignore[union-attr]
        adds = any(
            not goes and (has_numbers(one) or isinstance(one, float | int))
            for one, goes in zip(inputs, followed, strict=True)
        )

        def back(*gradients: Any) -> tuple[Any, ...]:
            _unrounded(op, kept, params)
            *values, z = kept.values()
            relevance = widened(gradients[0].payload)
            arrived = np.asarray(relevance / stabilised(parts * z.payload, rule.STABILITY_FACTOR))
            self.count("stabiliser", float(np.real(relevance - parts * arrived * z.payload).sum()))
            if adds:
                zeros = [
                    new(np.zeros_like(one.payload)) if goes else one
                    for one, goes in zip(values, followed, strict=True)
                ]
                self.count("biases", _total(parts * arrived * op(*zeros, **params).payload))
            call = Call(op, tuple(values), params, (z,), followed)
            found = op.vjp(call, new(conjugate(arrived)))  # type: ignore[operator]
            return tuple(
                [
                    new(np.asarray(np.real(x.payload * conjugate(g.payload)))) if goes else None
                    for x, g, goes in zip(values, found, followed, strict=True)
                ]
            )

        return back

    def _of_weights(self, inputs: tuple[Any, ...], outs: tuple[Any, ...], params: dict[str, Any]) -> Back:
        kept = self.keep(inputs[0], outs[0])

        def back(*gradients: Any) -> tuple[Any, ...]:
            x, s = map(widened, kept.arrays)
            relevance = widened(gradients[0].payload)
            # What was masked has no weight and no relevance.
            seen = np.where(np.isfinite(x), x, 0)
            total = relevance.sum(axis=params["dim"], keepdims=True)
            found = np.asarray(seen * (relevance - s * total), x.dtype)
            self.count("softmax", _total(relevance) - _total(found))
            return (new(found),)

        return back


def _unrounded(op: Op, kept: Kept, params: dict[str, Any]) -> None:
    """Compute in float32 what a call computed in 16 bits: what its values have then adds up to what it gave."""
    wide = [widened(one) for one in kept.arrays]
    if wide[-1] is kept.arrays[-1]:
        return
    kept.arrays = wide
    with no_grad():
        results: Any = op(*kept.values()[:-1], **params)
    first = results[0] if isinstance(results, tuple) else results
    kept.arrays = [*wide[:-1], widened(first.payload)]


def _total(*several: Any) -> float:
    """Return the sum of arrays, or of values; nothing counts as 0."""
    arrays = [one.payload if isinstance(one, Value) else one for one in several if one is not None]
    return float(sum(np.real(one).sum(dtype=np.float64) for one in arrays))
