"""What the judge of extreme values runs: functions by kind, and the values they are given."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["CASES", "KNOWN", "VALUES", "VECTORS", "Case", "Known"]

VALUES = (
    math.inf, -math.inf, math.nan, 0.0, -0.0, 5e-324, 1e-45, -1e-45, 6e-8, 1e-40, -1e-40, 1.2e-38, 1e-30, -1e-30,
    1e-14, 1e-5, 0.25, -0.25, 1.0, -1.0, 3.0, -3.0, 30.0, -30.0, 90.0, -90.0, 250.0, 1e5, -1e5, 1e14, -1e14,
    1e30, -1e30, 6.5504e4, -6.5504e4, 3.4028234e38, -3.4028234e38, 1.7976931348623157e308, -1.7976931348623157e308,
)  # fmt: skip
"""In each type rounded to it: what is too large for it is infinite there."""

VECTORS = (
    (math.inf, 1.0, 2.0),
    (-math.inf, 1.0, 2.0),
    (math.inf, -math.inf, 1.0),
    (math.inf, math.inf, math.inf),
    (-math.inf, -math.inf, -math.inf),
    (math.nan, 1.0, 2.0),
    (1.0, math.nan, math.inf),
    (-math.inf, math.nan, 1.0),
    (0.0, -0.0, 0.0),
    (1e-45, 1e-45, 0.0),
    (1e-40, -1e-40, 2e-40),
    (1e-30, 2e-30, -1e-30),
    (1e30, 1.0, 2.0),
    (1e30, 1e30, -1e30),
    (1e14, 1.0, -1e14),
    (1e5, 1.0, 3.0),
    (6.5504e4, 6.5504e4, 1.0),
    (3.4028234e38, 1.0, 3.4028234e38),
    (3.4028234e38, -3.4028234e38, 2.0),
    (1.7976931348623157e308, 1.7976931348623157e308, 1.0),
    (-1e5, 1e5, 0.5),
)
"""What reductions and scans are given, one after the other."""


class Case(NamedTuple):
    """One function: how it is called in a library, and on what."""

    kind: str
    """unary, binary (value by value), or vector."""
    call: Callable[..., Any]
    """``call(library, *tensors)``."""


def _named(path: str, *more: Any) -> Callable[..., Any]:
    def call(library: Any, *tensors: Any) -> Any:
        function = library
        for part in path.split("."):
            function = getattr(function, part)
        return function(*tensors, *more)

    return call


def _words(text: str) -> list[str]:
    return text.split()


UNARY = _words("""
    abs acos acosh angle asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac
    isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logit nan_to_num neg positive rad2deg
    reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square tan tanh trunc i0
    special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1 special.entr special.erfcx special.i0e
    special.i1 special.i1e special.log_ndtr special.ndtr special.ndtri special.modified_bessel_i0
    special.modified_bessel_i1 special.modified_bessel_k0 special.modified_bessel_k1
    special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 special.spherical_bessel_j0
    nn.functional.celu nn.functional.elu nn.functional.gelu nn.functional.hardshrink nn.functional.hardsigmoid
    nn.functional.hardswish nn.functional.hardtanh nn.functional.leaky_relu nn.functional.logsigmoid
    nn.functional.mish nn.functional.relu nn.functional.relu6 nn.functional.selu nn.functional.silu
    nn.functional.softplus nn.functional.softshrink nn.functional.softsign nn.functional.tanhshrink
