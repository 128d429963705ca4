"""First values of parameters, in place: PyTorch's `torch.nn.init`."""

from __future__ import annotations

import math
from typing import Any

from workbench.base.errors import DimensionError
from workbench.base.random import Generator, default_generator
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = [
    "calculate_fan",
    "calculate_gain",
    "constant_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return by how much a nonlinearity shrinks what passes it, as a factor for the deviation of the weights.

    `param` is the negative slope of ``leaky_relu`` (0.01 if not given).

    >>> round(calculate_gain("relu"), 4)
    1.4142
    """
    gains = {
        "linear": 1.0,
        "conv2d": 1.0,
        "sigmoid": 1.0,
        "tanh": 5.0 / 3,
        "relu": math.sqrt(2.0),
        "selu": 0.75,
    }
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in gains:
        raise ValueError(
            f"Unsupported nonlinearity {nonlinearity}: use one of {', '.join([*gains, 'leaky_relu'])}"
        )
    return gains[nonlinearity]


def calculate_fan(tensor: Tensor) -> tuple[int, int]:
    """Return how many values reach an output of a weight [out, in, …], and how many outputs an input reaches.

    >>> import workbench as wb
    >>> calculate_fan(wb.empty(4, 3, 5, 5))
    (75, 100)
    """
    if tensor.ndim < 2:
        raise DimensionError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
            operands=(dims_of(tensor).operand("tensor"),),
        )
    area = math.prod(tensor.shape[2:])
    return tensor.shape[1] * area, tensor.shape[0] * area


def _fill(tensor: Tensor, values: Any) -> Tensor:
    """Write values into the tensor's own memory, whether or not gradients are recorded."""
    tensor._array[...] = values
    tensor._version += 1
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with values drawn evenly from [a, b)."""
    return _fill(tensor, (generator or default_generator).numpy.uniform(a, b, tensor.shape))


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with values drawn from the normal distribution."""
    return _fill(tensor, (generator or default_generator).numpy.normal(mean, std, tensor.shape))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    return _fill(tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    return _fill(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return _fill(tensor, 1)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with U(-a, a), a = gain·√(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6.0 / sum(calculate_fan(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with N(0, s²), s = gain·√(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(calculate_fan(tensor))), generator)


def _kaiming_deviation(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = calculate_fan(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with U(-b, b), b = gain·√(3 / fan) (He et al. 2015); `a` is the negative slope after this layer."""
    bound = math.sqrt(3.0) * _kaiming_deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with N(0, s²), s = gain / √fan (He et al. 2015); `a` is the negative slope after this layer."""
    return normal_(tensor, 0.0, _kaiming_deviation(tensor, a, mode, nonlinearity), generator)


def default_weight_and_bias(weight: Tensor, bias: Tensor | None) -> None:
    """Fill the parameters of a convolution or a linear layer as PyTorch does: both U(-b, b), b = 1 / √fan_in."""
    fan_in = calculate_fan(weight)[0]
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    uniform_(weight, -bound, bound)
    if bias is not None:
        uniform_(bias, -bound, bound)
