"""The frequencies that a spectrum is made of, and putting frequency 0 in the middle."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.dtypes import as_dtype, get_default_dtype
from workbench.base.errors import DimensionIndexError
from workbench.core.op import ops
from workbench.core.typing import DeviceLike, DimsLike, DTypeLike, Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered
from workbench.ops.shape.creation import placed
from workbench.ops.shape.creation_words import creating


def _frequencies(values: Any, n: int, d: float, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    wanted = get_default_dtype() if dtype is None else as_dtype(dtype)
    return placed((values / (n * d)).astype(wanted.numpy), device, requires_grad)  # type: ignore[no-any-return]


@offered("fft")
@creating()
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the frequencies of `fft` for `n` points a time `d` apart: [0, 1, …, -2, -1] / (n·d).

    >>> import workbench as wb
    >>> wb.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    values = np.arange(n)
    return _frequencies(
        np.where(values < (n + 1) // 2, values, values - n), n, d, dtype, device, requires_grad
    )


@offered("fft")
@creating()
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the frequencies of `rfft` for `n` points a time `d` apart: [0, 1, …, n/2] / (n·d).

    >>> import workbench as wb
    >>> wb.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _frequencies(np.arange(n // 2 + 1), n, d, dtype, device, requires_grad)


def _rolled(input: Any, dim: Any, inverse: bool, op: str) -> Tensor:
    dims = dims_of(input)
    if not dims.sizes:
        dim = None  # none of those given is there
    each = range(len(dims.sizes)) if dim is None else [dim] if isinstance(dim, int | str) else dim
    axes = tuple(dim_index(dims, one, op) for one in each)
    if not axes:
        raise DimensionIndexError(
            "values move along dims, and " + ("no dim was given." if dims.sizes else "the tensor has none."),
            op=op,
            operands=(dims.operand("input"),),
            fix="" if dims.sizes else "input.unsqueeze(0)",
        )
    halves = tuple(dims.sizes[axis] // 2 for axis in axes)
    return ops.roll(input, shifts=tuple(-half for half in halves) if inverse else halves, dim=axes)


@offered("fft")
def fftshift(input: Tensor, dim: DimsLike | None = None) -> Tensor:
    """Put frequency 0 in the middle of some dims, of all by default.

    >>> import workbench as wb
    >>> wb.fft.fftshift(wb.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _rolled(input, dim, False, "fftshift")


@offered("fft")
def ifftshift(input: Tensor, dim: DimsLike | None = None) -> Tensor:
    """Put frequency 0 first again: the inverse of `fftshift`.

    >>> import workbench as wb
    >>> wb.fft.ifftshift(wb.fft.fftshift(wb.arange(5.0))).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    return _rolled(input, dim, True, "ifftshift")
