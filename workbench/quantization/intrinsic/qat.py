"""Fused layers in training: weights are rounded as they will be once the batch normalisation is folded into them."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import QuantizationError
from workbench.base.public import words
from workbench.nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Module, functional, init
from workbench.nn import Conv1d as FloatConv1d
from workbench.nn import Conv2d as FloatConv2d
from workbench.nn import Conv3d as FloatConv3d
from workbench.nn import Linear as FloatLinear
from workbench.nn.utils import fuse_conv_bn_weights, fuse_linear_bn_weights
from workbench.quantization import qat
from workbench.quantization.fake_quantize import FakeQuantize
from workbench.quantization.qat.layers import plain_conv, weight_rounding

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d",
    "ConvReLU3d", "LinearBn1d", "LinearReLU", "freeze_bn_stats", "update_bn_stats",
]  # fmt: skip


class WithBatchNorm:
    """What layers with a batch normalisation inside share.

    y = norm(x ∗ ŵ / f + b), ŵ = fake(w·f), f = γ / √(σ² + ε): the weight is rounded at the size that it has once the
    normalisation is folded, and the batch's own statistics still normalise. Krishnamoorthi 2018, section 3.2.
    """

    bn: Any
    weight: Any
    bias: Any
    weight_fake_quant: Module
    training: bool
    relu = False
    _NORM: Any

    def _begin(self, norm: Any, qconfig: Any, freeze_bn: bool) -> None:
        self.qconfig = qconfig
        self.bn = norm
        self.freeze_bn = freeze_bn
        self.weight_fake_quant = weight_rounding(type(self).__name__, qconfig)
        if freeze_bn:
            self.freeze_bn_stats()

    def freeze_bn_stats(self) -> Any:
        """Normalise by the running statistics from now on: they move no more."""
        self.freeze_bn = True
        self.bn.eval()
        return self

    def update_bn_stats(self) -> Any:
        """Normalise by the batch's statistics again, which move the running ones."""
        self.freeze_bn = False
        self.bn.train(self.training)
        return self

    def train(self, mode: bool = True) -> Any:
        """Train or use; frozen statistics stay frozen."""
        super().train(mode)  # type: ignore[misc]
        if self.freeze_bn:
            self.bn.eval()
        return self

    def _computed(self, input: Any, weight: Any) -> Any:
        raise QuantizationError(f"{type(self).__name__} does not say what it computes")

    def forward(self, input: Any) -> Any:
        """Compute, normalise, and rectify where that is asked for."""
        norm = self.bn
        channels = self.weight.ndim
        deviation = (norm.running_var + norm.eps).sqrt()
        if norm.weight is None:
            factor = 1.0 / deviation
        else:
            # What is multiplied by is divided by again: a channel that begins at zero, as the last of a residual block
            # does, is rounded as if it were one. The normalisation makes it zero all the same.
            factor = norm.weight.masked_fill(norm.weight.detach() == 0, 1.0) / deviation
        rounding = self.weight_fake_quant
        # Others than the house's own take one value.
        if getattr(type(rounding), "forward", None) is FakeQuantize.forward:
            scaled = rounding(self.weight, factor)
        else:
            scaled = rounding(self.weight * factor.reshape(-1, *[1] * (channels - 1)))
        shape = (1, -1, *[1] * (channels - 2))
        out = self._computed(input, scaled) / factor.reshape(shape)
        if self.bias is not None:
            out = out + self.bias.reshape(shape)
        out = norm(out)
        return functional.relu(out) if self.relu else out


