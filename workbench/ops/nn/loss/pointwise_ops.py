"""Losses of values against targets, place by place, in one op each with the reduction that goes with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.base.dims import Dims, broadcast, broadcast_sizes
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import as_float
from workbench.core.dtype_rules import FLOAT, PROMOTE
from workbench.core.families import grid, unbroadcast
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, LOSS
from workbench.core.tape import Call
from workbench.ops.elementwise.complex import real_only, zeros
from workbench.ops.nn.activation.pointwise_ops import logistic
from workbench.ops.nn.loss import batching
from workbench.ops.nn.loss.cross_entropy import reduce_loss

READS = Saves(output=False)
Bends = Callable[..., tuple[Any, Any]]


def _reduced(loss: Any, reduction: str) -> Any:
    if reduction == "none":
        return loss
    total = loss.sum()
    return total if reduction == "sum" else np.true_divide(total, loss.size)


def shared(g: Any, x: Any, target: Any, reduction: str) -> Any:
    """Return the gradient that each place gets of one for the reduced loss."""
    if reduction != "mean":
        return g
    sizes = [value.payload.shape for value in (x, target) if hasattr(value, "payload")]
    return ops.div(g, as_float(math.prod(broadcast_sizes(*sizes))))


def pointwise_loss(
    name: str,
    doc: str,
    equation: str,
    value: Callable[..., Any],
    slope: Callable[..., Any],
    for_target: Callable[..., Any],
    bends: Bends,
    *,
    numbers: Sequence[dict[str, Any]] = ({},),
    dtype: DTypeRule = PROMOTE,
    reference: str | None = None,
    times: float = 1.0,
) -> tuple[Op, Op]:
    """Declare y = f(x, t), reduced by `reduction`, and the op ``<name>_gradient`` that is its gradient for x.

    ``value(x, t, …)`` and ``slope(x, t, …)`` are array code for f and what it grows by with x, which is `times` the
    slope: a factor that belongs to the gradient, lest it takes the largest numbers out of their type. In other ops,
    ``for_target(g, x, t, …)`` is the gradient for t, and ``bends(each, x, t, …)`` are the gradients of the slope for
    x and t, times `each`. `numbers` are those of the samples.
    """

    def dims(x: Dims, target: Dims, *, reduction: str, **params: Any) -> Dims:
        common = broadcast(name, x, target)
        return common if reduction == "none" else Dims((), ())

    def forward(x: Any, target: Any, *, reduction: str, **params: Any) -> Any:
        return _reduced(value(x, target, **params), reduction)

    def vjp(c: Call, g: Any) -> tuple[Any, ...]:
        x, target = c.inputs
        gx = getattr(ops, f"{name}_gradient")(g, x, target, **c.params) if c.needs[0] else None
        gt = for_target(g, x, target, **c.params) if c.needs[1] else None
        return (
            None if gx is None else unbroadcast(gx, x),
            None if gt is None else unbroadcast(gt, target),
        )

    def gradient(g: Any, x: Any, target: Any, *, reduction: str, **params: Any) -> Any:
        slopes = slope(x, target, **params)
        each = np.true_divide(g, slopes.size) if reduction == "mean" else g
        return slopes * (each if times == 1 else each * times)

    def gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
        g, x, target = c.inputs
        reduction = c.params["reduction"]
        dg = dx = dt = None
        if c.needs[0]:
            # Linear in g: its derivative along u is the same rule applied to u.
            along = getattr(ops, f"{name}_gradient")(u, x, target, **{**c.params, "reduction": "none"})
            dg = unbroadcast(reduce_loss(along, reduction), g)
        if c.needs[1] or c.needs[2]:
            params = {key: one for key, one in c.params.items() if key != "reduction"}
            each = ops.mul(u, shared(g, x, target, reduction))
            for_x, for_t = bends(each, x, target, **params)
            dx, dt = unbroadcast(for_x, x), unbroadcast(for_t, target)
        return dg, dx, dt

    def samples() -> list[Sample]:
        x, target = grid(3, 4, low=-3.0, high=3.0), grid(3, 4, low=0.0, high=0.95, seed=1)
        return [
            *[
                Sample((x, target), {"reduction": reduction, **one}, names=(("N", "C"), ("N", "C")))
                for one in numbers
                for reduction in ("none", "mean", "sum")
            ],
            Sample((x, target[0]), {"reduction": "mean", **numbers[0]}, names=(("N", "C"), ("C",))),
            Sample((x, 1.0), {"reduction": "none", **numbers[0]}),
            Sample((x.T, target.T), {"reduction": "none", **numbers[0]}),
        ]

    def factors(sample: Sample) -> Any:
        sizes = np.broadcast_shapes(*[np.shape(one) for one in sample.inputs])
        return grid(*sizes if sample.params["reduction"] == "none" else (), seed=9)

    op = Op(
        name=name,
        doc=doc,
        equation=equation,
        reference=reference,
        dims=dims,
        rule="names unify from the right, sizes broadcast; or a scalar",
        dtype=real_only(name, dtype),
        forward=forward,
        vjp=vjp,
        saves=READS,
        quantized=LOSS,
        cost=lambda dims, out, **params: 5.0 * max(one.numel for one in dims),
        samples=samples,
        bad=lambda: [
            BadInput(
                (grid(3), grid(2)), {"reduction": "none", **numbers[0]}, DimensionError, "must match the size"
            )
        ],
        properties=frozenset({"wide"}),
        batch=batching.pointwise_loss,
    )
    through = Op(
        name=f"{name}_gradient",
        doc=f"Gradient of {name} for the values.",
        equation="gx = g·∂f(x, t)/∂x",
        reference=reference,
        dims=lambda g, x, target, **params: broadcast(
            f"{name}_gradient", g, broadcast(f"{name}_gradient", x, target)
        ),
        rule="names unify from the right, sizes broadcast",
        dtype=dtype,
        forward=gradient,
        vjp=gradient_vjp,
        saves=READS,
        quantized=GRADIENT,
        cost=lambda dims, out, **params: 5.0 * out.numel,
        samples=lambda: [Sample((factors(one), *one.inputs), one.params) for one in samples()],
        properties=frozenset({"wide"}),
        batch=batching.pointwise_loss_gradient,
    )
    return op, through


# --------------------------------------------------------------------------------- of their difference


def _of_difference(
    name: str,
    doc: str,
    equation: str,
    value: Callable[..., Any],
    slope: Callable[..., Any],
    bend: Any,
    **more: Any,
) -> tuple[Op, Op]:
    """Declare a loss that is an even function of x - t: the target's gradient is that of values and targets swapped."""

    def bends(each: Any, x: Any, target: Any, **params: Any) -> tuple[Any, Any]:
        bent = bend(each, x, target, **params)
        return bent, ops.neg(bent)

    return pointwise_loss(
        name,
        doc,
        equation,
        value=lambda x, target, **params: value(np.subtract(x, target), **params),
        slope=lambda x, target, **params: slope(np.subtract(x, target), **params),
        # Even in the difference: values and targets may change places.
        for_target=lambda g, x, target, **params: getattr(ops, f"{name}_gradient")(g, target, x, **params),
        bends=bends,
        **more,
    )


