"""Activations that pass what is above 0 and bend what is below."""

from __future__ import annotations

from typing import Any

from workbench.nn import functional, init
from workbench.nn.module import Module
from workbench.nn.modules.activation_in_place import InPlace
from workbench.nn.parameter import Parameter
from workbench.nn.positional_dims import check_places
from workbench.nn.spatial_names import require_size
from workbench.ops.elementwise.copying import RELU
from workbench.ops.nn.activation.pointwise import relu
from workbench.tensor.factories import empty

__all__ = ["CELU", "ELU", "SELU", "LeakyReLU", "PReLU", "RReLU", "ReLU", "Softplus", "Threshold"]


class ReLU(InPlace):
    """Rectified linear unit: y = max(x, 0). Names and sizes pass through.

    With `inplace`, the result goes into the memory of the input.

    >>> import workbench as wb
    >>> ReLU()(wb.tensor([-1.0, 2.0], names=("N",)))
    tensor([0., 2.], names=('N',))
    """

    def forward(self, input: Any) -> Any:
        """Rectify."""
        return relu(input, True) if self.inplace else RELU(input)


class LeakyReLU(InPlace):
    """Rectified linear unit with a slope below 0: y = x above 0, negative_slope·x below. Names and sizes pass through.

    Maas, Hannun and Ng 2013.

    >>> import workbench as wb
    >>> LeakyReLU(0.1)(wb.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Any) -> Any:
        """Rectify."""
        return functional.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"negative_slope={self.negative_slope}{self._and_inplace()}"


class PReLU(Module):
    """Rectified linear unit with learned slopes below 0: y = x above 0, weight·x below.

    There is one slope, or one for each channel, which is dim 1 of [N, C, …]. Names and sizes pass through. Raises
    `DimensionError` where the channels are another number, or a dim called ``C`` stands elsewhere. He et al. 2015.

    >>> import workbench as wb
    >>> PReLU(2)(wb.tensor([[-1.0, 2.0]], names=("N", "C"))).detach()
    tensor([[-0.2500,  2.0000]], names=('N', 'C'))
    """

    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        require_size(0, num_parameters=num_parameters)
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype), dim_labels=("C",))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to the first one."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        """Rectify."""
        if self.num_parameters != 1:
            check_places("PReLU", input, C=1)
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of slopes."""
        return f"num_parameters={self.num_parameters}"


class RReLU(InPlace):
    """Rectified linear unit with slopes below 0 that are drawn evenly from [lower, upper] for each value.

    When not training, the slope is (lower + upper)/2. Names and sizes pass through. Xu et al. 2015.

    >>> import workbench as wb
    >>> RReLU(0.1, 0.3).eval()(wb.tensor([-1.0, 2.0]))
    tensor([-0.2000,  2.0000])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Any) -> Any:
        """Rectify."""
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"lower={self.lower}, upper={self.upper}{self._and_inplace()}"


class ELU(InPlace):
    """Exponential linear unit: y = x above 0, alpha·(e^x - 1) below. Names and sizes pass through.

    Clevert, Unterthiner and Hochreiter 2015.

    >>> import workbench as wb
    >>> ELU()(wb.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"alpha={self.alpha}{self._and_inplace()}"


class CELU(InPlace):
    """Exponential linear unit with one slope at 0: y = x above 0, alpha·(e^(x/alpha) - 1) below. Names pass through.

    Barron 2017.

    >>> import workbench as wb
    >>> CELU(2.0)(wb.tensor([-1.0, 2.0]))
    tensor([-0.7869,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"alpha={self.alpha}{self._and_inplace()}"


class SELU(InPlace):
    """Exponential linear unit that normalizes itself: y = 1.0507·(x above 0, 1.6733·(e^x - 1) below).

    Names and sizes pass through. Klambauer et al. 2017.

    >>> import workbench as wb
    >>> SELU()(wb.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.selu(input, self.inplace)


class Softplus(Module):
    """Smooth rectified linear unit: y = ln(1 + e^(beta·x))/beta, and x where beta·x is beyond the threshold.

    Names and sizes pass through. Dugas et al. 2001.

    >>> import workbench as wb
    >>> Softplus()(wb.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Any) -> Any:
        """Apply."""
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Threshold(InPlace):
    """Replace what is not above a threshold: y = x where x > threshold, value elsewhere. Names and sizes pass through.

    >>> import workbench as wb
    >>> Threshold(0.5, 9.0)(wb.tensor([-2.0, 0.3, 2.0]))
    tensor([9., 9., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Any) -> Any:
        """Replace what is small."""
        return functional.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"threshold={self.threshold}, value={self.value}{self._and_inplace()}"
