"""The house's layers in words that can be scripted: their own `forward` looks into payloads, which a script cannot.

What has no entry is kept whole: the graph calls the module, runs as it does, and cannot be written as an archive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench import nn
from workbench.nn import functional as F
from workbench.tensor import Tensor

__all__ = ["LAYERS"]

_Forward = Callable[..., Any]


class _Layers:
    """Which function says what a layer does."""

    def __init__(self) -> None:
        self._written: dict[tuple[type, bool], list[tuple[_Forward, Callable[[Any], bool]]]] = {}

    def put(
        self, *classes: type, where: Callable[[Any], bool] = lambda module: True, packed: bool = False
    ) -> Callable[[_Forward], _Forward]:
        """Declare that a function says what modules of these classes do, where `where` holds for them.

        With `packed` it is what they do with sequences that are packed.
        """

        def declare(function: _Forward) -> _Forward:
            for one in classes:
                self._written.setdefault((one, packed), []).append((function, where))
            return function

        return declare

    def of(self, module: Any, packed: bool = False, cls: type | None = None) -> _Forward | None:
        """Return what says what a module does; None where nothing does, as for a class made from one of the house's.

        With `cls`, what it would do as a module of that class above its own.
        """
        several = self._written.get((cls or type(module), packed), ())
        return next((function for function, where in several if where(module)), None)


LAYERS = _Layers()
"""The layers that can be scripted."""


def _plain_padding(module: Any) -> bool:
    return bool(module.padding_mode == "zeros")


@LAYERS.put(nn.Linear)
def _linear(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.linear(input, self.weight, self.bias)


@LAYERS.put(nn.Conv1d, where=_plain_padding)
def _conv1d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


@LAYERS.put(nn.Conv2d, where=_plain_padding)
def _conv2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


@LAYERS.put(nn.Conv3d, where=_plain_padding)
def _conv3d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.conv3d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


@LAYERS.put(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
def _batch_norm(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    factor = 0.0 if self.momentum is None else self.momentum
    batch = self.running_mean is None and self.running_var is None
    if self.training:
        batch = True
        if self.num_batches_tracked is not None and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
    return F.batch_norm(
        input, self.running_mean, self.running_var, self.weight, self.bias, batch, factor, self.eps
    )


@LAYERS.put(nn.LayerNorm)
def _layer_norm(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


@LAYERS.put(nn.GroupNorm)
def _group_norm(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


@LAYERS.put(nn.Embedding, where=lambda module: module.max_norm is None)
def _embedding(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.embedding(input, self.weight, self.padding_idx)


@LAYERS.put(nn.Dropout)
def _dropout(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.dropout(input, self.p, self.training, self.inplace)


@LAYERS.put(nn.Identity)
def _identity(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return input


@LAYERS.put(nn.Flatten)
def _flatten(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return input.flatten(self.start_dim, self.end_dim)


@LAYERS.put(nn.ReLU)
def _relu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.relu(input, self.inplace)


@LAYERS.put(nn.ReLU6)
def _relu6(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.relu6(input, self.inplace)


@LAYERS.put(nn.LeakyReLU)
def _leaky_relu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.leaky_relu(input, self.negative_slope, self.inplace)


@LAYERS.put(nn.ELU)
def _elu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.elu(input, self.alpha, self.inplace)


@LAYERS.put(nn.GELU)
def _gelu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.gelu(input, approximate=self.approximate)


@LAYERS.put(nn.SiLU)
def _silu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.silu(input, self.inplace)


@LAYERS.put(nn.Sigmoid)
def _sigmoid(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return input.sigmoid()


@LAYERS.put(nn.Tanh)
def _tanh(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return input.tanh()


@LAYERS.put(nn.Softplus)
def _softplus(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.softplus(input, self.beta, self.threshold)


@LAYERS.put(nn.Hardtanh)
def _hardtanh(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


@LAYERS.put(nn.Softmax, where=lambda module: module.dim is not None)
def _softmax(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.softmax(input, self.dim)


@LAYERS.put(nn.LogSoftmax, where=lambda module: module.dim is not None)
def _log_softmax(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.log_softmax(input, self.dim)


@LAYERS.put(nn.MaxPool1d, where=lambda module: not module.return_indices)
def _max_pool1d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


@LAYERS.put(nn.MaxPool2d, where=lambda module: not module.return_indices)
def _max_pool2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


@LAYERS.put(nn.AvgPool2d)
def _avg_pool2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.avg_pool2d(
        input,
        self.kernel_size,
        self.stride,
        self.padding,
        self.ceil_mode,
        self.count_include_pad,
        self.divisor_override,
    )


@LAYERS.put(nn.AdaptiveAvgPool2d)
def _adaptive_avg_pool2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.adaptive_avg_pool2d(input, self.output_size)


@LAYERS.put(nn.MSELoss)
def _mse_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.mse_loss(input, target, reduction=self.reduction)


@LAYERS.put(nn.CrossEntropyLoss)
def _cross_entropy(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.cross_entropy(
        input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
        label_smoothing=self.label_smoothing,
    )  # fmt: skip
