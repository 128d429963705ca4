"""Linear maps, activations, pooling, flattening, dropout: layers that are one op each."""

from __future__ import annotations

from typing import Any

from workbench.nn import functional, init
from workbench.nn.images import IMAGE, check_names, require_size
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.ops.contract import LINEAR
from workbench.ops.convolve import pair
from workbench.ops.dropout import dropout
from workbench.ops.elementwise import RELU, SIGMOID, TANH
from workbench.ops.pool import AVG_POOL2D, MAX_POOL2D
from workbench.ops.softmax import softmax
from workbench.tensor.factories import empty

__all__ = [
    "AvgPool2d",
    "Dropout",
    "Flatten",
    "Identity",
    "Linear",
    "MaxPool2d",
    "ReLU",
    "Sigmoid",
    "Softmax",
    "Tanh",
]


class Identity(Module):
    """Return the input; takes, and ignores, any arguments, so that it can stand in for any layer."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return the input."""
        return input


class Linear(Module):
    """Affine map of the last dim: y[…, o] = Σ_i x[…, i]·weight[o, i] + bias[o].

    Input [..., in_features], output [..., out_features]: the last dim is then called ``out_features``.

    >>> import workbench as wb
    >>> Linear(3, 2)(wb.zeros(N=4, features=3)).names
    ('N', 'out_features')
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        require_size(0, in_features=in_features, out_features=out_features)
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty(out_features, in_features), names=("out_features", "in_features"))
        self.register_parameter(
            "bias", Parameter(empty(out_features), names=("out_features",)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: U(-b, b), b = 1 / √in_features."""
        init.default_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Any) -> Any:
        """Map the last dim."""
        bias = self.bias
        return LINEAR(input, self.weight) if bias is None else LINEAR(input, self.weight, bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class ReLU(Module):
    """Rectified linear unit: y = max(x, 0).

    `inplace` is accepted for the sake of models that say it; the input is never changed.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Rectify."""
        return RELU(input)

    def extra_repr(self) -> str:
        """Return the setting, where it was given."""
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """Logistic function: y = 1 / (1 + e^-x)."""

    def forward(self, input: Any) -> Any:
        """Apply."""
        return SIGMOID(input)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input: Any) -> Any:
        """Apply."""
        return TANH(input)


class Softmax(Module):
    """Exponentials scaled to sum to 1 along `dim`, given by position or by name."""

    def __init__(self, dim: int | str) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        """Apply along the dim."""
        return softmax(input, self.dim)

    def extra_repr(self) -> str:
        """Return the dim."""
        return f"dim={self.dim!r}"


class MaxPool2d(Module):
    """Largest value of each window of [N, C, H, W]; `stride` defaults to the kernel size.

    >>> import workbench as wb
    >>> MaxPool2d(2)(wb.zeros(N=1, C=3, H=28, W=28)).shape
    (1, 3, 14, 14)
    """

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        return_indices: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.stride = self.kernel_size if stride is None else pair(stride, "stride")
        self.padding = pair(padding, "padding")
        self.dilation = pair(dilation, "dilation")
        self.return_indices = return_indices

    def forward(self, input: Any) -> Any:
        """Return the largest values, and where they lie if `return_indices`."""
        names = input._names
        if names is not None and names != IMAGE:
            check_names("MaxPool2d", input)
        values, indices = MAX_POOL2D(
            input, kernel=self.kernel_size, stride=self.stride, padding=self.padding, dilation=self.dilation
        )
        return (values, indices) if self.return_indices else values

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}"


class AvgPool2d(Module):
    """Mean of each window of [N, C, H, W], the padding counted as zeros; `stride` defaults to the kernel size."""

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.stride = self.kernel_size if stride is None else pair(stride, "stride")
        self.padding = pair(padding, "padding")

    def forward(self, input: Any) -> Any:
        """Return the means."""
        names = input._names
        if names is not None and names != IMAGE:
            check_names("AvgPool2d", input)
        return AVG_POOL2D(input, kernel=self.kernel_size, stride=self.stride, padding=self.padding)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class Flatten(Module):
    """Lay neighbouring dims out as one: those from `start_dim` to `end_dim`.

    Dims are given by position or by name. The new dim is called `out_dim`, which is ``features`` where all dims that
    go into it have names.

    >>> import workbench as wb
    >>> Flatten()(wb.zeros(N=2, C=3, H=4, W=4)).names
    ('N', 'features')
    >>> Flatten("H", "W", out_dim="pixel")(wb.zeros(N=2, C=3, H=4, W=4)).names
    ('N', 'C', 'pixel')
    """

    def __init__(self, start_dim: int | str = 1, end_dim: int | str = -1, out_dim: str | None = None) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim
        self.out_dim = out_dim

    def forward(self, input: Any) -> Any:
        """Flatten."""
        return functional.flatten(input, self.start_dim, self.end_dim, self.out_dim)

    def extra_repr(self) -> str:
        """Return the settings."""
        named = f", out_dim={self.out_dim!r}" if self.out_dim else ""
        return f"start_dim={self.start_dim!r}, end_dim={self.end_dim!r}{named}"


class Dropout(Module):
    """While training, set each value to 0 with probability `p` and scale the rest by 1 / (1 - p).

    Srivastava et al. 2014.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p

    def forward(self, input: Any) -> Any:
        """Drop values while training."""
        return dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p}"
