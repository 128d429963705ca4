"""`Quantization`: how scale and zero point travel through an op, how it takes codes, which op computes it on integers.

Who quantizes a model (observers, graph passes, backends, lists of layers) reads these statements and has no list of
its own. What ops share is stated in their families; `derived` states it of those that say it by their properties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from workbench.base.dtypes import DType, qint8, quint8
from workbench.core import quantized_rules as rules
from workbench.core.absent import Absent

__all__ = [
    "AROUND_ZERO", "AT_PLACES", "BAGS", "CHOSEN", "COMPARED", "COMPUTED", "DIGITS", "DRAWN", "GRADIENT", "JOINED",
    "LOSS", "MADE", "MOVED", "NO_COMPLEX", "NO_KERNEL", "OWN", "PLACED", "PLAIN", "Quantization", "ROUNDED", "Role",
    "SEEN", "STATISTICS", "STEPS", "Travels", "UNIT", "UNSTATED", "WHOLE", "WRITTEN", "derived", "integers",
    "served", "weighted",
]  # fmt: skip

Travels = Literal["same", "fixed", "joined", "weighted", "own", "ends"]
"""How scale and zero point pass:

- same: the result has those of the first input, so nothing observes it.
- fixed: the result has those that the op says, whatever the data.
- joined: all inputs and the result share one scale and zero point, and one observer.
- weighted: the result needs its own; one of the inputs is a weight, which has scales of its own for its channels.
- own: the result needs its own.
- ends: what comes out is no codes but plain numbers, conditions or places.
"""
Role = Literal["value", "weight", "plain"]
"""What an input is: a value that is observed and given as codes, a weight, whose codes are made once, or plain:
a bias, places or statistics, which stay what they are."""

NEEDS_SCALE = Absent("its result needs a scale and a zero point of its own")
NO_KERNEL = Absent("nothing computes it on integers yet: codes become real numbers and codes again")
UNSTATED = Absent("nobody has said how scale and zero point pass through it")
GRADIENT = Absent("gradients are computed in floating point: train with fake quantization")
LOSS = Absent("a loss is computed in floating point")
DIGITS = Absent("it needs more digits than codes have")
WHOLE = Absent("it is for whole numbers; int_repr() has the codes as such")
MADE = Absent("it is made from sizes and numbers, which have no codes")
DRAWN = Absent("what is drawn is drawn in floating point")
NO_COMPLEX = Absent("codes stand for real numbers")
AT_PLACES = Absent("values at places are not quantized")
STATISTICS = Absent(
    "statistics are kept in floating point: fold the layer into the one before it, or freeze it"
)


@dataclass(frozen=True)
class Quantization:
    """What an op does to quantized tensors.

    >>> from workbench.core import ops
    >>> ops.reshape.quantized.travels, ops.linear.quantized.kernel, ops.linear.quantized.role(1)
    ('same', 'quantized_linear', 'weight')
    """

    travels: Travels
    codes: Callable[..., Any] | Absent = NEEDS_SCALE
    """``codes(op, *payloads, **params)``: the payload(s) that the op makes of quantized ones when it is called with
    them. All but weighted and own ones know the scale of their result, and have this."""
    kernel: str | Absent = NO_KERNEL
    """The op of the table that computes it on codes. It takes the same inputs, values and weights as codes, and
    the `parameters` below."""
    inputs: tuple[Role, ...] = ("value",)
    """What each input is; the last stands for those that follow."""
    axis: int | None = None
    """The dim of a weight along which its channels have scales of their own; None: it has one scale."""
    fixed: Callable[[DType], tuple[float, int]] | None = None
    """Scale and zero point of the result in a type of codes, where they are fixed."""
    absorbs: tuple[str, ...] = ()
    """Ops that the kernel does to its result for nothing where the parameter of this name is True: ``("relu",)``."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else the kernel is told: its parameters beside the op's own, as they are where nothing is absorbed."""

    def role(self, position: int) -> Role:
        """Return what the input at `position` is."""
        return self.inputs[min(position, len(self.inputs) - 1)]

    @property
    def values(self) -> bool:
        """True where an input is a value that is given as codes."""
        return "value" in self.inputs

    def parameters(
        self, params: Mapping[str, Any], scale: float, zero_point: int, qmin: int = 0, qmax: int = 255
    ) -> dict[str, Any]:
        """Return the kernel's parameters: those of the op, its settings, and the codes of the result.

        >>> from workbench.core import ops
        >>> ops.linear.quantized.parameters({}, 0.5, 3)
        {'relu': False, 'scale': 0.5, 'zero_point': 3, 'qmin': 0, 'qmax': 255}
        """
        told = {**params, **self.settings}
        if self.travels in ("weighted", "own") or (self.fixed is not None and isinstance(self.kernel, str)):
            told |= {"scale": scale, "zero_point": zero_point, "qmin": qmin, "qmax": qmax}
        return told


