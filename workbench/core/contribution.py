"""`Contribution`: how what an op gives is shared out among what it was given.

Methods of attribution that go back through a computation call by call (DeepLift, layer-wise relevance propagation)
read these statements and have no list of ops of their own. What ops share is said by their properties; `derived`
states it of those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workbench.core.absent import Absent

__all__ = [
    "CHOSEN", "CONVOLUTION", "DENSE", "ELEMENTWISE", "ENDS", "FACTORS", "LINEAR", "MOVED", "NORMALIZATION", "ORDERED",
    "PRODUCT", "SCALED", "SELECTED", "SMALLEST", "SMOOTH", "WEIGHTS", "Contribution", "Kind", "Layer", "Relevance",
    "composed", "derived", "rectifying",
]  # fmt: skip

Kind = Literal["moved", "linear", "product", "elementwise", "selected", "smooth", "composed", "ends"]
"""What an op does to its inputs, as far as it is shared out:

- moved: each value out is a value that went in.
- linear: it is linear in all inputs together.
- product: it is linear in each input alone: a value and a weight, or two values. A bias may be added.
- elementwise: each value out depends on the values at its own place.
- selected: one of several values is passed on, the largest or the smallest.
- smooth: all values of a region decide each other's result, smoothly.
- composed: it is other ops, one after the other, which have rules.
- ends: what comes out does not vary with what went in: conditions, places, counts, numbers made from sizes.
"""

Relevance = Literal["chosen", "halves", "first", "weights"]
"""Where the relevance of what comes out goes:

- chosen: to that input whose value it is.
- halves: to both factors of a product alike.
- first: to the first input, which the others only scale.
- weights: to scores, of which weights that add up to 1 are made.
"""

Layer = Literal["convolution", "dense", "normalization"]
"""What kind of layer a product makes, where rules of relevance tell them apart:

- convolution: weights that slide over a value.
- dense: weights of all values of a sample.
- normalization: statistics that were measured scale and move each channel.
"""


def never(params: Mapping[str, Any]) -> bool:
    """No call rectifies."""
    return False


@dataclass(frozen=True)
class Contribution:
    """How what an op gives is shared out among its inputs.

    >>> from workbench.core import ops
    >>> ops.linear.contribution.kind, ops.relu.contribution.kind, ops.layer_norm.contribution.kind
    ('product', 'elementwise', 'composed')
    """

    kind: Kind
    steps: Callable[..., Any] | None = None
    """Of what is composed: ``steps(constant, *inputs, **params)``, the same written with other ops. What goes through
    `constant` are factors, such as gates and deviations, that take no part where relevance is shared out."""
    largest: bool = True
    """Of what is selected: whether the largest is, or the smallest."""
    relevance: Relevance | None = None
    """Where relevance goes, where that does not follow from the kind."""
    layer: Layer | None = None
    """Of a product: what kind of layer it makes; None for those that are no layer to speak of."""
    rectifies: Callable[[Mapping[str, Any]], bool] = never
    """Whether a call with these parameters is 0 below 0 and grows above, as the rules for deconvolution ask."""


MOVED = Contribution("moved")
LINEAR = Contribution("linear")
PRODUCT = Contribution("product")
CONVOLUTION = Contribution("product", layer="convolution")
DENSE = Contribution("product", layer="dense")
NORMALIZATION = Contribution("product", layer="normalization")
ELEMENTWISE = Contribution("elementwise")
SELECTED = Contribution("selected")
SMALLEST = Contribution("selected", largest=False)
SMOOTH = Contribution("smooth")
ENDS = Contribution("ends")
CHOSEN = Contribution("elementwise", relevance="chosen")
"""Each value out is that of one of the inputs at its place."""
FACTORS = Contribution("elementwise", relevance="halves")
SCALED = Contribution("elementwise", relevance="first")
WEIGHTS = Contribution("smooth", relevance="weights")

ORDERED = Absent("which value comes out at a place is decided by the order of all of them")
OF_A_GRADIENT = Absent("it computes a gradient, which is no part of what a model answers")
UNDERIVED = Absent("it has no gradient, so that nothing says how its result varies with its inputs")
A_STAND_IN = Absent("its gradient is a stand-in for the derivative")


def composed(steps: Callable[..., Any]) -> Contribution:
    """State that an op is other ops, one after the other: see `Contribution.steps`."""
    return Contribution("composed", steps)


def rectifying(when: Callable[[Mapping[str, Any]], bool] = lambda params: True) -> Contribution:
    """State that an elementwise op is 0 below 0 and grows above, where its parameters are such."""
    return Contribution("elementwise", rectifies=when)


def derived(op: Any) -> Contribution | Absent:
    """Return what the properties of an op say of it."""
    properties = op.properties
    if "estimate" in properties:
        return A_STAND_IN
    if not op.vjp:
        return ELEMENTWISE if "elementwise" in properties else UNDERIVED
    if "view" in properties or (
        "moves" in properties and ("linear" in properties or "elementwise" not in properties)
    ):
        return MOVED
    if "linear" in properties:
        return LINEAR
    if "elementwise" in properties:
        return ELEMENTWISE
    if op.name.endswith("_gradient"):
        return OF_A_GRADIENT
    return SMOOTH