""")

CALLED: dict[str, Callable[[Any, Any], Any]] = {
    "gelu tanh": lambda m, x: m.nn.functional.gelu(x, approximate="tanh"),
    "threshold": lambda m, x: m.nn.functional.threshold(x, 0.5, 7.0),
    "softplus 3": lambda m, x: m.nn.functional.softplus(x, 3.0, 10.0),
    "polygamma 1": lambda m, x: m.polygamma(1, x),
    "polygamma 3": lambda m, x: m.polygamma(3, x),
    "mvlgamma": lambda m, x: m.mvlgamma(x, 2),
    "clamp": lambda m, x: m.clamp(x, -1.0, 1.0),
    "clamp above": lambda m, x: m.clamp(x, max=1e4),
    "round decimals": lambda m, x: m.round(x, decimals=2),
    "logit eps": lambda m, x: m.logit(x, eps=1e-3),
    "pow 2": lambda m, x: x**2,
    "pow 3": lambda m, x: x**3,
    "pow -1": lambda m, x: x**-1,
    "pow 0.5": lambda m, x: x**0.5,
    "pow 0": lambda m, x: x**0,
    "pow 2.5": lambda m, x: x**2.5,
    "pow 1.5": lambda m, x: x**1.5,
    "pow -0.5": lambda m, x: x**-0.5,
    "pow -1.5": lambda m, x: x**-1.5,
    "pow -2": lambda m, x: x**-2,
    "pow -3": lambda m, x: x**-3,
    "pow 1/3": lambda m, x: x ** (1 / 3),
    "2 pow": lambda m, x: 2**x,
    "0 pow": lambda m, x: 0.0**x,
    "reversed div": lambda m, x: 1.0 / x,
    "remainder 3": lambda m, x: x % 3.0,
    "fmod 3": lambda m, x: m.fmod(x, 3.0),
    "prelu": lambda m, x: m.prelu(x, m.full((1,), 0.25, dtype=x.dtype)),
    "glu": lambda m, x: m.nn.functional.glu(m.stack([x, m.ones_like(x)], 1), 1),
    "addcdiv": lambda m, x: m.addcdiv(x, m.ones_like(x), x, value=0.1),
    "addcmul": lambda m, x: m.addcmul(x, m.ones_like(x), x, value=0.1),
    "lerp": lambda m, x: m.lerp(x, m.ones_like(x), 0.25),
}

BINARY = _words("""
    add sub mul div maximum minimum fmax fmin atan2 hypot pow fmod remainder copysign nextafter logaddexp
    logaddexp2 xlogy special.xlog1py eq ne lt le gt ge ldexp
    logical_and logical_or logical_xor isclose
""")

LOSSES = _words("""
    mse_loss l1_loss smooth_l1_loss huber_loss kl_div poisson_nll_loss binary_cross_entropy_with_logits
""")

LOSSES_CALLED: dict[str, Callable[[Any, Any, Any], Any]] = {
    # A share of a mean: what a gradient is multiplied by decides whether the largest numbers stay in their type.
    "mse_loss shared": lambda m, x, y: m.nn.functional.mse_loss(x, y, reduction="none") * 0.01,
    "huber_loss 3": lambda m, x, y: m.nn.functional.huber_loss(x, y, reduction="none", delta=3.0) * 0.01,
    "smooth_l1_loss 3": lambda m, x, y: (
        m.nn.functional.smooth_l1_loss(x, y, reduction="none", beta=3.0) * 0.01
    ),
    "poisson_nll_loss of rates": lambda m, x, y: m.nn.functional.poisson_nll_loss(
        x, y, log_input=False, reduction="none"
    ),
    "gaussian_nll_loss": lambda m, x, y: m.nn.functional.gaussian_nll_loss(
        x, y, m.ones_like(x), reduction="none"
    ),
    "gaussian_nll_loss variance": lambda m, x, y: m.nn.functional.gaussian_nll_loss(
        x, m.ones_like(x), y.abs(), reduction="none"
    ),
    "binary_cross_entropy_with_logits weighed": lambda m, x, y: (
        m.nn.functional.binary_cross_entropy_with_logits(
            x, m.full_like(x, 0.3), y.detach(), reduction="none", pos_weight=m.full_like(x, 2.0)
        )
    ),
    "multilabel_soft_margin_loss": lambda m, x, y: m.nn.functional.multilabel_soft_margin_loss(
        m.stack([x, y], -1).reshape(-1, 2), m.ones_like(m.stack([x, y], -1).reshape(-1, 2)), reduction="none"
    ),
    "margin_ranking_loss": lambda m, x, y: m.nn.functional.margin_ranking_loss(
        x, y, m.ones_like(x), margin=0.5, reduction="none"
    ),
    "hinge_embedding_loss": lambda m, x, y: m.nn.functional.hinge_embedding_loss(
        x - y, m.ones_like(x), reduction="none"
    ),
    "nll_loss of two": lambda m, x, y: m.nn.functional.nll_loss(
        m.stack([x, y], -1).reshape(-1, 2), m.zeros(x.numel(), dtype=m.int64), reduction="none"
    ),
    "cross_entropy of two": lambda m, x, y: m.nn.functional.cross_entropy(
        m.stack([x, y], -1).reshape(-1, 2), m.zeros(x.numel(), dtype=m.int64), reduction="none"
    ),
}

WHOLE = _words("""
    sum mean prod nansum nanmean amax amin max min aminmax std var std_mean var_mean norm median nanmedian argmax
    argmin any all count_nonzero cov trapezoid
