"""A picture as features: its segments, which are there or painted over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import attribution
from workbench.attribution.generation.inputs import InterpretableInput
from workbench.base.errors import DimensionError
from workbench.base.foreign import told
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["ImageMaskInput"]

Array = np.ndarray[Any, Any]


class ImageMaskInput(InterpretableInput):
    """A picture whose segments are the features; pixels of a segment that is not there have the colour `baseline`.

    `image` is a picture of Pillow, or an array or a tensor [H, W] or [H, W, channel] of numbers like those of
    `baseline`. Pixels with one number in `mask` [H, W] are one feature; `mask_list` are masks [H, W] of truth values
    instead, one a feature, which may overlap. Without either the whole picture is the only feature. What the model
    takes is what `processor_fn` makes of a picture, in the form of `image`; without it the picture itself.

    Raises:
        TypeError: `image` is no picture.
        DimensionError: a mask is not of the picture's size, or the colour has other channels.
        ValueError: an empty `mask_list`.

    >>> image = ImageMaskInput(np.zeros((1, 4), np.uint8), mask=np.array([[3, 3, 5, 5]]), baseline=9)
    >>> image.to_tensor().tolist(), image.to_model_input(new(np.array([[0.0, 1.0]]))).tolist()
    ([[1.0, 1.0]], [[9, 9, 0, 0]])
    >>> image.format_pixel_attr(new(np.array([[0.5, -1.0]]))).tolist()
    [[[0.5, 0.5, -1.0, -1.0]]]
    """

    def __init__(
        self,
        image: Any,
        mask: Any = None,
        mask_list: Sequence[Any] | None = None,
        baseline: float | Sequence[float] = (255, 255, 255),
        processor_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self.image, self.baseline, self.processor_fn = image, baseline, processor_fn
        self._pixels = _pixels(image)
        size = self._pixels.shape[:2]
        if self._pixels.ndim == 2 and isinstance(baseline, Sequence) and len(set(baseline)) == 1:
            self._colour = np.asarray(baseline[0])  # a grey is one number where a pixel is one
        else:
            self._colour = np.asarray(baseline)
        if self._colour.shape not in ((), self._pixels.shape[2:]):
            raise DimensionError(
                f"a colour of {self._colour.size} numbers for pixels of {(*self._pixels.shape, 1)[2]}: give "
                "baseline= one for each channel, or a single one",
                op="ImageMaskInput",
            )
        if mask_list is not None:
            if not mask_list:
                raise ValueError("ImageMaskInput: mask_list holds no mask; give one for each feature")
            numbers = list(range(len(mask_list)))
            self._masks = [_mask(one, size).astype(bool) for one in mask_list]
        else:
            numbered = np.zeros(size, np.int64) if mask is None else _mask(mask, size)
            numbers = np.unique(numbered).tolist()
            self._masks = [numbered == one for one in numbers]
        self.mask_id_to_idx = {int(one): place for place, one in enumerate(numbers)}
        """Which feature has a number of the mask."""
        self.n_itp_features = len(numbers)
        self.values = [f"image_feature_{one}" for one in numbers]
        self.original_model_inputs = self._processed(image)

    def to_tensor(self) -> Tensor:
        """Return ones, float32 [1, features]."""
        return new(np.ones((1, self.n_itp_features), np.float32))

    def to_model_input(self, perturbed_tensor: Tensor | None = None) -> Any:
        """Return what the model takes of the picture where segments whose feature is 0 are painted over."""
        if perturbed_tensor is None:
            return self.original_model_inputs
        pixels = self._pixels.copy()
        for mask, there in zip(self._masks, perturbed_tensor.numpy(force=True).ravel() != 0, strict=True):
            if not there:
                pixels[mask] = self._colour
        return self._processed(_like(self.image, pixels))

    def get_mask_list(self) -> list[Tensor]:
        """Return the mask of each feature, bool [H, W]."""
        return [new(one) for one in self._masks]

    def format_pixel_attr(self, itp_attr: Tensor) -> Tensor:
        """Return attributions of features [..., features] as of pixels [..., H, W]; where masks overlap, summed."""
        found = itp_attr.numpy(force=True)
        return new(np.tensordot(found, np.stack(self._masks).astype(found.dtype), 1))

    def plot_mask_overlay(
        self, show: bool = False, border_width: int = 0, show_legends: bool = True
    ) -> tuple[Any, Any] | None:
        """Draw the segments over the picture, with their numbers; return (figure, axes).

        With `show` pyplot shows it, and None is returned.
        """
        # By this way, since it brings matplotlib, which then is imported now.
        drawn: tuple[Any, Any] = attribution.visualization.draw_mask_overlay(
            self._pixels,
            self._masks,
            [str(one) for one in self.mask_id_to_idx] if show_legends else None,
            border_width=border_width,
            use_pyplot=show,
        )
        return None if show else drawn

    def _processed(self, image: Any) -> Any:
        return image if self.processor_fn is None else self.processor_fn(image)


def _pixels(image: Any) -> Array:
    """Return a picture as an array of its own."""
    if isinstance(image, Tensor):
        pixels = image.detach().numpy(force=True)
    elif isinstance(image, np.ndarray):
        pixels = image
    elif not hasattr(image, "frombytes"):
        raise TypeError(
            f"ImageMaskInput: image is a picture of Pillow, an array or a tensor [H, W, channel], got {told(image)}"
        )
    elif image.mode not in ("L", "RGB", "RGBA"):
        raise TypeError(
            f"ImageMaskInput: pixels of a picture of mode {image.mode!r} are no colours; image.convert('RGB') has them"
        )
    else:
        pixels = np.asarray(image)
    if pixels.ndim not in (2, 3):
        raise DimensionError(
            f"a picture is [H, W] or [H, W, channel], got shape {list(pixels.shape)}", op="ImageMaskInput"
        )
    return pixels.copy()


def _mask(given: Any, size: tuple[int, ...]) -> Array:
    """Return a mask as an array of the picture's size."""
    mask = given.detach().numpy(force=True) if isinstance(given, Tensor) else np.asarray(given)
    if mask.shape != size:
        raise DimensionError(
            f"a mask of shape {list(mask.shape)} for a picture of [H, W] {list(size)}: give a number for each pixel",
            op="ImageMaskInput",
        )
    return mask


def _like(image: Any, pixels: Array) -> Any:
    """Return pixels in the form in which a picture was given."""
    if isinstance(image, Tensor):
        return new(pixels, image._names)
    if isinstance(image, np.ndarray):
        return pixels
    painted = image.copy()
    painted.frombytes(pixels.tobytes())
    return painted
