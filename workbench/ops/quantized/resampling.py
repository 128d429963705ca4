"""Codes at other places along the spatial dims: interpolated by whole numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves
from workbench.core.quantization import integers
from workbench.core.quantized_rules import computed, moved
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes
from workbench.ops.nn.resample.separable import FEW, RESAMPLE, Along, plan_of, taps_of
from workbench.ops.quantized.code_arithmetic import is_bytes
from workbench.ops.quantized.requantize import NO_GRADIENT, sample_codes

__all__ = ["QUANTIZED_RESAMPLE", "whole_taps"]

_KERNEL = kernels.lookup("resample_codes")
_SHIFT = 15


@lru_cache(maxsize=256)
def whole_taps(along: Along) -> tuple[Any, Any]:
    """Return what each place of the result reads, and the weights as whole numbers of 2^-15, which sum to one.

    >>> whole_taps(Along("linear", 2, 3, None, True, False))[1].tolist()
    [[32768, 0], [16384, 16384], [32768, 0]]
    """
    reads, weight = taps_of(along, True)
    whole = np.rint(weight * 2.0**_SHIFT).astype(np.int64)
    # What rounding leaves goes to the greatest: equal codes stay what they are.
    places = np.arange(along.out)
    whole[places, np.abs(whole).argmax(axis=1)] += (1 << _SHIFT) - whole.sum(axis=1)
    return np.ascontiguousarray(reads, np.int64), np.ascontiguousarray(whole, np.int32)


def _resampled(codes: Any, taps: tuple[tuple[Any, Any], ...], limits: tuple[int, int]) -> Any:
    """Return the codes nearest to the weighted sums, halves to even codes, as PyTorch's; zero points pass through."""
    sums = codes.astype(np.int64)
    for dim, (reads, weights) in reversed(list(enumerate(taps, 2))):
        column = (-1, *(1,) * (codes.ndim - dim - 1))
        sums = sum(sums.take(reads[:, i], dim) * weights[:, i].reshape(column) for i in range(reads.shape[1]))
    shift = _SHIFT * len(taps)
    even = (sums >> shift) & 1
    return np.clip((sums + (1 << (shift - 1)) - 1 + even) >> shift, *limits).astype(codes.dtype)


def _forward(
    q: QuantizedArray, sizes: Sizes, mode: str, plainly: bool = True, **params: Any
) -> QuantizedArray:
    """Move codes where values are moved; else mix them by whole weights, few at a time."""
    given = {"sizes": sizes, "mode": mode, **params}
    if mode.startswith("nearest"):
        return moved(RESAMPLE, q, **given)  # type: ignore[no-any-return]
    # An average of many is no interpolation: its weights are small.
    if not is_bytes(q) or mode == "area" or not all(sizes) or not q.size:
        return computed(RESAMPLE, q, **given)  # type: ignore[no-any-return]
    alongs = plan_of(q.shape[2:], sizes, mode, **params)
    if any(taps_of(one, True).reads.shape[1] > FEW for one in alongs):
        return computed(RESAMPLE, q, **given)  # type: ignore[no-any-return]
    taps = tuple(map(whole_taps, alongs))
    if not plainly and _KERNEL is not None and _KERNEL.accepts(q.codes):
        codes = _KERNEL.run(q.codes, taps)
    else:
        codes = _resampled(q.codes, taps, code_range(q.dtype))
    return QuantizedArray.own(codes, q.scale, q.zero_point, q.dtype)


def _of_codes(q: Any, **params: Any) -> Any:
    return _forward(q, plainly=False, **params)


def _params(sizes: Sizes, mode: str, align_corners: bool = False) -> dict[str, Any]:
    none = (None,) * len(sizes)
    return {"sizes": sizes, "mode": mode, "scales": none, "align_corners": align_corners, "antialias": False}


QUANTIZED_RESAMPLE = Op(
    name="quantized_resample",
    doc="Codes at other positions along the spatial dims, moved or interpolated; scale and zero point stay.",
    equation="q[n, c, p] = clamp(rne(Σ_k w[p, k]·x[n, c, k])), w in whole numbers of 2⁻¹⁵ along each dim",
    dims=RESAMPLE.dims,
    rule=RESAMPLE.rule,
    dtype=DTypeRule("as the input", None, lambda dtype, params: dtype),
    forward=_forward,
    vjp=NO_GRADIENT,
    saves=Saves(output=False),
    quantized=integers("quantized_resample", _of_codes, "same"),
    cost=lambda dims, out, **params: RESAMPLE.cost(dims, out, **params),
    samples=lambda: [
        Sample((sample_codes(2, 3, 4, 5),), _params((7, 9), "linear"), names=(LAYOUT[2],)),
        Sample((sample_codes(1, 2, 4),), _params((8,), "nearest")),
        Sample((sample_codes(1, 2, 3, 4, 5),), _params((5, 4, 9), "linear", align_corners=True)),
        Sample((sample_codes(1, 17, 6, 5),), _params((4, 11), "cubic")),
        Sample((sample_codes(1, 1, 24),), _params((7,), "area")),
    ],
    bad=lambda: [BadInput((sample_codes(2, 3, 4),), _params((3, 7), "linear"), RuntimeError, "Expected 4D input")],
)  # fmt: skip
