"""Pooling over windows as layers: the largest value, the mean, the power mean."""

from __future__ import annotations

from typing import Any, ClassVar

from workbench.base.dims import Names
from workbench.core.op import Op
from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.spatial_names import check_layout
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes, several
from workbench.ops.nn.pool.pool_ops import (
    AVG_POOL1D,
    AVG_POOL2D,
    AVG_POOL3D,
    MAX_POOL1D,
    MAX_POOL2D,
    MAX_POOL3D,
)

__all__ = [
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "WindowPool",
]

Window = int | Sizes


class WindowPool(Module):
    """What poolings over windows have in common: the settings, as they were given, in the op's words."""

    op: ClassVar[Op]
    spatial: ClassVar[int]
    """Number of spatial dims."""
    layout: ClassVar[Names]
    """Names of the dims of a batch."""
    kernel_size: Window
    stride: Window
    padding: Window
    ceil_mode: bool
    _remembered = ("_params",)
    _params: dict[str, Any] | None = None
    """The settings as the op takes them; made when they are needed, and again when one has changed."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self.__dict__["_params"] = None

    def _windows(self) -> dict[str, Any]:
        n = self.spatial
        found: dict[str, Any] = {
            "kernel": several(self.kernel_size, n, "kernel_size"),
            "stride": several(self.stride, n, "stride"),
            "padding": several(self.padding, n, "padding"),
        }
        return {**found, "ceil_mode": True} if self.ceil_mode else found

    def settings(self) -> dict[str, Any]:
        """Return the settings in the op's words."""
        made = self._params
        if made is None:
            made = self.__dict__["_params"] = self._windows()
        return made

    def _check_names(self, input: Any) -> None:
        check_layout(type(self).__name__, input, self.spatial)


