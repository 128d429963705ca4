"""Pooling to the means of as many windows as asked for, where only a run knows whether the windows are of one size.

Windows of one size are pooled plainly, others are resampled; both round otherwise. Eager code chooses by the sizes and
calls the one or the other. In a trace they may not be known: then these ops stand for the choice, which each run makes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.base.dims import Dims
from workbench.base.dtypes import DType, half_width
from workbench.base.errors import DimensionError
from workbench.base.quantized_array import QuantizedArray
from workbench.base.symbolic_size import SymbolicSize, remembered
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import COMPUTED, GRADIENT
from workbench.core.tape import Call
from workbench.core.value import new
from workbench.ops.nn import batching
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes
from workbench.ops.nn.pool.means import averaged, even_shares_of_codes

__all__ = [
    "ADAPTIVE_AVG_POOL",
    "ADAPTIVE_AVG_POOL_GRADIENT",
    "even_windows",
    "mean_of_windows",
    "pools_plainly",
]


@remembered(256)
def even_windows(spatial: Sizes, sizes: Sizes) -> dict[str, Sizes] | None:
    """Return the windows of a plain pooling that gives these sizes; None where windows of one size do not.

    >>> even_windows((8, 6), (2, 3))
    {'kernel': (4, 2), 'stride': (4, 2), 'padding': (0, 0)}
    """
    if any(one < 1 for one in (*spatial, *sizes)) or any(
        one % out for one, out in zip(spatial, sizes, strict=True)
    ):
        return None
    kernel = tuple(one // out for one, out in zip(spatial, sizes, strict=True))
    return {"kernel": kernel, "stride": kernel, "padding": (0,) * len(kernel)}


def pools_plainly(x: Any) -> bool:
    """Say whether values are summed as precisely in windows of one size as by the way that takes all sizes."""
    dtype = x.payload.dtype
    # Either way takes 16-bit numbers to float32, and rounds its results once.
    return bool(dtype.kind == "f" or half_width(dtype))


def _differs(spatial: Any, sizes: Any) -> bool:
    """Say whether only a run knows if the windows are of one size."""
    known = all(not isinstance(one, SymbolicSize) or one >= 1 for one in (*spatial, *sizes))
    return known and any(
        isinstance(one % out, SymbolicSize) for one, out in zip(spatial, sizes, strict=True) if out
    )


def mean_of_windows(x: Any, sizes: Sizes) -> Any:
    """Return the means of windows over the spatial dims, in the way that the sizes allow."""
    spatial = x.payload.shape[2:]
    # Codes are summed as they are; while tracing there is only their type.
    if isinstance(x.payload, QuantizedArray) or isinstance(x.payload.dtype, DType):
        return ops.adaptive_avg_pool(x, sizes=sizes)
    if pools_plainly(x):
        if _differs(spatial, sizes):
            return ops.adaptive_avg_pool(x, sizes=sizes)
        windows = even_windows(spatial, sizes)
        if windows is not None:
            return getattr(ops, f"avg_pool{len(sizes)}d")(x, **windows)
    return ops.resample(x, sizes=sizes, **_area(sizes))


def _area(sizes: Sizes) -> dict[str, Any]:
    return {"mode": "area", "scales": (None,) * len(sizes), "align_corners": False, "antialias": False}


def _forward(x: Any, sizes: Sizes) -> Any:
    # The ops themselves, with their kernels: to the bit what eager code computes.
    return mean_of_windows(new(x), sizes).payload


def _of_codes(op: Op, q: Any, sizes: Sizes) -> Any:
    edges, factors = even_shares_of_codes(q.shape[2:], sizes)
    return averaged(op, q, edges, factors, sizes=sizes)


def _backward(g: Any, input_shape: Sizes, sizes: Sizes) -> Any:
    value = new(g)
    windows = even_windows(input_shape[2:], sizes) if pools_plainly(value) else None
    if windows is not None:
        back = getattr(ops, f"avg_pool{len(sizes)}d_gradient")
        return back(value, input_shape=input_shape, **windows).payload
    return ops.resample_gradient(value, input_shape=input_shape, sizes=sizes, **_area(sizes)).payload


def _dims(x: Dims, sizes: Sizes) -> Dims:
    if len(x.sizes) != len(sizes) + 2 or not 1 <= len(sizes) <= 3:
        raise DimensionError(
            f"Expected {len(sizes) + 2}D input for {len(sizes)} spatial sizes, but got {len(x.sizes)}D.",
            op="adaptive_avg_pool",
            operands=(x.operand("input"),),
        )
    if any(one < 1 for one in x.sizes[2:]):
        raise DimensionError(
            f"Input sizes should be greater than 0, but got {list(x.sizes[2:])}.",
            op="adaptive_avg_pool",
            operands=(x.operand("input", range(2, len(x.sizes))),),
        )
    return Dims(x.names, (*x.sizes[:2], *sizes))


def _vjp(c: Call, g: Any) -> tuple[Any, ...]:
    return (ops.adaptive_avg_pool_gradient(g, input_shape=c.inputs[0].payload.shape, **c.params),)


ADAPTIVE_AVG_POOL = Op(
    name="adaptive_avg_pool",
    doc="Mean of each of as many windows as asked for.",
    equation="y[n, c, p] = mean x[n, c, ⌊p·size/out⌋ … ⌈(p + 1)·size/out⌉ - 1]",
    dims=_dims,
    rule="names pass through; the spatial dims have the given sizes",
    dtype=KEEP,
    forward=_forward,
    vjp=_vjp,
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample((grid(2, 3, 7, 5),), {"sizes": (3, 2)}, names=(LAYOUT[2],)),
        Sample((grid(2, 3, 8),), {"sizes": (4,)}),
        Sample((grid(1, 2, 4, 5, 3),), {"sizes": (2, 3, 3)}),
    ],
    bad=lambda: [
        BadInput((grid(3, 5, 5),), {"sizes": (3, 2)}, DimensionError, "Expected 4D input"),
        BadInput((grid(2, 3, 0, 5),), {"sizes": (3, 2)}, DimensionError, "greater than 0"),
    ],
    properties=frozenset({"linear"}),
    batch=batching.as_samples,
    quantized=replace(COMPUTED, codes=_of_codes),
)

ADAPTIVE_AVG_POOL_GRADIENT = Op(
    name="adaptive_avg_pool_gradient",
    doc="Gradient of adaptive_avg_pool: each value spread evenly over its window.",
    equation="gx = ∂⟨g, adaptive_avg_pool(x)⟩/∂x",
    dims=lambda g, input_shape, sizes: Dims(g.names, input_shape),
    rule="names of the gradient, sizes of the pooling's input",
    dtype=KEEP,
    forward=_backward,
    vjp=lambda c, u: (ops.adaptive_avg_pool(u, sizes=c.params["sizes"]),),
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: float(out.numel),
    samples=lambda: [
        Sample((grid(2, 3, 3, 2),), {"input_shape": (2, 3, 7, 5), "sizes": (3, 2)}, names=(LAYOUT[2],)),
        Sample((grid(2, 3, 4),), {"input_shape": (2, 3, 8), "sizes": (4,)}),
    ],
    properties=frozenset({"linear"}),
    batch=batching.as_samples_into,
    quantized=GRADIENT,
)
