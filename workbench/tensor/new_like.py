"""New tensors of the type and on the device of one that is there: ``x.new_zeros(2, 3)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.typing import DeviceLike, DTypeLike, Scalar, Size
from workbench.ops import offered
from workbench.ops.shape.creation_words import creating
from workbench.tensor import factories
from workbench.tensor.legacy_values import check_device, values_of
from workbench.tensor.tensor import Tensor

__all__ = ["new", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros"]


def _like(self: Tensor, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return `keywords` with type and device of `self` where they say nothing of these."""
    # None means "as this tensor", where the factories take it for their defaults.
    given = {word: value for word, value in keywords.items() if value is not None}
    return {"dtype": self.dtype, "device": self.device, **given}


@offered("Tensor")
@creating(out=False)
def new_zeros(
    self: Tensor,
    *size: Size,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    """Return zeros of the type and on the device of this tensor: ``x.new_zeros(2, 3)``, ``x.new_zeros(N=2)``.

    >>> import workbench as wb
    >>> wb.tensor([1, 2]).new_zeros(2, 2).tolist()
    [[0, 0], [0, 0]]
    """
    wanted = _like(self, {"dtype": dtype, "device": device})
    return factories.zeros(*size, **wanted, requires_grad=requires_grad, **options)


@offered("Tensor")
@creating(out=False)
def new_ones(
    self: Tensor,
    *size: Size,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    """Return ones of the type and on the device of this tensor.

    >>> import workbench as wb
    >>> wb.tensor([1, 2]).new_ones(2)
    tensor([1, 1])
    """
    wanted = _like(self, {"dtype": dtype, "device": device})
    return factories.ones(*size, **wanted, requires_grad=requires_grad, **options)


@offered("Tensor")
@creating(out=False)
def new_empty(
    self: Tensor,
    *size: Size,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    """Return memory as it is, of the type and on the device of this tensor.

    >>> import workbench as wb
    >>> wb.tensor([1, 2]).new_empty(3).shape
    (3,)
    """
    wanted = _like(self, {"dtype": dtype, "device": device})
    return factories.empty(*size, **wanted, requires_grad=requires_grad, **options)


@offered("Tensor")
@creating(out=False)
def new_full(
    self: Tensor,
    size: Size,
    fill_value: Scalar | Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    """Return one value everywhere, of the type and on the device of this tensor.

    >>> import workbench as wb
    >>> wb.tensor([1.0]).new_full((2,), 7)
    tensor([7., 7.])
    """
    wanted = _like(self, {"dtype": dtype, "device": device})
    return factories.full(size, fill_value, **wanted, requires_grad=requires_grad, **options)


@offered("Tensor")
@creating(out=False)
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor with a copy of `data`, of the type and on the device of this one.

    >>> import workbench as wb
    >>> wb.tensor([1.0]).new_tensor([1, 2])
    tensor([1., 2.])
    """
    wanted = _like(self, {"dtype": dtype, "device": device})
    return factories.tensor(data, requires_grad=requires_grad, **wanted)


@offered("Tensor")
def new(self: Tensor, *data: Any, device: DeviceLike | None = None) -> Tensor:
    """Return a tensor of the type of this one: with a copy of `data`, or where sizes are given with memory as it is.

    >>> import workbench as wb
    >>> wb.tensor([1.0]).new([1, 2]), wb.tensor([1]).new(2, 3).shape
    (tensor([1., 2.]), (2, 3))
    """
    check_device("new", device, str(self.device))
    return factories.finish(values_of("new", data, self.dtype.numpy), None, False, self.device)


@offered("Tensor")
@creating(out=False)
def new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return memory as it is, of the type and on the device of this tensor, with strides given by hand.

    >>> import workbench as wb
    >>> wb.tensor([1, 2]).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return factories.empty_strided(size, stride, **_like(self, {"dtype": dtype, "device": device}))
