"""Layers whose weight passes through fake quantization in every call."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import QuantizationError
from workbench.nn import Conv1d as FloatConv1d
from workbench.nn import Conv2d as FloatConv2d
from workbench.nn import Conv3d as FloatConv3d
from workbench.nn import Embedding as FloatEmbedding
from workbench.nn import EmbeddingBag as FloatEmbeddingBag
from workbench.nn import Linear as FloatLinear
from workbench.nn import Module, functional

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "Embedding",
    "EmbeddingBag",
    "Linear",
    "plain_conv",
    "weight_rounding",
]


def weight_rounding(name: str, qconfig: Any) -> Any:
    """Return the fake quantization that a qconfig asks for weights.

    Raises `QuantizationError` where there is no qconfig.
    """
    if qconfig is None:
        raise QuantizationError(
            f"qat.{name} takes a qconfig, which says how its weight is rounded: "
            "qconfig=wb.quantization.get_default_qat_qconfig()"
        )
    return qconfig.weight()


def _taken(made: Any, module: Any) -> Any:
    """Give a new layer the parameters, the mode and the hooks' owner of the one in whose place it stands."""
    made.weight = module.weight
    if hasattr(module, "bias"):
        made.bias = module.bias
    made.qconfig = module.qconfig
    return made.train(module.training)


def _own_qconfig(kind: type, module: Any) -> Any:
    qconfig = getattr(module, "qconfig", None)
    if qconfig is None:
        raise QuantizationError(
            f"qat.{kind.__name__}.from_float takes a layer with a qconfig, and {module!r} has none"
        )
    return qconfig


class Linear(FloatLinear):
    """An affine map with a rounded weight: y = x·ŵᵀ + b, ŵ the weight after fake quantization.

    >>> import workbench as wb
    >>> layer = Linear(3, 2, qconfig=wb.quantization.default_qat_qconfig)
    >>> layer(wb.ones(1, 3)).shape
    (1, 2)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.qconfig = qconfig
        self.weight_fake_quant: Module = weight_rounding("Linear", qconfig)

    def forward(self, input: Any) -> Any:
        """Map the last dim."""
        return functional.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return a layer with the parameters of a linear one, or of one that was joined with a rectifier."""
        qconfig = _own_qconfig(cls, module)
        inner = module[0] if hasattr(module, "_count") else module
        made = cls(inner.in_features, inner.out_features, bias=inner.bias is not None, qconfig=qconfig)
        made.weight, made.bias = inner.weight, inner.bias
        return made.train(module.training)

    def to_float(self) -> FloatLinear:
        """Return the layer in floating point, with the same parameters."""
        made = FloatLinear(self.in_features, self.out_features, bias=self.bias is not None)
        made.weight, made.bias = self.weight, self.bias
        return made.train(self.training)


def plain_conv(kind: Any, module: Any, *more: Any, **settings: Any) -> Any:
    """Return a convolution of class `kind` with the settings and parameters of `module`."""
    made = kind(
        module.in_channels, module.out_channels, module.kernel_size, stride=module.stride, padding=module.padding,
        dilation=module.dilation, groups=module.groups, bias=module.bias is not None,
        padding_mode=module.padding_mode, **settings,
    )  # fmt: skip
    made.weight, made.bias = module.weight, module.bias
    return made.train(module.training)


class _RoundedConv:
    """What convolutions with a rounded weight share, before their class in floating point."""

    weight_fake_quant: Module
    weight: Any
    bias: Any
    _FLOAT: Any

    def __init__(self, *sizes: Any, qconfig: Any = None, **settings: Any) -> None:
        super().__init__(*sizes, **settings)
        self.qconfig = qconfig
        self.weight_fake_quant = weight_rounding(type(self).__name__, qconfig)

    def forward(self, input: Any) -> Any:
        """Convolve."""
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)  # type: ignore[attr-defined]

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return a layer with the parameters of a convolution, or of one that was joined with a rectifier."""
        qconfig = _own_qconfig(cls, module)
        return plain_conv(cls, module[0] if hasattr(module, "_count") else module, qconfig=qconfig)

    def to_float(self) -> Any:
        """Return the layer in floating point, with the same parameters."""
        return plain_conv(self._FLOAT, self)


class Conv1d(_RoundedConv, FloatConv1d):
    """A convolution along one dim with a rounded weight."""

    _FLOAT = FloatConv1d


class Conv2d(_RoundedConv, FloatConv2d):
    """A convolution with a rounded weight.

    >>> import workbench as wb
    >>> Conv2d(1, 2, 3, qconfig=wb.quantization.default_qat_qconfig)(wb.ones(1, 1, 4, 4)).shape
    (1, 2, 2, 2)
    """

    _FLOAT = FloatConv2d


class Conv3d(_RoundedConv, FloatConv3d):
    """A convolution of volumes with a rounded weight."""

    _FLOAT = FloatConv3d


class Embedding(FloatEmbedding):
    """Rows of a rounded table."""

    def __init__(self, *sizes: Any, qconfig: Any = None, **settings: Any) -> None:
        super().__init__(*sizes, **settings)
        self.qconfig = qconfig
        self.weight_fake_quant: Module = weight_rounding("Embedding", qconfig)

    def forward(self, input: Any) -> Any:
        """Look rows up."""
        return functional.embedding(
            input, self.weight_fake_quant(self.weight), self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return a layer with the table of an embedding."""
        qconfig = _own_qconfig(cls, module)
        made = cls(
            module.num_embeddings, module.embedding_dim, module.padding_idx, module.max_norm, module.norm_type,
            module.scale_grad_by_freq, module.sparse, qconfig=qconfig,
        )  # fmt: skip
        return _taken(made, module)


class EmbeddingBag(FloatEmbeddingBag):
    """Sums or means of rows of a rounded table."""

    def __init__(self, *sizes: Any, qconfig: Any = None, **settings: Any) -> None:
        super().__init__(*sizes, **settings)
        self.qconfig = qconfig
        self.weight_fake_quant: Module = weight_rounding("EmbeddingBag", qconfig)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Sum, average or take the greatest of the rows of each bag."""
        return functional.embedding_bag(
            input, self.weight_fake_quant(self.weight), offsets, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights, self.include_last_offset,
            self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return a layer with the table of an embedding."""
        qconfig = _own_qconfig(cls, module)
        made = cls(
            module.num_embeddings, module.embedding_dim, module.max_norm, module.norm_type,
            module.scale_grad_by_freq, module.mode, module.sparse,
            include_last_offset=module.include_last_offset, padding_idx=module.padding_idx, qconfig=qconfig,
        )  # fmt: skip
        return _taken(made, module)