class _MaxPool(WindowPool):
    def __init__(
        self,
        kernel_size: Window,
        stride: Window | None = None,
        padding: Window = 0,
        dilation: Window = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode
        # Wrong settings are refused here, and not at the first call.
        self.settings()

    def _windows(self) -> dict[str, Any]:
        return {**super()._windows(), "dilation": several(self.dilation, self.spatial, "dilation")}

    def forward(self, input: Any) -> Any:
        """Return the largest values, and where they lie if `return_indices`."""
        names = input._names
        if names is not None and names != self.layout:
            self._check_names(input)
        if len(input.payload.shape) != self.spatial + 2 or getattr(input.payload.dtype, "quantized", False):
            return self._called(input)
        values, indices = self.op(input, **(self._params or self.settings()))
        return (values, indices) if self.return_indices else values

    def _called(self, input: Any) -> Any:
        """Pool what is no batch of plain numbers as the function does: one example without the dim N, or codes."""
        return getattr(functional, self.op.name)(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """Largest value of each window of [N, C, L] or [C, L]; see `MaxPool2d`.

    >>> import workbench as wb
    >>> MaxPool1d(2)(wb.tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
    [[[3.0, 2.0]]]
    """

    op = MAX_POOL1D
    spatial = 1
    layout = LAYOUT[1]


class MaxPool2d(_MaxPool):
    """Largest value of each window of [N, C, H, W] or [C, H, W]; `stride` defaults to the kernel size.

    y[n, c, p, q] = max_{i, j} x[n, c, p·s + i·d - pad, q·s + j·d - pad]; the border never counts. `ceil_mode` also
    takes the windows that begin inside and end outside. With `return_indices` also where the values lie in the plane
    H·W, which `MaxUnpool2d` takes.

    Raises `DimensionError` for names other than these and for windows that do not fit.

    >>> import workbench as wb
    >>> MaxPool2d(2)(wb.zeros(N=1, C=3, H=28, W=28)).shape
    (1, 3, 14, 14)
    """

    op = MAX_POOL2D
    spatial = 2
    layout = LAYOUT[2]


class MaxPool3d(_MaxPool):
    """Largest value of each window of [N, C, D, H, W] or [C, D, H, W]; see `MaxPool2d`.

    >>> import workbench as wb
    >>> MaxPool3d(2)(wb.zeros(N=1, C=3, D=4, H=6, W=8)).shape
    (1, 3, 2, 3, 4)
    """

    op = MAX_POOL3D
    spatial = 3
    layout = LAYOUT[3]


class _AvgPool(WindowPool):
    divisor_override: int | None = None

    def __init__(
        self,
        kernel_size: Window,
        stride: Window | None = None,
        padding: Window = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override
        # Wrong settings are refused here, and not at the first call.
        self.settings()

    def _windows(self) -> dict[str, Any]:
        found = super()._windows()
        if not self.count_include_pad:
            found["count_include_pad"] = False
        if self.divisor_override is not None:
            found["divisor_override"] = self.divisor_override
        return found

    def forward(self, input: Any) -> Any:
        """Return the means."""
        names = input._names
        if names is not None and names != self.layout:
            self._check_names(input)
        if len(input.payload.shape) != self.spatial + 2:
            return self._pool_one(input)
        return self.op(input, **(self._params or self.settings()))

    def _pool_one(self, input: Any) -> Any:
        """Pool one example without the dim N, or refuse."""
        # PyTorch's function for one dim has no `divisor_override`.
        override = () if self.spatial == 1 else (self.divisor_override,)
        return getattr(functional, self.op.name)(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, *override
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Return the windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """Mean of each window of [N, C, L] or [C, L]; see `AvgPool2d`.

    >>> import workbench as wb
    >>> AvgPool1d(2)(wb.tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
    [[[2.0, 1.0]]]
    """

    op = AVG_POOL1D
    spatial = 1
    layout = LAYOUT[1]

    def __init__(
        self,
        kernel_size: Window,
        stride: Window | None = None,
        padding: Window = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        # PyTorch keeps, and prints, the settings of this one layer as tuples.
        self.kernel_size = several(kernel_size, 1, "kernel_size")
        self.stride = self.kernel_size if stride is None else several(stride, 1, "stride")
        self.padding = several(padding, 1, "padding")


class AvgPool2d(_AvgPool):
    """Mean of each window of [N, C, H, W] or [C, H, W]; `stride` defaults to the kernel size.

    y[n, c, p, q] = mean_{i, j} x[n, c, p·s + i - pad, q·s + j - pad]. The border counts as zeros, or with
    ``count_include_pad=False`` not at all; `divisor_override` divides the sums by a number of your own.

    >>> import workbench as wb
    >>> AvgPool2d(2)(wb.ones(N=1, C=3, H=4, W=4)).shape
    (1, 3, 2, 2)
    """

    op = AVG_POOL2D
    spatial = 2
    layout = LAYOUT[2]


class AvgPool3d(_AvgPool):
    """Mean of each window of [N, C, D, H, W] or [C, D, H, W]; see `AvgPool2d`.

    >>> import workbench as wb
    >>> AvgPool3d(2)(wb.ones(N=1, C=3, D=2, H=4, W=4)).shape
    (1, 3, 1, 2, 2)
    """

    op = AVG_POOL3D
    spatial = 3
    layout = LAYOUT[3]


class _LPPool(Module):
    spatial: ClassVar[int]

    def __init__(
        self, norm_type: float, kernel_size: Window, stride: Window | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        # To refuse what is wrong; kept and printed is what was given, as in PyTorch.
        several(kernel_size, self.spatial, "kernel_size")
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Any) -> Any:
        """Return the power means times the size of the window."""
        check_layout(type(self).__name__, input, self.spatial)
        pool = getattr(functional, f"lp_pool{self.spatial}d")
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """Power sum of each window of [N, C, L] or [C, L]: y = (Σ x^p)^(1/p), p being `norm_type`.

    p = 1 is the sum, and p towards ∞ the largest value.

    >>> import workbench as wb
    >>> LPPool1d(2, 2)(wb.tensor([[[3.0, 4.0]]])).tolist()
    [[[5.0]]]
    """

    spatial = 1


class LPPool2d(_LPPool):
    """Power sum of each window of [N, C, H, W] or [C, H, W]; see `LPPool1d`.

    >>> import workbench as wb
    >>> LPPool2d(1, 2)(wb.ones(N=1, C=1, H=2, W=2)).item()
    4.0
    """

    spatial = 2


class LPPool3d(_LPPool):
    """Power sum of each window of [N, C, D, H, W] or [C, D, H, W]; see `LPPool1d`.

    >>> import workbench as wb
    >>> LPPool3d(1, 2)(wb.ones(N=1, C=1, D=2, H=2, W=2)).item()
    8.0
    """

    spatial = 3
