"""Activations, normalisation and tables of rows on codes, which are told the scale and zero point of their result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.dims import dim_index
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.nn.activation.pointwise import elu as float_elu
from workbench.ops.quantized.arithmetic import coded
from workbench.ops.quantized.convolution import check_codes
from workbench.ops.quantized.quantize import dequantize, quantize_per_tensor

__all__ = [
    "elu",
    "gelu",
    "group_norm",
    "hardswish",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "mish",
    "rms_norm",
    "silu",
    "softmax",
]


def hardswish(input: Tensor, scale: float, zero_point: int) -> Tensor:
    """Return x·min(max(x + 3, 0), 6)/6 of what codes stand for.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> F.hardswish(wb.quantize_per_tensor(wb.tensor([-4.0, 3.0]), 0.1, 50, wb.quint8), 0.1, 5).dequantize()
    tensor([0., 3.])
    """
    return coded("hardswish", (input,), scale, zero_point)


def elu(input: Tensor, scale: float, zero_point: int, alpha: float = 1.0) -> Tensor:
    """Return x, or alpha·(eˣ - 1) where that is negative, of what codes stand for."""
    # The op has a scale of its own, so that there is no op on codes of its parameters.
    check_codes("quantized elu", input, input.dtype)
    return quantize_per_tensor(float_elu(dequantize(input), alpha), scale, zero_point, input.dtype)


def leaky_relu(
    input: Tensor,
    negative_slope: float = 0.01,
    inplace: bool = False,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Tensor:
    """Return x, or negative_slope·x where that is negative; coded as the input where nothing is given."""
    if scale is None and zero_point is None:
        check_codes("quantized leaky_relu", input)
        found: Tensor = ops.leaky_relu(input, slope=float(negative_slope))
        return found
    own = (
        input.q_scale() if scale is None else scale,
        input.q_zero_point() if zero_point is None else zero_point,
    )
    return coded("leaky_relu", (input,), *own, slope=float(negative_slope))


def gelu(input: Tensor, scale: float, zero_point: int, approximate: str = "none") -> Tensor:
    """Return x·Φ(x) of what codes stand for."""
    return coded("gelu_tanh" if approximate == "tanh" else "gelu", (input,), scale, zero_point)


def silu(input: Tensor, scale: float, zero_point: int) -> Tensor:
    """Return x·σ(x) of what codes stand for."""
    return coded("silu", (input,), scale, zero_point)


def mish(input: Tensor, scale: float, zero_point: int) -> Tensor:
    """Return x·tanh(log(1 + eˣ)) of what codes stand for."""
    return coded("mish", (input,), scale, zero_point)


def _with(input: Any, weight: Any, bias: Any) -> tuple[Any, ...]:
    if weight is None and bias is not None:
        raise ValueError("a bias comes with a weight: give one of ones")
    return tuple(one for one in (input, weight, bias) if one is not None)


def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    scale: float,
    zero_point: int,
) -> Tensor:
    """Normalise over the last dims what codes stand for; weight and bias are floating point."""
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    return coded("layer_norm", _with(input, weight, bias), scale, zero_point, count=count, eps=float(eps))


def rms_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None,
    eps: float,
    scale: float,
    zero_point: int,
) -> Tensor:
    """Scale by the root mean square of the last dims what codes stand for; the weight is floating point.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> x = wb.quantize_per_tensor(wb.tensor([[3.0, -3.0]]), 0.1, 50, wb.quint8)
    >>> F.rms_norm(x, 2, None, 0.0, 0.1, 50).dequantize()
    tensor([[ 1., -1.]])
    """
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    return coded("rms_norm", _with(input, weight, None), scale, zero_point, count=count, eps=float(eps))


def softmax(input: Tensor, dim: int, scale: float, zero_point: int) -> Tensor:
    """Return e^x scaled to sum to 1 along a dim of what codes stand for: whole powers by a table, whole sums.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> F.softmax(wb.quantize_per_tensor(wb.tensor([1.0, 1.0]), 0.1, 0, wb.quint8), 0, 1 / 256, 0).dequantize()
    tensor([0.5000, 0.5000])
    """
    return coded("softmax", (input,), scale, zero_point, dim=dim_index(dims_of(input), dim))


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    scale: float,
    zero_point: int,
) -> Tensor:
    """Normalise groups of channels of what codes [N, C, …] stand for; weight and bias are floating point."""
    return coded(
        "group_norm", _with(input, weight, bias), scale, zero_point, groups=num_groups, eps=float(eps)
    )


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, scale: float, zero_point: int
) -> Tensor:
    """Normalise each channel of each sample of what codes [N, C, …] stand for: a group norm of as many groups."""
    return group_norm(input, dims_of(input).sizes[1], weight, bias, eps, scale, zero_point)
