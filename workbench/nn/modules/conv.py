"""Two-dimensional convolution as a layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.errors import DimensionError
from workbench.core import dispatch
from workbench.core.value import new
from workbench.nn import init
from workbench.nn.images import IMAGE, check_names, require_size
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.ops.convolve import CONV2D, pair
from workbench.tensor.factories import empty

__all__ = ["Conv2d"]


class Conv2d(Module):
    """Two-dimensional cross-correlation with learned weights.

    y[n, o, p, q] = bias[o] + Σ_{c, i, j} x[n, c, p·s + i·d - pad, q·s + j·d - pad]·weight[o, c, i, j]

    Input [N, C, H, W] (dims without names pass, other names are refused), output [N, C, H, W] with `out_channels`
    channels. ``padding="same"`` keeps the size at stride 1.

    >>> import workbench as wb
    >>> layer = Conv2d(1, 8, kernel_size=3, padding=1)
    >>> layer(wb.zeros(N=2, C=1, H=28, W=28)).shape
    (2, 8, 28, 28)
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        _check_groups(in_channels, out_channels, groups)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.stride = pair(stride, "stride")
        self.dilation = pair(dilation, "dilation")
        self.padding = _padding(padding, self.kernel_size, self.stride, self.dilation)
        self.groups = groups
        self.weight = Parameter(
            empty(out_channels, in_channels // groups, *self.kernel_size),
            names=("out_channels", "in_channels", "kernel_height", "kernel_width"),
        )
        self.register_parameter(
            "bias", Parameter(empty(out_channels), names=("out_channels",)) if bias else None
        )
        self._prepared: _Prepared | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: U(-b, b), b = 1 / √(in_channels / groups·kernel area)."""
        init.default_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Any) -> Any:
        """Convolve [N, C, H, W]."""
        names = input._names
        if names is not None and names != IMAGE:
            check_names("Conv2d", input)
        prepared = self._prepared_for(input)
        if prepared is not None:
            return new(prepared.run(input._array), names)
        weight, bias = self.weight, self.bias
        operands = (input, weight) if bias is None else (input, weight, bias)
        return CONV2D(
            *operands, stride=self.stride, padding=self.padding, dilation=self.dilation, groups=self.groups
        )

    def _prepared_for(self, input: Any) -> _Prepared | None:
        """Return packed weights for plain inference: only numbers are asked for, and they are float32."""
        if self.training or CONV2D.kernel is None or not dispatch.computes_only():
            return None
        array, weight = input._array, self.weight._array
        if type(array) is not np.ndarray or type(weight) is not np.ndarray:
            return None
        if array.dtype != np.float32 or weight.dtype != np.float32:
            return None
        prepared = self._prepared
        if prepared is None or not prepared.holds(self):
            prepared = self._prepared = _Prepared(self)
        if array.shape not in prepared.shapes:
            # The op's own rule refuses what does not fit; a shape that it has passed need not be asked again.
            prepared.check(input, self)
        return prepared

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_prepared": None}

    def extra_repr(self) -> str:
        """Return sizes, and what differs from the defaults."""
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        parts += [f"padding={self.padding}"] if self.padding != (0, 0) else []
        parts += [f"dilation={self.dilation}"] if self.dilation != (1, 1) else []
        parts += [f"groups={self.groups}"] if self.groups != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        return ", ".join(parts)


class _Prepared:
    """Weights packed for inference, the values they were packed from, and the input shapes that were found to fit."""

    def __init__(self, layer: Conv2d) -> None:
        bias = layer.bias
        self.weight = np.ascontiguousarray(layer.weight._array).copy()
        self.bias = None if bias is None else bias._array.copy()
        self.settings = (layer.stride, layer.padding, layer.dilation, layer.groups)
        self.shapes: set[tuple[int, ...]] = set()
        self.packed = kernels.pack_conv2d(
            self.weight, self.bias,
            stride=layer.stride, padding=layer.padding, dilation=layer.dilation, groups=layer.groups,
        )  # fmt: skip
        self.run = self.packed.run

    def holds(self, layer: Conv2d) -> bool:
        """Say whether the layer still has the values packed here.

        They are compared: memory that is shared can be changed without this layer being told, and reading the
        weights is cheaper than packing them, which is what inference without this does at every call.
        """
        bias = layer.bias
        return (
            self.settings == (layer.stride, layer.padding, layer.dilation, layer.groups)
            and _same_bits(self.weight, layer.weight._array)
            and (self.bias is None) == (bias is None)
            and (bias is None or _same_bits(self.bias, bias._array))
        )

    def check(self, input: Any, layer: Conv2d) -> None:
        """Refuse an input that does not fit."""
        weight, bias = layer.weight, layer.bias
        operands = (input, weight) if bias is None else (input, weight, bias)
        stride, padding, dilation, groups = self.settings
        dispatch.infer_dims(
            CONV2D, operands, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        )
        if len(self.shapes) > 64:
            self.shapes.clear()
        self.shapes.add(input._array.shape)


def _same_bits(a: Any, b: Any) -> bool:
    """Say whether two float32 arrays are equal bit by bit, NaN and signed zero included."""
    return (
        a.shape == b.shape
        and b.dtype == np.float32
        and bool(b.flags.c_contiguous)
        and bool((a.view(np.int32) == b.view(np.int32)).all())
    )


def _check_groups(in_channels: int, out_channels: int, groups: int) -> None:
    require_size(1, in_channels=in_channels, out_channels=out_channels, groups=groups)
    for value, what in ((in_channels, "in_channels"), (out_channels, "out_channels")):
        if value % groups:
            raise ValueError(f"{what} must be divisible by groups: {value} by {groups}")


def _padding(
    padding: int | tuple[int, int] | str,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
) -> tuple[int, int]:
    if not isinstance(padding, str):
        return pair(padding, "padding")
    if padding == "valid":
        return (0, 0)
    if padding != "same":
        raise ValueError(f"Invalid padding string {padding!r}, should be one of ('valid', 'same')")
    if stride != (1, 1):
        raise ValueError("padding='same' is not supported for strided convolutions")
    total = tuple(dilation[i] * (kernel[i] - 1) for i in (0, 1))
    if any(one % 2 for one in total):
        raise DimensionError(
            f"padding='same' needs as much padding before as after, and a kernel of {kernel} needs {total} in all.",
            op="Conv2d", fix="nn.functional.pad(x, ...) before a convolution without padding",
        )  # fmt: skip
    return (total[0] // 2, total[1] // 2)
