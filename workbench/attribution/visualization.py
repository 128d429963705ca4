"""Attributions of images as matplotlib figures, for papers and for places without a browser.

Import it by name, ``from workbench.attribution import visualization``: it brings matplotlib with it.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, get_args

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from workbench.attribution.result import AttributionResult
from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = ["Method", "Sign", "normalize", "show", "visualize_image_attr"]

Array = np.ndarray[Any, Any]
Method = Literal["heat_map", "blended_heat_map", "masked_image", "original_image"]
Sign = Literal["all", "positive", "negative", "absolute_value"]

SMALLEST = 1e-5
"""An attribution whose greatest value is below this is magnified with a warning."""

_SIGNED = LinearSegmentedColormap.from_list("red white green", ["red", "white", "green"])
_MAPS: dict[str, Any] = {
    "all": _SIGNED, "positive": "Greens", "negative": "Reds", "absolute_value": "Blues",
}  # fmt: skip


def normalize(attribution: Any, sign: Sign = "all", outlier_perc: float = 2) -> Array:
    """Return an attribution [H, W, C] or [H, W] as [H, W] in [-1, 1], with `sign` other than ``"all"`` in [0, 1].

    Channels are added up. The greatest values, which together make up `outlier_perc` percent of the sum of all sizes,
    are clipped, and the rest is scaled to fill the range. Warns where everything is nearly zero.

    Raises:
        ValueError: an unknown `sign`, a percentage outside of [0, 100), or values that are not finite.
        DimensionError: not an image.

    >>> normalize(np.array([[1.0, -2.0], [0.0, 4.0]]), outlier_perc=0).tolist()
    [[0.25, -0.5], [0.0, 1.0]]
    """
    if sign not in get_args(Sign):
        raise ValueError(f"there is no sign {sign!r}; there are {', '.join(get_args(Sign))}")
    if not 0 <= outlier_perc < 100:
        raise ValueError(f"outlier_perc is a percentage from 0 to below 100, got {outlier_perc!r}")
    array = _image(attribution, "attribution").astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(
            f"{int((~np.isfinite(array)).sum())} of {array.size} attributions are not finite numbers"
        )
    summed = array.sum(axis=2)
    if sign == "positive":
        summed = np.maximum(summed, 0)
    elif sign == "negative":
        summed = np.maximum(-summed, 0)
    elif sign == "absolute_value":
        summed = np.abs(summed)
    # Not the largest: one outlying pixel would leave all others white.
    reach = _reach(np.abs(summed), outlier_perc)
    if reach < SMALLEST:
        warnings.warn(
            f"the attributions are nearly zero, at most {reach:.3g}: their picture shows rounding as well",
            stacklevel=2,
        )
    return np.asarray(np.clip(summed / reach, -1, 1)) if reach else summed


def _reach(sizes: Array, outlier_perc: float) -> float:
    """Return the least size such that all up to it make up the share of the sum that is kept."""
    ordered = np.sort(sizes, axis=None)
    cumulated = np.cumsum(ordered)
    kept = cumulated[-1] * (1 - outlier_perc / 100)
    return float(ordered[min(int(np.searchsorted(cumulated, kept)), len(ordered) - 1)])


def _image(values: Any, what: str) -> Array:
    """Return an image as [H, W, C]: named dims in any order, without names [H, W] or [H, W, C]."""
    array = values.detach().numpy() if isinstance(values, Tensor) else np.asarray(values)
    names = values.names if isinstance(values, Tensor) else (None,) * array.ndim
    if {"H", "W"} <= set(names) and set(names) <= {"C", "H", "W"}:
        order = [names.index(name) for name in ("H", "W", "C") if name in names]
        array = array.transpose(order)
    elif any(names) or array.ndim not in (2, 3):
        raise DimensionError(
            f"{what} is one image, [H, W, C] or [H, W], got shape {list(array.shape)}"
            + (f" with names {names}" if any(names) else ""),
            op="visualize_image_attr",
            operands=(dims_of(values).operand(what),) if isinstance(values, Tensor) else (),
            fix=f"{what}[0]" if array.ndim == 4 else "",
        )
    if array.size == 0:
        raise DimensionError(f"{what} has no pixels", op="visualize_image_attr")
    return array if array.ndim == 3 else array[:, :, None]


def visualize_image_attr(
    attr: Any,
    original_image: Any = None,
    method: Method = "heat_map",
    sign: Sign = "all",
    outlier_perc: float = 2,
    cmap: Any = None,
    alpha_overlay: float = 0.5,
    show_colorbar: bool = False,
    title: str | None = None,
    fig_size: tuple[float, float] = (6, 6),
    plt_fig_axis: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """Draw the attribution of one image and return (figure, axes).

    `method` is ``"heat_map"``, ``"blended_heat_map"`` (over the image in grey), ``"masked_image"`` (each pixel as
    bright as its attribution is great, of one sign) or ``"original_image"``; `sign` and `outlier_perc` are those
    of `normalize`. `plt_fig_axis` is the (figure, axes) to draw on, a new one without it.

    Raises:
        ValueError: an unknown method, or one that needs the original image without it.
        DimensionError: what is given is not one image, or the two are of different sizes.
    """
    if method not in get_args(Method):
        raise ValueError(f"there is no method {method!r}; there are {', '.join(get_args(Method))}")
    if method != "heat_map" and original_image is None:
        raise ValueError(f"{method} shows the image as well: give original_image=")
    if method == "masked_image" and sign == "all":
        raise ValueError(
            "masked_image cannot show both signs: take sign='positive', 'negative' or 'absolute_value'"
        )
    heat = None if method == "original_image" else normalize(attr, sign, outlier_perc)
    image = None if original_image is None else _image(original_image, "original_image")
    if heat is not None and image is not None and heat.shape != image.shape[:2]:
        raise DimensionError(
            f"the attribution is {list(heat.shape)} pixels and the image {list(image.shape[:2])}",
            op="visualize_image_attr",
        )
    if plt_fig_axis is None:
        # Not by pyplot, which keeps every figure, and would show it a second time in a notebook.
        figure = Figure(figsize=fig_size)
        axes = figure.add_subplot()
    else:
        figure, axes = plt_fig_axis
    axes.set_axis_off()
    drawn = None
    if image is not None and method != "heat_map":
        # Over a coloured picture a heat map could not be read.
        grey = method == "blended_heat_map" or image.shape[2] != 3
        pixels = _unit(image.mean(axis=2) if grey else image)
        if method == "masked_image":
            pixels *= heat if grey else heat[:, :, None]  # type: ignore[index]
        axes.imshow(pixels, cmap="gray", vmin=0, vmax=1)
    if heat is not None and method != "masked_image":
        low = -1 if sign == "all" else 0
        alpha = alpha_overlay if method == "blended_heat_map" else 1
        drawn = axes.imshow(heat, cmap=cmap or _MAPS[sign], vmin=low, vmax=1, alpha=alpha)
    if show_colorbar and drawn is not None:
        figure.colorbar(drawn, ax=axes, shrink=0.8)
    if title:
        # A `$` in the name of a class begins no formula.
        axes.set_title(title, parse_math=False)
    return figure, axes


def _unit(image: Array) -> Array:
    """Return an image stretched to [0, 1]; what is not finite is black."""
    values = image.astype(np.float64)
    finite = np.isfinite(values)
    low = values.min(where=finite, initial=np.inf)
    high = values.max(where=finite, initial=-np.inf)
    if not high > low:
        return np.zeros(values.shape)
    return np.where(finite, (np.where(finite, values, low) - low) / (high - low), 0)


def show(
    result: AttributionResult, sample: int = 0, method: Method = "blended_heat_map", **options: Any
) -> Any:
    """Draw one sample of a result and return the figure; `options` are those of `visualize_image_attr`.

    Raises:
        IndexError: there is no such sample.
    """
    if not 0 <= sample < len(result):
        raise IndexError(f"the result has samples 0 to {len(result) - 1}, not {sample!r}")
    options.setdefault("title", f"{result.method} of {result.target_name(sample)}")
    attribution, image = (_channels_last(one, sample) for one in (result.attributions, result.inputs))
    return visualize_image_attr(attribution, image, method, **options)[0]


def _channels_last(values: Tensor, sample: int) -> Any:
    """Return a sample as an image: by its names, or as [C, H, W] where it has none."""
    picked = values.detach()[sample]
    # Named dims find their places by themselves; without names channels come first, as a model has them.
    return picked if any(picked.names) or picked.ndim != 3 else picked.numpy().transpose(1, 2, 0)
