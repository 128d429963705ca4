"""What a person chooses of an observer: its rule, scheme, bits, and whether each channel has a range of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QScheme, code_range
from workbench.quantization.channel_observers import (
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from workbench.quantization.observer import HistogramObserver, MinMaxObserver, MovingAverageMinMaxObserver
from workbench.quantization.observer_base import ObserverBase, PartialObserver
from workbench.quantization.schemes import EPS, Scheme
from workbench.quantization.search import NAMES

__all__ = ["BITS", "RULE_NAMES", "ObserverSettings", "described", "factory_of", "reset_by", "settings_of"]

RULE_NAMES = {"minmax": NAMES["minmax"], "moving_average": "moving average", **NAMES}
"""The rules that can be chosen, by the names that code uses, with those under which views show them."""

BITS = range(2, 9)
"""Bits that integer kernels compute with."""

_KINDS: dict[tuple[bool, bool], type[ObserverBase]] = {
    (False, False): MinMaxObserver,
    (False, True): MovingAverageMinMaxObserver,
    (True, False): PerChannelMinMaxObserver,
    (True, True): MovingAveragePerChannelMinMaxObserver,
}
"""Observers without a search: by whether they are per channel, and follow a moving average."""

_KNOWN = (HistogramObserver, *_KINDS.values())

_SCHEMES = {
    (False, False): QScheme.PER_TENSOR_AFFINE,
    (False, True): QScheme.PER_TENSOR_SYMMETRIC,
    (True, False): QScheme.PER_CHANNEL_AFFINE,
    (True, True): QScheme.PER_CHANNEL_SYMMETRIC,
}


@dataclass(frozen=True)
class ObserverSettings:
    """What can be chosen of an observer.

    >>> import workbench as wb
    >>> settings_of(wb.quantization.HistogramObserver(search="kl"))
    ObserverSettings(rule='kl', symmetric=False, bits=8, per_channel=False)
    """

    rule: str
    """``minmax``, ``moving_average``, ``percentile``, ``l2``, ``kl`` or ``mse``."""
    symmetric: bool
    """Whether 0 stands in the middle of the codes."""
    bits: int
    """2 to 8."""
    per_channel: bool

    def check(self) -> None:
        """Raise `QuantizationError` for what no observer, or no kernel, can do."""
        if self.rule not in RULE_NAMES:
            raise QuantizationError(
                f"there is no observer {self.rule!r}; there are {', '.join(map(repr, RULE_NAMES))}"
            )
        if type(self.bits) is not int or self.bits not in BITS:
            raise QuantizationError(
                f"integer kernels compute with codes of {BITS[0]} to {BITS[-1]} bits, and {self.bits!r} was given"
            )
        for name in ("symmetric", "per_channel"):
            if type(getattr(self, name)) is not bool:
                raise QuantizationError(f"{name} is True or False, and {getattr(self, name)!r} was given")
        if self.per_channel and self.rule not in ("minmax", "moving_average"):
            raise QuantizationError(
                f"{RULE_NAMES[self.rule]} searches one range for all channels: choose min-max or moving average for "
                "a range a channel, or turn per channel off first"
            )

    def words(self) -> str:
        """Return the settings as a person reads them: ``L2 · affine · 8 bit · per tensor``."""
        scheme = "symmetric" if self.symmetric else "affine"
        each = "per channel" if self.per_channel else "per tensor"
        return f"{RULE_NAMES[self.rule]} · {scheme} · {self.bits} bit · {each}"


def settings_of(observer: ObserverBase) -> ObserverSettings | None:
    """Return what was chosen of an observer; None for one of which nothing can be chosen here."""
    if type(observer) not in _KNOWN or observer.dtype.itemsize != 1 or observer.is_dynamic:
        return None
    if observer.qscheme not in _SCHEMES.values():
        return None
    if isinstance(observer, HistogramObserver):
        rule = observer.search
    else:
        rule = "moving_average" if hasattr(observer, "averaging_constant") else "minmax"
    return ObserverSettings(rule, observer.qscheme.symmetric, observer.bits, observer.qscheme.per_channel)


def described(factory: PartialObserver) -> ObserverSettings | None:
    """Return what was chosen of the observers that `factory` makes."""
    made = factory()
    return settings_of(made) if isinstance(made, ObserverBase) else None


def factory_of(observer: ObserverBase) -> PartialObserver | None:
    """Return a factory of observers like this one, its settings written out; None for a kind that is not known.

    >>> import workbench as wb
    >>> factory_of(MinMaxObserver(quant_min=0, quant_max=15))
    MinMaxObserver.with_args(dtype=workbench.quint8, qscheme=workbench.per_tensor_affine, quant_min=0, quant_max=15)
    """
    if type(observer) not in _KNOWN:
        return None
    scheme = observer.scheme
    given: dict[str, Any] = {"dtype": scheme.dtype, "qscheme": scheme.qscheme}
    if scheme.customized:
        given |= {"quant_min": scheme.quant_min, "quant_max": scheme.quant_max}
    elif observer.reduce_range:
        given["reduce_range"] = True
    if scheme.eps != EPS:
        given["eps"] = scheme.eps
    if observer.is_dynamic:
        given["is_dynamic"] = True
    if isinstance(observer, HistogramObserver):
        given["search"] = observer.search
        given |= {} if observer.bins == HistogramObserver().bins else {"bins": observer.bins}
    for name, usual in (("ch_axis", 0), ("averaging_constant", 0.01)):
        value = getattr(observer, name, usual)
        given |= {} if value == usual else {name: value}
    return PartialObserver(type(observer), given)


def reset_by(observer: ObserverBase, **chosen: Any) -> PartialObserver:
    """Return the factory of an observer that differs from `observer` in what was chosen: fields of `ObserverSettings`.

    Raises `QuantizationError` for what no observer, or no kernel, can do.

    >>> reset_by(HistogramObserver(), bits=4, symmetric=True).settings["quant_max"]
    15
    """
    before = settings_of(observer)
    if before is None:
        raise QuantizationError(
            f"nothing can be chosen of a {type(observer).__name__} with {observer.qscheme!r} codes of "
            f"{observer.dtype.name}: give its layer another qconfig, and prepare the model again"
        )
    for name in chosen.keys() - vars(before).keys():
        raise QuantizationError(
            f"nothing called {name!r} can be chosen of an observer; there are {', '.join(vars(before))}"
        )
    after = replace(before, **chosen)
    after.check()
    known = factory_of(observer)
    assert known is not None  # it has settings
    if after == before:
        return known
    plain = after.rule in ("minmax", "moving_average")
    # A histogram that is there goes on being filled, so that another rule can be chosen later and loses nothing.
    searching = not plain or (
        after.rule == "minmax" and isinstance(observer, HistogramObserver) and not after.per_channel
    )
    kind = HistogramObserver if searching else _KINDS[after.per_channel, after.rule == "moving_average"]
    given: dict[str, Any] = {}
    given |= {name: known.settings[name] for name in ("dtype", "eps", "bins") if name in known.settings}
    given["qscheme"] = _SCHEMES[after.per_channel, after.symmetric]
    given |= _limits(observer.scheme, after.bits, after.symmetric)
    if searching:
        given["search"] = after.rule
    else:
        given.pop("bins", None)
    if after.per_channel and "ch_axis" in known.settings:
        given["ch_axis"] = known.settings["ch_axis"]
    if after.rule == "moving_average" and "averaging_constant" in known.settings:
        given["averaging_constant"] = known.settings["averaging_constant"]
    return PartialObserver(kind, given)


def _limits(scheme: Scheme, bits: int, symmetric: bool) -> dict[str, Any]:
    """What says limits of so many bits: those that are there where the bits stay, as shortly as they can be said."""
    least, most = scheme.quant_min, scheme.quant_max
    signed = code_range(scheme.dtype)[0] < 0
    if bits != scheme.bits:
        least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    low, high = code_range(scheme.dtype)
    if (least, most) == (low, high):
        return {}
    # A bit that was left free at the beginning is free again when a person comes back to as many.
    chosen = scheme.customized and bits == scheme.bits and scheme.qscheme.symmetric == symmetric
    # Unsigned codes that are symmetric have no such bit: their limits are said.
    if (least, most) == (low // 2, high // 2) and not chosen and (signed or not symmetric):
        return {"reduce_range": True}
    return {"quant_min": least, "quant_max": most}
