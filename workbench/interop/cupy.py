"""NVIDIA's GPUs by way of CuPy: the device ``cuda``, by the same door as any other backend.

The ops of `GENERIC` are computed by their own array code, which NumPy's protocols send to CuPy; those of `KERNELS` are
written here; the rest is computed on the CPU, with one warning an op.

CuPy is imported when the device is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.devices import Device
from workbench.base.dtypes import bfloat16
from workbench.base.errors import DeviceError, DTypeError
from workbench.base.lazy import Lazy
from workbench.base.public import words
from workbench.core.backend import Backend

__all__ = ["GENERIC", "KERNELS", "backend"]

_cupy = Lazy("cupy")

GENERIC = frozenset(
    [
        "abs", "acos", "acosh", "add", "amax", "amin", "angle", "argmax", "argmin", "asin", "asinh", "atan",
        "atan2", "atanh", "binary_cross_entropy_with_logits", "binary_cross_entropy_with_logits_gradient",
        "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
        "bitwise_xor", "cat", "ceil", "clamp", "clamp_max", "clamp_min", "clone", "conj", "copysign", "cos",
        "cosh", "cumprod", "cumsum", "detach", "div", "div_floor", "div_trunc", "elu", "elu_gradient", "eq",
        "exp", "exp2", "expand", "expm1", "fill", "flatten", "flip", "floor", "fmax", "fmin", "fmod", "gcd",
        "ge", "glu", "glu_gradient", "gt", "hardshrink", "hardshrink_gradient", "hardsigmoid",
        "hardsigmoid_gradient", "hardswish", "hardswish_gradient", "hardtanh", "hardtanh_gradient",
        "huber_loss", "huber_loss_gradient", "hypot", "imag", "index", "isfinite", "isinf", "isnan",
        "isneginf", "isposinf", "l1_loss", "l1_loss_gradient", "layer_norm", "layer_norm_gradient", "lcm",
        "le", "leaky_relu", "leaky_relu_gradient", "log", "log10", "log1p", "log2", "log_softmax",
        "log_softmax_gradient", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or",
        "logical_xor", "logsigmoid", "logsigmoid_gradient", "logsumexp", "lt", "max_dim", "maximum",
        "min_dim", "minimum", "mish", "mish_gradient", "mse_loss", "mse_loss_gradient", "mul", "nan_to_num",
        "ne", "neg", "permute", "pow", "prelu", "prod", "real", "reciprocal", "relu",
        "remainder", "rename", "repeat", "reshape", "rms_norm", "rms_norm_gradient", "roll", "round", "rsqrt",
        "sgn", "sigmoid", "sign", "signbit",
        "sin", "sinc", "sinh", "softmax", "softmax_gradient", "softplus", "softplus_gradient", "softshrink",
        "softshrink_gradient", "sqrt", "squeeze", "stack", "std", "sub", "tan", "tanh", "threshold",
        "threshold_gradient", "trunc", "unflatten", "unsqueeze", "var", "vector_norm", "view_as_complex",
        "view_as_real", "view_dtype", "where",
    ]
)  # fmt: skip
"""Ops whose array code is made of functions that CuPy has under NumPy's names, held to the table by a test."""


def _sum_to(x: Any, sizes: tuple[int, ...]) -> Any:
    more = x.ndim - len(sizes)
    stretched = (
        *range(more),
        *(more + i for i, size in enumerate(sizes) if size == 1 and x.shape[more + i] != 1),
    )
    return x.sum(axis=stretched, keepdims=True).reshape(sizes) if stretched else x


def _matmul(a: Any, b: Any) -> Any:
    return _cupy.matmul(a, b)


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    out = _cupy.matmul(x, weight.T)
    return out if bias is None else out + bias


def _mean(x: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    return x.mean(axis=dim, keepdims=keepdim)


def _relu_gradient(gradient: Any, out: Any) -> Any:
    return _cupy.where(out <= 0, _cupy.zeros_like(gradient), gradient)


def _diagonal(x: Any, offset: int, dim1: int, dim2: int, name: str | None = None) -> Any:
    return x.diagonal(offset, dim1, dim2)


def _windows(x: Any, dim: int, size: int, step: int) -> Any:
    if not x.ndim:
        return x.reshape(1)[:size]
    count = (x.shape[dim] - size) // step + 1
    shape = (*x.shape[:dim], count, *x.shape[dim + 1 :], size)
    strides = (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1 :], x.strides[dim])
    return _cupy.lib.stride_tricks.as_strided(x, shape, strides)


KERNELS: dict[str, Callable[..., Any]] = {
    "all": lambda x, dim, keepdim: x.all(axis=dim, keepdims=keepdim),
    "any": lambda x, dim, keepdim: x.any(axis=dim, keepdims=keepdim),
    "conj_view": lambda x: x.conj(),
    "diagonal": _diagonal,
    "linear": _linear,
    "matmul": _matmul,
    "mean": _mean,
    "relu_gradient": _relu_gradient,
    "sum": lambda x, dim, keepdim: x.sum(axis=dim, keepdims=keepdim),
    "sum_to": _sum_to,
    "to": lambda x, dtype: x.astype(dtype),
    "tril": lambda x, diagonal: _cupy.tril(x, diagonal),
    "triu": lambda x, diagonal: _cupy.triu(x, diagonal),
    "unfold": _windows,
}
"""Ops written with CuPy's own functions, by name."""


def backend() -> Backend:
    """Return the backend of the device ``cuda``.

    Raises ImportError without CuPy, `DeviceError` where it has no GPU to use.
    """
    if not _cupy.cuda.is_available():
        raise DeviceError("CuPy is installed and finds no GPU that it can use")
    return Backend(
        name="cuda",
        array=_cupy.ndarray,
        from_numpy=_to_device,
        to_numpy=lambda array: np.asarray(_cupy.asnumpy(array)),
        kernels=KERNELS,
        generic=lambda op: op.name in GENERIC,
        device_of=lambda array: Device("cuda", int(array.device.id)),
        write=_write,
        shares=lambda a, b: bool(_cupy.may_share_memory(a, b)),
        from_dlpack=lambda thing: _cupy.from_dlpack(thing),
    )


def _to_device(array: np.ndarray[Any, Any], device: Device) -> Any:
    if array.dtype == bfloat16.numpy:
        raise DTypeError("CuPy has no bfloat16: cast to half or float first, x.half().to('cuda')")
    if device.index is None:
        return _cupy.asarray(array)
    count = int(_cupy.cuda.runtime.getDeviceCount())
    if device.index >= count:
        raise DeviceError(f"there is no device {str(device)!r}: the GPUs here are cuda:0 to cuda:{count - 1}")
    with _cupy.cuda.Device(device.index):
        return _cupy.asarray(array)


def _write(array: Any, source: Any) -> None:
    array[...] = source


__getattr__, __dir__ = words(__name__, __all__)
