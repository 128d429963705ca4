"""Orthogonal polynomials by their recurrences, with gradients of what they are computed from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import DTypeError
from workbench.core.dispatch import numbers
from workbench.core.op import ops
from workbench.core.typing import Operand, Tensor
from workbench.core.value import Value, new
from workbench.ops.elementwise.complex import zeros
from workbench.ops.offer import offered

Step = Callable[[Any, Any, Any, int], Any]
"""From the argument, pₖ and pₖ₋₁ to pₖ₊₁."""


def _linear(x: Any, slope: float, offset: float) -> Any:
    return ops.add(ops.mul(x, slope), offset)


def _evaluate(
    name: str, x: Any, n: Any, first: tuple[float, float], argument: tuple[float, float], step: Step
) -> Tensor:
    """Return pₙ(x): p₀ = 1, p₁ = a·t + b for `first` = (a, b) and t = c·x + d for `argument` = (c, d); 0 for n < 0."""
    if not isinstance(x, Value):
        x = new(np.asarray(x, np.float32))
    if x.payload.dtype.kind == "c":
        raise DTypeError(f"{name} is defined for real numbers: got {x.dtype.name}")
    if x.payload.dtype.kind not in "fV":
        x = ops.to(x, dtype=np.dtype(np.float32))
    # PyTorch drops what degrees have behind the point.
    degrees = np.trunc(np.asarray(numbers(n) if isinstance(n, Value) else n)).astype(np.int64)
    if isinstance(n, Value):
        x = ops.add(x, ops.to(ops.fill(n, value=0), dtype=x.payload.dtype))  # sizes and names of both
    t = x if argument == (1.0, 0.0) else _linear(x, *argument)
    before, now = ops.add(zeros(t), 1.0), _linear(t, *first)
    result = ops.where(new(np.asarray(degrees == 0)), before, zeros(t))
    for k in range(1, int(degrees.max(initial=0)) + 1):
        result = ops.where(new(np.asarray(degrees == k)), now, result)
        before, now = now, step(t, now, before, k)
    return result


def _chebyshev(t: Any, now: Any, before: Any, k: int) -> Any:
    return ops.sub(ops.mul(ops.mul(t, 2.0), now), before)


def _hermite(t: Any, now: Any, before: Any, k: int) -> Any:
    return ops.sub(ops.mul(ops.mul(t, 2.0), now), ops.mul(before, 2.0 * k))


def _hermite_e(t: Any, now: Any, before: Any, k: int) -> Any:
    return ops.sub(ops.mul(t, now), ops.mul(before, float(k)))


def _laguerre(t: Any, now: Any, before: Any, k: int) -> Any:
    return ops.div(ops.sub(ops.mul(_linear(t, -1.0, 2.0 * k + 1), now), ops.mul(before, float(k))), k + 1.0)


def _legendre(t: Any, now: Any, before: Any, k: int) -> Any:
    return ops.div(ops.sub(ops.mul(ops.mul(t, 2.0 * k + 1), now), ops.mul(before, float(k))), k + 1.0)


_PLAIN, _SHIFTED = (1.0, 0.0), (2.0, -1.0)
_FAMILIES: dict[str, tuple[str, str, tuple[float, float], tuple[float, float], Step]] = {
    "chebyshev_polynomial_t": (
        "Chebyshev polynomials of the first kind",
        "Tₙ(cos φ) = cos nφ",
        (1.0, 0.0),
        _PLAIN,
        _chebyshev,
    ),
    "chebyshev_polynomial_u": (
        "Chebyshev polynomials of the second kind",
        "Uₙ(cos φ) = sin (n+1)φ / sin φ",
        (2.0, 0.0),
        _PLAIN,
        _chebyshev,
    ),
    "chebyshev_polynomial_v": (
        "Chebyshev polynomials of the third kind",
        "Vₙ(cos φ) = cos (n+½)φ / cos ½φ",
        (2.0, -1.0),
        _PLAIN,
        _chebyshev,
    ),
    "chebyshev_polynomial_w": (
        "Chebyshev polynomials of the fourth kind",
        "Wₙ(cos φ) = sin (n+½)φ / sin ½φ",
        (2.0, 1.0),
        _PLAIN,
        _chebyshev,
    ),
    "hermite_polynomial_h": (
        "Hermite polynomials of physics",
        "Hₙ₊₁ = 2x·Hₙ - 2n·Hₙ₋₁",
        (2.0, 0.0),
        _PLAIN,
        _hermite,
    ),
    "hermite_polynomial_he": (
        "Hermite polynomials of probability",
        "Heₙ₊₁ = x·Heₙ - n·Heₙ₋₁",
        (1.0, 0.0),
        _PLAIN,
        _hermite_e,
    ),
    "laguerre_polynomial_l": (
        "Laguerre polynomials",
        "(n+1)·Lₙ₊₁ = (2n+1-x)·Lₙ - n·Lₙ₋₁",
        (-1.0, 1.0),
        _PLAIN,
        _laguerre,
    ),
    "legendre_polynomial_p": (
        "Legendre polynomials",
        "(n+1)·Pₙ₊₁ = (2n+1)·x·Pₙ - n·Pₙ₋₁",
        (1.0, 0.0),
        _PLAIN,
        _legendre,
    ),
    "shifted_chebyshev_polynomial_t": (
        "Chebyshev polynomials of the first kind on [0, 1]",
        "T*ₙ(x) = Tₙ(2x-1)",
        (1.0, 0.0),
        _SHIFTED,
        _chebyshev,
    ),
    "shifted_chebyshev_polynomial_u": (
        "Chebyshev polynomials of the second kind on [0, 1]",
        "U*ₙ(x) = Uₙ(2x-1)",
        (2.0, 0.0),
        _SHIFTED,
        _chebyshev,
    ),
    "shifted_chebyshev_polynomial_v": (
        "Chebyshev polynomials of the third kind on [0, 1]",
        "V*ₙ(x) = Vₙ(2x-1)",
        (2.0, -1.0),
        _SHIFTED,
        _chebyshev,
    ),
    "shifted_chebyshev_polynomial_w": (
        "Chebyshev polynomials of the fourth kind on [0, 1]",
        "W*ₙ(x) = Wₙ(2x-1)",
        (2.0, 1.0),
        _SHIFTED,
        _chebyshev,
    ),
}


def _polynomial(name: str) -> Callable[..., Any]:
    doc, equation, first, argument, step = _FAMILIES[name]

    def function(input: Operand, n: Operand) -> Tensor:
        return _evaluate(f"special.{name}", input, n, first, argument, step)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "workbench.special"
    function.__doc__ = (
        f"{doc}, of degree `n` (a number, or a tensor of degrees); 0 for negative degrees.\n\n"
        f"Equation: {equation}. Names unify from the right, sizes broadcast.\n\n"
        f">>> import workbench as wb\n>>> wb.special.{name}(wb.tensor([0.5]), 0)\ntensor([1.])\n"
    )
    return function


for _name in _FAMILIES:
    offered("special", out=True)(_polynomial(_name))
