"""Rules of layer-wise relevance propagation for what weighs values and adds them up.

A call z = Σ x·w + b has relevance R at z; a rule says which part of it goes to each x. They differ in what stands for
x, w and b in ``x·(∂z/∂x)ᵀ (R / z)``. A module's attribute ``rule`` is one of these, as in Captum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Alpha1_Beta0_Rule", "AlphaBetaRule", "EpsilonRule", "FlatRule", "GammaRule", "IdentityRule", "PropagationRule",
    "WSquareRule", "Weighing", "ZBoxRule", "ZPlusRule", "stabilised",
]  # fmt: skip

Array = Any


@dataclass(frozen=True)
class Weighing:
    """A call z = Σ x·w + b: what a rule may ask of it."""

    x: Array
    weight: Array | None
    """None where every value has the weight that the op gives it, as in a mean."""
    bias: Array | None
    z: Array
    forward: Callable[[Array, Array | None, Array | None], Array]
    """z for other values, weights and biases."""
    back: Callable[[Array, Array | None], Array]
    """What goes back to x when this arrives at z, for other weights."""
    count: Callable[[str, float], None]
    """Counts what was taken of the relevance: by what, and how much."""
    count_added: Callable[[Array, Array | None], None]
    """Counts what goes to that which is added whatever x is, when this arrives at z: to this bias, if any."""

    def quotient(self, relevance: Array, z: Array, epsilon: float, bias: Array | None) -> Array:
        """Return relevance / z, stable near 0, and count what the stabiliser and this bias, a part of z, take of it."""
        found = relevance / stabilised(z, epsilon)
        self.count("stabiliser", float(np.real(relevance - found * z).sum()))
        self.count_added(found, bias)
        return found


class PropagationRule(ABC):
    """How relevance is shared out by a call that weighs and adds up."""

    STABILITY_FACTOR = 1e-9
    """What is added to denominators, with their sign."""

    @abstractmethod
    def share(self, call: Weighing, relevance: Array) -> Array:
        """Return the relevance of x."""

    def quotient(self, call: Weighing, relevance: Array, z: Array, bias: Array | None) -> Array:
        """Return relevance / z, stable near 0: see `Weighing.quotient`."""
        return call.quotient(relevance, z, self.STABILITY_FACTOR, bias)


class EpsilonRule(PropagationRule):
    """LRP-ε: ``R_x = x·w·R / (z + ε·sign z)``. With ε near 0 it is LRP-0, the z-rule.

    Source: Bach et al.: On Pixel-Wise Explanations for Non-Linear Classifier Decisions by Layer-Wise Relevance
    Propagation (2015).
    """

    def __init__(self, epsilon: float = 1e-9) -> None:
        self.STABILITY_FACTOR = epsilon

    def share(self, call: Weighing, relevance: Array) -> Array:
        """Return the relevance of x."""
        return call.x * call.back(self.quotient(call, relevance, call.z, call.bias), call.weight)


class GammaRule(PropagationRule):
    """LRP-γ: weights w + γ·w⁺, which favour what speaks for the target.

    Source: Montavon et al.: Layer-Wise Relevance Propagation: An Overview (2019).
    """

    def __init__(self, gamma: float = 0.25, set_bias_to_zero: bool = False) -> None:
        self.gamma = gamma
        self.set_bias_to_zero = set_bias_to_zero

    def share(self, call: Weighing, relevance: Array) -> Array:
        """Return the relevance of x."""
        return _weighed(
            self, call, relevance, lambda w: w + self.gamma * np.maximum(w, 0), self.set_bias_to_zero
        )


class Alpha1_Beta0_Rule(PropagationRule):
    """Positive weights only, for values that are not negative: ``R_x = x·w⁺·R / (Σ x·w⁺ + b)``."""

    def __init__(self, set_bias_to_zero: bool = False) -> None:
        self.set_bias_to_zero = set_bias_to_zero

    def share(self, call: Weighing, relevance: Array) -> Array:
        """Return the relevance of x."""
        return _weighed(self, call, relevance, lambda w: np.maximum(w, 0), self.set_bias_to_zero)


class AlphaBetaRule(PropagationRule):
    """LRP-αβ: what adds to z gets α of its relevance, what takes away from it -β; α - β = 1.

    Source: Bach et al. 2015.
    """

    def __init__(self, alpha: float = 2.0, beta: float = 1.0) -> None:
        if alpha < 0 or beta < 0 or abs(alpha - beta - 1) > 1e-9:
            raise ValueError(
                f"AlphaBetaRule: alpha - beta must be 1, both not negative, got {alpha} and {beta}"
            )
        self.alpha, self.beta = alpha, beta
        self.STABILITY_FACTOR = 1e-6

    def share(self, call: Weighing, relevance: Array) -> Array:
        """Return the relevance of x."""
        if call.weight is None:
            return EpsilonRule(self.STABILITY_FACTOR).share(call, relevance)
        x, w, b = (_parts(one) for one in (call.x, call.weight, call.bias))
        total: Any = 0
        for factor, bias, pairs in (
            (self.alpha, b[0], ((x[0], w[0]), (x[1], w[1]))),
            (-self.beta, b[1], ((x[0], w[1]), (x[1], w[0]))),
        ):
            if factor == 0:
                continue
            z = call.forward(*pairs[0], bias) + call.forward(*pairs[1], None)
            s = self.quotient(call, factor * relevance, z, bias)
            total = total + sum(one * call.back(s, weight) for one, weight in pairs)
        return total


class ZPlusRule(AlphaBetaRule):
    """LRP-z⁺: all of it goes to what adds to z (α = 1, β = 0)."""

    def __init__(self) -> None:
        super().__init__(1.0, 0.0)


class WSquareRule(PropagationRule):
    """LRP-w²: by squared weights, whatever the values are."""

    STABILITY_FACTOR = 1e-6

    def share(self, call: Weighing, relevance: Array) -> Array:
        """Return the relevance of x."""
        return _whatever_x(self, call, relevance, np.square)


class FlatRule(PropagationRule):
    """LRP-flat: alike to all that z is made of."""

    STABILITY_FACTOR = 1e-6

    def share(self, call: Weighing, relevance: Array) -> Array:
        """Return the relevance of x."""
        return _whatever_x(self, call, relevance, np.ones_like)


class ZBoxRule(PropagationRule):
    """LRP-z^B, for inputs that lie between `low` and `high`: ``(x·w - low·w⁺ - high·w⁻)·R / Σ``.

    Source: Montavon et al.: Explaining Nonlinear Classification Decisions with Deep Taylor Decomposition (2017).
    """

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high
        self.STABILITY_FACTOR = 1e-6

    def share(self, call: Weighing, relevance: Array) -> Array:
        """Return the relevance of x."""
        if call.weight is None:
            return EpsilonRule(self.STABILITY_FACTOR).share(call, relevance)
        low, high = (_spread(one, call.x) for one in (self.low, self.high))
        positive, negative = _parts(call.weight)
        b = _parts(call.bias)
        z = call.z - call.forward(low, positive, b[0]) - call.forward(high, negative, b[1])
        s = self.quotient(call, relevance, z, None)  # its bias is in all three
        return (
            call.x * call.back(s, call.weight) - low * call.back(s, positive) - high * call.back(s, negative)
        )


class IdentityRule(PropagationRule):
    """Relevance passes as it is, where z has the sizes of x."""

    def share(self, call: Weighing, relevance: Array) -> Array:
        """Return the relevance of x.

        Raises:
            ValueError: z has other sizes than x.
        """
        if call.x.shape != relevance.shape:
            raise ValueError(
                f"IdentityRule: relevance of shape {list(relevance.shape)} cannot pass as it is to values of shape "
                f"{list(call.x.shape)}; use EpsilonRule there"
            )
        return relevance


def stabilised(z: Array, epsilon: float) -> Array:
    """Return z moved away from 0 by `epsilon`."""
    as_z = z.dtype.type
    return z + np.where(z < 0, as_z(-epsilon), as_z(epsilon))


def _weighed(
    rule: PropagationRule, call: Weighing, relevance: Array, change: Callable[[Array], Array], no_bias: bool
) -> Array:
    """Share by changed weights."""
    if call.weight is None:
        return EpsilonRule(rule.STABILITY_FACTOR).share(call, relevance)
    weight = change(call.weight)
    bias = None if no_bias else call.bias
    z = call.forward(call.x, weight, bias)
    return call.x * call.back(rule.quotient(call, relevance, z, bias), weight)


def _whatever_x(
    rule: PropagationRule, call: Weighing, relevance: Array, change: Callable[[Array], Array]
) -> Array:
    """Share by changed weights, as if all values were 1."""
    weight, bias = (None if one is None else change(one) for one in (call.weight, call.bias))
    z = call.forward(np.ones_like(call.x), weight, bias)
    return call.back(rule.quotient(call, relevance, z, bias), weight)


def _parts(one: Array | None) -> tuple[Any, Any]:
    return (None, None) if one is None else (np.maximum(one, 0), np.minimum(one, 0))


def _spread(one: Any, x: Array) -> Array:
    array = one.detach().numpy(force=True) if hasattr(one, "detach") else one
    return np.ascontiguousarray(np.broadcast_to(np.asarray(array, x.dtype), x.shape))
