"""Reductions: dims that end in the op; their names go, or stay with size 1 under ``keepdim``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index, dim_indices
from workbench.base.dtypes import as_dtype
from workbench.base.errors import DimensionIndexError, DTypeError
from workbench.core.dtype_rules import FLOAT, INDEX, KEEP, PREDICATE, SUM
from workbench.core.families import NOT_DIFFERENTIABLE, NOT_QUANTIZED, grid
from workbench.core.op import Absent, BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.value import dims_of

Dim = int | str | Sequence[int | str] | None


def _dims(x: Dims, dim: tuple[int, ...], keepdim: bool, **params: Any) -> Dims:
    if not keepdim:
        return x.without(dim)
    return Dims(x.names, tuple(1 if i in dim else size for i, size in enumerate(x.sizes)))


def _samples() -> list[Sample]:
    x = grid(2, 3, 4)
    named = (("N", "C", "T"),)
    return [
        Sample((x,), {"dim": (0, 1, 2), "keepdim": False}, names=named),
        Sample((x,), {"dim": (1,), "keepdim": False}, names=named),
        Sample((x,), {"dim": (0, 2), "keepdim": True}, names=named),
        Sample((x.transpose(2, 0, 1),), {"dim": (2,), "keepdim": False}),
        Sample((grid(),), {"dim": (), "keepdim": False}),
    ]


def reduction(
    name: str,
    doc: str,
    equation: str,
    forward: Callable[..., Any],
    gradient: Callable[..., Any] | Absent,
    *,
    saves: Saves = Saves((), output=False),  # noqa: B008  a frozen record
    dtype: DTypeRule = KEEP,
    samples: Callable[[], list[Sample]] = _samples,
    bad: Callable[[], list[BadInput]] = list,
    tolerance: float = 1e-6,
    properties: Sequence[str] = (),
) -> Op:
    """Declare a reduction with parameters ``dim`` (positions) and ``keepdim``."""

    def vjp(call: Call, g: Any) -> tuple[Any, ...]:
        return (gradient(call, g, **call.params),)  # type: ignore[operator]

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        reference="elementary",
        dims=_dims,
        rule="the reduced dims end here (or stay with size 1 under keepdim), the others pass through",
        dtype=dtype,
        forward=forward,
        vjp=gradient if isinstance(gradient, Absent) else vjp,
        saves=saves,
        quantized=NOT_QUANTIZED,
        cost=lambda dims, out, **params: float(dims[0].numel),
        samples=samples,
        bad=bad,
        tolerance=tolerance,
        properties=frozenset(properties),
    )


def _kept(value: Any, x: Any, dim: tuple[int, ...]) -> Any:
    """Bring a reduced value back to the number of dims of `x`, with size 1 where it was reduced."""
    sizes = tuple(1 if i in dim else size for i, size in enumerate(x._array.shape))
    return value if value._array.shape == sizes else ops.reshape(value, sizes=sizes)


def _spread(value: Any, x: Any, dim: tuple[int, ...]) -> Any:
    """Bring a reduced value back to the sizes of `x`."""
    return ops.expand(_kept(value, x, dim), sizes=x._array.shape)


def _count(x: Any, dim: tuple[int, ...]) -> int:
    return math.prod(x._array.shape[i] for i in dim)


SUM_OP = reduction(
    "sum",
    "Sum over dims.",
    "y = Σ x",
    lambda x, dim, keepdim: np.sum(x, axis=dim, keepdims=keepdim),
    lambda c, g, dim, keepdim: _spread(g, c.inputs[0], dim),
    dtype=SUM,
    properties=["linear"],
)
MEAN = reduction(
    "mean",
    "Arithmetic mean over dims.",
    "y = Σ x / n",
    lambda x, dim, keepdim: np.mean(x, axis=dim, keepdims=keepdim),
    lambda c, g, dim, keepdim: ops.div(_spread(g, c.inputs[0], dim), float(_count(c.inputs[0], dim))),
    properties=["linear"],
)


def _extreme_gradient(c: Call, g: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    """Shared evenly between the values that tie."""
    x = c.inputs[0]
    hit = ops.to(ops.eq(x, _kept(c.out, x, dim)), dtype=np.dtype(g._array.dtype))
    share = ops.div(hit, ops.sum(hit, dim=dim, keepdim=True))
    return ops.mul(_kept(g, x, dim), share)


EVERYTHING = Saves(None, output=True)
AMAX = reduction(
    "amax",
    "Largest value over dims.",
    "y = max x",
    lambda x, dim, keepdim: np.amax(x, axis=dim, keepdims=keepdim),
    _extreme_gradient,
    saves=EVERYTHING,
)
AMIN = reduction(
    "amin",
    "Smallest value over dims.",
    "y = min x",
    lambda x, dim, keepdim: np.amin(x, axis=dim, keepdims=keepdim),
    _extreme_gradient,
    saves=EVERYTHING,
)
ANY = reduction(
    "any",
    "True where any value is non-zero.",
    "y = ∃ x ≠ 0",
    lambda x, dim, keepdim: np.any(x, axis=dim, keepdims=keepdim),
    NOT_DIFFERENTIABLE,
    dtype=PREDICATE,
)
ALL = reduction(
    "all",
    "True where all values are non-zero.",
    "y = ∀ x ≠ 0",
    lambda x, dim, keepdim: np.all(x, axis=dim, keepdims=keepdim),
    NOT_DIFFERENTIABLE,
    dtype=PREDICATE,
)


def _var_gradient(c: Call, g: Any, dim: tuple[int, ...], keepdim: bool, correction: int) -> Any:
    x = c.inputs[0]
    centred = ops.sub(x, ops.mean(x, dim=dim, keepdim=True))
    return ops.mul(_kept(g, x, dim), ops.mul(centred, 2.0 / (_count(x, dim) - correction)))


VAR = reduction(
    "var",
    "Variance over dims, with `correction` fewer degrees of freedom.",
    "y = Σ (x - x̄)² / (n - correction)",
    lambda x, dim, keepdim, correction: np.var(x, axis=dim, keepdims=keepdim, ddof=correction),
    _var_gradient,
    saves=Saves(None, output=False),
    samples=lambda: [Sample(s.inputs, {**s.params, "correction": 1}, s.names) for s in _samples()[:4]],
)


def _logsumexp(x: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    top = np.amax(x, axis=dim, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    out = np.log(np.sum(np.exp(x - top), axis=dim, keepdims=True)) + top
    return out if keepdim else np.squeeze(out, axis=dim)


LOGSUMEXP = reduction(
    "logsumexp",
    "Logarithm of the sum of exponentials, without overflow.",
    "y = ln Σ e^x",
    _logsumexp,
    lambda c, g, dim, keepdim: ops.mul(
        _kept(g, c.inputs[0], dim), ops.exp(ops.sub(c.inputs[0], _kept(c.out, c.inputs[0], dim)))
    ),
    saves=EVERYTHING,
    dtype=FLOAT,
)


def _index_samples() -> list[Sample]:
    return [s for s in _samples() if len(s.params["dim"]) == 1]


ARGMAX = reduction(
    "argmax",
    "Index of the largest value along a dim.",
    "y = argmax x",
    lambda x, dim, keepdim: np.argmax(x, axis=dim[0], keepdims=keepdim),
    NOT_DIFFERENTIABLE,
    dtype=INDEX,
    samples=_index_samples,
)
ARGMIN = reduction(
    "argmin",
    "Index of the smallest value along a dim.",
    "y = argmin x",
    lambda x, dim, keepdim: np.argmin(x, axis=dim[0], keepdims=keepdim),
    NOT_DIFFERENTIABLE,
    dtype=INDEX,
    samples=_index_samples,
)

CUMSUM = Op(
    name="cumsum",
    doc="Running sum along a dim.",
    equation="y_i = Σ_{j ≤ i} x_j",
    reference="elementary",
    dims=lambda x, dim: x,
    rule="names and sizes pass through",
    dtype=SUM,
    forward=lambda x, dim: np.cumsum(x, axis=dim),
    vjp=lambda c, g: (
        ops.flip(
            ops.cumsum(ops.flip(g, dim=(c.params["dim"],)), dim=c.params["dim"]), dim=(c.params["dim"],)
        ),
    ),
    saves=Saves((), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(out.numel),
    samples=lambda: [Sample((grid(3, 4),), {"dim": 1}, names=(("N", "C"),))],
    bad=list,
    properties=frozenset({"linear"}),
)

# ---------------------------------------------------------------------------------- the words people use


def _axes(input: Any, dim: Dim, op: str) -> tuple[int, ...]:
    return dim_indices(dims_of(input), dim, op)


def sum(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Sum over one dim, several or all: y = Σ x. Integers are summed as int64.

    Dims are given by position or by name; a reduced name goes, or stays with size 1 under `keepdim`.

    >>> import workbench as wb
    >>> wb.ones(N=2, C=3).sum("C")
    tensor([3.0000, 3.0000], names=('N',))
    """
    if dtype is not None:
        input = input.to(as_dtype(dtype))
    return ops.sum(input, dim=_axes(input, dim, "sum"), keepdim=keepdim)


