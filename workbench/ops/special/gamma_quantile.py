"""The quantile of the gamma distribution, and how it moves with the shape: what makes draws from it differentiable.

A draw is z = F⁻¹(u; a) for an even draw u. While u stays, dz/da = -∂F/∂a / p(z) (Figurnov et al. 2018). With
∂ ln p/∂a = ln t - ψ(a) that is an integral over the density's tail, below z or above it:

    dz/da = 1/p(z) ∫₀ᶻ p(t)(ψ(a) - ln t) dt = 1/p(z) ∫_z^∞ p(t)(ln t - ψ(a)) dt

The tail is chosen in which the integrand has one sign, so that no digits are lost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import broadcast
from workbench.base.errors import AutogradError
from workbench.base.lazy import scipy_special
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import alike, grid, unbroadcast
from workbench.core.op import Op, Sample, Saves, ops
from workbench.core.quantization import DIGITS
from workbench.core.tape import Call
from workbench.core.value import Value, new
from workbench.ops.elementwise.complex import real_only
from workbench.ops.special.functions import gamma_density

__all__ = ["GAMMAINCINV", "GAMMA_QUANTILE_CURVATURE", "GAMMA_QUANTILE_SLOPE", "as_values"]

Array = Any
_NEGLIGIBLE = 40.0
"""Where the exponent has fallen by this, nothing that follows shows in a float64."""
_SERIES_BELOW = 12.0
"""Shapes below which the lower tail is summed; above, it is as smooth as the upper one, and integrated."""

_TERMS = 50
"""Terms of the series: the ratios (a + ½)/(a + n) of all below have fallen under 1e-17 together by then."""


@functools.cache
def _nodes() -> tuple[Array, Array]:
    """Places and weights of Gauss's quadrature on [0, 1]."""
    places, weights = np.polynomial.legendre.leggauss(64)
    return (places + 1) / 2, weights / 2


def _series(a: Array, x: Array, *, curved: bool) -> tuple[Array, Array]:
    """Return slope and curvature by x Σ xⁿ/(a…(a+n))·(ψ(a+n+1) - ln x), whose terms are positive up to x = a + ½.

    Without `curved` the curvature is left at 0: a gradient asks for the slope alone, in less than half of the time.
    """
    log = np.log(x)
    term = 1 / a
    above = scipy_special.psi(a + 1) - log  # ψ(a+n+1) - ln x
    slope, curvature = term * above, np.zeros_like(x)
    if curved:
        inverse, trigamma = 1 / a, scipy_special.zeta(2.0, a + 1)
        curvature = term * (trigamma - inverse * above)
    for n in range(1, _TERMS):
        step = 1 / (a + n)
        term *= x
        term *= step
        above += step
        slope += term * above
        if curved:
            inverse, trigamma = inverse + step, trigamma - step * step
            curvature += term * (trigamma - inverse * above)
    return x * slope, x * curvature


def _integral(a: Array, x: Array, sign: int, *, curved: bool) -> tuple[Array, Array]:
    """Return slope and curvature by the tail below (-1) or above (1), with t = x·e^(±s); see `_series` of `curved`."""
    rise = sign * (x - a)
    # The exponent is -rise·s - x(e^±s ∓ s - 1): each bound alone lets it fall far enough.
    straight = _NEGLIGIBLE / np.maximum(rise, 1e-300)
    bowed = np.sqrt(3 * _NEGLIGIBLE / x)
    if sign > 0:
        end = np.minimum(np.minimum(straight, bowed), np.maximum(2.0, np.log(2 * _NEGLIGIBLE / x)))
    else:
        # Only near 0 is the bow that of a square.
        end = np.minimum(straight, np.where(bowed <= 1, bowed, (_NEGLIGIBLE + x) / a))
    offset = sign * (np.log(x) - scipy_special.psi(a))
    trigamma: Any = scipy_special.zeta(2.0, a) if curved else None
    slope, curvature = np.zeros_like(x), np.zeros_like(x)
    for place, weight in zip(*_nodes(), strict=True):
        s = end * place
        share = weight * np.exp(-rise * s - x * (np.expm1(sign * s) - sign * s))
        slope += share * (offset + s)
        if curved:
            curvature += share * (sign * s * (offset + s) - sign * trigamma)
    return x * end * slope, x * end * curvature


