"""Linear maps of the last dim: of one input, or of two at once; and the layer that does nothing."""

from __future__ import annotations

import math
from typing import Any

from workbench.nn import functional, init
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.nn.spatial_names import require_size
from workbench.ops.contract.matmul import LINEAR
from workbench.tensor.factories import empty

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Return the input; takes, and ignores, any arguments, so that it can stand in for any layer.

    >>> import workbench as wb
    >>> Identity(54, unused=True)(wb.ones(N=2))
    tensor([1., 1.], names=('N',))
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return the input."""
        return input


class Linear(Module):
    """Affine map of the last dim: y[…, o] = Σ_i x[…, i]·weight[o, i] + bias[o].

    Input [..., in_features], output [..., out_features]: the last dim is then called ``out_features``. Raises
    `DimensionError` where the last dim has another size.

    >>> import workbench as wb
    >>> Linear(3, 2)(wb.zeros(N=4, features=3)).names
    ('N', 'out_features')
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        require_size(0, in_features=in_features, out_features=out_features)
        self.in_features = in_features
        self.out_features = out_features
        weight = empty(out_features, in_features, device=device, dtype=dtype)
        self.weight = Parameter(weight, dim_labels=("out_features", "in_features"))
        offset = empty(out_features, device=device, dtype=dtype) if bias else None
        self.register_parameter("bias", Parameter(offset, dim_labels=("out_features",)) if bias else None)
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


class Bilinear(Module):
    """Products of two inputs under a stack of matrices: y[…, o] = Σ_ij x₁[…, i]·weight[o, i, j]·x₂[…, j] + bias[o].

    Inputs [..., in1_features] and [..., in2_features], output [..., out_features]. Raises `DimensionError` where a
    last dim has another size, or where the dims before it differ.

    >>> import workbench as wb
    >>> Bilinear(3, 4, 5)(wb.zeros(N=2, left=3), wb.zeros(N=2, right=4)).names
    ('N', 'out_features')
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        require_size(0, in1_features=in1_features, in2_features=in2_features, out_features=out_features)
        # The bound of the first values is 1 / √in1_features.
        if in1_features == 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        weight = empty(out_features, in1_features, in2_features, device=device, dtype=dtype)
        self.weight = Parameter(weight, dim_labels=("out_features", "in1_features", "in2_features"))
        offset = empty(out_features, device=device, dtype=dtype) if bias else None
        self.register_parameter("bias", Parameter(offset, dim_labels=("out_features",)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: U(-b, b), b = 1 / √in1_features."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        """Map the last dims of both."""
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
