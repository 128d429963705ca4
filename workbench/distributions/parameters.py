"""Parameters that are given one of two ways: as probabilities or as logits, the other is computed when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.utils import (
    broadcast_all,
    lazy_property,
    log1p_exp,
    logits_to_probs,
    probs_to_logits,
)

__all__ = ["Categories", "Chances", "binary_entropy", "log_chance", "only_one"]


def only_one(owner: str, **given: Any) -> str:
    """Return which of several parameters is given; raise ValueError unless it is exactly one.

    >>> only_one("Bernoulli", probs=0.5, logits=None)
    'probs'
    """
    found = [name for name, value in given.items() if value is not None]
    if len(found) != 1:
        names = ", ".join(f"`{name}`" for name in given)
        several = "none of them" if not found else " and ".join(found)
        raise ValueError(
            f"{owner}: exactly one of {names} must be specified (either {' or '.join(f'`{name}`' for name in given)}, "
            f"but not both): got {several}"
        )
    return found[0]


class _Either:
    """`probs` or `logits`, kept under the name that was given."""

    _binary: bool
    _given_name: str

    @property
    def _given(self) -> Tensor:
        """The parameter that was given."""
        return self.__dict__[self._given_name]  # type: ignore[no-any-return]

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @lazy_property
    def logits(self) -> Tensor:
        """Logarithms of probabilities, or of odds."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @property
    def param_shape(self) -> tuple[int, ...]:
        """Sizes of the parameter that was given."""
        return tuple(self._given.shape)


class Chances(_Either):
    """One probability for each place: that of a success."""

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    _binary = True

    def _take(self, probs: Any, logits: Any, *others: Any) -> tuple[Tensor, ...]:
        """Keep what was given; return it and `others`, of one shape."""
        name = only_one(type(self).__name__, probs=probs, logits=logits)
        *rest, given = broadcast_all(*others, logits if probs is None else probs)
        self._given_name = name
        self.__dict__[name] = given
        return (given, *rest)


class Categories(_Either):
    """Probabilities along the last dim, normalized: those given need not sum to 1."""

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    _binary = False

    def _take(self, probs: Tensor | None, logits: Tensor | None) -> Tensor:
        """Keep what was given, normalized, and return it."""
        name = only_one(type(self).__name__, probs=probs, logits=logits)
        given: Any = logits if probs is None else probs
        if given.ndim < 1:
            raise ValueError(
                f"`{name}` parameter must be at least one-dimensional: its last dim has one number for each category"
            )
        self._given_name = name
        if probs is None:
            self.__dict__[name] = given - given.logsumexp(-1, keepdim=True)
        else:
            self.__dict__[name] = given / given.sum(-1, keepdim=True)
        return self._given

    @property
    def _param(self) -> Tensor:
        return self._given


def binary_entropy(logits: Tensor) -> Tensor:
    """Return the entropy of a success of probability p in nats, by l = ln p/(1-p): ln(1 + e^-|l|) + |l|/(1 + e^|l|)."""
    size = logits.abs()
    return log1p_exp(-size) + size * (-size).sigmoid()


def log_chance(logits: Tensor, successes: Tensor, failures: Tensor) -> Tensor:
    """Return ln p^s (1-p)^f by l = ln p/(1-p): s·l - (s + f)·ln(1 + e^l), whatever the size of l."""
    # ln p = -ln(1 + e^-l) and ln(1-p) = -ln(1 + e^l): neither cancels.
    return -(successes * log1p_exp(-logits) + failures * log1p_exp(logits))
