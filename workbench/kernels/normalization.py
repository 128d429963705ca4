"""Normalisation in float32: batch normalisation over [N, C, ...], channels-last, and of rows, in float64 too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, FLOAT64
from workbench.kernels._range import normalise_in_range
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_SMALLEST = 32
"""Number of elements below which NumPy might as well do it."""
_SMALLEST_BATCH = 2048
"""The same for what is added up over a batch: NumPy keeps a digit more of few values."""


def _accepts(x: Any, *rest: Any, **params: Any) -> bool:
    if type(x) is not np.ndarray or not 2 <= x.ndim <= 5 or x.size < _SMALLEST:
        return False
    if x.dtype != FLOAT32:
        return False
    return all(type(array) is np.ndarray and array.dtype == FLOAT32 for array in rest)


def _accepts_batch(x: Any, *rest: Any, **params: Any) -> bool:
    return _accepts(x, *rest, **params) and x.size >= _SMALLEST_BATCH


def _accepts_half(x: Any, *rest: Any, least: int = _SMALLEST, values: int = 1) -> bool:
    """Say whether the first `values` operands are bfloat16 and all others, one number a channel, float32."""
    return (
        type(x) is np.ndarray
        and 2 <= x.ndim <= 5
        and x.size >= least
        and x.dtype == BFLOAT16
        and all(
            type(one) is np.ndarray and one.dtype == (BFLOAT16 if i < values else FLOAT32)
            for i, one in enumerate(rest, 1)
        )
    )


def _accepts_half_batch(*arrays: Any, eps: float) -> bool:
    return _accepts_half(*arrays, least=_SMALLEST_BATCH)


def _accepts_half_gradient(g: Any, x: Any, mean: Any, rstd: Any, weight: Any) -> bool:
    return (
        _accepts_half(g, x, mean, rstd, weight, least=_SMALLEST_BATCH, values=2)
        and rstd.min() > _LEAST_INVERSE
    )


def _accepts_half_inference(*arrays: Any, eps: float) -> bool:
    return _accepts_half(*arrays)


def _accepts_layer(x: Any, *rest: Any, count: int, eps: float = 0.0) -> bool:
    return (
        type(x) is np.ndarray
        and x.size > 0
        and (x.dtype == FLOAT32 or x.dtype == FLOAT64)
        and 0 < count <= x.ndim
        and all(one is None or (type(one) is np.ndarray and one.dtype == x.dtype) for one in rest)
    )


def _accepts_group(*arrays: Any, groups: int, eps: float = 0.0) -> bool:
    return arrays[0].size > 0 and all(type(one) is np.ndarray and one.dtype == FLOAT32 for one in arrays)


_LEAST_INVERSE = 1e-15
"""Gradients of what deviates by more take the square of the inverse out of float32."""


def _accepts_gradient(accepts: Callable[..., bool]) -> Callable[..., bool]:
    return lambda g, x, mean, rstd, *weight, **params: (
        accepts(g, x, mean, rstd, *weight, **params) and rstd.min() > _LEAST_INVERSE
    )


def _in_range(run: Callable[..., Any], against: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return a kernel that normalises the largest numbers too; `against` lays a statistic out against the values."""

    def ranged(x: Any, *factors: Any, eps: float, **params: Any) -> tuple[Any, ...]:
        return normalise_in_range(
            lambda x, eps: run(x, *factors, eps=eps, **params), x, eps, lambda one: against(one, x)
        )

    return ranged


def _as_it_is(statistic: Any, x: Any) -> Any:
    return statistic


def _of_groups(statistic: Any, x: Any) -> Any:
    width = x.shape[1] // statistic.shape[1]
    return np.repeat(statistic, width, axis=1).reshape(*x.shape[:2], *(1,) * (x.ndim - 2))


def _of_channels(statistic: Any, x: Any) -> Any:
    return statistic.reshape(-1, *(1,) * (x.ndim - 2))


def _accepts_moved(*arrays: Any) -> bool:
    # The first two are written to: a flag of NumPy's says whether C++ may.
    return all(type(one) is np.ndarray and one.dtype == FLOAT32 for one in arrays[:4]) and all(
        one.flags.behaved for one in arrays[:2]
    )


if native is not None:
    register(Kernel("move_statistics", native.move_statistics, _accepts_moved))
    _ROWS = ("float32 or float64",)
    for _name in ("layer_norm", "rms_norm"):
        _run = _in_range(getattr(native, _name), _as_it_is)
        register(Kernel(_name, _run, _accepts_layer, _ROWS))
        _run = getattr(native, f"{_name}_gradient")
        register(Kernel(f"{_name}_gradient", _run, _accepts_layer, _ROWS))
    register(Kernel("group_norm", _in_range(native.group_norm, _of_groups), _accepts_group))
    register(Kernel("group_norm_gradient", native.group_norm_gradient, _accepts_gradient(_accepts_group)))
    register(
        Kernel(
            "batch_norm", _in_range(native.batch_norm, _of_channels), _accepts_batch, least=_SMALLEST_BATCH
        )
    )
    register(
        Kernel(
            "batch_norm_gradient",
            native.batch_norm_gradient,
            _accepts_gradient(_accepts_batch),
            least=_SMALLEST_BATCH,
        )
    )
    register(Kernel("batch_norm_inference", native.batch_norm_inference, _accepts, least=_SMALLEST))

    _half = native.bfloat16
    _NEEDS = ("bfloat16 values, and float32 for each channel",)
    _run = _in_range(_half.batch_norm, _of_channels)
    register(Kernel("batch_norm", _run, _accepts_half_batch, _NEEDS, _SMALLEST_BATCH), half=True)
    _run = _half.batch_norm_gradient
    register(Kernel("batch_norm_gradient", _run, _accepts_half_gradient, _NEEDS, _SMALLEST_BATCH), half=True)
    _run = _half.batch_norm_inference
    register(Kernel("batch_norm_inference", _run, _accepts_half_inference, _NEEDS, _SMALLEST), half=True)