def from_zero_to_one(dtype: DType) -> tuple[float, int]:
    """Scale and zero point of what lies between 0 and 1, as in PyTorch: the last code is short of 1, of qint32 of ½."""
    return (2.0**-32, 0) if dtype.itemsize > 1 else (1 / 256, -128 if dtype is qint8 else 0)


def around_zero(dtype: DType) -> tuple[float, int]:
    """Scale and zero point of what lies between -1 and 1."""
    return (2.0**-31, 0) if dtype.itemsize > 1 else (1 / 128, 128 if dtype is quint8 else 0)


MOVED = Quantization("same", rules.moved)
"""Values go to other places, or are seen in another order: so do codes."""
PLACED = Quantization("same", rules.placed)
"""Values go to other places among zeros."""
CHOSEN = Quantization("same", rules.picked)
"""Values are chosen by their order, which codes have too."""
COMPUTED = Quantization("same", rules.computed)
"""Values are computed, and rounded to the codes of the first input."""
JOINED = Quantization("joined", rules.joined)
"""Values of several inputs stand side by side: those of others are rounded to the codes of the first."""
WRITTEN = Quantization("same", rules.written, inputs=("value", "value", "plain"))
"""Values of the second input take the places of some of the first, in its codes."""
COMPARED = Quantization("ends", rules.compared)
"""What codes stand for is compared, counted or asked."""
SEEN = Quantization("same", rules.seen)
"""The same values in the same places: scales of channels stay as well."""
OWN = Quantization("own")
PLAIN = Quantization("own", inputs=("value", "plain"))
"""Values meet parameters or places that stay what they are."""
ROUNDED = Quantization("own", rules.computed)
"""The result needs its own. Called with codes and told nothing, the op rounds to those of its input, as PyTorch's."""
UNIT = Quantization("fixed", rules.fixed, fixed=from_zero_to_one)
"""What comes out lies between 0 and 1."""
AROUND_ZERO = Quantization("fixed", rules.fixed, fixed=around_zero)
"""What comes out lies between -1 and 1."""
BAGS = Quantization("weighted", inputs=("plain", "weight"), axis=0)
"""Rows of a table, which is a weight, are looked up."""
STEPS = Quantization("weighted", inputs=("value", "value", "weight", "plain"), axis=0)
"""A recurrent layer: what goes in, the state, and the weight of the state."""


def weighted(kernel: str | Absent = NO_KERNEL, **fields: Any) -> Quantization:
    """State that an op multiplies a value with a weight whose rows have scales of their own, and adds a bias."""
    return Quantization(
        "weighted", kernel=kernel, **{"inputs": ("value", "weight", "plain"), "axis": 0, **fields}
    )


def integers(
    name: str, function: Callable[..., Any], travels: Travels = "own", **fields: Any
) -> Quantization:
    """State that an op computes on integers itself: `function` takes its payloads and its parameters."""
    return Quantization(
        travels, lambda op, *given, **params: function(*given, **params), kernel=name, **fields
    )


def served(name: str, rule: Quantization = OWN, **fields: Any) -> Quantization:
    """State that ``quantized_<name>`` computes an op on codes, which is otherwise as `rule` says."""
    return replace(rule, kernel=f"quantized_{name}", **fields)


_MOVES = frozenset({"moves", "linear"})


def derived(op: Any) -> Quantization | Absent:
    """Return what the properties of an op say of it; `UNSTATED` where they say nothing."""
    properties = op.properties
    if "view" in properties and not op.mirror:
        return MOVED
    if properties >= _MOVES and "crossing" not in properties:
        return PLACED
    if properties >= {"elementwise", "same"}:
        return OWN
    return UNSTATED
