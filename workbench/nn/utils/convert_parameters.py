"""All parameters in one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.base.errors import DimensionError
from workbench.core.dispatch import no_grad
from workbench.ops import FUNCTIONS
from workbench.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]

_cat: Any = FUNCTIONS["cat"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the values of all parameters one after the other, without names; gradients reach the parameters.

    >>> import workbench as wb
    >>> parameters_to_vector(wb.nn.Linear(2, 3).parameters()).shape
    (9,)
    """
    given = list(parameters)
    if not given:
        raise ValueError("expected a non-empty list of Tensors: there are no parameters")
    return _cat([one.rename(None).reshape(-1) for one in given])  # type: ignore[no-any-return]


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the values of a vector into the parameters, one after the other; names stay.

    Raises TypeError for what is no tensor, `DimensionError` where the vector has not as many values as there are.

    >>> import workbench as wb
    >>> layer = wb.nn.Linear(2, 1)
    >>> vector_to_parameters(wb.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.bias.tolist()
    [3.0]
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected a tensor, but got {type(vec).__name__}")
    given = list(parameters)
    count = sum(one.numel() for one in given)
    if vec.ndim != 1 or vec.numel() != count:
        raise DimensionError(
            f"the parameters have {count} values, and the vector has size {list(vec.shape)}",
            op="vector_to_parameters",
        )
    start = 0
    plain = vec.detach().rename(None)
    # Leaves that ask for gradients may be written into only where nothing is recorded.
    with no_grad():
        for one in given:
            end = start + one.numel()
            one.copy_(plain[start:end].reshape(one.shape))
            start = end
