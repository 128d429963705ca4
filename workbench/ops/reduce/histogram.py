"""How often values occur: by value, and by bins of equal or given widths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims, unnamed
from workbench.base.dtypes import as_numbers
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.dispatch import numbers
from workbench.core.dtype_rules import KEEP
from workbench.core.families import NOT_DIFFERENTIABLE, grid
from workbench.core.index_types import check_index
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import COMPARED
from workbench.core.typing import Tensor
from workbench.core.value import Value, dims_of, new
from workbench.ops.offer import offered


class Histogram(NamedTuple):
    """How much there is in each bin, and where the bins begin and end."""

    hist: Tensor
    bin_edges: Tensor


def _histc(x: Any, bins: int, low: float, high: float) -> Any:
    if x.dtype.kind == "c":
        raise DTypeError(
            "histc is not supported for complex tensors, which have no order: take abs() or real first"
        )
    values = x.reshape(-1)
    # Equal bounds stand for "all values", as in PyTorch.
    if low == high and values.size:
        low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    # NaN is in no bin; the upper edge belongs to the last.
    inside = values[(values >= low) & (values <= high)]
    # In float64: in fewer digits a value near an edge would slip into the bin beside it.
    place = ((inside.astype(np.float64) - low) / (high - low) * bins).astype(np.int64)
    return np.bincount(np.minimum(place, bins - 1), minlength=bins).astype(x.dtype)


HISTC = Op(
    name="histc",
    doc="How many values are in each of some bins of equal width; those outside are not counted.",
    equation="y_k = |{i : low + k·w ≤ x_i < low + (k + 1)·w}|",
    dims=lambda x, bins, low, high: unnamed((bins,)),
    rule="one unnamed dim of the bins",
    dtype=KEEP,
    forward=_histc,
    vjp=NOT_DIFFERENTIABLE,
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(3, 4),), {"bins": 4, "low": -1.0, "high": 1.0}, (("N", "C"),)),
        Sample((grid(3, 4),), {"bins": 3, "low": 0.0, "high": 0.0}),
    ],
    bad=lambda: [
        BadInput(
            (grid(3) + 1j * grid(3),), {"bins": 2, "low": 0.0, "high": 1.0}, DTypeError, "have no order"
        ),
    ],
    quantized=COMPARED,
)


def _histogram_dims(x: Dims, edges: Dims, *weight: Dims, density: bool) -> Dims:
    if len(edges.sizes) != 1 or edges.sizes[0] < 2:
        raise DimensionError(
            f"histogram(): the edges of the bins are a vector of two or more, got {list(edges.sizes)}",
            op="histogram",
            operands=(edges.operand("bins"),),
        )
    if weight and weight[0].sizes != x.sizes:
        raise DimensionError(
            "histogram(): if weight tensor is provided it should have the same shape as the input tensor, "
            f"got {list(weight[0].sizes)} and {list(x.sizes)}",
            op="histogram",
            operands=(x.operand("input"), weight[0].operand("weight")),
        )
    return unnamed((edges.sizes[0] - 1,))


def _histogram(x: Any, edges: Any, *weight: Any, density: bool) -> Any:
    values = x.reshape(-1)
    weights = weight[0].reshape(-1) if weight else None
    out = np.histogram(values, edges, weights=weights)[0].astype(x.dtype)
    if density:
        with np.errstate(invalid="ignore", divide="ignore"):
            out = out / (out.sum() * np.diff(edges)).astype(x.dtype)
    return out


HISTOGRAM = Op(
    name="histogram",
    doc="How much there is in each of some bins: values, or their weights; those outside are not counted.",
    equation="y_k = Σ_i w_i·[e_k ≤ x_i < e_{k+1}]",
    dims=_histogram_dims,
    rule="one unnamed dim of the bins",
    dtype=KEEP,
    forward=_histogram,
    vjp=NOT_DIFFERENTIABLE,
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(3, 4), np.linspace(-2, 2, 5)), {"density": False}, (("N", "C"), None)),
        Sample((grid(6), np.array([-1.0, 0, 3]), np.arange(6.0)), {"density": True}),
    ],
    quantized=COMPARED,
)

# ---------------------------------------------------------------------------------- the words people use


@offered(out="exact")
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Count the values in `bins` bins of equal width between `min` and `max`, or if these are equal, over all values.

    >>> import workbench as wb
    >>> wb.histc(wb.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    if bins <= 0:
        raise RuntimeError(f"torch.histc: bins must be > 0, got {bins}")
    if max < min:
        raise RuntimeError(f"torch.histc: max must be larger than min, got min = {min} and max = {max}")
    return HISTC(input, bins=int(bins), low=float(min), high=float(max))


@offered()
def histogram(
    input: Tensor,
    bins: int | Tensor,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """Count the values in bins, as a named tuple ``(hist, bin_edges)``.

    `bins` is how many of equal width there are (between the two of `range`, or over all values), or a vector
    of their edges. `weight` says how much each value counts; with `density` the area under the bins is 1.

    >>> import workbench as wb
    >>> wb.histogram(wb.tensor([1.0, 2.0, 1.0]), bins=3, range=(0.0, 3.0))
    Histogram(hist=tensor([0., 2., 1.]), bin_edges=tensor([0., 1., 2., 3.]))
    """
    dtype = input.payload.dtype
    if dtype.kind != "f":
        raise DTypeError(
            f"histogram() is not implemented for {input.dtype.name}. Cast first: {as_numbers('x', dtype)}"
        )
    if isinstance(bins, Value):
        edges = bins
    else:
        if bins <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, got {bins}")
        if range is not None:
            low, high = (float(one) for one in range)
        else:
            values = numbers(input)
            low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        if low > high:
            raise RuntimeError(f"torch.histogram(): min should not exceed max, got {low} and {high}")
        if not (np.isfinite(low) and np.isfinite(high)):
            raise RuntimeError(f"torch.histogram(): range [{low}, {high}] is not finite")
        if low == high:
            # One value alone would have bins of no width.
            low, high = low - 0.5, high + 0.5
        edges = new(np.linspace(low, high, int(bins) + 1, dtype=dtype))
    more = () if weight is None else (weight,)
    return Histogram(HISTOGRAM(input, edges, *more, density=bool(density)), edges)


@offered()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count how often each of 0, 1, 2, … occurs in a vector, or add up the weights of its occurrences.

    >>> import workbench as wb
    >>> wb.tensor([0, 2, 2]).bincount()
    tensor([1, 0, 2])
    """
    dims = dims_of(input)
    array = numbers(input)
    check_index("bincount", input, "uint8/int8/int16/int32/int64", "input")
    if array.ndim != 1 or (array.size and array.min() < 0):
        raise DimensionError(
            "bincount only supports 1-d non-negative integral inputs.",
            op="bincount",
            operands=(dims.operand("input"),),
        )
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    array = array.astype(np.int64)
    if weights is None:
        return new(np.bincount(array, minlength=minlength).astype(np.int64))
    if dims_of(weights).sizes != dims.sizes:
        raise DimensionError(
            "weights should be 1-d and have the same length as input.",
            op="bincount",
            operands=(dims.operand("input"), dims_of(weights).operand("weights")),
        )
    # PyTorch sums weights of any other type in double precision.
    kind = weights.payload.dtype if weights.payload.dtype == np.float32 else np.dtype(np.float64)
    length = max(int(array.max()) + 1 if array.size else 0, minlength)
    if not length:
        return new(np.zeros(0, kind))
    return ops.scatter_add(ops.to(weights, dtype=kind), new(array), dim=0, sizes=(length,))
