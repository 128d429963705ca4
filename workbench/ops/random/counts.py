"""Draws that no quantile gives cheaply: whole numbers, angles and gamma draws, each op decided by a seed.

The seed starts a stream of its own, from which one number after the other is drawn; how many that takes depends on the
parameters. So the default stream gives one number for the seed, and a graph draws what the function would draw. Under
`vmap` every entry draws by the same seed, as it does of dropout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import broadcast
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import grid
from workbench.core.op import Absent, Op, Sample, Saves, ops
from workbench.core.quantization import DRAWN
from workbench.ops.special.gamma_quantile import as_values

__all__ = ["BINOMIAL", "POISSON", "STANDARD_GAMMA", "VON_MISES"]

_WHOLE = Absent("what is drawn is a whole number, which does not follow small changes of the parameters")


def _rounded(drawn: Any, like: Any) -> Any:
    return np.asarray(drawn).astype(like.dtype, copy=False)


# Above it NumPy's stream refuses: counts are then those of the normal distribution to more digits than a float64 has.
_MOST = 9.0e18


def _poisson(rate: Any, *, seed: int) -> Any:
    stream = np.random.default_rng(seed)
    wide = np.asarray(rate, np.float64)
    nothing = ~(wide >= 0)
    huge = wide > _MOST
    counts = np.where(huge, wide, stream.poisson(np.where(nothing | huge, 0.0, wide)))
    return _rounded(np.where(nothing, np.nan, counts), rate)


POISSON = Op(
    name="poisson",
    doc="Counts of events that come at a rate.",
    equation="P(y = k) = λ^k e^-λ / k!",
    dims=lambda rate, seed: rate,
    rule="names and sizes pass through",
    dtype=FLOAT,
    forward=_poisson,
    vjp=_WHOLE,
    saves=Saves((), output=False),
    samples=lambda: [
        Sample((grid(3, 4, low=0.3, high=9.0),), {"seed": 3}, names=(("N", "C"),)),
        Sample((grid(low=0.3, high=9.0),), {"seed": 4}),
        Sample((np.zeros((0, 3)),), {"seed": 4}),
    ],
    properties=frozenset({"same"}),
    quantized=DRAWN,
)


def _binomial(count: Any, prob: Any, *, seed: int) -> Any:
    stream = np.random.default_rng(seed)
    tries, chance = np.broadcast_arrays(np.asarray(count, np.float64), np.asarray(prob, np.float64))
    nothing = ~((tries >= 0) & (tries <= _MOST) & (chance >= 0) & (chance <= 1))
    drawn = stream.binomial(np.where(nothing, 0, tries).astype(np.int64), np.where(nothing, 0.0, chance))
    return np.where(nothing, np.nan, drawn).astype(np.result_type(count, prob), copy=False)


BINOMIAL = Op(
    name="binomial",
    doc="Counts of successes among a number of trials.",
    equation="P(y = k) = n!/(k!(n-k)!)·p^k (1-p)^(n-k)",
    dims=lambda count, prob, seed: broadcast("binomial", count, prob),
    rule="names unify from the right, sizes broadcast",
    dtype=FLOAT,
    forward=_binomial,
    vjp=_WHOLE,
    saves=Saves((), output=False),
    samples=lambda: [
        Sample(
            (np.floor(grid(3, 4, low=1.0, high=9.0)), grid(4, low=0.1, high=0.9)),
            {"seed": 3},
            names=(("N", "C"), ("C",)),
        ),
        Sample((np.floor(grid(1, low=3.0, high=9.0)), grid(3, low=0.1, high=0.9)), {"seed": 4}),
    ],
    quantized=DRAWN,
)


def _von_mises(concentration: Any, *, seed: int) -> Any:
    stream = np.random.default_rng(seed)
    wide = np.asarray(concentration, np.float64)
    nothing = ~((wide >= 0) & np.isfinite(wide))
    return _rounded(
        np.where(nothing, np.nan, stream.vonmises(0.0, np.where(nothing, 0.0, wide))), concentration
    )


VON_MISES = Op(
    name="von_mises",
    doc="Angles that gather around 0, from -π to π.",
    equation="p(y) = e^(κ·cos y) / (2π·I₀(κ))",
    reference="Best and Fisher 1979",
    dims=lambda concentration, seed: concentration,
    rule="names and sizes pass through",
    dtype=FLOAT,
    forward=_von_mises,
    vjp=Absent("angles are drawn by rejection, which is no smooth function of the concentration"),
    saves=Saves((), output=False),
    samples=lambda: [
        Sample((grid(3, 4, low=0.3, high=9.0),), {"seed": 3}, names=(("N", "C"),)),
        Sample((grid(low=0.3, high=9.0),), {"seed": 4}),
    ],
    properties=frozenset({"same"}),
    quantized=DRAWN,
)


def _standard_gamma(concentration: Any, *, seed: int) -> Any:
    stream = np.random.default_rng(seed)
    wide = np.asarray(concentration, np.float64)
    nothing = ~((wide >= 0) & np.isfinite(wide))
    drawn = stream.standard_gamma(np.where(nothing, 0.0, wide))
    return _rounded(np.where(nothing, np.nan, drawn), concentration)


STANDARD_GAMMA = Op(
    name="standard_gamma",
    doc="Draws from gamma distributions of rate 1.",
    equation="p(y) = y^(a-1) e^-y / Γ(a)",
    reference="Marsaglia and Tsang 2000",
    dims=lambda concentration, seed: concentration,
    rule="names and sizes pass through",
    dtype=FLOAT,
    forward=_standard_gamma,
    # What rejection accepts jumps with the concentration. The draw is a quantile as well, whose slope is smooth: the
    # same distribution moves in the same way (Figurnov et al. 2018), whoever has drawn.
    vjp=lambda c, g: (ops.mul(g, ops.gamma_quantile_slope(as_values(c)[0], c.out)),),
    saves=Saves((0,), output=True),
    samples=lambda: [
        Sample((grid(3, 4, low=0.3, high=9.0),), {"seed": 3}, names=(("N", "C"),)),
        Sample((grid(low=0.3, high=9.0),), {"seed": 4}),
    ],
    properties=frozenset({"same", "estimate"}),
    quantized=DRAWN,
)
