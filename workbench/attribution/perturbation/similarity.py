"""How near a perturbed input is to the one that is explained: the weights of LIME's samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.tensor import Tensor

__all__ = ["ExponentialKernel", "get_exp_kernel_similarity_function"]

Array = np.ndarray[Any, Any]


class ExponentialKernel:
    r"""Similarity :math:`\exp(-d^2 / 2\sigma^2)` of two inputs at the distance d.

    `distance_mode` is ``"cosine"``, one minus the cosine of the angle between the inputs as vectors, or
    ``"euclidean"``; `kernel_width` is :math:`\sigma`.

    Raises:
        ValueError: there is no such distance, or the width is not positive.

    >>> import workbench as wb
    >>> kernel = ExponentialKernel("euclidean", 2.0)
    >>> round(kernel(wb.zeros(1, 2), wb.tensor([[0.0, 2.0]]), None), 4)
    0.6065
    """

    def __init__(self, distance_mode: str = "cosine", kernel_width: float = 1.0) -> None:
        if distance_mode not in ("cosine", "euclidean"):
            raise ValueError(f"distance_mode is 'cosine' or 'euclidean', got {distance_mode!r}")
        if not kernel_width > 0:
            raise ValueError(f"kernel_width is a number above 0, got {kernel_width!r}")
        self.distance_mode = distance_mode
        self.kernel_width = kernel_width

    def __call__(self, original_inp: Any, perturbed_inp: Any, interpretable_inp: Any, **kwargs: Any) -> float:
        """Return the similarity of two inputs, tensors or tuples of tensors; their features are not looked at."""
        first, second = _flat(original_inp), _flat(perturbed_inp)
        sums = [np.array([one]) for one in (first @ first, second @ second, first @ second)]
        return float(self.of_sums(*sums)[0])

    def of_sums(self, first: Array, second: Array, product: Array) -> Array:
        """Return the similarities of vectors of which the squares and the products with each other are known."""
        if self.distance_mode == "cosine":
            lengths = np.sqrt(first * second)
            cosine = np.divide(product, lengths, out=np.zeros_like(product), where=lengths > 0)
            squares = (1 - cosine) ** 2
        else:
            squares = np.maximum(first + second - 2 * product, 0)
        return np.asarray(np.exp(-squares / (2 * self.kernel_width**2)))


def get_exp_kernel_similarity_function(
    distance_mode: str = "cosine", kernel_width: float = 1.0
) -> ExponentialKernel:
    """Return the similarity of an `ExponentialKernel`, as Captum calls it."""
    return ExponentialKernel(distance_mode, kernel_width)


def _flat(value: Any) -> Array:
    parts = value if isinstance(value, tuple) else (value,)
    arrays = [one.detach().numpy(force=True) if isinstance(one, Tensor) else np.asarray(one) for one in parts]
    return np.concatenate([one.ravel().astype(np.float64) for one in arrays])
