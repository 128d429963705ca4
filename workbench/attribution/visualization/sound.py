"""Attributions of sound: behind the wave, and over its spectrogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.visualization.arrays import as_series
from workbench.attribution.visualization.colours import chosen_map
from workbench.attribution.visualization.figures import axes_of, finish, panels
from workbench.attribution.visualization.normalization import Sign, scaled
from workbench.attribution.visualization.series import visualize_timeseries_attr
from workbench.base.errors import DimensionError
from workbench.tensor import Tensor

__all__ = ["visualize_sound_attr"]

Array = np.ndarray[Any, Any]

DARKEST = -80
"""dB below the loudest that a spectrogram shows."""


def visualize_sound_attr(
    attr: Any,
    wave: Any,
    sample_rate: float,
    sign: Sign = "all",
    *,
    frame: int = 256,
    outlier_perc: float = 2,
    cmap: Any = None,
    alpha_overlay: float = 0.7,
    title: str | None = None,
    fig_size: tuple[float, float] = (8, 5),
    use_pyplot: bool = True,
) -> tuple[Any, Any]:
    """Draw a sound with its attribution and return (figure, [axes of the wave, axes of the spectrogram]).

    `wave` is [T], at `sample_rate` values a second. An `attr` [T] is of the wave: it is drawn behind it, and as the
    colour of the spectrogram's frames. An `attr` [F, T'], of a model that takes a spectrogram, lies over the
    spectrogram, and summed over frequencies behind the wave; a dim that is named T is time. The spectrogram shows
    frames of `frame` samples under Hann's window, in dB below the loudest.

    Raises:
        ValueError: an unknown sign, a rate or frame that is not positive, or attributions that are not finite.
        DimensionError: not one channel of sound, or an attribution of another length.

    >>> wave = np.sin(np.arange(2000) * 0.3)
    >>> _, (above, below) = visualize_sound_attr(wave**2, wave, sample_rate=8000, use_pyplot=False)
    >>> above.get_xlim()[1] == 1999 / 8000
    np.True_
    """
    if sample_rate <= 0 or not 0 < frame:
        raise ValueError(f"sample_rate and frame are greater than 0, got {sample_rate!r} and {frame!r}")
    sound = as_series(wave, "wave", True)
    if len(sound) != 1:
        raise DimensionError(
            f"wave has {len(sound)} channels: draw one, wave[0], or their mean", op="visualize_sound_attr"
        )
    sound, count = sound[0].astype(np.float64), sound.shape[1]
    heat = _heat(attr)
    if heat.ndim == 1 and len(heat) != count:
        raise DimensionError(
            f"{len(heat)} attributions for {count} values of the wave: give one for each, or a spectrogram's [F, T]",
            op="visualize_sound_attr",
        )
    figure, axes = axes_of(None, use_pyplot, fig_size, "constrained", nrows=2, sharex=True)
    above, below = panels(axes)
    times = np.arange(count) / sample_rate
    along = heat if heat.ndim == 1 else _stretched(heat.sum(axis=0), count)
    visualize_timeseries_attr(
        along, sound, times, "overlay_individual", sign, plt_fig_axis=(figure, [above]), outlier_perc=outlier_perc,
        cmap=cmap, alpha_overlay=alpha_overlay, title=title, use_pyplot=False, linewidth=0.8, color="0.2",
    )  # fmt: skip
    above.set_ylabel("wave")
    extent = (0, times[-1] or 1 / sample_rate, 0, sample_rate / 2000)
    below.imshow(_decibels(sound, frame), cmap="gray_r", extent=extent, origin="lower", aspect="auto")
    over = scaled(heat if heat.ndim == 2 else heat[None], sign, outlier_perc)
    drawn = below.imshow(
        over, cmap=chosen_map(cmap, sign), vmin=-1 if sign == "all" else 0, vmax=1, alpha=np.abs(over) * alpha_overlay,
        extent=extent, origin="lower", aspect="auto", interpolation="nearest",
    )  # fmt: skip
    below.set_xlabel("seconds")
    below.set_ylabel("kHz")
    figure.colorbar(drawn, ax=[above, below], label="attribution")
    finish(use_pyplot)
    return figure, [above, below]


def _heat(attr: Any) -> Array:
    """Return attributions as [T] or [F, T]."""
    array = attr.detach().numpy(force=True) if isinstance(attr, Tensor) else np.asarray(attr)
    if isinstance(attr, Tensor) and array.ndim == 2 and attr.names[0] == "T":
        array = array.T
    if array.ndim == 2 and array.shape[0] == 1:
        array = array[0]
    if array.ndim not in (1, 2) or array.size == 0:
        raise DimensionError(
            f"attributions of one sound are [T] or [F, T], got shape {list(array.shape)}",
            op="visualize_sound_attr",
        )
    return array.astype(np.float64)


def _stretched(frames: Array, count: int) -> Array:
    """Return a value for each sample: that of the frame over it."""
    return np.asarray(frames[np.minimum(np.arange(count) * len(frames) // count, len(frames) - 1)])


def _decibels(sound: Array, frame: int) -> Array:
    """Return a spectrogram [F, frames] in dB below its loudest, half overlapping frames."""
    padded = np.pad(np.nan_to_num(sound), (0, max(0, frame - len(sound))))
    windows = np.lib.stride_tricks.sliding_window_view(padded, frame)[:: max(1, frame // 2)]
    power = np.abs(np.fft.rfft(windows * np.hanning(frame), axis=1)).T ** 2
    loudest = power.max() or 1
    return np.asarray(np.maximum(10 * np.log10(np.maximum(power / loudest, 1e-30)), DARKEST))
