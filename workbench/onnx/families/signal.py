"""Signals: windows, and transforms to frequencies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dtypes import float32, float64
from workbench.onnx.families.shapes import placed
from workbench.onnx.table import operator
from workbench.onnx.values import bounded, data_type, wb
from workbench.ops import FFT
from workbench.tensor.factories import from_numpy

__all__: list[str] = []

_WINDOWS = {
    "BlackmanWindow": (0.42, -0.5, 0.08), "HammingWindow": (25 / 46, -21 / 46, 0.0), "HannWindow": (0.5, -0.5, 0.0),
}  # fmt: skip


def _window(weights: tuple[float, float, float]) -> Any:
    def compute(size: Any, *, output_datatype: int = 1, periodic: int = 1) -> Any:
        count = int(size[0] if isinstance(size, list) else size)
        bounded([count])
        turn = 2 * math.pi / max(count if periodic else count - 1, 1)
        angle = wb.arange(count).double() * turn
        found = weights[0] + weights[1] * wb.cos(angle) + weights[2] * wb.cos(2 * angle)
        return found.to(data_type(output_datatype))

    return compute


for _name, _weights in _WINDOWS.items():
    operator(_name, since=17, numbers=(0,))(_window(_weights))


def _complex(x: Any) -> Any:
    """Return numbers with a last dim of one or two as complex ones."""
    kind = x if x.dtype in (float32, float64) else x.float()
    real = kind[..., 0]
    return wb.complex(real, kind[..., 1] if x.shape[-1] == 2 else wb.zeros_like(real))


def _transformed(x: Any, length: Any, axis: int, inverse: int, onesided: int) -> Any:
    kind = x.dtype
    axis = placed(axis, x.dim())
    count = None if length is None else int(length[0] if isinstance(length, list) else length)
    if count is not None:
        bounded([count])
    if inverse and onesided:
        found = FFT["irfft"](_complex(x), n=count, dim=axis).unsqueeze(-1)
        return found.to(kind)
    found = FFT["ifft" if inverse else "fft"](_complex(x), n=count, dim=axis)
    if onesided:
        found = wb.narrow(found, axis, 0, found.shape[axis] // 2 + 1)
    return wb.view_as_real(found).to(kind)


@operator("DFT", since=17, numbers=(1,))
def _dft_by_attribute(
    x: Any, length: Any = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Any:
    return _transformed(x, length, axis, inverse, onesided)


@operator("DFT", since=20, numbers=(1, 2))
def _dft(x: Any, length: Any = None, axis: Any = None, *, inverse: int = 0, onesided: int = 0) -> Any:
    where = -2 if axis is None else axis[0] if isinstance(axis, list) else axis
    return _transformed(x, length, where, inverse, onesided)


@operator("STFT", since=17, numbers=(1, 3))
def _stft(x: Any, step: Any, window: Any = None, length: Any = None, *, onesided: int = 1) -> Any:
    hop = int(step[0] if isinstance(step, list) else step)
    if length is None:
        width = int(window.shape[0])
    else:
        width = int(length[0] if isinstance(length, list) else length)
    frames = (x.shape[1] - width) // hop + 1
    places = (wb.arange(frames) * hop).reshape(-1, 1) + wb.arange(width)
    picked = wb.index_select(x, 1, places.reshape(-1))
    picked = picked.reshape([x.shape[0], frames, width, x.shape[2]])
    if window is not None:
        picked = picked * window.reshape(-1, 1)
    return _transformed(picked, None, 2, 0, onesided)


@operator("MelWeightMatrix", since=17, numbers=(0, 1, 2, 3, 4))
def _mel_weights(bins: Any, length: Any, rate: Any, low: Any, high: Any, *, output_datatype: int = 1) -> Any:
    bins, length, rate, low, high = (
        one[0] if isinstance(one, list) else one for one in (bins, length, rate, low, high)
    )
    lines = length // 2 + 1
    bounded([lines, bins])
    ends = 2595 * np.log10(1 + np.array([low, high]) / 700)
    step = (ends[1] - ends[0]) / (bins + 2)
    hertz = 700 * (10 ** ((np.arange(bins + 2) * step + ends[0]) / 2595) - 1)
    places = np.floor((length + 1) * hertz / rate).astype(np.int64)
    found = np.zeros((lines, bins))
    for i in range(bins):
        first, middle, last = places[i : i + 3]
        rise = middle - first
        if rise == 0:
            found[middle, i] = 1
        else:
            found[first : middle + 1, i] = np.arange(rise + 1) / rise
        if last > middle:
            found[middle:last, i] = (last - np.arange(middle, last)) / (last - middle)
    return from_numpy(found).to(data_type(output_datatype))
