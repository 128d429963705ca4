"""Window functions: what a signal is multiplied by before its spectrum is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, get_default_dtype
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.typing import DeviceLike, DTypeLike, Tensor
from workbench.ops.offer import offered
from workbench.ops.shape.creation import placed
from workbench.ops.shape.creation_words import creating


def _window(
    op: str,
    length: int,
    periodic: bool,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    values: Callable[[Any], Any],
) -> Tensor:
    """Return `values` at `length` points from 0 to 1; a periodic window would repeat with its next point."""
    wanted = get_default_dtype() if dtype is None else as_dtype(dtype)
    if not wanted.is_floating_point:
        raise DTypeError(f"{op} expects floating point dtypes, got: {wanted}")
    if length < 0:
        raise DimensionError(f"{op} requires non-negative window_length, got window_length={length}", op=op)
    span = length if periodic else length - 1
    # One point has no span to divide by: every window is 1 there, as in PyTorch.
    points = values(np.arange(length) / span) if length > 1 else np.ones(length)
    return placed(points.astype(wanted.numpy), device, requires_grad)  # type: ignore[no-any-return]


@offered("workbench")
@creating(out=False)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a triangle: w_n = 1 - |2n / (N - 1) - 1|, where N is one more than the length if `periodic`.

    >>> import workbench as wb
    >>> wb.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "bartlett_window",
        window_length,
        periodic,
        dtype,
        device,
        requires_grad,
        lambda t: 1 - np.abs(2 * t - 1),
    )


@offered("workbench")
@creating(out=False)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return w_n = 0.42 - 0.5 cos(2πn / (N - 1)) + 0.08 cos(4πn / (N - 1)), N one more than the length if `periodic`.

    >>> import workbench as wb
    >>> round(wb.blackman_window(4)[1].item(), 2)
    0.34
    """

    def values(t: Any) -> Any:
        # At the ends the exact value is 0, which rounding may miss from below.
        return np.maximum(0.42 - 0.5 * np.cos(2 * np.pi * t) + 0.08 * np.cos(4 * np.pi * t), 0)

    return _window("blackman_window", window_length, periodic, dtype, device, requires_grad, values)


@offered("workbench")
@creating(out=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return w_n = α - β cos(2πn / (N - 1)), where N is one more than the length if `periodic`.

    >>> import workbench as wb
    >>> wb.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _window(
        "hamming_window",
        window_length,
        periodic,
        dtype,
        device,
        requires_grad,
        lambda t: alpha - beta * np.cos(2 * np.pi * t),
    )


@offered("workbench")
@creating(out=False)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return w_n = sin²(πn / (N - 1)), where N is one more than the length if `periodic`.

    >>> import workbench as wb
    >>> wb.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "hann_window",
        window_length,
        periodic,
        dtype,
        device,
        requires_grad,
        lambda t: 0.5 - 0.5 * np.cos(2 * np.pi * t),
    )


@offered("workbench")
@creating(out=False)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return w_n = I₀(β √(1 - (2n / (N - 1) - 1)²)) / I₀(β), where N is one more than the length if `periodic`.

    >>> import workbench as wb
    >>> wb.kaiser_window(4, beta=0.0).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def values(t: Any) -> Any:
        return np.i0(beta * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / np.i0(beta)

    return _window("kaiser_window", window_length, periodic, dtype, device, requires_grad, values)
