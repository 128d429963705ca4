"""What people call to pool over windows, one to three spatial dims, with or without a dim of examples."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

from workbench.core.op import ops
from workbench.core.typing import Size, Tensor
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.nn.conv.window_geometry import batched, several, unbatched
from workbench.ops.offer import offered


def max_pool(
    n: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Tensor | tuple[Tensor, Tensor]:
    """Pool to the largest value over `n` spatial dims."""
    op = f"max_pool{n}d"
    x, added = batched(input, n, op)
    kernel = several(kernel_size, n, "kernel_size")
    windows = {
        "kernel": kernel,
        "stride": kernel if _missing(stride) else several(stride, n, "stride"),
        "padding": several(padding, n, "padding"),
        "dilation": several(dilation, n, "dilation"),
    }
    if n == 2 and not (return_indices or ceil_mode) and getattr(x.payload.dtype, "quantized", False):
        # Where the largest codes lie is not asked, and takes most of the time.
        return unbatched(ops.quantized_max_pool2d(x, **windows), added)
    found = getattr(ops, op)(x, **windows, **({"ceil_mode": True} if ceil_mode else {}))
    values, indices = unbatched(found, added)
    return (values, indices) if return_indices else values


def _missing(stride: Any) -> bool:
    # PyTorch takes an empty stride for none given.
    return stride is None or (not isinstance(stride, int) and len(stride) == 0)


def avg_pool(
    n: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    """Pool to the mean over `n` spatial dims."""
    op = f"avg_pool{n}d"
    x, added = batched(input, n, op)
    kernel = several(kernel_size, n, "kernel_size")
    # Only what is not the default: the common call then has few parameters, which the compiled one can take.
    more: dict[str, Any] = {}
    if ceil_mode:
        more["ceil_mode"] = True
    if not count_include_pad:
        more["count_include_pad"] = False
    if divisor_override is not None:
        more["divisor_override"] = int(divisor_override)
    y: Tensor = getattr(ops, op)(
        x,
        kernel=kernel,
        stride=kernel if _missing(stride) else several(stride, n, "stride"),
        padding=several(padding, n, "padding"),
        **more,
    )
    return unbatched(y, added)


@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...
@offered("workbench", "nn.functional")
def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest value of each window of [N, C, L] or [C, L]; `stride` defaults to the kernel size.

    With `return_indices` also where the values lie along L, which `max_unpool1d` takes.

    >>> import workbench as wb
    >>> wb.max_pool1d(wb.arange(6.0).reshape(1, 1, 6), 2).tolist()
    [[[1.0, 3.0, 5.0]]]
    """
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...
@offered("workbench", "nn.functional")
def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest value of each window of [N, C, H, W] or [C, H, W]; `stride` defaults to the kernel size.

    With `return_indices` also where the values lie in the plane H·W, which `max_unpool2d` takes.

    >>> import workbench as wb
    >>> wb.max_pool2d(wb.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...
@offered("workbench", "nn.functional")
def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest value of each window of [N, C, D, H, W] or [C, D, H, W]; `stride` defaults to the kernel size.

    >>> import workbench as wb
    >>> wb.max_pool3d(wb.zeros(1, 2, 4, 4, 4), 2).shape
    (1, 2, 2, 2, 2)
    """
    return max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@offered("workbench", "nn.functional")
def avg_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window of [N, C, L] or [C, L]; the padding counts as zeros, or not at all.

    >>> import workbench as wb
    >>> wb.avg_pool1d(wb.arange(6.0).reshape(1, 1, 6), 2)
    tensor([[[0.5000, 2.5000, 4.5000]]])
    """
    return avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@offered("workbench", "nn.functional")
def avg_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean of each window of [N, C, H, W] or [C, H, W]; the padding counts as zeros, or not at all.

    `divisor_override` divides the sum of every window by a number of your own.

    >>> import workbench as wb
    >>> wb.avg_pool2d(wb.ones(1, 1, 2, 2), 2, divisor_override=1).item()
    4.0
    """
    return avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@offered("workbench", "nn.functional")
def avg_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean of each window of [N, C, D, H, W] or [C, D, H, W], see `avg_pool2d`.

    >>> import workbench as wb
    >>> wb.avg_pool3d(wb.zeros(1, 2, 4, 4, 4), 2).shape
    (1, 2, 2, 2, 2)
    """
    return avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@rounded_once
def _power_mean(
    n: int, input: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Tensor:
    kernel = several(kernel_size, n, "kernel_size")
    if not norm_type:
        raise ValueError(f"lp_pool: norm_type is the power of a mean, which is not 0, got {norm_type!r}")
    powers = ops.pow(input, float(norm_type))
    mean = avg_pool(n, powers, kernel, stride, 0, ceil_mode, True, None)
    # A root has no slope at 0: nothing goes through there, where infinity would meet 0.
    mean = ops.where(ops.eq(mean, 0.0), 0.0, mean)
    return ops.pow(ops.mul(mean, float(math.prod(kernel))), 1.0 / norm_type)


@offered("nn.functional")
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """Power-average of each window of [N, C, L] or [C, L]: y = (Σ x^p)^(1/p).

    >>> import workbench as wb
    >>> wb.nn.functional.lp_pool1d(wb.tensor([[[3.0, 4.0]]]), 2, 2).item()
    5.0
    """
    return _power_mean(1, input, norm_type, kernel_size, stride, ceil_mode)


@offered("nn.functional")
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """Power-average of each window of [N, C, H, W] or [C, H, W]: y = (Σ x^p)^(1/p)."""
    return _power_mean(2, input, norm_type, kernel_size, stride, ceil_mode)


@offered("nn.functional")
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """Power-average of each window of [N, C, D, H, W] or [C, D, H, W]: y = (Σ x^p)^(1/p)."""
    return _power_mean(3, input, norm_type, kernel_size, stride, ceil_mode)
