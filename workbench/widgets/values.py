"""What a tensor's values look like: statistics and a small picture, both at a bounded price.

A tensor of any size is described within a few milliseconds: of a large one only a sample is read, in blocks
spread evenly over it, and only the entries that are drawn are copied.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from workbench.base.errors import DeviceError, DTypeError, NoNumbersError
from workbench.live.messages import Dim, Head, Picture, Slider, Statistics, TensorState
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain

__all__ = ["BINS", "EXACT", "Drawn", "draw", "statistics_of", "tensor_state", "values_of"]

Array = np.ndarray[Any, Any]

EXACT = 1 << 17
"""Statistics of more values than this are those of a sample of this size."""

BLOCK = 64
"""Neighbouring values read at each place of a sample: memory is fetched in lines and pages."""

BINS = 40
"""Bins of the small histogram."""

MOST_FETCHED = 1 << 22
"""Most bytes copied from a device for a picture."""

MOST_TILES = 16
"""Most images drawn side by side."""

IMAGE_CHANNELS = (1, 3, 4)


def values_of(tensor: Any) -> Array | None:
    """Return the numbers of `tensor` without copying, a quantized one's codes; None if it has none (tracing).

    Values on a device are copied if they are few; None stands for the many, too.
    """
    try:
        # A picture only reads: it is no reason to take the memory for given out.
        here = isinstance(tensor, Tensor) and tensor.is_cpu
        return plain(tensor) if here else np.asarray(tensor.detach().numpy())
    except NoNumbersError:
        return None
    # A device with few values: a copy of them is cheap.
    except DeviceError:
        return tensor.numpy(force=True) if tensor.nbytes <= MOST_FETCHED else None
    # Codes have no numbers without their scale: what is drawn is the codes.
    except DTypeError:
        return np.asarray(tensor.int_repr().numpy())


def tensor_state(
    tensor: Any, title: str = "tensor", source: str = "", *, made: float | None = None
) -> TensorState:
    """Return what the shapes view says of `tensor`, news at `made` or now, without statistics and picture."""
    return TensorState(
        kind="tensor",
        head=Head(title, source, time.time() if made is None else made, False),
        dtype=getattr(tensor.dtype, "short", tensor.dtype.name),
        device=str(tensor.device),
        dims=[Dim(name, int(size)) for name, size in zip(tensor.dim_labels, tensor.shape, strict=True)],
        count=math.prod(int(size) for size in tensor.shape),
        nbytes=int(tensor.nbytes),
        requires_grad=bool(tensor.requires_grad),
        leaf=bool(tensor.is_leaf),
        statistics=None,
        picture=None,
    )


# ------------------------------------------------------------------------------------------- statistics


def _sample(array: Array) -> Array:
    """At most `EXACT` values of `array`, as one dimension."""
    if array.size <= EXACT:
        return array.reshape(-1)
    # In whole numbers, which a place in a view of 2^60 values needs; the last block ends at the last value.
    last = EXACT // BLOCK - 1
    block = np.arange(last + 1, dtype=np.int64)
    step, rest = divmod(array.size - BLOCK, last)
    starts = block * step + block * rest // last
    places = (starts[:, None] + np.arange(BLOCK)).reshape(-1)
    if array.flags.c_contiguous:
        return np.take(array.reshape(-1), places)
    array = _fewer_dims(array)
    if array.ndim > 8:  # each dim costs as much as the values do
        places = places[:: -(-array.ndim // 8)]
    sample: Array = array[np.unravel_index(places, array.shape)]
    return sample


def _fewer_dims(array: Array) -> Array:
    """See the same values in the same order with as few dims as their strides allow."""
    shape, strides = [1], [0]
    for size, stride in zip(array.shape, array.strides, strict=True):
        if size == 1:
            continue
        if shape[-1] == 1:
            shape[-1], strides[-1] = size, stride
        elif strides[-1] == stride * size:
            shape[-1], strides[-1] = shape[-1] * size, stride
        else:
            shape.append(size)
            strides.append(stride)
    # Read only: several entries may share their memory.
    return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False)


def _real(array: Array) -> Array:
    """Real numbers to draw: magnitudes of complex ones, 0 and 1 for truth values."""
    return np.abs(array) if array.dtype.kind == "c" else array


MOST_ZEROS = 0.5
"""From this share on zeros are told apart from the histogram."""


def statistics_of(array: Array) -> Statistics:
    """Return the statistics of `array`; of the finite values where a figure needs finite ones.

    >>> found = statistics_of(np.array([0.0, 1.0, 3.0, np.nan]))
    >>> found.minimum, found.maximum, found.nan, round(found.mean, 3)
    (0.0, 3.0, 1, 1.333)
    """
    sample = _real(_sample(array)).astype(np.float64)
    finite = sample[np.isfinite(sample)]
    nan = int(np.isnan(sample).sum())
    inf = sample.size - finite.size - nan
    zeros = float((sample == 0).mean()) if sample.size else 0.0
    sampled = array.size > EXACT
    if not finite.size:
        return Statistics(None, None, None, None, zeros, nan, inf, [], sampled)
    low, high = float(finite.min()), float(finite.max())
    scale = max(abs(low), abs(high), 1e-300)  # so that squares of the largest numbers stay finite
    mean = float((finite / scale).mean() * scale)
    std = float((finite / scale).std() * scale)
    others = finite[finite != 0] if zeros >= MOST_ZEROS else finite[:0]
    # A mask has two bars, and both tell something.
    apart = bool(others.size) and bool(others.min() < others.max())
    binned = others if apart else finite
    return Statistics(low, high, mean, std, zeros, nan, inf, _histogram(binned, low, high), sampled, apart)


def _histogram(finite: Array, low: float, high: float) -> list[int]:
    if not high > low:
        return [int(finite.size)]
    half = high / 2 - low / 2  # the full width of the largest numbers is not finite
    place = ((finite / 2 - low / 2) / half * BINS).astype(np.int64)
    counts = np.bincount(np.clip(place, 0, BINS - 1), minlength=BINS)
    return [int(count) for count in counts]


# ---------------------------------------------------------------------------------------------- picture


@dataclass(frozen=True)
class Plan:
    """Which axes a picture draws, and which become sliders."""

    kind: Literal["images", "heatmap", "line", "scalar"]
    row: int | None = None
    column: int | None = None
    channel: int | None = None
    tile: int | None = None

    @property
    def drawn(self) -> tuple[int | None, ...]:
        return (self.row, self.column, self.channel)


@dataclass(frozen=True)
class Drawn:
    """A picture and its values, float32 [tiles, height, width, channels]."""

    picture: Picture
    values: Array


def _plan(dims: Sequence[Dim]) -> Plan:
    """Choose the picture: images where names say so, else by how many dims have more than one entry."""
    axis = {dim.name: index for index, dim in enumerate(dims) if dim.name is not None}
    if "H" in axis and "W" in axis:
        # Only where names say so: a stack of matrices looks the same as images.
        channel = axis.get("C")
        colours = channel is not None and dims[channel].size in IMAGE_CHANNELS
        return Plan("images", axis["H"], axis["W"], channel if colours else None, axis.get("N"))
    long = [index for index, dim in enumerate(dims) if dim.size > 1]
    if len(long) >= 2:
        return Plan("heatmap", long[-2], long[-1])
    return Plan("line", column=long[0]) if long else Plan("scalar")


def draw(
    array: Array, dims: Sequence[Dim], chosen: Mapping[int, int], found: Statistics, most: int
) -> Drawn | None:
    """Return the picture of `array` with at most about `most` values; None if there are no values.

    `chosen` says for each axis that is not drawn which entry is shown, 0 where it says nothing. `found` gives
    the ends of the colour map.
    """
    if array.size == 0:
        return None
    plan = _plan(dims)
    # Images first, at a modest size each; then each gets what is left.
    tiles = 1 if plan.tile is None else min(MOST_TILES, dims[plan.tile].size, _affordable(dims, plan, most))
    first = _first_entries(dims, plan, chosen, tiles)
    picked = _picked(dims, plan, most // (tiles * (1 if plan.channel is None else dims[plan.channel].size)))
    index = tuple(
        picked[axis]
        if axis in picked
        else slice(None)
        if axis == plan.channel
        else slice(first[axis], first[axis] + tiles)
        if axis == plan.tile
        else slice(first[axis], first[axis] + 1)
        for axis, dim in enumerate(dims)
    )
    order = [axis for axis in (plan.tile, plan.row, plan.column, plan.channel) if axis is not None]
    rest = [axis for axis in range(len(dims)) if axis not in order]
    # What is left over has one entry each, so it may stand anywhere.
    part = _real(array[index]).transpose([*rest, *order])
    sizes = [
        1 if axis is None else part.shape[len(rest) + order.index(axis)]
        for axis in (plan.tile, plan.row, plan.column, plan.channel)
    ]
    with np.errstate(over="ignore"):  # a double beyond float32 is drawn as infinite
        values = np.ascontiguousarray(part.reshape(sizes), dtype="<f4")
    sliders = [
        Slider(dim, axis, first[axis])
        for axis, dim in enumerate(dims)
        if axis not in plan.drawn and dim.size > (tiles if axis == plan.tile else 1)
    ]
    return Drawn(_picture(plan, dims, sizes, found, sliders), values)


def _picture(
    plan: Plan, dims: Sequence[Dim], sizes: Sequence[int], found: Statistics, sliders: list[Slider]
) -> Picture:
    low, high = found.minimum or 0.0, found.maximum or 0.0
    named = [None if axis is None else dims[axis] for axis in (plan.row, plan.column, plan.tile)]
    return Picture(
        kind=plan.kind,
        tiles=sizes[0],
        height=sizes[1],
        width=sizes[2],
        channels=sizes[3],
        low=low,
        # A constant has no width, and the map needs one.
        high=high if high > low else low + 1.0,
        signed=plan.kind != "images" and low < 0 < high,
        values_buffer=0,
        row_dim=named[0],
        column_dim=named[1],
        tile_dim=named[2],
        sliders=sliders,
    )


def _affordable(dims: Sequence[Dim], plan: Plan, most: int) -> int:
    """How many images there is room for, if each is drawn at up to 32 by 32."""
    height, width = (min(32, dims[axis].size) for axis in (plan.row, plan.column) if axis is not None)
    channels = 1 if plan.channel is None else dims[plan.channel].size
    return max(1, most // (height * width * channels))


def _picked(dims: Sequence[Dim], plan: Plan, most: int) -> dict[int, slice]:
    """Which entries of the drawn dims are, for at most about `most` values: an image keeps its proportions."""
    axes = [axis for axis in (plan.row, plan.column) if axis is not None]
    if plan.kind == "images":
        height, width = (dims[axis].size for axis in axes)
        step = max(1, math.isqrt(height * width // max(1, most)))
        # The root is of whole pixels, and rounding both sides up may leave too many.
        while math.ceil(height / step) * math.ceil(width / step) > most and step < max(height, width):
            step += 1
        return {axis: slice(0, dims[axis].size, step) for axis in axes}
    side = min(most, 4096) if plan.kind == "line" else max(1, math.isqrt(most))
    return {axis: slice(0, dims[axis].size, max(1, math.ceil(dims[axis].size / side))) for axis in axes}


def _first_entries(dims: Sequence[Dim], plan: Plan, chosen: Mapping[int, int], tiles: int) -> list[int]:
    return [
        min(chosen.get(axis, 0), dim.size - (tiles if axis == plan.tile else 1))
        for axis, dim in enumerate(dims)
    ]