def mean(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Arithmetic mean over one dim, several or all: y = Σ x / n. Integers need a floating `dtype`."""
    if dtype is not None:
        input = input.to(as_dtype(dtype))
    if input._array.dtype.kind not in "fc":
        raise DTypeError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype.name}. Cast first: x.float().mean()"
        )
    return ops.mean(input, dim=_axes(input, dim, "mean"), keepdim=keepdim)


def var(input: Any, dim: Dim = None, keepdim: bool = False, *, correction: int = 1) -> Any:
    """Variance over dims: y = Σ (x - x̄)² / (n - correction)."""
    return ops.var(input, dim=_axes(input, dim, "var"), keepdim=keepdim, correction=correction)


def std(input: Any, dim: Dim = None, keepdim: bool = False, *, correction: int = 1) -> Any:
    """Standard deviation over dims: y = √(Σ (x - x̄)² / (n - correction))."""
    return ops.sqrt(var(input, dim, keepdim, correction=correction))


def amax(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """Largest value over dims; the gradient is shared evenly between ties."""
    return ops.amax(input, dim=_nonempty(input, dim, "amax"), keepdim=keepdim)


def amin(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """Smallest value over dims; the gradient is shared evenly between ties."""
    return ops.amin(input, dim=_nonempty(input, dim, "amin"), keepdim=keepdim)


def _nonempty(input: Any, dim: Dim, op: str) -> tuple[int, ...]:
    axes = _axes(input, dim, op)
    dims = dims_of(input)
    for axis in axes:
        if dims.sizes[axis] == 0:
            raise DimensionIndexError(
                f"Expected reduction dim {axis} to have non-zero size: nothing has no largest or smallest value.",
                op=op,
                operands=(dims.operand("input", [axis]),),
            )
    return axes


def any(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """True where any value over the dims is non-zero."""
    return ops.any(input, dim=_axes(input, dim, "any"), keepdim=keepdim)


def all(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """True where all values over the dims are non-zero."""
    return ops.all(input, dim=_axes(input, dim, "all"), keepdim=keepdim)


def logsumexp(input: Any, dim: Dim, keepdim: bool = False) -> Any:
    """Logarithm of the sum of exponentials over dims, without overflow: y = ln Σ e^x."""
    return ops.logsumexp(input, dim=_axes(input, dim, "logsumexp"), keepdim=keepdim)


def _index_of(op: str, input: Any, dim: int | str | None, keepdim: bool) -> Any:
    if dim is None:
        input, dim = ops.reshape(input, sizes=(dims_of(input).numel,)), 0
        keepdim = False
    return getattr(ops, op)(input, dim=_nonempty(input, dim, op), keepdim=keepdim)


def argmax(input: Any, dim: int | str | None = None, keepdim: bool = False) -> Any:
    """Index (int64) of the largest value along a dim, or of all values laid out in a row."""
    return _index_of("argmax", input, dim, keepdim)


def argmin(input: Any, dim: int | str | None = None, keepdim: bool = False) -> Any:
    """Index (int64) of the smallest value along a dim, or of all values laid out in a row."""
    return _index_of("argmin", input, dim, keepdim)


def cumsum(input: Any, dim: int | str) -> Any:
    """Running sum along a dim: y_i = Σ_{j ≤ i} x_j."""
    return ops.cumsum(input, dim=dim_index(dims_of(input), dim, "cumsum"))


FUNCTIONS: dict[str, Any] = {
    "all": all,
    "amax": amax,
    "amin": amin,
    "any": any,
    "argmax": argmax,
    "argmin": argmin,
    "cumsum": cumsum,
    "logsumexp": logsumexp,
    "mean": mean,
    "std": std,
    "sum": sum,
    "var": var,
}
"""What `workbench` offers of this file by name."""
