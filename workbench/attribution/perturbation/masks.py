"""Masks that number the features of inputs: places of named dims, blocks, superpixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.base.dims import near_miss
from workbench.base.errors import DimensionError, UnavailableError
from workbench.base.foreign import told
from workbench.base.lazy import Lazy
from workbench.core.value import dims_of, new
from workbench.tensor import Tensor

__all__ = ["feature_mask"]

Array = np.ndarray[Any, Any]

_SEGMENTATION = Lazy("skimage.segmentation")


def feature_mask(
    inputs: Any,
    dims: str | int | Sequence[str | int] | Mapping[Any, int] | None = None,
    *,
    superpixels: int | None = None,
) -> Any:
    r"""Return masks, int64, that number the features of `inputs` from 0, for methods with a `feature_mask`.

    `dims` are the dims whose places are told apart, by name or number; values that differ in other dims only are one
    feature. So ``"C"`` makes each channel of images a feature, ``"T"`` each token or time step, ``"columns"`` each
    column of a table. A dict has the length of blocks along each dim: ``{"H": 8, "W": 8}`` are squares of 8 pixels,
    ``{"T": 160}`` segments of sound. Without `dims` each value is a feature. With `superpixels` each of the images
    [N, C, H, W] or [N, H, W] has about so many regions of its own of like colours (SLIC, by scikit-image).

    A mask has the names of its input, [1, …] with 1 for dims that are not told apart; superpixels [N, 1, H, W]. Of a
    tuple of inputs each gets a mask whose numbers begin behind those of the one before; an input without such a dim
    is one feature.

    Source of superpixels: Achanta et al.: SLIC Superpixels Compared to State-of-the-Art Superpixel Methods (2012).

    Raises:
        DimensionError: no input has such a dim, or images are of another shape.
        ValueError: a block or a number of superpixels is below 1, or `dims` and `superpixels` are both given.
        UnavailableError: superpixels are asked for, and scikit-image is not installed.

    >>> import workbench as wb
    >>> feature_mask(wb.zeros(N=2, C=3, H=4), "C").tolist()
    [[[0], [1], [2]]]
    >>> feature_mask(wb.zeros(N=2, C=3, H=4), {"H": 2}).flatten().tolist()
    [0, 0, 1, 1]
    """
    if dims is not None and superpixels is not None:
        raise ValueError(
            "feature_mask: dims and superpixels are two ways to number features; give one of them"
        )
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    for one in given:
        if not isinstance(one, Tensor):
            raise TypeError(f"feature_mask: inputs are tensors, got {told(one)}")
    blocks = None if dims is None else _blocks(given, dims)
    masks, start = [], 0
    for value in given:
        found = _superpixels(value, superpixels) if superpixels is not None else _by_dims(value, blocks)
        masks.append(new(found + start, value._names))
        start += int(found.max()) + 1
    return tuple(masks) if isinstance(inputs, tuple) else masks[0]


def _blocks(inputs: tuple[Tensor, ...], dims: Any) -> dict[Any, int]:
    """Return the length of the blocks along each dim that is told apart."""
    if isinstance(dims, Mapping):
        blocks = dict(dims)
    else:
        blocks = dict.fromkeys([dims] if isinstance(dims, str | int) else dims, 1)
    for dim, length in blocks.items():
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise ValueError(f"feature_mask: blocks are whole numbers from 1, got {length!r} for {dim!r}")
        known = {name for value in inputs for name in value.names[1:] if name}
        if isinstance(dim, str) and dim not in known:
            near = near_miss(dim, known)
            raise DimensionError(
                f"no input has a dim {dim!r} behind its samples"
                + (
                    f"; did you mean {near!r}?"
                    if near
                    else f"; names are {', '.join(sorted(known)) or 'none'}"
                ),
                op="feature_mask",
                operands=tuple(dims_of(value).operand("inputs") for value in inputs),
            )
        if isinstance(dim, int) and not any(1 <= dim % max(value.ndim, 1) for value in inputs):
            raise DimensionError(
                "dim 0 holds the samples, and features are told apart within each", op="feature_mask"
            )
    return blocks


def _by_dims(value: Tensor, blocks: dict[Any, int] | None) -> Array:
    """Return a mask [1, …] of one input."""
    if blocks is None:
        count = value.numel() // value.shape[0]
        return np.arange(count).reshape(1, *value.shape[1:])
    lengths = {}
    for dim, length in blocks.items():
        axis = value.names.index(dim) if isinstance(dim, str) and dim in value.names else dim
        if isinstance(axis, int) and -value.ndim <= axis < value.ndim:
            lengths[axis % value.ndim] = length
    found, count = np.zeros((1,) * value.ndim, np.int64), 1
    # The last dim goes fastest, as in memory.
    for axis in sorted(lengths, reverse=True):
        places = np.arange(value.shape[axis]) // lengths[axis]
        found = found + count * places.reshape([-1 if one == axis else 1 for one in range(value.ndim)])
        count *= int(places[-1]) + 1
    return found


def _superpixels(value: Tensor, count: Any) -> Array:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(
            f"feature_mask: superpixels is about how many there are to be, a whole number, got {count!r}"
        )
    if value.ndim not in (3, 4):
        raise DimensionError(
            f"superpixels are regions of images [N, C, H, W] or [N, H, W], inputs have shape {list(value.shape)}",
            op="feature_mask",
            operands=(dims_of(value).operand("inputs"),),
        )
    try:
        slic = _SEGMENTATION.slic
    except ImportError as error:
        raise UnavailableError(
            "feature_mask: superpixels are found by scikit-image, which is not installed; install scikit-image, or "
            'take squares, feature_mask(inputs, {"H": 8, "W": 8})'
        ) from error
    regions = []
    for image in value.numpy(force=True).astype(np.float64):
        channels = image if image.ndim == 3 else image[None]
        # Colours in their range, which is what its measure of likeness is made for.
        low, high = channels.min(), channels.max()
        scaled = (channels - low) / (high - low) if high > low else channels - low
        found = slic(np.moveaxis(scaled, 0, -1), n_segments=count, channel_axis=-1, start_label=0)
        # Small regions are merged away, and leave gaps.
        regions.append(np.unique(found, return_inverse=True)[1].reshape(found.shape))
    stacked = np.stack(regions)
    return stacked[:, None] if value.ndim == 4 else stacked