MSE_LOSS, MSE_LOSS_GRADIENT = _of_difference(
    "mse_loss",
    "Squared difference of values and targets.",
    "y = (x - t)²",
    lambda d: d * d,
    lambda d: d,
    lambda each, x, target: ops.add(each, each),
    times=2.0,
)
L1_LOSS, L1_LOSS_GRADIENT = _of_difference(
    "l1_loss",
    "Absolute difference of values and targets.",
    "y = |x - t|",
    np.abs,
    # What is no number has no direction: the sign of NaN is 0 in the gradient of `abs` too.
    lambda d: np.where(d == d, np.sign(d), 0).astype(d.dtype, copy=False),
    lambda each, x, target: zeros(each),
)


def _huber(d: Any, bound: float, scale: float) -> Any:
    # One expression for both pieces, whose intermediate values stay as small as the result.
    near = np.clip(d, -bound, bound)
    return near / scale * (d - near * 0.5)


def _huber_bend(each: Any, x: Any, target: Any, bound: float, scale: float) -> Any:
    return ops.where(ops.lt(ops.abs(ops.sub(x, target)), bound), ops.div(each, scale), 0.0)


HUBER_LOSS, HUBER_LOSS_GRADIENT = _of_difference(
    "huber_loss",
    "Squared difference of values and targets near 0, and as steep as at the bound beyond it.",
    "y = n·(d - n/2)/scale, d = x - t, n = min(max(d, -bound), bound)",
    _huber,
    lambda d, bound, scale: np.clip(d, -bound, bound) / scale,
    _huber_bend,
    numbers=({"bound": 1.1, "scale": 1.0}, {"bound": 0.6, "scale": 0.6}),
    reference="Huber 1964",
)