def _both(a: Array, x: Array, *, curved: bool) -> tuple[Array, Array]:
    """Return dz/da at z = x, and its derivative in a with z held if it is to be `curved`, in float64."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    # Outside of a > 0, x ≥ 0 (or at infinity, or NaN) there is no value; at 0 the quantile stays where it is.
    slope = np.where((x == 0) & (a > 0), 0.0, np.nan)
    curvature = slope.copy()
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    lower = x <= a + 0.5
    regions: list[tuple[Any, Callable[..., tuple[Array, Array]]]] = [
        (inside & lower & (a < _SERIES_BELOW), _series),
        (inside & lower & (a >= _SERIES_BELOW), functools.partial(_integral, sign=-1)),
        (inside & ~lower, functools.partial(_integral, sign=1)),
    ]
    with np.errstate(under="ignore", over="ignore"):
        for where, compute in regions:
            if where.any():
                slope[where], curvature[where] = compute(a[where], x[where], curved=curved)
    return slope, curvature


def _typed(function: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """Return array code that computes in float64 and gives the type of its operands."""

    def forward(a: Array, x: Array) -> Array:
        return np.asarray(function(np.asarray(a, np.float64), np.asarray(x, np.float64))).astype(
            np.result_type(a, x), copy=False
        )

    return alike(forward)


def as_values(c: Call) -> list[Any]:
    """Return the operands as values: ops on one operand take no numbers."""
    return [one if isinstance(one, Value) or one is None else new(np.asarray(one)) for one in c.inputs]


def _decline(a: Any, x: Any) -> Any:
    """Return the slope of ln p(x) in x: (a-1)/x - 1."""
    return ops.sub(ops.div(ops.sub(a, 1.0), x), 1.0)


def _declare(
    name: str,
    doc: str,
    equation: str,
    forward: Callable[..., Array],
    gradients: Callable[[Call, Any], tuple[Callable[[], Any], Callable[[], Any]]],
    saves: Saves,
    samples: Callable[[], list[Sample]],
) -> Op:
    def vjp(c: Call, g: Any) -> tuple[Any, ...]:
        return tuple(
            unbroadcast(function(), value) if need else None
            for function, value, need in zip(gradients(c, g), c.inputs, c.needs, strict=True)
        )

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        reference="Figurnov et al. 2018, section 3",
        quantized=DIGITS,
        dims=lambda a, x: broadcast(name, a, x),
        rule="names unify from the right, sizes broadcast",
        dtype=real_only(name, FLOAT),
        forward=_typed(forward),
        vjp=vjp,
        saves=saves,
        samples=samples,
        properties=frozenset({"elementwise"}),
        tolerance=1e-5,
    )


def _no_third() -> Any:
    raise AutogradError(
        "the third derivative of a gamma quantile with respect to its shape is not there: differentiate draws twice at "
        "most, or detach() the concentration"
    )


def _curvature_gradients(c: Call, g: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    a, x = as_values(c)

    def argument() -> Any:
        slope = ops.gamma_quantile_slope(a, x)
        rest = ops.add(ops.mul(c.out, _decline(a, x)), ops.div(slope, x))
        return ops.mul(g, ops.sub(ops.polygamma(a, n=1), rest))

    return _no_third, argument


def _slope_gradients(c: Call, g: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    a, x = as_values(c)

    def argument() -> Any:
        rest = ops.mul(c.out, _decline(a, x))
        return ops.neg(ops.mul(g, ops.add(ops.sub(ops.log(x), ops.digamma(a)), rest)))

    return lambda: ops.mul(g, ops.gamma_quantile_curvature(a, x)), argument


def _quantile_gradients(c: Call, g: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    a, z = as_values(c)[0], c.out
    return (
        lambda: ops.mul(g, ops.gamma_quantile_slope(a, z)),
        lambda: ops.mul(g, ops.div(1.0, gamma_density(a, z))),
    )


def _around(shape: Array) -> list[Sample]:
    return [
        Sample((shape, grid(3, 4, low=0.2, high=4.0)), names=(None, ("N", "C"))),
        Sample((shape, grid(3, low=8.0, high=30.0))),
    ]


GAMMA_QUANTILE_CURVATURE = _declare(
    "gamma_quantile_curvature",
    "How the slope of a gamma quantile changes with the shape, where the quantile stays.",
    "y = ∂/∂a G(a, z), with G = dz/da",
    lambda a, x: _both(a, x, curved=True)[1],
    _curvature_gradients,
    Saves(output=True),
    # As an array the shape would be differentiated once more.
    lambda: [*_around(np.float64(1.7)), *_around(np.float64(15.0))],
)
GAMMA_QUANTILE_SLOPE = _declare(
    "gamma_quantile_slope",
    "How a quantile of the gamma distribution moves with the shape: the implicit derivative of a draw.",
    "y = dz/da = -∂P(a, z)/∂a / p(z)",
    lambda a, x: _both(a, x, curved=False)[0],
    _slope_gradients,
    Saves(output=True),
    lambda: [*_around(np.float64(1.7)), *_around(np.float64(15.0))],
)
GAMMAINCINV = _declare(
    "gammaincinv",
    "Inverse of the regularized lower incomplete gamma function: the quantile of the gamma distribution.",
    "P(a, y) = u",
    lambda a, u: scipy_special.gammaincinv(a, u),
    _quantile_gradients,
    Saves((0,), output=True),
    lambda: [
        Sample(
            (grid(3, 4, low=0.4, high=6.0), grid(3, 4, low=0.1, high=0.9, seed=2)),
            names=(("N", "C"), ("N", "C")),
        ),
        Sample((grid(4, low=13.0, high=40.0), grid(3, 4, low=0.1, high=0.9)), names=(("C",), ("N", "C"))),
        Sample((1.5, grid(low=0.1, high=0.9))),
        Sample((np.zeros((0, 3)) + 0.5, np.zeros((0, 3)) + 0.5)),
    ],
)
