"""Attributions of images: heat maps over pictures, masks, transparency."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal

import numpy as np

from workbench.attribution.result import AttributionResult
from workbench.attribution.visualization.arrays import as_image, pixels_of
from workbench.attribution.visualization.colours import chosen_map
from workbench.attribution.visualization.figures import axes_of, bar_below, finish, panels
from workbench.attribution.visualization.normalization import Sign, check_choice, normalize
from workbench.base.errors import DimensionError
from workbench.tensor import Tensor

__all__ = [
    "ImageVisualizationMethod",
    "Method",
    "show",
    "visualize_image_attr",
    "visualize_image_attr_multiple",
]

Array = np.ndarray[Any, Any]
Method = Literal["heat_map", "blended_heat_map", "original_image", "masked_image", "alpha_scaling"]


class ImageVisualizationMethod(Enum):
    """Ways to draw the attribution of an image, under Captum's names."""

    heat_map = 1
    blended_heat_map = 2
    original_image = 3
    masked_image = 4
    alpha_scaling = 5


def visualize_image_attr(
    attr: Any,
    original_image: Any = None,
    method: Method = "heat_map",
    sign: Sign = "absolute_value",
    plt_fig_axis: tuple[Any, Any] | None = None,
    outlier_perc: float = 2,
    cmap: Any = None,
    alpha_overlay: float = 0.5,
    show_colorbar: bool = False,
    title: str | None = None,
    fig_size: tuple[float, float] = (6, 6),
    use_pyplot: bool = True,
) -> tuple[Any, Any]:
    """Draw the attribution of one image and return (figure, axes).

    `attr` and `original_image` are arrays [H, W, C] or [H, W], or tensors with those names in any order. An image
    has values of 0 to 1 or 0 to 255; others are stretched to that. `method` is

    - ``"heat_map"``: the attribution alone;
    - ``"blended_heat_map"``: over the image in grey, covering it by `alpha_overlay`;
    - ``"original_image"``: the image alone;
    - ``"masked_image"``: each pixel as bright as its attribution is great, of one sign;
    - ``"alpha_scaling"``: each pixel as opaque as its attribution is great, of one sign.

    `sign` and `outlier_perc` are those of `normalize`. `cmap` is a map of matplotlib's, None for one that
    colour-blind readers can tell apart (orange speaks for, blue against), ``"captum"`` for Captum's colours.
    `plt_fig_axis` is the (figure, axes) to draw on. With `use_pyplot` the figure is pyplot's, and shown.

    Raises:
        ValueError: an unknown method, sign or map, or a method that needs the original image without it.
        DimensionError: what is given is not one image, or the two are of different sizes.

    >>> heat, image = np.array([[0.0, 1.0]]), np.array([[[0.2, 0.4, 0.6], [0.2, 0.4, 0.6]]])
    >>> _, axes = visualize_image_attr(heat, image, "masked_image", outlier_perc=0, use_pyplot=False)
    >>> axes.get_images()[0].get_array().tolist()
    [[[0, 0, 0], [51, 102, 153]]]
    """
    check_choice("method", method, Method)
    if method != "heat_map" and original_image is None:
        raise ValueError(f"{method} shows the image as well: give original_image=")
    if method in ("masked_image", "alpha_scaling") and sign == "all":
        raise ValueError(
            f"{method} cannot show both signs: take sign='positive', 'negative' or 'absolute_value'"
        )
    heat = None if method == "original_image" else normalize(attr, sign, outlier_perc)
    pixels = None if original_image is None or method == "heat_map" else _picture(original_image)
    if heat is not None and original_image is not None:
        _check_sizes(heat, as_image(original_image, "original_image"))
    colours = chosen_map(cmap, sign)  # before anything is drawn
    figure, axes = axes_of(plt_fig_axis, use_pyplot, fig_size)
    panel = panels(axes)[0]
    panel.set_xticks([])
    panel.set_yticks([])
    panel.grid(visible=False)
    drawn = _draw(panel, method, heat, pixels, colours, -1 if sign == "all" else 0, alpha_overlay)
    if show_colorbar:
        bar_below(figure, panel, drawn, pad=0.1)
    if title:
        # A `$` in the name of a class begins no formula.
        panel.set_title(title, parse_math=False)
    finish(use_pyplot)
    return figure, panel


