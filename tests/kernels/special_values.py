"""What NaN, infinities, zeros, denormals and the largest numbers become in both libraries, written once for each.

A case is a function of tensors that reads the same in both: it is given the library's module and its functional module.
PyTorch is asked in float64. Its float32 disagrees with itself: vectors and what is left behind them go by different
formulas at NaN, and some approximations overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes  # noqa: F401  NumPy learns of bfloat16
import numpy as np

__all__ = ["BY_ELEMENT", "BY_ROW", "IN_VECTORS", "TOLERANCE", "VALUES", "values_in", "with_one"]

Case = Callable[..., Any]

VALUES = (
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4028235e38, -3.4028235e38, 1.0, -1.0, 6.0, 3.0, -3.0,
    104.0, -104.0, 88.8, -88.8, 20.5, 0.5, -0.5, 15.5, -15.5,
)  # fmt: skip
TOLERANCE = {"float32": 1e-5, "float64": 1e-7, "float16": 2e-3, "bfloat16": 2e-2}
"""Relative. PyTorch's float64 has a constant of float32 in it (1/6)."""


def values_in(dtype: str) -> Any:
    """Return `VALUES` as `dtype` has them, in float64."""
    with np.errstate(all="ignore"):
        return np.array(VALUES).astype(dtype).astype(np.float64)


def _functional(name: str, **params: Any) -> Case:
    return lambda lib, F, x: getattr(F, name)(x, **params)


def _own(name: str) -> Case:
    return lambda lib, F, x: getattr(lib, name)(x)


BY_ELEMENT: dict[str, Case] = {
    **{
        name: _functional(name)
        for name in (
            "relu", "relu6", "hardtanh", "silu", "elu", "selu", "celu", "gelu", "mish", "softplus", "hardswish",
            "hardsigmoid", "leaky_relu", "logsigmoid", "softshrink", "hardshrink", "tanhshrink", "softsign",
        )
    },
    "gelu by tanh": _functional("gelu", approximate="tanh"),
    **{name: _own(name) for name in ("tanh", "sigmoid", "exp", "erf", "sqrt", "rsqrt", "abs", "neg")},
    **{f"power {p}": lambda lib, F, x, p=p: x**p for p in (2, 3, 0.5, -1, -2, -0.5, -1.5, 1.5, 1 / 3, -3, 0)},
    "clamp": lambda lib, F, x: x.clamp(-0.5, 0.7),
}  # fmt: skip

IN_VECTORS = {"hardswish"}
"""Of which PyTorch is asked for many values at once: there its slope at NaN is NaN, and for one value it is 1."""

Shapes = tuple[tuple[int, ...], ...]

