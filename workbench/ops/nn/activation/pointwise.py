"""Activations of one value each: rectifiers, exponential units and shrinkage, as people call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.base.numbers import fitted
from workbench.core.code_tables import LEAST, looked_up
from workbench.core.contribution import rectifying
from workbench.core.direct_writes import computes, written_directly
from workbench.core.dtype_rules import LEARNED
from workbench.core.families import binary, unary
from workbench.core.inplace import write
from workbench.core.op import Saves, ops
from workbench.core.quantization import GRADIENT, Quantization
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.elementwise.complex import real_only, zeros
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.nn.activation.pointwise_ops import (
    ELU,
    HARDSHRINK,
    HARDSIGMOID,
    HARDSWISH,
    HARDTANH,
    LEAKY_RELU,
    LOGSIGMOID,
    SOFTPLUS,
    SOFTSHRINK,
    THRESHOLD,
)
from workbench.ops.offer import offered

OUTPUT = Saves((), output=True)


def _relu(x: Any, out: Any = None) -> Any:
    if x.dtype.kind != "f":
        return np.maximum(x, 0, out=out)
    # Not the larger of x and 0: of two zeros NumPy's loops return either, and -0 stays as it is.
    if out is None:
        return np.where(x < 0, x.dtype.type(0), x)
    if out is not x:
        np.copyto(out, x)
    np.putmask(out, out < 0, 0)
    return out


def _relu_codes(op: Any, q: Any) -> Any:
    zero = q.zero_point_like_codes()
    if q.per_tensor and q.codes.itemsize == 1 and q.codes.size >= LEAST:
        # NumPy takes ten times as long where one operand is one number.
        every = np.arange(256, dtype=np.uint8).view(q.codes.dtype)
        return q.with_codes(looked_up(q.codes, np.maximum(every, zero)))
    return q.with_codes(np.asarray(np.maximum(q.codes, zero)), same_places=True)


RELU = unary(
    "relu",
    "Rectified linear unit.",
    "y = max(x, 0)",
    _relu,
    lambda c, g: ops.relu_gradient(g, c.out),
    saves=OUTPUT,
    dtype=real_only("relu"),
    quantized=Quantization("same", _relu_codes),
    reference="Nair and Hinton 2010",
    contribution=rectifying(),
    small="relu",
    into=_relu,
)
RELU_GRADIENT = binary(
    "relu_gradient",
    "Let a gradient through where the output of relu is not 0.",
    "y = g·[out ≠ 0]",
    # Not a product: where the gradient is infinite, nothing of it goes through either. NaN is not 0 or below.
    lambda g, out: np.where(out <= 0, np.zeros((), g.dtype), g),
    lambda c, g: ((lambda: ops.relu_gradient(g, c.inputs[1])), (lambda: zeros(c.inputs[1]))),
    saves=Saves((1,), output=False),
    small="relu_gradient",
    quantized=GRADIENT,
)


def _prelu_gradient(c: Call, g: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    x, slope = c.inputs
    return (
        lambda: ops.where(ops.gt(x, 0.0), g, ops.mul(g, slope)),
        lambda: ops.where(ops.gt(x, 0.0), 0.0, ops.mul(g, x)),
    )


PRELU = binary(
    "prelu",
    "Rectified linear unit with slopes below 0 that are given.",
    "y = x where x > 0, a·x elsewhere",
    lambda x, slope: np.where(x > 0, x, x * slope),
    _prelu_gradient,
    dtype=LEARNED,
    domain=(-2.0, 2.0),
    reference="He et al. 2015",
    quantized=Quantization("own", inputs=("value", "weight")),
)

# ---------------------------------------------------------------------------------- the words people use


def settled(name: str, input: Any, inplace: bool, function: Callable[[Any], Any]) -> Tensor:
    """Return the result, or write it into the operand where that was asked for."""
    function = rounded_once(function)
    return write(input, f"{name}_", function) if inplace else function(input)


@offered("workbench", "Tensor", "nn.functional", in_place=True)
@computes(RELU, 1)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Rectified linear unit: y = max(x, 0). Names and sizes pass through; the gradient at 0 is 0.

    >>> import workbench as wb
    >>> wb.relu(wb.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if not inplace:
        return RELU(input)
    return input if written_directly(input, RELU, (input,)) else write(input, "relu_", RELU)


@offered("nn.functional")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Rectified linear unit up to 6: y = min(max(x, 0), 6). Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.relu6(wb.tensor([-1.0, 2.0, 7.0]))
    tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


@offered("nn.functional", in_place="nn.functional")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Keep values within bounds: y = min(max(x, min_val), max_val). At a bound the gradient is 0. Names pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.hardtanh(wb.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, got {min_val} and {max_val}")
    return settled("hardtanh", input, inplace, lambda x: HARDTANH(x, low=min_val, high=max_val))


@offered("nn.functional")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Piecewise linear stand-in of the logistic function: y = min(max(x + 3, 0), 6)/6. Names pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.hardsigmoid(wb.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return settled("hardsigmoid", input, inplace, HARDSIGMOID)


@offered("nn.functional")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Piecewise quadratic stand-in of silu: y = x·min(max(x + 3, 0), 6)/6. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.hardswish(wb.tensor([-4.0, 1.0, 4.0]))
    tensor([-0.0000,  0.6667,  4.0000])
    """
    return settled("hardswish", input, inplace, HARDSWISH)


