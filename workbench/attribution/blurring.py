"""Blurred pictures, the usual baseline of images: what is large stays, and what a model reads is gone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.attribution.precision import is_floating
from workbench.base.errors import DimensionError
from workbench.base.foreign import told
from workbench.core.value import dims_of, new
from workbench.tensor import Tensor

__all__ = ["blurred", "check_width", "spatial_dims", "usual_width"]

Array = np.ndarray[Any, Any]


def blurred(inputs: Tensor, width: float) -> Tensor:
    """Return pictures blurred by a Gaussian, off the tape: a baseline of every method that starts from one.

    yᵢ = Σⱼ wᵢⱼ xⱼ / Σⱼ wᵢⱼ with wᵢⱼ = exp(−(i − j)² / 2·width²), along height and along width: `width` is the standard
    deviation, in pixels. What lies beyond an edge does not count, so that a plain area stays as it is up to it.
    Pictures have dims H and W by name, or are [N, C, H, W] without names; whole numbers are rounded.

    Raises:
        TypeError: `inputs` is no tensor.
        ValueError: `width` is not above 0, and finite.
        DimensionError: `inputs` are no pictures.

    >>> import workbench as wb
    >>> blurred(wb.tensor([[[[0, 0, 90, 0, 0]]]]), 1.0).tolist()
    [[[[7, 23, 36, 23, 7]]]]
    >>> image = wb.rand(N=1, C=3, H=16, W=16)
    >>> model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(768, 2)).eval()
    >>> wb.attribution.IntegratedGradients(model).attribute(image, blurred(image, 4), target=1).shape
    (1, 3, 16, 16)
    """
    if not isinstance(inputs, Tensor):
        raise TypeError(f"blurred: inputs are a tensor of pictures, got {told(inputs)}")
    check_width(width)
    dims = spatial_dims(inputs)
    if dims is None:
        raise DimensionError(
            "there is no height and width to blur along: name dims H and W, or give pictures [N, C, H, W]",
            op="blurred",
            operands=(dims_of(inputs).operand("inputs"),),
            fix="inputs.rename('N', 'H', 'W')" if inputs.ndim == 3 else "",
        )
    array = inputs.detach().numpy(force=True)
    # Enough for sums of what the type holds, and no more: a large picture is a large product.
    moved = np.moveaxis(array, dims, (-2, -1)).astype(np.result_type(array.dtype, np.float32), copy=False)
    rows, columns = (_weights(array.shape[dim], float(width)).astype(moved.dtype) for dim in dims)
    found = np.moveaxis(rows @ moved @ columns.T, (-2, -1), dims)
    if not is_floating(array.dtype):
        found = np.rint(found)
    return new(np.ascontiguousarray(found.astype(array.dtype)), inputs.names)


def check_width(width: Any) -> None:
    """Raise ValueError where a picture cannot be blurred so wide."""
    if isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width < math.inf:
        raise ValueError(f"a picture is blurred by a width in pixels, above 0 and finite; got {width!r}")


def usual_width(inputs: tuple[Tensor, ...]) -> float:
    """Return the width where none was said, which takes what a model reads: an eighth of the picture's shorter side.

    >>> usual_width((Tensor([1.0]), Tensor([[[[1.0] * 32] * 24]])))
    3.0
    """
    first, dims = next((one, dims) for one in inputs if (dims := spatial_dims(one)) is not None)
    return max(1.0, min(first.shape[dim] for dim in dims) / 8)


def spatial_dims(value: Tensor) -> tuple[int, int] | None:
    """Return which dims of pictures are their height and their width; None of what is no picture.

    >>> [spatial_dims(one) for one in (Tensor([[[[1.0]]]]), Tensor([[[1.0]]], names=("N", "H", "W")), Tensor([[1.0]]))]
    [(2, 3), (1, 2), None]
    """
    names = value.names
    if "H" in names and "W" in names:
        return names.index("H"), names.index("W")
    return (2, 3) if value.ndim == 4 and names[2:] == (None, None) else None


def _weights(size: int, width: float) -> Array:
    """Return what each place of a line takes from each, [size, size]; the weights of a place sum to 1."""
    places = np.arange(size)
    weights = np.exp(-0.5 * ((places[:, None] - places) / width) ** 2)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