class _ConvBn(WithBatchNorm):
    """A convolution with its batch normalisation inside."""

    _FLOAT: Any

    def __init__(
        self, *sizes: Any, qconfig: Any = None, eps: float = 1e-5, momentum: float = 0.1, freeze_bn: bool = False,
        **settings: Any,
    ) -> None:  # fmt: skip
        # Asked for by `train`, which the modules' own construction calls.
        object.__setattr__(self, "freeze_bn", False)
        super().__init__(*sizes, **settings)
        self._begin(self._NORM(self.out_channels, eps, momentum), qconfig, freeze_bn)  # type: ignore[attr-defined]

    def _computed(self, input: Any, weight: Any) -> Any:
        return self._conv_forward(input, weight, None)  # type: ignore[attr-defined]

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return a layer with the parameters of a convolution and a batch normalisation that were joined."""
        conv, norm = module[0], module[1]
        made = plain_conv(cls, conv, qconfig=module.qconfig)
        made.bn = norm
        return made.train(module.training)

    def folded(self) -> Any:
        """Return a convolution in floating point that does what this does in use."""
        # Without first values: nobody sees them, and who looks at a training draws nothing from its stream.
        with init.skipped():
            conv = plain_conv(self._FLOAT, self)
        conv.weight, conv.bias = fuse_conv_bn_weights(
            self.weight, self.bias, self.bn.running_mean, self.bn.running_var, self.bn.eps, self.bn.weight,
            self.bn.bias,
        )  # fmt: skip
        return conv


class ConvBn1d(_ConvBn, FloatConv1d):
    """A convolution along one dim with its batch normalisation."""

    _FLOAT, _NORM = FloatConv1d, BatchNorm1d


class ConvBn2d(_ConvBn, FloatConv2d):
    """A convolution with its batch normalisation.

    >>> import workbench as wb
    >>> layer = ConvBn2d(1, 2, 3, qconfig=wb.quantization.default_qat_qconfig)
    >>> layer(wb.rand(2, 1, 5, 5)).shape
    (2, 2, 3, 3)
    """

    _FLOAT, _NORM = FloatConv2d, BatchNorm2d


class ConvBn3d(_ConvBn, FloatConv3d):
    """A convolution of volumes with its batch normalisation."""

    _FLOAT, _NORM = FloatConv3d, BatchNorm3d


class ConvBnReLU1d(ConvBn1d):
    """A convolution along one dim, its batch normalisation and a rectifier."""

    relu = True


class ConvBnReLU2d(ConvBn2d):
    """A convolution, its batch normalisation and a rectifier."""

    relu = True


class ConvBnReLU3d(ConvBn3d):
    """A convolution of volumes, its batch normalisation and a rectifier."""

    relu = True


class ConvReLU1d(qat.Conv1d):
    """A convolution along one dim and a rectifier."""

    def forward(self, input: Any) -> Any:
        """Convolve and rectify."""
        return functional.relu(super().forward(input))


class ConvReLU2d(qat.Conv2d):
    """A convolution and a rectifier."""

    def forward(self, input: Any) -> Any:
        """Convolve and rectify."""
        return functional.relu(super().forward(input))


class ConvReLU3d(qat.Conv3d):
    """A convolution of volumes and a rectifier."""

    def forward(self, input: Any) -> Any:
        """Convolve and rectify."""
        return functional.relu(super().forward(input))


class LinearReLU(qat.Linear):
    """An affine map and a rectifier."""

    def forward(self, input: Any) -> Any:
        """Map the last dim and rectify."""
        return functional.relu(super().forward(input))


class LinearBn1d(WithBatchNorm, FloatLinear):
    """An affine map with its batch normalisation."""

    _NORM = BatchNorm1d

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, eps: float = 1e-5, momentum: float = 0.1,
        freeze_bn: bool = False, qconfig: Any = None,
    ) -> None:  # fmt: skip
        object.__setattr__(self, "freeze_bn", False)
        FloatLinear.__init__(self, in_features, out_features, bias)
        self._begin(BatchNorm1d(out_features, eps, momentum), qconfig, freeze_bn)

    def _computed(self, input: Any, weight: Any) -> Any:
        return functional.linear(input, weight)

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return a layer with the parameters of a linear one and a batch normalisation that were joined."""
        linear, norm = module[0], module[1]
        made = cls(linear.in_features, linear.out_features, linear.bias is not None, qconfig=module.qconfig)
        made.weight, made.bias, made.bn = linear.weight, linear.bias, norm
        return made.train(module.training)

    def folded(self) -> Any:
        """Return a linear layer in floating point that does what this does in use."""
        with init.skipped():
            linear = FloatLinear(self.in_features, self.out_features)
        linear.weight, linear.bias = fuse_linear_bn_weights(
            self.weight, self.bias, self.bn.running_mean, self.bn.running_var, self.bn.eps, self.bn.weight,
            self.bn.bias,
        )  # fmt: skip
        return linear


def update_bn_stats(module: Any) -> None:
    """``model.apply(update_bn_stats)``: let batches move the running statistics again."""
    if isinstance(module, WithBatchNorm):
        module.update_bn_stats()


def freeze_bn_stats(module: Any) -> None:
    """``model.apply(freeze_bn_stats)``: normalise by the running statistics, as the converted model will."""
    if isinstance(module, WithBatchNorm):
        module.freeze_bn_stats()


__getattr__, __dir__ = words(__name__, __all__)
