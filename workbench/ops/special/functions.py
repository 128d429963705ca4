"""Special functions: gamma, error and zeta functions, and entropy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import broadcast
from workbench.base.lazy import scipy_special
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import alike, binary, grid, unary
from workbench.core.op import Absent, Op, Sample, Saves, ops
from workbench.core.quantization import DIGITS, OWN
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import Value, new
from workbench.ops.elementwise.complex import real_only
from workbench.ops.offer import offer, offered

OUTPUT = Saves((), output=True)
BOTH = Saves(None, output=True)


def special(
    name: str,
    doc: str,
    equation: str,
    gradient: Callable[[Call, Any], Any] | Absent,
    *,
    scipy: str = "",
    saves: Saves = Saves(output=False),  # noqa: B008  a frozen record
    domain: tuple[float, float] = (0.3, 2.0),
    odd: bool = False,
    reference: str | None = None,
) -> Op:
    """Declare a function that SciPy computes, under its own name there or another."""

    def forward(x: Any) -> Any:
        # Looked up at the call: SciPy takes time to import.
        found = getattr(scipy_special, scipy or name)(x)
        # SciPy forgets the sign of zero here and there; an odd function that rises has it from its operand.
        return np.copysign(found, x) if odd else found

    return unary(
        name,
        doc,
        equation,
        forward,
        gradient,
        saves=saves,
        dtype=real_only(name, FLOAT),
        domain=domain,
        reference=reference,
    )


# ----------------------------------------------------------------------------------------------- gamma


def _lgamma_of(x: Any) -> Any:
    """As C has it: ∞ at -∞ too, since there is a pole beyond every place, and finite at the smallest numbers."""
    size = np.abs(x)
    return np.where(np.isneginf(x), size, np.where(size < 1e-300, -np.log(size), scipy_special.gammaln(x)))


LGAMMA = unary(
    "lgamma",
    "Logarithm of the absolute value of the gamma function.",
    "y = ln|Γ(x)|",
    _lgamma_of,
    lambda c, g: ops.mul(g, ops.digamma(c.inputs[0])),
    dtype=real_only("lgamma", FLOAT),
    domain=(0.3, 2.0),
    reference="DLMF 5.2.1",
)
offer(LGAMMA, "[0.5, 5.0]", "tensor([0.5724, 3.1781])", out=True, in_place="Tensor")
offer(LGAMMA, "[0.5, 5.0]", "tensor([0.5724, 3.1781])", "special", name="gammaln", out=True)


def _digamma(x: Any) -> Any:
    # At 0 the pole has the sign of the zero; at the other poles no side is the right one.
    return np.where(x == 0, np.copysign(np.inf, -x), scipy_special.psi(x)).astype(x.dtype, copy=False)


DIGAMMA = unary(
    "digamma",
    "Slope of the logarithm of the gamma function.",
    "y = Γ'(x)/Γ(x)",
    _digamma,
    lambda c, g: ops.mul(g, ops.polygamma(c.inputs[0], n=1)),
    dtype=real_only("digamma", FLOAT),
    domain=(0.3, 2.0),
    reference="DLMF 5.2.2",
)
offer(
    DIGAMMA,
    "[1.0, 2.0]",
    "tensor([-0.5772,  0.4228])",
    "workbench",
    "Tensor",
    "special",
    out=True,
    in_place="Tensor",
)
offer(DIGAMMA, "[1.0, 2.0]", "tensor([-0.5772,  0.4228])", "special", name="psi", out=True)


def _polygamma(x: Any, n: int) -> Any:
    if n == 0:
        return _digamma(x)
    if n == 1:
        # By reflection, where the series of the zeta function has no value.
        below = x < 0.5
        angle = np.sin(np.pi * np.where(below, x, 0.5))
        mirrored = np.where(below, 1 - x, x)
        value = scipy_special.zeta(2.0, mirrored)
        return np.where(below, (np.pi / angle) ** 2 - value, value).astype(x.dtype, copy=False)
    value = (-1.0) ** (n + 1) * math.gamma(n + 1) * scipy_special.zeta(float(n + 1), x)
    return np.asarray(value).astype(x.dtype, copy=False)


POLYGAMMA = Op(
    name="polygamma",
    doc="Derivative of the digamma function, of any order.",
    equation="y = ψ⁽ⁿ⁾(x)",
    reference="DLMF 5.15",
    dims=lambda x, n: x,
    rule="names and sizes pass through",
    dtype=real_only("polygamma", FLOAT),
    forward=_polygamma,
    vjp=lambda c, g: (ops.mul(g, ops.polygamma(c.inputs[0], n=c.params["n"] + 1)),),
    saves=Saves(output=False),
    samples=lambda: [
        Sample((grid(3, 4, low=0.6, high=3.0),), {"n": 1}, names=(("N", "C"),)),
        Sample((grid(3, low=0.6, high=3.0),), {"n": 2}),
    ],
    properties=frozenset({"elementwise"}),
    quantized=OWN,
)


def gamma_density(a: Any, x: Any) -> Any:
    """Return x^(a-1) e^-x / Γ(a), by ops."""
    return ops.exp(ops.sub(ops.mul(ops.sub(a, 1.0), ops.log(x)), ops.add(x, ops.lgamma(a))))


def _incomplete(name: str, doc: str, equation: str, sign: float) -> Op:
    def gradient(c: Call, g: Any) -> Any:
        a, x = [one if isinstance(one, Value) else new(np.asarray(one)) for one in c.inputs]

        def order() -> Any:
            # ∂P/∂a = -p(x)·dz/da, where dz/da is how the quantile x moves with a.
            moved = ops.mul(gamma_density(a, x), ops.gamma_quantile_slope(a, x))
            # Whatever the shape, P is 0 at 0 and 1 at infinity.
            end = ops.logical_or(ops.eq(x, 0.0), ops.isinf(x))
            return ops.mul(g, ops.mul(ops.where(end, 0.0, moved), -sign))

        def argument() -> Any:
            return ops.mul(g, ops.mul(gamma_density(a, x), sign))

        return order, argument

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        reference="DLMF 8.2",
        quantized=DIGITS,
        dims=lambda a, x: broadcast(name, a, x),
        rule="names unify from the right, sizes broadcast",
        dtype=real_only(name, FLOAT),
        forward=alike(lambda a, x: getattr(scipy_special, name)(a, x)),
        vjp=lambda c, g: tuple(
            ops.sum_to(function(), sizes=value.payload.shape) if need else None
            for function, value, need in zip(gradient(c, g), c.inputs, c.needs, strict=True)
        ),
        saves=Saves(output=False),
        samples=lambda: [
            Sample((1.5, grid(3, 4, low=0.5, high=2.0)), names=(None, ("N", "C"))),
            Sample((grid(3, 4, low=0.5, high=4.0, seed=3), grid(4, low=0.5, high=4.0))),
        ],
        properties=frozenset({"elementwise"}),
    )


# ----------------------------------------------------------------------------------------------- error

ERF = special(
    "erf",
    "Error function.",
    "y = 2/√π ∫₀ˣ e^-t² dt",
    lambda c, g: ops.mul(
        g, ops.mul(ops.exp(ops.neg(ops.mul(c.inputs[0], c.inputs[0]))), 2 / math.sqrt(math.pi))
    ),
    domain=(-2.0, 2.0),
    reference="ISO C99 F.9.5",
)
offer(
    ERF, "[0.0, 0.5]", "tensor([0.0000, 0.5205])", "workbench", "Tensor", "special", out=True, in_place=True
)
ERFC = special(
    "erfc",
    "Complement of the error function, exact where that is near 1.",
    "y = 1 - erf x",
    lambda c, g: ops.mul(
        g, ops.mul(ops.exp(ops.neg(ops.mul(c.inputs[0], c.inputs[0]))), -2 / math.sqrt(math.pi))
    ),
    domain=(-2.0, 2.0),
    reference="ISO C99 F.9.5",
)
offer(
    ERFC, "[0.0, 0.5]", "tensor([1.0000, 0.4795])", "workbench", "Tensor", "special", out=True, in_place=True
)
ERFCX = special(
    "erfcx",
    "Complement of the error function, scaled so that it does not vanish.",
    "y = e^x²·(1 - erf x)",
    lambda c, g: ops.mul(g, ops.sub(ops.mul(ops.mul(c.inputs[0], c.out), 2.0), 2 / math.sqrt(math.pi))),
    saves=BOTH,
    reference="DLMF 7.2",
)
offer(ERFCX, "[0.5, 1.0]", "tensor([0.6157, 0.4276])", "special", out=True)
ERFINV = special(
    "erfinv",
    "Inverse of the error function.",
    "erf y = x",
    lambda c, g: ops.mul(g, ops.mul(ops.exp(ops.mul(c.out, c.out)), math.sqrt(math.pi) / 2)),
    saves=OUTPUT,
    domain=(-0.8, 0.8),
    odd=True,
    reference="DLMF 7.17",
)
offer(
    ERFINV,
    "[0.0, 0.5]",
    "tensor([0.0000, 0.4769])",
    "workbench",
    "Tensor",
    "special",
    out=True,
    in_place="Tensor",
)


def _density(x: Any) -> Any:
    """The density of the normal distribution."""
    return ops.mul(ops.exp(ops.mul(ops.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))


NDTR = special(
    "ndtr",
    "Normal distribution function.",
    "y = Φ(x) = (1 + erf(x/√2))/2",
    lambda c, g: ops.mul(g, _density(c.inputs[0])),
    domain=(-2.0, 2.0),
)
offer(NDTR, "[0.5, 1.0]", "tensor([0.6915, 0.8413])", "special", out=True)
NDTRI = special(
    "ndtri",
    "Quantile of the normal distribution.",
    "Φ(y) = x",
    lambda c, g: ops.mul(g, ops.mul(ops.exp(ops.mul(ops.mul(c.out, c.out), 0.5)), math.sqrt(2 * math.pi))),
    saves=OUTPUT,
    domain=(0.1, 0.9),
)
offer(NDTRI, "[0.5, 0.9]", "tensor([0.0000, 1.2816])", "special", out=True)
LOG_NDTR = special(
    "log_ndtr",
    "Logarithm of the normal distribution function.",
    "y = ln Φ(x)",
    # By the scaled complement, which is neither 0 nor infinite where density and distribution vanish together.
    lambda c, g: ops.mul(
        ops.div(g, ops.erfcx(ops.mul(c.inputs[0], -math.sqrt(0.5)))), math.sqrt(2 / math.pi)
    ),
    domain=(-2.0, 2.0),
)
offer(LOG_NDTR, "[0.5, 1.0]", "tensor([-0.3689, -0.1728])", "special", out=True)

# --------------------------------------------------------------------------------------------- entropy

ENTR = special(
    "entr",
    "Entropy of a probability; -infinity below 0.",
    "y = -x·ln x, 0 at 0",
    lambda c, g: ops.neg(ops.mul(g, ops.add(ops.log(c.inputs[0]), 1.0))),
)
offer(ENTR, "[0.5, 1.0]", "tensor([0.3466, -0.0000])", "special", out=True)


def _where_both(first: Any, second: Any, value: Any) -> Any:
    return ops.where(ops.logical_and(first, second), 0.0, value)


XLOGY = binary(
    "xlogy",
    "Multiply by a logarithm; 0 where the first is 0, whatever the logarithm.",
    "y = a·ln b, 0 where a = 0",
    alike(lambda x, y: scipy_special.xlogy(x, y)),
    lambda c, g: (
        # As in PyTorch nothing goes through where both are 0, since the logarithm has no value there.
        lambda: _where_both(ops.eq(c.inputs[0], 0.0), ops.le(c.inputs[1], 0.0), ops.xlogy(g, c.inputs[1])),
        lambda: ops.mul(g, ops.div(c.inputs[0], c.inputs[1])),
    ),
    dtype=real_only("xlogy", FLOAT),
)
offer(
    XLOGY,
    ("[0.0, 2.0]", "[0.0, 3.0]"),
    "tensor([0.0000, 2.1972])",
    "workbench",
    "Tensor",
    "special",
    out=True,
    in_place=True,
)
XLOG1PY = binary(
    "xlog1py",
    "Multiply by the logarithm of 1 + b; 0 where the first is 0, whatever the logarithm.",
    "y = a·ln(1 + b), 0 where a = 0",
    alike(lambda x, y: scipy_special.xlog1py(x, y)),
    lambda c, g: (
        lambda: _where_both(ops.eq(c.inputs[0], 0.0), ops.le(c.inputs[1], -1.0), ops.xlog1py(g, c.inputs[1])),
        lambda: ops.mul(g, ops.div(c.inputs[0], ops.add(c.inputs[1], 1.0))),
    ),
    dtype=real_only("xlog1py", FLOAT),
)
offer(XLOG1PY, ("[0.0, 2.0]", "[-1.0, 3.0]"), "tensor([0.0000, 2.7726])", "special", out=True)
ZETA = binary(
    "zeta",
    "Hurwitz zeta function.",
    "y = Σ_k 1/(k + b)^a",
    lambda x, q: np.asarray(scipy_special.zeta(x, q)).astype(np.result_type(x, q), copy=False),
    Absent("its derivative with respect to the exponent has no closed form"),
    dtype=real_only("zeta", FLOAT),
    domain=(1.3, 3.0),
    reference="DLMF 25.11",
)
offer(ZETA, ("[2.0, 4.0]", "[1.0, 1.0]"), "tensor([1.6449, 1.0823])", "special", out=True)
GAMMAINC = _incomplete(
    "gammainc", "Regularized lower incomplete gamma function.", "y = 1/Γ(a) ∫₀ˣ t^(a-1) e^-t dt", 1.0
)
offer(
    GAMMAINC,
    ("[1.0, 2.0]", "[1.0, 1.0]"),
    "tensor([0.6321, 0.2642])",
    name="igamma",
    out=True,
    in_place="Tensor",
)
offer(GAMMAINC, ("[1.0, 2.0]", "[1.0, 1.0]"), "tensor([0.6321, 0.2642])", "special", out=True)
GAMMAINCC = _incomplete(
    "gammaincc", "Regularized upper incomplete gamma function.", "y = 1/Γ(a) ∫ₓ^∞ t^(a-1) e^-t dt", -1.0
)
offer(
    GAMMAINCC,
    ("[1.0, 2.0]", "[1.0, 1.0]"),
    "tensor([0.3679, 0.7358])",
    name="igammac",
    out=True,
    in_place="Tensor",
)
offer(GAMMAINCC, ("[1.0, 2.0]", "[1.0, 1.0]"), "tensor([0.3679, 0.7358])", "special", out=True)

# ---------------------------------------------------------------------------------- the words people use


@offered("workbench", "special", out=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    """Derivative of order `n` of the digamma function: y = ψ⁽ⁿ⁾(x). Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.polygamma(1, wb.tensor([1.0, 0.5]))
    tensor([1.6449, 4.9348])
    """
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got {n}.")
    return POLYGAMMA(input, n=n)


@offered("Tensor", name="polygamma", in_place="Tensor")
def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """Derivative of order `n` of the digamma function: y = ψ⁽ⁿ⁾(x). Names and sizes pass through."""
    return polygamma(n, self)


@offered(out=True, in_place="Tensor")
@offered("special", name="multigammaln", out=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Logarithm of the multivariate gamma function: y = p(p-1)/4·ln π + Σ_i ln Γ(x - (i-1)/2), i from 1 to p.

    Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.mvlgamma(wb.tensor([2.0, 3.0]), 2)
    tensor([0.4516, 1.5502])
    """
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got {p}")
    total = LGAMMA(input)
    for i in range(1, p):
        total = ops.add(total, LGAMMA(ops.sub(input, i / 2)))
    return ops.add(total, p * (p - 1) / 4 * math.log(math.pi))