BY_ROW: dict[str, tuple[Case, Shapes]] = {
    "attention": (
        lambda lib, F, q, k, v: F.scaled_dot_product_attention(q, k, v),
        ((1, 2, 5, 4), (1, 2, 19, 4), (1, 2, 19, 3)),
    ),
    "softmax": (lambda lib, F, x: F.softmax(x, -1), ((3, 37),)),
    "softmax of columns": (lambda lib, F, x: F.softmax(x, 0), ((19, 21),)),
    "log_softmax": (lambda lib, F, x: F.log_softmax(x, -1), ((3, 37),)),
    "log_softmax of columns": (lambda lib, F, x: F.log_softmax(x, 0), ((19, 21),)),
    "logsumexp": (lambda lib, F, x: x.logsumexp(-1), ((3, 37),)),
    "layer_norm": (lambda lib, F, x, w, b: F.layer_norm(x, (37,), w, b), ((3, 37), (37,), (37,))),
    "rms_norm": (lambda lib, F, x, w: F.rms_norm(x, (37,), w), ((3, 37), (37,))),
    "group_norm": (lambda lib, F, x, w, b: F.group_norm(x, 2, w, b), ((3, 4, 11), (4,), (4,))),
    "batch_norm": (
        lambda lib, F, x, w, b: F.batch_norm(x, None, None, w, b, True),
        ((5, 3, 11), (3,), (3,)),
    ),
    "max_pool2d": (lambda lib, F, x: F.max_pool2d(x, 2), ((1, 17, 4, 4),)),
    "avg_pool2d": (lambda lib, F, x: F.avg_pool2d(x, 2), ((1, 17, 4, 4),)),
    "mse_loss": (lambda lib, F, x, t: F.mse_loss(x, t), ((3, 19), (3, 19))),
    "l1_loss": (lambda lib, F, x, t: F.l1_loss(x, t), ((3, 19), (3, 19))),
    "smooth_l1_loss": (lambda lib, F, x, t: F.smooth_l1_loss(x, t), ((3, 19), (3, 19))),
    "huber_loss": (lambda lib, F, x, t: F.huber_loss(x, t), ((3, 19), (3, 19))),
    "binary_cross_entropy_with_logits": (
        lambda lib, F, x, t: F.binary_cross_entropy_with_logits(x, t),
        ((3, 19), (3, 19)),
    ),
    "binary_cross_entropy_with_logits, weighed": (
        lambda lib, F, x: F.binary_cross_entropy_with_logits(
            x,
            *(lib.full_like(x.detach(), one) for one in (0.3, 2.0)),
            pos_weight=lib.full_like(x.detach(), 3.0),
        ),
        ((3, 19),),
    ),
    "multilabel_soft_margin_loss": (
        lambda lib, F, x: F.multilabel_soft_margin_loss(x, lib.ones_like(x.detach())),
        ((3, 19),),
    ),
    "gaussian_nll_loss": (lambda lib, F, x, t, v: F.gaussian_nll_loss(x, t, v.abs()), ((3, 19),) * 3),
    "gaussian_nll_loss of one variance": (
        lambda lib, F, x, t: F.gaussian_nll_loss(x, t, 2.0),
        ((3, 19),) * 2,
    ),
    "kl_div": (lambda lib, F, x, t: F.kl_div(x, t, reduction="sum"), ((3, 19), (3, 19))),
    "kl_div of logarithms": (
        lambda lib, F, x, t: F.kl_div(x, t, reduction="sum", log_target=True),
        ((3, 19), (3, 19)),
    ),
    "cross_entropy": (lambda lib, F, x: F.cross_entropy(x, lib.arange(5)), ((5, 19),)),
    "sum": (lambda lib, F, x: x.sum(-1), ((3, 37),)),
    "sum of columns": (lambda lib, F, x: x.sum(0), ((19, 21),)),
    "mean": (lambda lib, F, x: x.mean(-1), ((3, 37),)),
    "amax": (lambda lib, F, x: x.amax(-1), ((3, 37),)),
    "amin of columns": (lambda lib, F, x: x.amin(0), ((19, 21),)),
    "cumsum": (lambda lib, F, x: x.cumsum(-1), ((3, 37),)),
    "glu": (lambda lib, F, x: F.glu(x, -1), ((3, 38),)),
    "prelu": (lambda lib, F, x, w: F.prelu(x, w), ((3, 5, 7), (5,))),
    "linear": (lambda lib, F, x, w: F.linear(x, w), ((3, 19), (5, 19))),
    "conv2d": (lambda lib, F, x, w: F.conv2d(x, w), ((1, 3, 5, 5), (4, 3, 3, 3))),
    "maximum": (lambda lib, F, x, y: lib.maximum(x, y), ((3, 37), (3, 37))),
    "division": (lambda lib, F, x, y: x / y, ((3, 37), (3, 37))),
}


def with_one(shapes: Shapes) -> Iterator[tuple[str, list[Any]]]:
    """Yield operands of which one has one value that is no finite number, at its beginning or at its end."""
    for operand in range(len(shapes)):
        for value in (np.nan, np.inf, -np.inf):
            for place in (0, -1):
                generator = np.random.default_rng(7)
                arrays = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
                arrays[operand].reshape(-1)[place] = value
                yield f"{operand} {value} {place}", arrays
