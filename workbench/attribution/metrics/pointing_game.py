"""The pointing game: does the greatest attribution lie on the thing?"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.arguments import ask
from workbench.attribution.checks import check_count
from workbench.attribution.metrics.features import features
from workbench.attribution.metrics.scoring import per_sample
from workbench.base.errors import DimensionError
from workbench.base.foreign import told
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = ["pointing_game"]

Array = np.ndarray[Any, Any]
NAME = "pointing_game"


def pointing_game(attributions: Any, mask: Any, *, over: Any = None, tolerance: int = 0) -> Tensor:
    """Return bool [N]: True where the feature of the greatest attribution lies on the thing that `mask` marks.

    `attributions` [N, …] are summed over the dims named by `over` (see `features`); `mask` is True or not 0 on the
    thing, of the attributions' shape with sizes of 1 where it says nothing, such as [N, 1, H, W], or one for all
    samples. A hit within `tolerance` places along each dim counts too: the paper allows 15 pixels. Of several greatest
    one on the thing is enough.

    Raises:
        TypeError, DTypeError, DimensionError: attributions are not floating point tensors [N, …], or the mask does
            not go with them.
        ValueError: NaN or infinite values, a mask that marks nothing, or a negative tolerance.

    Source: Zhang, Bargal, Lin, Brandt, Shen, Sclaroff: Top-down Neural Attention by Excitation Backprop (2016).

    >>> import workbench as wb
    >>> pointing_game(wb.tensor([[1.0, 5.0, 2.0]]), wb.tensor([[0, 1, 0]])).tolist()
    [True]
    """
    question = ask(NAME, attributions)
    tolerance = check_count(NAME, "tolerance", tolerance, 0)
    found = features(question, attributions, over)
    shape = found.shapes[0]
    marked = _widened(_marked(question.inputs[0], mask, shape), tolerance).reshape(shape[0], -1)
    greatest = found.attributions == found.attributions.max(axis=1, keepdims=True)
    return per_sample(question, (greatest & marked).any(axis=1))


def _marked(value: Tensor, mask: Any, shape: tuple[int, ...]) -> Array:
    """Return the mask as bool of the features' shape."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{NAME}: mask is a tensor, got {told(mask, 'wb.from_numpy(...) makes one')}")
    fits = mask.ndim == len(shape) and all(
        size in (1, wanted) for size, wanted in zip(mask.shape, value.shape, strict=True)
    )
    if not fits:
        raise DimensionError(
            f"a mask of shape {list(mask.shape)} does not go with attributions of shape {list(value.shape)}: each size "
            "is that of the attributions, or 1",
            op=NAME,
            operands=(dims_of(value).operand("attributions"), dims_of(mask).operand("mask")),
        )
    marked = mask.detach().numpy(force=True) != 0
    summed = tuple(axis for axis, size in enumerate(shape) if axis > 0 and size == 1)
    marked = np.broadcast_to(marked.any(axis=summed, keepdims=True), shape)
    empty = ~marked.reshape(shape[0], -1).any(axis=1)
    if empty.any():
        raise ValueError(
            f"{NAME}: the mask marks nothing for {int(empty.sum())} of {shape[0]} samples, so that nothing can be hit"
        )
    return marked


def _widened(marked: Array, tolerance: int) -> Array:
    """Return what lies within `tolerance` places of what is marked, along each dim but the samples."""
    for axis in range(1, marked.ndim):
        wide = marked.copy()
        for step in range(1, min(tolerance, marked.shape[axis] - 1) + 1):
            near = [slice(None)] * marked.ndim
            far = list(near)
            near[axis], far[axis] = slice(None, -step), slice(step, None)
            wide[tuple(near)] |= marked[tuple(far)]
            wide[tuple(far)] |= marked[tuple(near)]
        marked = wide
    return marked