""")

ALONG = _words(
    "logsumexp softmax log_softmax cumsum cumprod cummax cummin logcumsumexp sort diff nn.functional.softmin"
)

VECTOR: dict[str, Callable[[Any, Any], Any]] = {
    "kthvalue": lambda m, x: m.kthvalue(x, 2)[0],
    "quantile": lambda m, x: m.quantile(x, 0.4),
    "nanquantile": lambda m, x: m.nanquantile(x, 0.4),
    "norm 1": lambda m, x: m.norm(x, 1),
    "norm 3": lambda m, x: m.norm(x, 3),
    "norm 0": lambda m, x: m.norm(x, 0),
    "norm inf": lambda m, x: m.norm(x, math.inf),
    "norm -inf": lambda m, x: m.norm(x, -math.inf),
    "vector_norm": lambda m, x: m.linalg.vector_norm(x),
    "vector_norm 0.5": lambda m, x: m.linalg.vector_norm(x, 0.5),
    "normalize": lambda m, x: m.nn.functional.normalize(x, dim=0),
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (3,)),
    "rms_norm": lambda m, x: m.nn.functional.rms_norm(x, (3,)),
    "group_norm": lambda m, x: m.nn.functional.group_norm(x.reshape(1, 3, 1), 1),
    "batch_norm": lambda m, x: m.nn.functional.batch_norm(x.reshape(3, 1), None, None, training=True),
    "instance_norm": lambda m, x: m.nn.functional.instance_norm(x.reshape(1, 1, 3)),
    "avg_pool1d": lambda m, x: m.nn.functional.avg_pool1d(x.reshape(1, 1, 3), 2, 1),
    "max_pool1d": lambda m, x: m.nn.functional.max_pool1d(x.reshape(1, 1, 3), 2, 1),
    "max_pool2d": lambda m, x: m.nn.functional.max_pool2d(x.reshape(1, 1, 1, 3), (1, 2), 1),
    "lp_pool1d": lambda m, x: m.nn.functional.lp_pool1d(x.reshape(1, 1, 3), 2.0, 2),
    "adaptive_avg_pool1d": lambda m, x: m.nn.functional.adaptive_avg_pool1d(x.reshape(1, 1, 3), 2),
    "adaptive_max_pool1d": lambda m, x: m.nn.functional.adaptive_max_pool1d(x.reshape(1, 1, 3), 2),
    "cross_entropy": lambda m, x: m.nn.functional.cross_entropy(x.reshape(1, 3), m.tensor([1])),
    "nll_loss": lambda m, x: m.nn.functional.nll_loss(x.reshape(1, 3), m.tensor([1])),
    "multi_margin_loss": lambda m, x: m.nn.functional.multi_margin_loss(x.reshape(1, 3), m.tensor([1])),
    "cosine_similarity": lambda m, x: m.nn.functional.cosine_similarity(x, m.ones_like(x), dim=0),
    "pairwise_distance": lambda m, x: m.nn.functional.pairwise_distance(
        x.reshape(1, 3), m.ones_like(x).reshape(1, 3)
    ),
    "dist": lambda m, x: m.dist(x, m.ones_like(x)),
    "cdist": lambda m, x: m.cdist(x.reshape(3, 1), m.ones_like(x).reshape(3, 1)),
    "dot": lambda m, x: m.dot(x, m.ones_like(x)),
    "outer": lambda m, x: m.outer(x, m.ones_like(x)),
    "renorm": lambda m, x: m.renorm(x.reshape(1, 3), 2, 0, 1.0),
    "interpolate": lambda m, x: m.nn.functional.interpolate(x.reshape(1, 1, 3), 5, mode="linear"),
}

CASES: dict[str, Case] = {
    **{name: Case("unary", _named(name)) for name in UNARY},
    **{name: Case("unary", call) for name, call in CALLED.items()},
    **{name: Case("binary", _named(name)) for name in BINARY},
    **{
        name: Case(
            "binary", lambda m, x, y, name=name: getattr(m.nn.functional, name)(x, y, reduction="none")
        )
        for name in LOSSES
    },
    **{name: Case("binary", call) for name, call in LOSSES_CALLED.items()},
    **{name: Case("vector", _named(name)) for name in WHOLE},
    **{name: Case("vector", _named(name, 0)) for name in ALONG},
    **{name: Case("vector", call) for name, call in VECTOR.items()},
}
"""Every function that is run, by its name and what tells apart several ways to call it."""


class Known(NamedTuple):
    """What is not as PyTorch has it, and why."""

    parts: str
    """"value", "gradient" or both."""
    reason: str


_LIMIT = "the limit, where PyTorch's formula makes NaN of infinities: its own mathematics has this value"
_DIGITS = "a difference of nearly equal numbers: either library has the digits that the type has left"
_LANES = "PyTorch has 0 at NaN in its vectors and 1 in the values that are left over"
_LANES_OF_NAN = "PyTorch has NaN at NaN in its vectors and the slope above 0 in the values that are left over"
_INSIDE = "it stays in the type, where PyTorch's formula leaves it on the way"
_RANGE = "squares leave the range of the type in both libraries, and what each makes of that is no result"

KNOWN: dict[str, Known] = {
    "sinc": Known("gradient", _DIGITS),
    "special.erfcx": Known("gradient", _DIGITS),
    "special.i0e": Known("gradient", _DIGITS),
    "special.i1": Known("gradient", "NaN at NaN, where PyTorch has 1/2"),
    "special.i1e": Known("gradient", "NaN at NaN, where PyTorch has 1/2; and " + _DIGITS),
    "special.log_ndtr": Known("gradient", "it grows as -x, where PyTorch's stays at 0.4 below -1e14"),
    "special.ndtr": Known("value", "5e-198 at -30, where PyTorch has 0"),
    "nn.functional.gelu": Known("value gradient", "1e-196 at -30, where PyTorch has 0; at ∞ " + _LIMIT),
    "nn.functional.hardshrink": Known("gradient", _LANES),
    "nn.functional.softshrink": Known("gradient", _LANES),
    "nn.functional.hardtanh": Known("gradient", _LANES),
    "nn.functional.relu6": Known("gradient", _LANES),
    "nn.functional.elu": Known("gradient", _LANES_OF_NAN),
    "nn.functional.selu": Known("gradient", _LANES_OF_NAN),
    "nn.functional.celu": Known("gradient", _LANES_OF_NAN),
    "nn.functional.hardswish": Known("value", "the largest number, where PyTorch multiplies it by 6 first"),
    "gelu tanh": Known("gradient", _LIMIT),
    "nn.functional.tanhshrink": Known("value", _DIGITS),
    "polygamma 1": Known("gradient", _LIMIT),
    "polygamma 3": Known("value gradient", _LIMIT),
    "mvlgamma": Known("gradient", "at -0 the pole has the side of the zero; PyTorch adds 0 first"),
    "atan2": Known("gradient", "beside the origin it is infinite, where PyTorch squares the smallest number"),
    "fmod": Known("value", "0 where the divisor is the smallest number, PyTorch has NaN"),
    "remainder": Known("value", "0 where the divisor is the smallest number, PyTorch has NaN"),
    "copysign": Known("gradient", "±1 at infinities and NaN; PyTorch divides the result by the value"),
    "logaddexp2": Known("value", _DIGITS),
    "ldexp": Known("gradient", "a product near the largest number, in another order"),
    "kl_div": Known("value gradient", "near the largest number: the order of the products decides"),
    "binary_cross_entropy_with_logits": Known("value gradient", _DIGITS),
    "prod": Known("gradient", "the product of the others; PyTorch divides, which makes NaN of infinities"),
    "cumprod": Known("gradient", "products of the others; PyTorch divides, which makes NaN of infinities"),
    "std_mean": Known("value", "the mean is that of `mean`, infinite where a value is; PyTorch has NaN"),
    "var_mean": Known("value", "the mean is that of `mean`, infinite where a value is; PyTorch has NaN"),
    "trapezoid": Known("value", "infinite where an end is; PyTorch takes half of the ends off again"),
    "logcumsumexp": Known(
        "gradient", "each later sum counts; PyTorch's logarithms lose what is small beside 1e5"
    ),
    "kthvalue": Known("gradient", "of several equal values another one is picked"),
    "layer_norm": Known("value gradient", _INSIDE),
    "rms_norm": Known("value gradient", _INSIDE),
    "group_norm": Known("value gradient", _INSIDE),
    "batch_norm": Known("value gradient", _INSIDE),
    "instance_norm": Known("value gradient", _INSIDE),
    "mse_loss shared": Known("gradient", _INSIDE),
    "gaussian_nll_loss": Known("gradient", _INSIDE),
    "gaussian_nll_loss variance": Known("gradient", _INSIDE),
    "binary_cross_entropy_with_logits weighed": Known(
        "gradient", "infinite weights, and products near the largest number in another order"
    ),
    "pow 1/3": Known("gradient", "three times what float16 has, before it is divided by 3"),
    "adaptive_avg_pool1d": Known("value", "the mean is in range though the sum is not"),
    "multi_margin_loss": Known(
        "value gradient", "NaN stays; and scores are subtracted first, which keeps the margin beside 1e30"
    ),
    "cosine_similarity": Known("value gradient", _RANGE),
    "dot": Known("value", "the sum in another order"),
    "renorm": Known("gradient", "NaN stays"),
}
"""By the name of the case. What stands here and passes fails the run."""
