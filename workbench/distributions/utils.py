"""What distributions share: parameters of one shape, probabilities and logits, values computed when asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np

from workbench.base.public import words
from workbench.core.dispatch import enable_grad
from workbench.core.value import Abstract
from workbench.ops.elementwise.filling import where
from workbench.ops.nn.activation.pointwise import softplus
from workbench.ops.shape.diagonal import tril_indices
from workbench.ops.shape.expand import broadcast_tensors
from workbench.tensor import Tensor
from workbench.tensor.factories import tensor
from workbench.tensor.type_queries import finfo

__all__ = [
    "bare", "broadcast_all", "clamp_probs", "euler_constant", "every", "expm1_share", "holds",
    "lazy_property", "log1p_exp", "log1p_share", "log1p_square", "logits_to_probs", "probs_to_logits",
    "sum_rightmost", "tril_matrix_to_vec", "vec_to_tril_matrix", "with_names",
]  # fmt: skip

euler_constant = 0.57721566490153286060
"""Euler's constant: the mean of a standard Gumbel distribution."""

_Owner = TypeVar("_Owner")
_Found = TypeVar("_Found")


class lazy_property(Generic[_Found]):
    """A property that is computed when it is first asked for, with gradients recorded, and then kept.

    >>> class Circle:
    ...     radius = 2.0
    ...
    ...     @lazy_property
    ...     def area(self):
    ...         return 3 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, vars(circle)
    (12.0, {'area': 12.0})
    """

    def __init__(self, wrapped: Callable[[Any], _Found]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.__name__ = wrapped.__name__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy_property[_Found]: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> _Found: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        # No data descriptor: from now on the instance's own entry is found first.
        instance.__dict__[self.__name__] = value
        return value


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Return tensors of one shape. Numbers take the type of the first tensor, or the default type where there is none.

    Raises ValueError for what is neither tensor nor number, `DimensionError` for shapes that do not broadcast.

    >>> import workbench as wb
    >>> [one.shape for one in broadcast_all(wb.zeros(2, 1), wb.zeros(3), 0.5)]
    [(2, 3), (2, 3), (2, 3)]
    """
    for value in values:
        if isinstance(value, bool) or not isinstance(value, Tensor | int | float | np.number):
            raise ValueError(
                f"parameters of a distribution are numbers or tensors, got {type(value).__name__}: wb.tensor(...) "
                "makes a tensor of lists and arrays"
            )
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype = None if first is None else first.dtype
    made: list[Any] = [
        value if isinstance(value, Tensor) else tensor(float(value) if dtype is None else value, dtype=dtype)
        for value in values
    ]
    return tuple(made) if len(made) == 1 else broadcast_tensors(*made)


def holds(check: Tensor) -> bool:
    """Say whether a check is true everywhere. Inside traces and `vmap` nothing has numbers, and nothing is checked."""
    array = check.payload
    found = array.numbers(check) if isinstance(array, Abstract) else array
    return True if found is None else bool(np.all(found))


def every(check: Tensor, ndims: int) -> Tensor:
    """Return whether a check is true all along the last `ndims` dims."""
    for _ in range(ndims):
        check = check.all(-1)
    return check


def sum_rightmost(value: Tensor, ndims: int) -> Tensor:
    """Return the sum over the last `ndims` dims."""
    return value if ndims == 0 else value.sum(tuple(range(-ndims, 0)))


def bare(value: Tensor) -> Tensor:
    """Return a value without names: where dims are moved, its place says which dim is which."""
    return value if value._names is None else value.rename(None)


def with_names(value: Tensor, names: Sequence[str | None]) -> Tensor:
    """Return a value under names, or as it is where there are none."""
    return value.rename(*names) if any(names) else value


# ------------------------------------------------------------------------------- probabilities and logits


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities from ε to 1 - ε, whose logarithms are finite."""
    eps = float(finfo(probs.dtype).eps)
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the logarithms of probabilities, or with `is_binary` ln p - ln(1 - p): finite at 0 and 1, too.

    >>> import workbench as wb
    >>> probs_to_logits(wb.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return the probabilities of logits: a softmax over the last dim, or with `is_binary` a sigmoid of each.

    >>> import workbench as wb
    >>> logits_to_probs(wb.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


# --------------------------------------------------------------------------------------------- triangles


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return [..., n, n] with the values of [..., D] row by row in its lower triangle, 0 above.

    `diag` is the highest diagonal that is filled. Raises ValueError where D values fill no triangle.

    >>> import workbench as wb
    >>> vec_to_tril_matrix(wb.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    count = vec.shape[-1]
    n = (-(1 + 2 * diag) + math.sqrt((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1))) / 2
    if abs(n - round(n)) > 1e-6:
        raise ValueError(
            f"{count} values fill no lower triangle up to diagonal {diag}: a square of n rows has "
            "n·(n + 1)/2 places on and below its diagonal"
        )
    size = round(n)
    filled = np.tri(size, k=diag, dtype=bool)
    places = np.where(filled, np.cumsum(filled).reshape(size, size) - 1, 0)
    # Picked and not written: no memory changes, and a gradient of any order goes the way back.
    return where(tensor(filled), bare(vec)[..., tensor(places)], 0.0)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the lower triangle of [..., n, n] row by row, up to diagonal `diag`.

    Raises ValueError for a diagonal outside of [-n, n).

    >>> import workbench as wb
    >>> tril_matrix_to_vec(wb.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}]")
    rows, columns = tril_indices(n, n, offset=diag)
    return bare(mat)[..., rows, columns]


# --------------------------------------------------------------- functions that keep their digits at an edge


def log1p_exp(value: Tensor) -> Tensor:
    """Return ln(1 + e^x)."""
    # softplus passes the value through above a threshold, which is to lie beyond all digits.
    return softplus(value, threshold=40.0)


def log1p_square(value: Tensor) -> Tensor:
    """Return ln(1 + x²), also where x² leaves the type."""
    far = value.abs() > 1e8
    near = where(far, 0.0, value).square().log1p()
    return where(far, 2 * where(far, value, 1.0).abs().log(), near)


def log1p_share(value: Tensor) -> Tensor:
    """Return ln(1 + x)/x, which is 1 at 0."""
    near = value.abs() < 1e-3
    x = where(near, value, 0.0)
    series = 1 - x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x / 6))))
    away = where(near, 1.0, value)
    return where(near, series, away.log1p() / away)


def expm1_share(value: Tensor) -> Tensor:
    """Return (e^x - 1)/x, which is 1 at 0."""
    near = value.abs() < 1e-3
    x = where(near, value, 0.0)
    series = 1 + x * (1 / 2 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x / 720))))
    away = where(near, 1.0, value)
    return where(near, series, away.expm1() / away)


__getattr__, __dir__ = words(__name__, __all__)