# -------------------------------------------------------------------------------------------- of scores


def _scores_bend(each: Any, x: Any, target: Any) -> tuple[Any, Any]:
    share = ops.sigmoid(x)
    return ops.mul(each, ops.mul(share, ops.sub(1.0, share))), ops.neg(each)


BINARY_CROSS_ENTROPY_WITH_LOGITS, BINARY_CROSS_ENTROPY_WITH_LOGITS_GRADIENT = pointwise_loss(
    "binary_cross_entropy_with_logits",
    "Cross entropy of scores of yes, whose probability is their sigmoid, without overflow.",
    "y = (1 - t)·x + max(-x, 0) + ln(1 + e^-|x|)",
    # Not max(x, 0) - x·t, where infinities of a certain score and a certain answer would meet.
    lambda x, target: (1 - target) * x + np.maximum(-x, 0) + np.log1p(np.exp(-np.abs(x))),
    lambda x, target: logistic(x) - target,
    for_target=lambda g, x, target, reduction: ops.neg(ops.mul(shared(g, x, target, reduction), x)),
    bends=_scores_bend,
    dtype=FLOAT,
)

# ------------------------------------------------------------------------------------ of probabilities


def _divergence(x: Any, target: Any, log_target: bool) -> Any:
    # Of whole numbers `exp` would make float64.
    target = np.asarray(target, x.dtype)
    if log_target:
        return np.exp(target) * (target - x)
    return ops.xlogy.forward(target, target) - target * x


def _divergence_slope(x: Any, target: Any, log_target: bool) -> Any:
    target = np.asarray(target, x.dtype)
    shares = np.exp(target) if log_target else target
    return -np.broadcast_to(shares, np.broadcast_shapes(x.shape, target.shape))


def _divergence_for_target(g: Any, x: Any, target: Any, reduction: str, log_target: bool) -> Any:
    each = shared(g, x, target, reduction)
    if log_target:
        return ops.mul(ops.mul(each, ops.exp(target)), ops.add(ops.sub(target, x), 1.0))
    # That of t·ln t is ln t + t/t, which is no number at 0.
    return ops.mul(each, ops.add(ops.sub(ops.log(target), x), ops.div(target, target)))


def _divergence_bends(each: Any, x: Any, target: Any, log_target: bool) -> tuple[Any, Any]:
    return zeros(each), ops.neg(ops.mul(each, ops.exp(target)) if log_target else each)


KL_DIV, KL_DIV_GRADIENT = pointwise_loss(
    "kl_div",
    "Divergence of log-probabilities from targets, which are probabilities or their logarithms.",
    "y = t·(ln t - x), or e^t·(t - x)",
    _divergence,
    _divergence_slope,
    _divergence_for_target,
    _divergence_bends,
    numbers=({"log_target": False}, {"log_target": True}),
    dtype=FLOAT,
    reference="Kullback and Leibler 1951",
)
