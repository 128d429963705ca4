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


@LAYERS.put(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
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


@LAYERS.put(nn.EmbeddingBag, where=lambda module: module.max_norm is None)
def _embedding_bag(  # type: ignore[no-untyped-def]
    self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
) -> Tensor:
    return F.embedding_bag(
        input, self.weight, offsets, None, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
        per_sample_weights, self.include_last_offset, self.padding_idx,
    )  # fmt: skip


@LAYERS.put(nn.Dropout)
def _dropout(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.dropout(input, self.p, self.training, self.inplace)


@LAYERS.put(nn.Identity)
def _identity(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return input


@LAYERS.put(nn.Flatten)
def _flatten(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return input.flatten(self.start_dim, self.end_dim)


@LAYERS.put(nn.RMSNorm)
def _rms_norm(self, x: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


@LAYERS.put(nn.LocalResponseNorm)
def _local_response_norm(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


@LAYERS.put(nn.Bilinear)
def _bilinear(self, input1: Tensor, input2: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.bilinear(input1, input2, self.weight, self.bias)


@LAYERS.put(nn.ConvTranspose1d, where=_plain_padding)
def _conv_transpose1d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.conv_transpose1d(
        input,
        self.weight,
        self.bias,
        self.stride,
        self.padding,
        self.output_padding,
        self.groups,
        self.dilation,
    )


@LAYERS.put(nn.ConvTranspose2d, where=_plain_padding)
def _conv_transpose2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.conv_transpose2d(
        input,
        self.weight,
        self.bias,
        self.stride,
        self.padding,
        self.output_padding,
        self.groups,
        self.dilation,
    )


@LAYERS.put(nn.ConvTranspose3d, where=_plain_padding)
def _conv_transpose3d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.conv_transpose3d(
        input,
        self.weight,
        self.bias,
        self.stride,
        self.padding,
        self.output_padding,
        self.groups,
        self.dilation,
    )


def _instance_norm(self, input: Tensor, dims: int) -> Tensor:  # type: ignore[no-untyped-def]
    alone = input.dim() == dims
    found = F.instance_norm(
        input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, self.weight, self.bias,
        self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
    )  # fmt: skip
    return found.squeeze(0) if alone else found


@LAYERS.put(nn.InstanceNorm1d)
def _instance_norm1d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return _instance_norm(self, input, 2)


@LAYERS.put(nn.InstanceNorm2d)
def _instance_norm2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return _instance_norm(self, input, 3)


@LAYERS.put(nn.InstanceNorm3d)
def _instance_norm3d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return _instance_norm(self, input, 4)
