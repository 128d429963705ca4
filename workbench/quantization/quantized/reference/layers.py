"""Affine maps, convolutions and tables that have codes and compute in floating point: what integer layers are to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench import nn
from workbench.nn import functional
from workbench.quantization.quantized.reference.weights import Rounded

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Embedding", "EmbeddingBag",
    "Linear",
]  # fmt: skip


def _with(made: Any, module: Any) -> Any:
    made.weight = module.weight
    if hasattr(module, "bias"):
        made.bias = module.bias
    return made.train(module.training)


class Linear(Rounded, nn.Linear):
    """An affine map with the numbers that the codes of its weight stand for: y = x·ŵᵀ + b.

    >>> import workbench as wb
    >>> known = {"qscheme": wb.per_tensor_affine, "dtype": wb.qint8, "scale": 0.5, "zero_point": 0}
    >>> layer = Linear.from_float(wb.nn.Linear(2, 1), known)
    >>> layer.get_quantized_weight().q_scale(), layer(wb.ones(1, 2)).shape
    (0.5, (1, 1))
    """

    def forward(self, x: Any) -> Any:
        """Map the last dim."""
        return functional.linear(x, self.get_weight(), self.bias)

    @classmethod
    def from_float(cls, float_linear: Any, weight_qparams: Mapping[str, Any]) -> Any:
        """Return the layer for one in floating point and the scale and zero point of its weight."""
        made = cls(
            float_linear.in_features,
            float_linear.out_features,
            bias=float_linear.bias is not None,
            weight_qparams=weight_qparams,
        )
        return _with(made, float_linear)


class _Convolution(Rounded):
    """What reference convolutions share."""

    bias: Any

    @staticmethod
    def _more(float_conv: Any) -> dict[str, Any]:
        return {}

    @classmethod
    def from_float(cls, float_conv: Any, weight_qparams: Mapping[str, Any]) -> Any:
        """Return the layer for one in floating point and the scale and zero point of its weight."""
        made = cls(
            float_conv.in_channels, float_conv.out_channels, float_conv.kernel_size, stride=float_conv.stride,
            padding=float_conv.padding, dilation=float_conv.dilation, groups=float_conv.groups,
            bias=float_conv.bias is not None, padding_mode=float_conv.padding_mode, weight_qparams=weight_qparams,
            **cls._more(float_conv),
        )  # fmt: skip
        return _with(made, float_conv)


class _Plain(_Convolution):
    _conv_forward: Any

    def forward(self, x: Any) -> Any:
        """Convolve."""
        return self._conv_forward(x, self.get_weight(), self.bias)


class _Spread(_Convolution):
    _spread: Any

    @staticmethod
    def _more(float_conv: Any) -> dict[str, Any]:
        return {"output_padding": float_conv.output_padding}

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Spread; `output_size` decides among the sizes that are possible."""
        return self._spread(x, self.get_weight(), output_size)


class Conv1d(_Plain, nn.Conv1d):
    """A convolution along one dim with the numbers that codes stand for."""


class Conv2d(_Plain, nn.Conv2d):
    """A convolution with the numbers that the codes of its weight stand for."""


class Conv3d(_Plain, nn.Conv3d):
    """A convolution of volumes with the numbers that codes stand for."""


class ConvTranspose1d(_Spread, nn.ConvTranspose1d):
    """A transposed convolution along one dim with the numbers that codes stand for."""


class ConvTranspose2d(_Spread, nn.ConvTranspose2d):
    """A transposed convolution with the numbers that codes stand for."""


class ConvTranspose3d(_Spread, nn.ConvTranspose3d):
    """A transposed convolution of volumes with the numbers that codes stand for."""


class Embedding(Rounded, nn.Embedding):
    """Rows of a table as the numbers that their codes stand for."""

    def forward(self, input: Any) -> Any:
        """Look rows up."""
        return functional.embedding(
            input, self.get_weight(), self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.sparse,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, weight_qparams: Mapping[str, Any]) -> Any:
        """Return the table for one in floating point and the scale and zero point of its rows."""
        made = cls(
            mod.num_embeddings, mod.embedding_dim, mod.padding_idx, mod.max_norm, mod.norm_type,
            mod.scale_grad_by_freq, mod.sparse, weight_qparams=weight_qparams,
        )  # fmt: skip
        return _with(made, mod)


class EmbeddingBag(Rounded, nn.EmbeddingBag):
    """Sums, means or maxima of rows of a table, as the numbers that their codes stand for."""

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Sum, average or take the greatest of the rows of each bag."""
        return functional.embedding_bag(
            input, self.get_weight(), offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, weight_qparams: Mapping[str, Any]) -> Any:
        """Return the table for one in floating point and the scale and zero point of its rows."""
        made = cls(
            mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq, mod.mode,
            mod.sparse, include_last_offset=mod.include_last_offset, padding_idx=mod.padding_idx,
            weight_qparams=weight_qparams,
        )  # fmt: skip
        return _with(made, mod)