def _draw(
    panel: Any, method: str, heat: Array | None, pixels: Array | None, cmap: Any, low: int, alpha: float
) -> Any:
    """Draw by one method; return what has colours of the map, None where nothing has."""
    if pixels is not None:
        if method == "original_image":
            _show(panel, pixels)
        elif method == "blended_heat_map":
            # Over a coloured picture a heat map could not be read.
            panel.imshow(pixels.mean(axis=2), cmap="gray")
        elif heat is not None and method == "masked_image":
            _show(panel, (pixels * heat[:, :, None]).astype(np.uint8))
        elif heat is not None:
            opaque = (heat[:, :, None] * 255).astype(np.uint8)
            # Transparency takes three colours beside it.
            coloured = pixels[:, :, :3] if pixels.shape[2] >= 3 else np.repeat(pixels, 3, axis=2)
            panel.imshow(np.concatenate([coloured, opaque], axis=2))
    if heat is None or method not in ("heat_map", "blended_heat_map"):
        return None
    return panel.imshow(
        heat, cmap=cmap, vmin=low, vmax=1, alpha=alpha if method == "blended_heat_map" else None
    )


def _show(panel: Any, pixels: Array) -> None:
    if pixels.shape[2] == 1:
        panel.imshow(pixels[:, :, 0], cmap="gray", vmin=0, vmax=255)
    else:
        panel.imshow(pixels)


def _picture(original_image: Any) -> Array:
    """Return an image as pixels [H, W, 1, 3 or 4]."""
    image = as_image(original_image, "original_image")
    if image.shape[2] not in (1, 3, 4):
        first = image.shape[0] in (1, 3, 4)
        raise DimensionError(
            f"an image of {image.shape[2]} channels has no colours: 1, 3 or 4 are drawn, and channels come last where "
            "dims have no names",
            op="visualize_image_attr",
            fix="original_image.transpose(1, 2, 0)" if first else "",
        )
    return pixels_of(image)


def _check_sizes(heat: Array, image: Array) -> None:
    if heat.shape != image.shape[:2]:
        raise DimensionError(
            f"the attribution is {list(heat.shape)} pixels and the image {list(image.shape[:2])}",
            op="visualize_image_attr",
        )


def visualize_image_attr_multiple(
    attr: Any,
    original_image: Any,
    methods: Sequence[Method],
    signs: Sequence[Sign],
    titles: Sequence[str] | None = None,
    fig_size: tuple[float, float] = (8, 6),
    use_pyplot: bool = True,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Draw one image's attribution by several methods side by side; return (figure, list of axes, or the only one).

    `methods`, `signs` and `titles` have one entry for each picture; `kwargs` go to `visualize_image_attr` for all.

    Raises:
        ValueError: different numbers of methods, signs or titles, or none.
        DimensionError: as `visualize_image_attr` does.

    >>> heat, image = np.array([[0.0, 1.0]]), np.array([[0.2, 0.4]])
    >>> methods, signs = ["original_image", "heat_map"], ["all", "positive"]
    >>> _, axes = visualize_image_attr_multiple(heat, image, methods, signs, use_pyplot=False)
    >>> len(axes)
    2
    """
    if not methods:
        raise ValueError("there are no methods: give the name of one for each picture")
    for what, given in (("signs", signs), ("titles", titles)):
        if given is not None and len(given) != len(methods):
            raise ValueError(f"{len(methods)} methods and {len(given)} {what}: give one for each picture")
    figure, axes = axes_of(None, use_pyplot, fig_size, nrows=1, ncols=len(methods))
    each = panels(axes)
    for position, panel in enumerate(each):
        visualize_image_attr(
            attr,
            original_image,
            methods[position],
            signs[position],
            plt_fig_axis=(figure, panel),
            title=None if titles is None else titles[position],
            use_pyplot=False,
            **kwargs,
        )
    figure.tight_layout()
    finish(use_pyplot)
    return figure, each if len(each) > 1 else each[0]


def show(
    result: AttributionResult, sample: int = 0, method: Method = "blended_heat_map", **options: Any
) -> Any:
    """Draw one sample of a result and return the figure; `options` are those of `visualize_image_attr`.

    Raises:
        IndexError: there is no such sample.
    """
    if not 0 <= sample < len(result):
        raise IndexError(f"the result has samples 0 to {len(result) - 1}, not {sample!r}")
    options = {"sign": "all", "use_pyplot": False, **options}
    options.setdefault("title", f"{result.method} of {result.target_name(sample)}")
    attribution, image = (_channels_last(one, sample) for one in (result.attributions, result.inputs))
    return visualize_image_attr(attribution, image, method, **options)[0]


def _channels_last(values: Tensor, sample: int) -> Any:
    """Return a sample as an image: by its names, or as [C, H, W] where it has none."""
    picked = values.detach()[sample]
    # Named dims find their places by themselves; without names channels come first, as a model has them.
    return picked if any(picked.names) or picked.ndim != 3 else picked.numpy().transpose(1, 2, 0)
