"""Normalizations."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import float32
from workbench.onnx.errors import OnnxError
from workbench.onnx.families.shapes import placed
from workbench.onnx.table import operator
from workbench.onnx.values import wb

__all__: list[str] = []


def _along_channels(values: Any, x: Any) -> Any:
    return values.reshape([-1] + [1] * (x.dim() - 2))


def _in_training(
    x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, momentum: float
) -> tuple[Any, ...]:
    """Return what is normalized by its own statistics, what the running ones become, and its own."""
    axes = tuple(one for one in range(x.dim()) if one != 1)
    here, spread = wb.mean(x, axes), wb.var(x, axes, correction=0)
    centred = (x - _along_channels(here, x)) / wb.sqrt(_along_channels(spread, x) + epsilon)
    found = centred * _along_channels(scale, x) + _along_channels(bias, x)
    running = (old * momentum + new * (1 - momentum) for old, new in ((mean, here), (variance, spread)))
    return found, *running, here, spread


def _by_running(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    mean, variance, scale, bias = (one.to(x.dtype) for one in (mean, variance, scale, bias))
    return wb.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)


@operator("BatchNormalization", since=7, still=(3, 4))
def _batch_norm_or_training_by_outputs(
    x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *, epsilon: float = 1e-5, momentum: float = 0.9,
    spatial: int = 1, outputs: int,
) -> Any:  # fmt: skip
    if not spatial:
        raise OnnxError("BatchNormalization with spatial=0, which has statistics of each place, is not here")
    # A file that reads the statistics is one that trains.
    if outputs > 1:
        return _in_training(x, scale, bias, mean, variance, epsilon, momentum)
    return (_by_running(x, scale, bias, mean, variance, epsilon),)


@operator("BatchNormalization", since=14, still=(3, 4))
def _batch_norm_or_training(
    x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *, epsilon: float = 1e-5, momentum: float = 0.9,
    training_mode: int = 0, outputs: int,
) -> Any:  # fmt: skip
    if training_mode:
        return _in_training(x, scale, bias, mean, variance, epsilon, momentum)[:3]
    return (_by_running(x, scale, bias, mean, variance, epsilon),)


@operator("InstanceNormalization")
def _instance_norm(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5) -> Any:
    axes = tuple(range(2, x.dim()))
    centred = x - wb.mean(x, axes, keepdim=True)
    spread = wb.mean(centred * centred, axes, keepdim=True)
    return centred * wb.rsqrt(spread + epsilon) * _along_channels(scale, x) + _along_channels(bias, x)


@operator("LayerNormalization", since=17)
def _layer_norm(
    x: Any, scale: Any, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1, outputs: int
) -> Any:  # fmt: skip
    kind, axes = x.dtype, tuple(range(placed(axis, x.dim()), x.dim()))
    if (
        outputs == 1
        and kind == float32
        and scale.dim() == len(axes)
        and (bias is None or bias.dim() == len(axes))
    ):
        return (wb.layer_norm(x, tuple(x.shape[axes[0] :]), scale, bias, epsilon),)
    wide = x.float() if stash_type == 1 else x
    mean = wb.mean(wide, axes, keepdim=True)
    centred = wide - mean
    inverse = wb.rsqrt(wb.mean(centred * centred, axes, keepdim=True) + epsilon)
    found = (centred * inverse).to(kind) * scale
    return (found if bias is None else found + bias), mean, inverse


@operator("RMSNormalization", since=23)
def _rms_norm(x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    kind, axes = x.dtype, tuple(range(placed(axis, x.dim()), x.dim()))
    wide = x.float() if stash_type == 1 else x
    return (wide * wb.rsqrt(wb.mean(wide * wide, axes, keepdim=True) + epsilon)).to(kind) * scale


def _grouped(x: Any, groups: int, epsilon: float) -> Any:
    shape = x.shape
    rows = x.reshape(shape[0], groups, -1)
    centred = rows - wb.mean(rows, -1, keepdim=True)
    found = centred * wb.rsqrt(wb.mean(centred * centred, -1, keepdim=True) + epsilon)
    return found.reshape(shape)


@operator("GroupNormalization", since=18)
def _group_norm_by_group(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5, num_groups: int) -> Any:
    each = x.shape[1] // num_groups
    return _group_norm(
        x, scale.repeat_interleave(each), bias.repeat_interleave(each), epsilon=epsilon, num_groups=num_groups
    )


@operator("GroupNormalization", since=21)
def _group_norm(
    x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1
) -> Any:
    kind = x.dtype
    found = _grouped(x.float() if stash_type == 1 else x, num_groups, epsilon).to(kind)
    return found * _along_channels(scale, x) + _along_channels(bias, x)


@operator("LRN")
def _lrn(x: Any, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int) -> Any:
    channels = x.shape[1]
    # Beyond the first and the last channel there is nothing to add, however wide the window is said to be.
    before, after = min((size - 1) // 2, channels), min(size // 2, channels)
    pads = [0, 0] * (x.dim() - 2) + [before, after]
    squares = wb.constant_pad_nd(x * x, pads, 0)
    total = wb.narrow(squares, 1, 0, x.shape[1])
    for i in range(1, before + after + 1):
        total = total + wb.narrow(squares, 1, i, x.shape[1])
    return x / (bias + alpha / size * total) ** beta


@operator("LpNormalization")
def _lp_normalization(x: Any, *, axis: int = -1, p: int = 2) -> Any:
    norm = wb.sum(wb.abs(x), axis, keepdim=True) if p == 1 else wb.sqrt(wb.sum(x * x, axis, keepdim=True))
    # Nothing stays nothing.
    return wb.where(norm == 0, wb.zeros_like(x), x / wb.where(norm == 0, wb.ones_like(norm), norm))


@operator("MeanVarianceNormalization", since=9)
def _mean_variance(x: Any, *, axes: list[int] | None = None) -> Any:
    where = tuple((0, 2, 3) if axes is None else axes)
    centred = x - wb.mean(x, where, keepdim=True)
    return centred / (wb.sqrt(wb.mean(centred * centred, where, keepdim=True)) + 1e-9)


@operator("Dropout", since=7)
def _dropout_by_attribute(x: Any, *, ratio: float = 0.5, outputs: int) -> Any:
    return x, wb.ones_like(x).bool()


@operator("Dropout", since=12, numbers=(1, 2), pure=False)
def _dropout(x: Any, ratio: Any = 0.5, training: Any = False, *, seed: int = 0, outputs: int) -> Any:
    ratio = 0.5 if ratio is None else ratio[0] if isinstance(ratio, list) else ratio
    training = training[0] if isinstance(training, list) else training
    if not training or ratio == 0:
        return x, wb.ones_like(x).bool()
    kept = wb.rand_like(x) >= ratio
    return wb.where(kept, x / (1 - ratio), wb.zeros_like(x)), kept
