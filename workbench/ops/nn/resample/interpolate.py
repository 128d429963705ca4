"""Images larger and smaller: interpolation, and the mean over as many windows as asked for."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import SymbolicFloat, SymbolicSize, scaled, whole
from workbench.core.op import ops
from workbench.core.typing import Size, Tensor
from workbench.core.value import dims_of
from workbench.ops.nn.conv.window_geometry import Sizes, batched, unbatched
from workbench.ops.nn.pool.adaptive_mean import mean_of_windows
from workbench.ops.nn.pool.adaptive_pool import target_sizes
from workbench.ops.offer import offered

MODES = {
    "nearest": ("nearest", (1, 2, 3)),
    "nearest-exact": ("nearest-exact", (1, 2, 3)),
    "area": ("area", (1, 2, 3)),
    "linear": ("linear", (1,)),
    "bilinear": ("linear", (2,)),
    "trilinear": ("linear", (3,)),
    "bicubic": ("cubic", (2,)),
}
"""What each mode does along a dim, and for how many spatial dims it is there."""

ALIGNED = ("linear", "bilinear", "bicubic", "trilinear")


def _each(value: Any, n: int, what: str) -> tuple[Any, ...]:
    each = (value,) * n if isinstance(value, int | float | SymbolicSize | SymbolicFloat) else tuple(value)
    if len(each) != n:
        raise ValueError(
            f"interpolate: the input has {n} spatial dims and {what} {value!r}: give one number, or {n} of them"
        )
    return each


def _targets(
    spatial: Sizes, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[Sizes, tuple[float | None, ...]]:
    """Return the sizes that come out, and the scales where these and not the sizes relate positions."""
    n = len(spatial)
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "interpolate: only one of size or scale_factor should be defined"
            if size is not None
            else "interpolate: either size or scale_factor should be defined"
        )
    if size is not None:
        if recompute:
            raise ValueError("interpolate: recompute_scale_factor is not meaningful with an explicit size")
        return tuple(whole(one) for one in _each(size, n, "size")), (None,) * n
    factors = tuple(float(one) for one in _each(scale_factor, n, "scale_factor"))
    if not all(0 < one < math.inf for one in factors):
        raise ValueError(f"interpolate: scale_factor must be above 0 and finite, got {scale_factor!r}")
    sizes = tuple(scaled(one, factor) for one, factor in zip(spatial, factors, strict=True))
    # Places follow the factor that was given, and not the one between rounded sizes, unless it is asked for.
    return sizes, (None,) * n if recompute else factors


@offered("nn.functional")
def interpolate(
    input: Tensor,
    size: Size | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample [N, C, L], [N, C, H, W] or [N, C, D, H, W] to `size`, or by `scale_factor`; names pass through.

    Modes: nearest, nearest-exact, area, linear (L), bilinear and bicubic (H, W), trilinear (D, H, W). With
    `align_corners` the centres of the corner values stay where they are, without it the corners themselves.
    `antialias` widens the filter of bilinear and bicubic where the result is smaller.

    >>> import workbench as wb
    >>> wb.nn.functional.interpolate(wb.tensor([[[0.0, 2.0]]]), 4, mode="linear").tolist()
    [[[0.0, 0.5, 1.5, 2.0]]]
    """
    dims = dims_of(input)
    n = len(dims.sizes) - 2
    if mode not in MODES:
        raise ValueError(f"interpolate: mode is one of {', '.join(MODES)}, not {mode!r}")
    kind, counts = MODES[mode]
    if n not in counts:
        takes = " or ".join(f"{count + 2}D" for count in counts)
        raise DimensionError(
            f"mode {mode!r} takes {takes} inputs, got {len(dims.sizes)}D.",
            op="interpolate",
            operands=(dims.operand("input"),),
        )
    if align_corners is not None and mode not in ALIGNED:
        raise ValueError(
            "interpolate: align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear"
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError("interpolate: antialias option is restricted to bilinear and bicubic modes")
    sizes, scales = _targets(dims.sizes[2:], size, scale_factor, recompute_scale_factor)
    return ops.resample(
        input,
        sizes=sizes,
        mode=kind,
        # Windows of a mean come from the sizes, whatever scale led to these.
        scales=(None,) * n if kind == "area" else scales,
        align_corners=bool(align_corners),
        antialias=antialias,
    )


@offered("nn.functional")
def upsample(
    input: Tensor,
    size: Size | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Call `interpolate`, its newer name."""
    warnings.warn("upsample is deprecated: use interpolate instead", FutureWarning, stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


@offered("nn.functional")
def upsample_nearest(
    input: Tensor, size: Size | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """Call `interpolate` with the mode nearest, its newer name."""
    warnings.warn("upsample_nearest is deprecated: use interpolate instead", FutureWarning, stacklevel=2)
    return interpolate(input, size, scale_factor, mode="nearest")


@offered("nn.functional")
def upsample_bilinear(
    input: Tensor, size: Size | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """Call `interpolate` with the mode bilinear and aligned corners, its newer name."""
    warnings.warn("upsample_bilinear is deprecated: use interpolate instead", FutureWarning, stacklevel=2)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _adaptive_avg_pool(n: int, input: Any, output_size: Any) -> Tensor:
    op = f"adaptive_avg_pool{n}d"
    x, added = batched(input, n, op)
    found: Tensor = mean_of_windows(x, target_sizes(dims_of(x), n, output_size, op))
    return unbatched(found, added)


@offered("workbench", "nn.functional")
def adaptive_avg_pool1d(input: Tensor, output_size: Size) -> Tensor:
    """Pool [N, C, L] or [C, L] to the mean of each of `output_size` windows.

    y[p] = mean x[⌊p·size/out⌋ … ⌈(p + 1)·size/out⌉ - 1]

    >>> import workbench as wb
    >>> wb.nn.functional.adaptive_avg_pool1d(wb.arange(5.0).reshape(1, 1, 5), 2).tolist()
    [[[1.0, 3.0]]]
    """
    return _adaptive_avg_pool(1, input, output_size)


@offered("nn.functional")
def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """Pool [N, C, H, W] or [C, H, W] to the mean of each of `output_size` windows; None keeps a size."""
    return _adaptive_avg_pool(2, input, output_size)


@offered("nn.functional")
def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """Pool [N, C, D, H, W] or [C, D, H, W] to the mean of each of `output_size` windows; None keeps a size."""
    return _adaptive_avg_pool(3, input, output_size)
