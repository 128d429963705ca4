"""Ranges that different rules choose for the same values.

- *min-max* clips nothing;
- *percentile* leaves one value in a thousand out;
- *L2* has the least squared error, for the number of bits in use: fewer bits bear more clipping;
- *KL* has the least divergence of the distribution of codes from that of the values;
- *MSE* has the least squared error of a grid over both ends at once, which L2 searches one after the other.

Whatever a rule looks at on its way is kept by `candidates`, with its error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.quantization.noise import Density
from workbench.quantization.schemes import Scheme

__all__ = [
    "NAMES", "RULES", "Candidate", "candidates", "choose", "curve", "kl", "l2", "min_max", "mse", "percentile",
]  # fmt: skip

Array = np.ndarray[Any, Any]
Range = tuple[float, float]

PERCENTILE = 99.9
"""Percentage of the values that the percentile rule keeps."""

_COARSE = 512
"""Bins that the search looks at: two a step for 8 bits, and errors within a bin are integrated, not sampled."""
_FINE = 4096
"""Bins that the last look has: what is piled up at one value, as zeros behind a rectifier, is spread over a bin."""


_NEAR = 12
"""Points that the error curve has around its optimum, besides those that are spread evenly."""


class Looked:
    """The ranges that a search has looked at, in order."""

    def __init__(self) -> None:
        self.lows: list[float] = []
        self.highs: list[float] = []

    def add(self, lows: Any, highs: Any) -> None:
        """Note ranges by their ends."""
        self.lows += np.atleast_1d(lows).tolist()
        self.highs += np.atleast_1d(highs).tolist()


@dataclass(frozen=True)
class Candidate:
    """What one rule chooses, and every range that it looked at with its signal to noise ratio in dB."""

    rule: str
    low: float
    high: float
    sqnr: float
    lows: Array = field(repr=False)
    highs: Array = field(repr=False)
    sqnrs: Array = field(repr=False)


def min_max(density: Density, scheme: Scheme, looked: Looked | None = None) -> Range:
    """Return the ends of what was seen."""
    return _noted(looked, density.low, density.high)


def _noted(looked: Looked | None, low: float, high: float) -> Range:
    if looked is not None:
        looked.add(low, high)
    return low, high


def percentile(
    density: Density, scheme: Scheme, looked: Looked | None = None, keep: float = PERCENTILE
) -> Range:
    """Return the range that holds `keep` per cent of the values; both tails lose alike, where there are two."""
    gone = 1 - keep / 100
    mass = np.concatenate([[0.0], np.cumsum(density.counts)]) / max(density.total, 1.0)
    if density.low >= 0:
        return _noted(looked, density.low, float(np.interp(1 - gone, mass, density.edges)))
    if density.high <= 0:
        return _noted(looked, float(np.interp(gone, mass, density.edges)), density.high)
    low, high = np.interp([gone / 2, 1 - gone / 2], mass, density.edges)
    return _noted(looked, float(low), float(high))


def l2(density: Density, scheme: Scheme, looked: Looked | None = None) -> Range:
    """Return the range with the least squared error: first over its size, then each end in turn, ever finer."""
    coarse = density.coarse(_COARSE)
    low, high = scheme.widened(density.low, density.high)
    # Close to zero in small steps: with few bits most of the range may be worth clipping.
    factors = np.geomspace(0.004, 1.0, 40)
    low, high = _best(coarse, scheme, low * factors, high * factors, looked)
    ends = (low, high)
    limits = scheme.widened(density.low, density.high)
    fine = density.coarse(_FINE)
    for reach, seen in ((0.5, coarse), (0.15, coarse), (0.04, fine)):
        factors = np.linspace(1 - reach, 1 + reach, 21)
        # A range that begins or ends at 0 has one end to move; so has a symmetric one.
        if scheme.qscheme.symmetric or 0.0 in limits:
            ends = _best(seen, scheme, *_within(ends[0] * factors, ends[1] * factors, limits), looked)
            continue
        held = np.full(len(factors), 1.0)
        ends = _best(seen, scheme, *_within(ends[0] * held, ends[1] * factors, limits), looked)
        ends = _best(seen, scheme, *_within(ends[0] * factors, ends[1] * held, limits), looked)
    return ends


def _within(lows: Array, highs: Array, limits: Range) -> tuple[Array, Array]:
    return np.maximum(lows, limits[0]), np.minimum(highs, limits[1])


def mse(density: Density, scheme: Scheme, looked: Looked | None = None) -> Range:
    """Return the range with the least squared error of a grid over low and high ends, looked at again more finely."""
    coarse = density.coarse(_COARSE)
    limits = scheme.widened(density.low, density.high)
    factors = np.geomspace(0.01, 1.0, 20)
    ends = _grid(coarse, scheme, limits, factors, limits, looked)
    for reach, seen in ((0.2, coarse), (0.04, density.coarse(_FINE))):
        ends = _grid(seen, scheme, ends, np.linspace(1 - reach, 1 + reach, 9), limits, looked)
    return ends


def _grid(
    density: Density, scheme: Scheme, ends: Range, factors: Array, limits: Range, looked: Looked | None
) -> Range:
    """Return the best of all pairs of low and high ends; where one end is 0, or follows the other, of one row."""
    if scheme.qscheme.symmetric or 0.0 in limits:
        lows, highs = ends[0] * factors, ends[1] * factors
    else:
        lows, highs = (one.ravel() for one in np.meshgrid(ends[0] * factors, ends[1] * factors))
    return _best(density, scheme, *_within(lows, highs, limits), looked)


def _best(density: Density, scheme: Scheme, lows: Array, highs: Array, looked: Looked | None = None) -> Range:
    if looked is not None:
        looked.add(lows, highs)
    place = int(np.argmin(density.noise(scheme, lows, highs)))
    return float(lows[place]), float(highs[place])


def kl(density: Density, scheme: Scheme, looked: Looked | None = None) -> Range:
    """Return the range, a scaled-down min-max, after which the codes tell most about the values.

    Of the ranges that clip no more than one value in a hundred: the divergence does not see how far clipped values
    move. Zero has a code of its own in every range, so the bin that holds it has no say: a rectified layer's is half
    of everything. Migacz 2017, 8-bit Inference with TensorRT.
    """
    levels = scheme.quant_max - scheme.quant_min + 1
    whole = density.coarse(2048)
    fine = _without_zero(whole)
    low, high = scheme.widened(density.low, density.high)
    best, chosen = np.inf, (low, high)
    for factor in np.geomspace(0.02, 1.0, 20):
        if sum(whole.clipped(low * factor, high * factor)) > 0.01:
            continue
        _noted(looked, low * factor, high * factor)
        divergence = _divergence(fine, low * factor, high * factor, levels)
        if divergence < best:
            best, chosen = divergence, (float(low * factor), float(high * factor))
    return chosen


def _without_zero(density: Density) -> Density:
    place = int(-density.low // density.width) if density.low <= 0 <= density.high else -1
    counts = density.counts.copy()
    # Kept where there is nothing else.
    if 0 <= place < len(counts) and counts.sum() > counts[place]:
        counts[place] = 0
    return Density(counts, density.low, density.high)


def _divergence(density: Density, low: float, high: float, levels: int) -> float:
    """KL divergence between the clipped distribution and what its codes can say of it."""
    first = max(0, int((low - density.low) / density.width))
    last = min(len(density.counts), int(np.ceil((high - density.low) / density.width)))
    inside = density.counts[first:last]
    if last - first < 2 or not inside.any():
        return np.inf
    clipped = inside.copy()
    clipped[0] += density.counts[:first].sum()
    clipped[-1] += density.counts[last:].sum()
    groups = np.unique(np.arange(levels) * (last - first) // levels)
    filled = (clipped > 0).astype(np.float64)
    # Bins without values stay without, or codes would seem to know less than they do.
    sums, members = np.add.reduceat(inside, groups), np.add.reduceat(filled, groups)
    sizes = np.diff(np.append(groups, last - first))
    spread = np.repeat(sums / np.maximum(members, 1), sizes) * filled
    p, q = clipped / clipped.sum(), spread / max(spread.sum(), 1e-300)
    known = p > 0
    # Where the codes know nothing the divergence is large, and not infinite.
    return float(np.sum(p[known] * np.log(p[known] / np.maximum(q[known], 1e-12))))


RULES = {"min-max": min_max, "99.9 %": percentile, "L2": l2, "KL": kl, "MSE": mse}
"""The rules by the name under which views show them."""

NAMES = {"minmax": "min-max", "percentile": "99.9 %", "l2": "L2", "kl": "KL", "mse": "MSE"}
"""The same by the names that code uses."""


def choose(rule: str, density: Density, scheme: Scheme) -> Range:
    """Return the range that `rule` chooses: ``l2``, ``mse``, ``minmax``, ``percentile`` or ``kl``."""
    if rule not in NAMES:
        raise QuantizationError(f"there is no rule {rule!r}; the rules are {', '.join(NAMES)}")
    return RULES[NAMES[rule]](density, scheme)


def candidates(density: Density, scheme: Scheme) -> list[Candidate]:
    """Return what each rule chooses for these values, with the error of all that it looked at."""
    found = []
    fine = density.coarse(1024)
    for name, shown in NAMES.items():
        looked = Looked()
        low, high = RULES[shown](density, scheme, looked)
        lows, highs = np.array(looked.lows), np.array(looked.highs)
        found.append(
            Candidate(
                name, low, high, fine.sqnr(scheme, low, high), lows, highs, fine.sqnrs(scheme, lows, highs)
            )
        )
    return found


def curve(
    density: Density,
    scheme: Scheme,
    points: int = 33,
    sqnrs: Callable[[Scheme, Array, Array], Array] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Return the error curve: widths, lows, highs and SQNR in dB of min-max scaled about zero, 2 % to 130 %.

    Where it is highest it has a dozen points more; it ends sooner where float32 does. `sqnrs` gives the ratio for
    ranges, where that is another than the one of `density`.
    """
    ratios_of = density.coarse(1024).sqnrs if sqnrs is None else sqnrs
    low, high = scheme.widened(density.low, density.high)
    widest = float(np.finfo(np.float32).max) / max(-low, high, 1.0)
    widths = np.geomspace(0.02, min(1.3, widest), points)
    ratios = ratios_of(scheme, low * widths, high * widths)
    if not np.isnan(ratios).all():
        best = int(np.nanargmax(ratios))
        around = widths[max(best - 1, 0)], widths[min(best + 1, points - 1)]
        near = np.linspace(*around, _NEAR + 2)[1:-1]
        order = np.argsort(np.concatenate([widths, near]))
        ratios = np.concatenate([ratios, ratios_of(scheme, low * near, high * near)])[order]
        widths = np.concatenate([widths, near])[order]
    return widths, low * widths, high * widths, ratios
