"""Quantiles: values below which a given share of the values along a dim lies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.dtypes import as_numbers
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.symbolic_size import as_float
from workbench.core.op import ops
from workbench.core.typing import Dim, Tensor
from workbench.core.value import Value, dims_of, new
from workbench.ops.elementwise.ternary import lerp
from workbench.ops.offer import offered

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check(name: str, input: Any, q: Any, interpolation: str) -> Any:
    """Return `q` as a value of the input's type, or refuse what makes no quantile."""
    dtype = input.payload.dtype
    if dtype.kind != "f" or dtype.itemsize < 4:
        raise DTypeError(
            f"{name}() input tensor must be either float or double dtype, this is {input.dtype.name}. "
            f"Cast first: {as_numbers('x', dtype)}.{name}(q)"
        )
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of {', '.join(_INTERPOLATIONS)}, but got {interpolation!r}"
        )
    if isinstance(q, Value):
        if q.payload.dtype != dtype:
            raise DTypeError(f"{name}() q tensor must be same dtype as the input tensor: {input.dtype.name}")
        if len(q.payload.shape) > 1:
            raise DimensionError(
                f"{name}() q must be a scalar or 1D tensor, but got {len(q.payload.shape)} dims.",
                op=name,
                operands=(dims_of(q).operand("q"),),
            )
        return q
    if not 0 <= q <= 1:
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
    return new(np.asarray(q, dtype))


def _between(rows: Any, ranks: Any, interpolation: str) -> Any:
    """Return the values of the sorted `rows` [R, n] at `ranks` [R, Q], which may lie between two places."""
    whole = np.dtype(np.int64)
    if interpolation in ("lower", "higher", "nearest"):
        snap = {"lower": ops.floor, "higher": ops.ceil, "nearest": ops.round}[interpolation]
        return ops.gather(rows, ops.to(snap(ranks), dtype=whole), dim=1)
    below = ops.floor(ranks)
    low = ops.gather(rows, ops.to(below, dtype=whole), dim=1)
    high = ops.gather(rows, ops.to(ops.ceil(ranks), dtype=whole), dim=1)
    share = 0.5 if interpolation == "midpoint" else ops.sub(ranks, below)
    return lerp(low, high, share)


def _quantile(
    name: str, input: Any, q: Any, dim: int | str | None, keepdim: bool, interpolation: str
) -> Tensor:
    q = _check(name, input, q, interpolation)
    dims = dims_of(input)
    ndim = len(dims.sizes)
    if dims.numel == 0:
        raise DimensionError(
            f"{name}() input tensor must be non-empty.", op=name, operands=(dims.operand("input"),)
        )
    # A value without dims has none to reduce, though it takes dim 0.
    reduced = tuple(range(ndim)) if dim is None else (dim_index(dims, dim, name),)[:ndim]
    rest = tuple(i for i in range(ndim) if i not in reduced)
    count = math.prod(dims.sizes[i] for i in reduced)
    bare = ops.rename(input, names=None)
    rows = ops.reshape(ops.permute(bare, dim=rest + reduced), sizes=(dims.numel // count, count))
    rows = ops.sort(rows, dim=1, descending=False)[0]

    several = len(q.payload.shape) == 1
    asked = q.payload.shape[0] if several else 1
    share = ops.reshape(ops.rename(q, names=None), sizes=(1, asked))
    bad = ops.isnan(rows)
    if name == "nanquantile":
        numbers = ops.sum(ops.logical_not(bad), dim=(1,), keepdim=True)
        # Where there is no number at all, place 0 holds NaN.
        last = ops.to(ops.maximum(ops.sub(numbers, 1), 0), dtype=input.payload.dtype)
        ranks = ops.mul(share, last)
    else:
        # A NaN is sorted last: pointing there makes the result NaN.
        ranks = ops.where(
            ops.any(bad, dim=(1,), keepdim=True), as_float(count - 1), ops.mul(share, as_float(count - 1))
        )
    sizes = (rows.payload.shape[0], asked)
    found = _between(rows, ops.expand(ranks, sizes=sizes), interpolation)

    out_dims = range(ndim) if keepdim else rest
    kept = tuple(1 if i in reduced else dims.sizes[i] for i in out_dims)
    names = tuple(dims.names[i] for i in out_dims)
    if several:
        label = dims_of(q).names[0]
        if label is not None and label in names:
            raise DimensionError(
                f"{name}() makes a first dim of the quantiles, and both it and another would be called {label!r}.",
                op=name,
                operands=(dims.operand("input", [dims.names.index(label)]), dims_of(q).operand("q", [0])),
                fix=f"q.rename({label}='quantile')",
            )
        found, kept, names = ops.permute(found, dim=(1, 0)), (asked, *kept), (label, *names)
    found = ops.reshape(found, sizes=kept)
    return ops.rename(found, names=names) if any(names) else found


@offered(out="exact")
def quantile(
    input: Tensor,
    q: Tensor | float | Sequence[float],
    dim: Dim | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The q-th quantile along a dim, or of all values: the value at rank q·(n - 1) of the sorted ones.

    `q` is a number in [0, 1] or a vector of them, whose dim (and name) comes first. Between two ranks `interpolation`
    decides: linear, lower, higher, midpoint, nearest. NaN where there is one.

    >>> import workbench as wb
    >>> wb.tensor([1.0, 2.0, 4.0]).quantile(0.75)
    tensor(3.)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@offered(out="exact")
def nanquantile(
    input: Tensor,
    q: Tensor | float | Sequence[float],
    dim: Dim | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The q-th quantile of the values that are numbers, see `quantile`; NaN where there is none.

    >>> import workbench as wb
    >>> wb.tensor([1.0, 2.0, wb.nan]).nanquantile(0.5)
    tensor(1.5000)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)
