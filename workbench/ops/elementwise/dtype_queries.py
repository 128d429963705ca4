"""Questions about what kind of numbers a tensor has."""

from __future__ import annotations

from workbench.base.dims import unify_names
from workbench.core.mirrors import is_mirrored
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.elementwise.complex import is_complex_value
from workbench.ops.offer import offered


@offered()
def is_complex(input: Tensor) -> bool:
    """Say whether the values are complex.

    >>> import workbench as wb
    >>> wb.is_complex(wb.tensor([1j]))
    True
    """
    return is_complex_value(input)


@offered()
def is_floating_point(input: Tensor) -> bool:
    """Say whether the values are real floating point numbers.

    >>> import workbench as wb
    >>> wb.is_floating_point(wb.tensor([1.0])), wb.is_floating_point(wb.tensor([1]))
    (True, False)
    """
    return bool(input.dtype.is_floating_point)


@offered()
def is_signed(input: Tensor) -> bool:
    """Say whether the type of the values has negative numbers.

    >>> import workbench as wb
    >>> wb.is_signed(wb.tensor([1])), wb.is_signed(wb.tensor([True]))
    (True, False)
    """
    return input.payload.dtype.kind not in "bu"


@offered()
def is_conj(input: Tensor) -> bool:
    """Say whether the tensor shows the conjugate of what lies in memory, as `conj` and ``mH`` do."""
    return is_mirrored(input)


@offered()
def is_neg(input: Tensor) -> bool:
    """Say whether a negative is pending: never, they are computed when they are asked for."""
    return False


@offered()
def is_nonzero(input: Tensor) -> bool:
    """Say whether the one value of a tensor is not 0. Raises where it has more or none.

    >>> import workbench as wb
    >>> wb.is_nonzero(wb.tensor([0.0]))
    False
    """
    return bool(input.item())


@offered()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Say whether two tensors have the same sizes, whatever their types; their names must go together.

    >>> import workbench as wb
    >>> wb.is_same_size(wb.zeros(2, 3), wb.zeros(3, 2))
    False
    """
    if input.shape != other.shape:
        return False
    unify_names("is_same_size", dims_of(input), dims_of(other))
    return True


@offered("workbench")
def is_inference(input: Tensor) -> bool:
    """Say whether a tensor was made in `inference_mode`, and can never be part of a gradient.

    >>> import workbench as wb
    >>> wb.is_inference(wb.zeros(1))
    False
    """
    return bool(input._inference)