@offered("nn.functional", in_place="nn.functional")
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Rectified linear unit with a slope below 0: y = x above 0, slope·x below. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.leaky_relu(wb.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return settled("leaky_relu", input, inplace, lambda x: LEAKY_RELU(x, slope=negative_slope))


@offered("workbench", "Tensor", "nn.functional")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Rectified linear unit with learned slopes below 0: y = x above 0, w·x below.

    `weight` has one value, or one for each channel: dim 1 of [N, C, ...], or the only dim. Names pass through.

    >>> import workbench as wb
    >>> wb.prelu(wb.tensor([[-1.0, 2.0]]), wb.tensor([0.1]))
    tensor([[-0.1000,  2.0000]])
    """
    dims, slopes = dims_of(input), dims_of(weight)
    if len(slopes.sizes) > 1:
        raise DimensionError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(slopes.sizes)}.",
            op="prelu",
            operands=(dims.operand("input"), slopes.operand("weight")),
        )
    ndim, channel = len(dims.sizes), 1 if len(dims.sizes) > 1 else 0
    if slopes.numel != 1 and (ndim == 0 or dims.sizes[channel] != slopes.numel):
        raise DimensionError(
            "prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{slopes.numel} and channel size = {dims.sizes[channel] if ndim else 1}.",
            op="prelu",
            operands=(dims.operand("input", [channel] if ndim else []), slopes.operand("weight", [0])),
        )
    sizes = tuple(slopes.numel if i == channel else 1 for i in range(ndim))
    bare = weight if weight._names is None else ops.rename(weight, names=(None,) * len(slopes.sizes))
    return PRELU(input, ops.reshape(bare, sizes=sizes))


@offered("nn.functional", in_place="nn.functional")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Exponential linear unit: y = x above 0, alpha·(e^x - 1) below. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.elu(wb.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return settled("elu", input, inplace, lambda x: ELU(x, alpha=alpha, scale=1.0, input_scale=1.0))


@offered("workbench", "nn.functional", in_place="nn.functional")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Exponential linear unit with one slope at 0: y = x above 0, alpha·(e^(x/alpha) - 1) below. Names pass through.

    >>> import workbench as wb
    >>> wb.celu(wb.tensor([-1.0, 2.0]), 2.0)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return settled("celu", input, inplace, lambda x: ELU(x, alpha=alpha, scale=1.0, input_scale=1 / alpha))


# With these two, mean 0 and variance 1 go through the layer unchanged: Klambauer et al. 2017.
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@offered("workbench", "nn.functional", in_place="nn.functional")
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Exponential linear unit that normalizes itself: y = 1.0507·(x above 0, 1.6733·(e^x - 1) below).

    Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.selu(wb.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return settled(
        "selu", input, inplace, lambda x: ELU(x, alpha=_SELU_ALPHA, scale=_SELU_SCALE, input_scale=1.0)
    )


@offered("nn.functional")
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Smooth rectified linear unit: y = ln(1 + e^(beta·x))/beta, and x where beta·x is beyond the threshold.

    Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.softplus(wb.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    return SOFTPLUS(input, beta=beta, threshold=threshold)


@offered("nn.functional")
def logsigmoid(input: Tensor) -> Tensor:
    """Logarithm of the logistic function: y = -ln(1 + e^-x). Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.logsigmoid(wb.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """
    return LOGSIGMOID(input)


@offered("nn.functional")
@rounded_once
def softsign(input: Tensor) -> Tensor:
    """Softly bounded: y = x/(1 + |x|). Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.softsign(wb.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return ops.div(input, ops.add(ops.abs(input), 1.0))


@offered("nn.functional")
@rounded_once
def tanhshrink(input: Tensor) -> Tensor:
    """What tanh takes away: y = x - tanh x. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.tanhshrink(wb.tensor([0.0, 2.0]))
    tensor([0.0000, 1.0360])
    """
    return ops.sub(input, ops.tanh(input))


@offered("nn.functional")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Move values towards 0: y = x - λ above λ, x + λ below -λ, 0 between. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.softshrink(wb.tensor([-2.0, 0.3, 2.0]))
    tensor([-1.5000,  0.0000,  1.5000])
    """
    if lambd < 0:
        raise ValueError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return SOFTSHRINK(input, bound=lambd)


@offered("workbench", "Tensor", "nn.functional")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Drop values near 0: y = x where |x| > λ, 0 elsewhere. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.hardshrink(wb.tensor([-2.0, 0.3, 2.0]))
    tensor([-2.,  0.,  2.])
    """
    return HARDSHRINK(input, bound=lambd)


@offered("workbench", "nn.functional", in_place="nn.functional")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Replace what is not above a threshold: y = x where x > threshold, value elsewhere. Names pass through.

    >>> import workbench as wb
    >>> wb.threshold(wb.tensor([-2.0, 0.3, 2.0]), 0.5, 9.0)
    tensor([9., 9., 2.])
    """
    bounds = (threshold, value)
    if input.payload.dtype.kind in "iu":
        bounds = (int(threshold), fitted("threshold", value, input.payload.dtype))
    return settled("threshold", input, inplace, lambda x: THRESHOLD(x, threshold=bounds[0], value=bounds[1]))
