"""Composites: which rule of relevance each kind of layer has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.attribution.propagation.lrp_rules import (
    AlphaBetaRule,
    EpsilonRule,
    FlatRule,
    GammaRule,
    IdentityRule,
    PropagationRule,
    ZBoxRule,
    ZPlusRule,
)
from workbench.base.dims import near_miss
from workbench.core.contribution import Contribution
from workbench.core.op import Op

__all__ = ["COMPOSITES", "Composite", "composite_of"]

Composite = Callable[[Op, bool], PropagationRule]
"""``composite(op, first)``: the rule of a call of `op`; `first` where nothing before it weighs the input."""

LOW, HIGH = -3.0, 3.0
"""Between these standardised pictures lie, more or less: what "epsilon_gamma_box" takes for its box."""


def _by_kind(convolution: PropagationRule, first: PropagationRule | None = None) -> Composite:
    """Return the composite with a rule for convolutions, one for the first layer, and ε for the rest."""
    other, passing = EpsilonRule(1e-6), IdentityRule()

    def rule(op: Op, is_first: bool) -> PropagationRule:
        assert isinstance(op.contribution, Contribution)  # what weighs has a statement of how
        layer = op.contribution.layer
        if layer == "normalization":
            return passing
        if is_first and first is not None and layer in ("convolution", "dense"):
            return first
        return convolution if layer == "convolution" else other

    return rule


def _epsilon(op: Op, first: bool) -> PropagationRule:
    return EpsilonRule()


COMPOSITES: dict[str, Composite] = {
    "epsilon": _epsilon,
    "epsilon_plus": _by_kind(ZPlusRule()),
    "epsilon_plus_flat": _by_kind(ZPlusRule(), FlatRule()),
    "epsilon_alpha2_beta1": _by_kind(AlphaBetaRule(2, 1)),
    "epsilon_alpha2_beta1_flat": _by_kind(AlphaBetaRule(2, 1), FlatRule()),
    "epsilon_gamma_box": _by_kind(GammaRule(), ZBoxRule(LOW, HIGH)),
}
"""The composites that have a name; their rules are those of Montavon et al. 2019 and Kohlbrenner et al. 2020."""


def composite_of(given: Any, method: str) -> Composite:
    """Return the composite that is meant by a name, a rule for all calls, or a function.

    Raises:
        ValueError: there is no composite of that name.
        TypeError: it is none of these.
    """
    if isinstance(given, PropagationRule):
        return lambda op, first: given
    if isinstance(given, str):
        if given not in COMPOSITES:
            near = near_miss(given, COMPOSITES)
            raise ValueError(
                f"{method}: there is no composite {given!r}"
                + (f"; did you mean {near!r}?" if near else f"; there are {', '.join(COMPOSITES)}")
            )
        return COMPOSITES[given]
    if callable(given):
        return given  # type: ignore[no-any-return]
    raise TypeError(
        f"{method}: composite is a name ({', '.join(COMPOSITES)}), a rule, or a function (op, first) -> rule, got "
        f"{type(given).__name__}"
    )
