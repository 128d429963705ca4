"""Reductions: dims that end in the op; their names go, or stay with size 1 under ``keepdim``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.dims import MAXIMUM_DIMS, Dims, dim_indices
from workbench.base.dtypes import as_dtype, as_numbers
from workbench.base.errors import DimensionIndexError, DTypeError
from workbench.base.quantized_array import code_range
from workbench.base.symbolic_size import as_float
from workbench.core import sparse_rules
from workbench.core.contribution import Contribution
from workbench.core.dtype_rules import FLOAT, KEEP, SUM
from workbench.core.families import NOT_DIFFERENTIABLE, grid
from workbench.core.op import Absent, BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import COMPARED, COMPUTED, OWN, Quantization
from workbench.core.quantized_rules import computed
from workbench.core.tape import Call
from workbench.core.typing import DimsLike, DTypeLike, Size, Tensor
from workbench.core.value import dims_of, new
from workbench.ops.elementwise.complex import conjugate
from workbench.ops.offer import offered
from workbench.ops.shape.movement import sizes_from

EVERYTHING = Saves(None, output=True)


def reduced_dims(x: Dims, dim: tuple[int, ...], keepdim: bool, **params: Any) -> Dims:
    """Return the dims of `x` without those at the positions `dim`, or with size 1 there."""
    if not keepdim:
        return x.without(dim)
    return Dims(x.names, tuple(1 if i in dim else size for i, size in enumerate(x.sizes)))


def reduction_samples() -> list[Sample]:
    """Return samples of a reduction over one dim, several, all, and of a tensor without dims."""
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
    samples: Callable[[], list[Sample]] = reduction_samples,
    bad: Callable[[], list[BadInput]] = list,
    tolerance: float = 1e-6,
    properties: Sequence[str] = (),
    small: str | None = None,
    sparse: Callable[..., Any] | None = None,
    quantized: Quantization | Absent = OWN,
    contribution: Contribution | None = None,
) -> Op:
    """Declare a reduction with parameters ``dim`` (positions) and ``keepdim``."""

    def vjp(call: Call, g: Any) -> tuple[Any, ...]:
        return (gradient(call, g, **call.params),)  # type: ignore[operator]

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        dims=reduced_dims,
        rule="the reduced dims end here (or stay with size 1 under keepdim), the others pass through",
        dtype=dtype,
        forward=forward,
        vjp=gradient if isinstance(gradient, Absent) else vjp,
        saves=saves,
        cost=lambda dims, out, **params: float(dims[0].numel),
        samples=samples,
        bad=bad,
        tolerance=tolerance,
        properties=frozenset(properties),
        small=small,
        sparse=sparse,
        quantized=quantized,
        contribution=contribution,
    )


def kept(value: Any, x: Any, dim: tuple[int, ...]) -> Any:
    """Bring a reduced value back to the number of dims of `x`, with size 1 where it was reduced."""
    sizes = tuple(1 if i in dim else size for i, size in enumerate(x.payload.shape))
    return value if value.payload.shape == sizes else ops.reshape(value, sizes=sizes)


def spread(value: Any, x: Any, dim: tuple[int, ...]) -> Any:
    """Bring a reduced value back to the sizes of `x`."""
    # A value without dims stretches as it is.
    if value.payload.shape:
        value = kept(value, x, dim)
    return ops.expand(value, sizes=x.payload.shape)


def count(x: Any, dim: tuple[int, ...]) -> int:
    """Return how many values are reduced to one."""
    return math.prod(x.payload.shape[i] for i in dim)


EVERY = tuple(tuple(range(ndim)) for ndim in range(MAXIMUM_DIMS + 1))
"""The positions of all dims, by their number."""


def axes_of(input: Any, dim: DimsLike | None, op: str) -> tuple[int, ...]:
    """Return the positions of the dims to reduce, all of them for None."""
    # What is asked for most often, without looking at names.
    return EVERY[len(input.payload.shape)] if dim is None else dim_indices(dims_of(input), dim, op)


def nonempty_axes(input: Any, dim: DimsLike | None, op: str) -> tuple[int, ...]:
    """Return the positions of the dims to reduce; refuse those of size 0, which have no result."""
    axes = axes_of(input, dim, op)
    dims = dims_of(input)
    for axis in axes:
        if dims.sizes[axis] == 0:
            raise DimensionIndexError(
                f"Expected reduction dim {axis} to have non-zero size: nothing has no largest or smallest value.",
                op=op,
                operands=(dims.operand("input", [axis]),),
            )
    return axes


# ----------------------------------------------------------------------------------------- the records


def _mean(x: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    # Not np.mean, which warns where there is nothing to average; the answer there is NaN.
    reduce: Any = np.add.reduce
    total = reduce(x, axis=dim, keepdims=keepdim)
    count = math.prod([x.shape[i] for i in dim])
    # A number of NumPy's divides itself in a tenth of the time; those of others are rounded by the function.
    return (
        total / count
        if type(total) is np.float64 or type(total) is np.float32
        else np.true_divide(total, count)
    )


def _mean_of_codes(op: Op, q: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    if not q.per_tensor:
        return computed(op, q, dim=dim, keepdim=keepdim)
    # The ops themselves, with their kernels. In floating point, as PyTorch does it: halves go where its sums do.
    found: Any = ops.mean(ops.dequantize(new(q)), dim=dim, keepdim=keepdim)
    low, high = code_range(q.dtype)
    out = {"scale": q.scale, "zero_point": int(q.zero_point), "qmin": low, "qmax": high, "dtype": q.dtype}
    return ops.quantize_per_tensor(found, **out).payload


SUM_OP = reduction(
    "sum",
    "Sum over dims.",
    "y = Σ x",
    # Not np.sum, which is this behind several calls of Python.
    lambda x, dim, keepdim: np.add.reduce(x, axis=dim, keepdims=keepdim),
    lambda c, g, dim, keepdim: spread(g, c.inputs[0], dim),
    dtype=SUM,
    properties=["linear", "wide"],
    sparse=sparse_rules.sum_,
    small="sum",
)
MEAN = reduction(
    "mean",
    "Arithmetic mean over dims.",
    "y = Σ x / n",
    _mean,
    lambda c, g, dim, keepdim: ops.div(spread(g, c.inputs[0], dim), as_float(count(c.inputs[0], dim))),
    properties=["linear"],
    small="mean",
    quantized=replace(COMPUTED, codes=_mean_of_codes),
)


def product_of_others(x: Any, dim: tuple[int, ...]) -> Any:
    """Return for each value the product of all others along `dim`, without dividing: zeros do no harm."""
    shape = x.payload.shape
    rest = tuple(i for i in range(len(shape)) if i not in dim)
    order = rest + dim
    row = ops.reshape(
        ops.permute(x, dim=order), sizes=(*(shape[i] for i in rest), math.prod(shape[i] for i in dim))
    )
    last = len(rest)
    # A 1 in front and the last cut off: each place then has the product of all before it.
    step = ((0, 0),) * last + ((1, -1),)

    def before(values: Any) -> Any:
        return ops.pad(ops.cumprod(values, dim=last), padding=step, value=1.0)

    both = ops.mul(before(row), ops.flip(before(ops.flip(row, dim=(last,))), dim=(last,)))
    inverse = tuple(order.index(i) for i in range(len(shape)))
    return ops.permute(ops.reshape(both, sizes=tuple(shape[i] for i in order)), dim=inverse)


def _prod_gradient(c: Call, g: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    x = c.inputs[0]
    g = kept(g, x, dim)
    if 0 in x.payload.shape or not dim:
        return ops.expand(g, sizes=x.payload.shape)
    return ops.mul(g, conjugate(product_of_others(x, dim)))


def _prod(x: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    if dim == (x.ndim - 1,) and x.dtype.kind == "f":
        # NumPy multiplies neighbours one by one, but halves of rows side by side.
        while (count := x.shape[-1]) >= 64:
            half = count // 2
            both = x[..., :half] * x[..., half : 2 * half]
            if count % 2:
                both[..., 0] *= x[..., -1]
            x = both
    return np.prod(x, axis=dim, keepdims=keepdim)


PROD = reduction(
    "prod",
    "Product over dims.",
    "y = Π x",
    _prod,
    _prod_gradient,
    saves=Saves(None, output=False),
    dtype=SUM,
    samples=lambda: [
        *reduction_samples(),
        Sample((grid(3, 4) * np.array([1.0, 0, 1, 1]),), {"dim": (1,), "keepdim": False}),
        Sample((grid(2, 3) * np.array([0.0, 0, 1]),), {"dim": (0, 1), "keepdim": True}),
    ],
    properties=["wide"],
)


def _truth(dtype: np.dtype[Any], params: Mapping[str, Any]) -> Any:
    # PyTorch keeps bytes, which it had before it had bools.
    return dtype if dtype == np.uint8 else np.dtype(np.bool_)


TRUTH = DTypeRule("bool; uint8 stays", None, _truth)


def _quantifier(reduce: Any) -> Any:
    def forward(x: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
        return np.asarray(reduce(x.astype(np.bool_, copy=False), axis=dim, keepdims=keepdim)).astype(
            _truth(x.dtype, {})
        )

    return forward


ANY = reduction(
    "any",
    "True where any value is non-zero.",
    "y = ∃ x ≠ 0",
    _quantifier(np.any),
    NOT_DIFFERENTIABLE,
    dtype=TRUTH,
    quantized=COMPARED,
)
ALL = reduction(
    "all",
    "True where all values are non-zero.",
    "y = ∀ x ≠ 0",
    _quantifier(np.all),
    NOT_DIFFERENTIABLE,
    dtype=TRUTH,
    quantized=COMPARED,
)


def _logsumexp(x: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    top = np.amax(x.real, axis=dim, keepdims=True, initial=-np.inf)
    # Where the largest is infinite it is not taken out: ∞ - ∞ would be NaN.
    top = np.where(np.isfinite(top), top, np.zeros_like(top))
    with np.errstate(divide="ignore"):
        out = np.log(np.sum(np.exp(x - top), axis=dim, keepdims=True)) + top
    return out if keepdim else np.squeeze(out, axis=dim)


LOGSUMEXP = reduction(
    "logsumexp",
    "Logarithm of the sum of exponentials, without overflow.",
    "y = ln Σ e^x",
    _logsumexp,
    lambda c, g, dim, keepdim: ops.mul(
        kept(g, c.inputs[0], dim), conjugate(ops.exp(ops.sub(c.inputs[0], kept(c.out, c.inputs[0], dim))))
    ),
    saves=EVERYTHING,
    dtype=FLOAT,
    properties=["wide"],
)

# ---------------------------------------------------------------------------------- the words people use


def _reduced(op: Op, input: Any, dim: DimsLike | None, keepdim: bool, dtype: Any) -> Tensor:
    """Sum or product in the type asked for: values are cast before, so that nothing overflows on the way."""
    axes = axes_of(input, dim, op.name)
    if dtype is None:
        return op(input, dim=axes, keepdim=keepdim)
    target = as_dtype(dtype)
    return op(input.to(target), dim=axes, keepdim=keepdim).to(target)


@offered(out=True)
def sum(
    input: Tensor, dim: DimsLike | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Sum over one dim, several or all: y = Σ x. Integers are summed as int64.

    Dims are given by position or by name; a reduced name goes, or stays with size 1 under `keepdim`.

    >>> import workbench as wb
    >>> wb.ones(N=2, C=3).sum("C")
    tensor([3., 3.], names=('N',))
    """
    if dtype is None:
        return ops.sum(input, dim=axes_of(input, dim, "sum"), keepdim=keepdim)
    return _reduced(SUM_OP, input, dim, keepdim, dtype)


@offered(out=True)
def mean(
    input: Tensor, dim: DimsLike | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Arithmetic mean over one dim, several or all: y = Σ x / n. Integers need a floating `dtype`.

    >>> import workbench as wb
    >>> wb.tensor([[1.0, 2.0], [3.0, 6.0]], names=("N", "C")).mean("C")
    tensor([1.5000, 4.5000], names=('N',))
    """
    if dtype is not None:
        input = input.to(as_dtype(dtype))
    kind = input.payload.dtype
    # Codes stand for real numbers, and a mean of them is rounded to one.
    if kind.kind not in "fcV" and not getattr(kind, "quantized", False):
        raise DTypeError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype.name}. Cast first: x.float().mean()"
        )
    return ops.mean(input, dim=axes_of(input, dim, "mean"), keepdim=keepdim)


@offered(out=True)
def prod(
    input: Tensor, dim: DimsLike | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Product over one dim, several or all: y = Π x. Integers are multiplied as int64.

    >>> import workbench as wb
    >>> wb.tensor([[1.0, 2.0], [3.0, 4.0]], names=("N", "C")).prod("C")
    tensor([ 2., 12.], names=('N',))
    """
    return _reduced(PROD, input, dim, keepdim, dtype)


def _without_nan(input: Any) -> Any:
    """Return `input` with 0 for NaN; integers have none."""
    if input.payload.dtype.kind not in "fcV":
        return input
    return ops.where(ops.isnan(input), 0.0, input)


@offered(out=True)
def nansum(
    input: Tensor, dim: DimsLike | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Sum over dims of the values that are numbers: NaN counts as 0.

    >>> import workbench as wb
    >>> wb.tensor([1.0, wb.nan, 2.0]).nansum()
    tensor(3.)
    """
    return _reduced(SUM_OP, _without_nan(input), dim, keepdim, dtype)


@offered(out=True)
def nanmean(
    input: Tensor, dim: DimsLike | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Mean over dims of the values that are numbers; NaN where there is none.

    >>> import workbench as wb
    >>> wb.tensor([1.0, wb.nan, 2.0]).nanmean()
    tensor(1.5000)
    """
    if dtype is not None:
        input = input.to(as_dtype(dtype))
    if input.payload.dtype.kind not in "fcV":
        raise DTypeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.name}. "
            f"Cast first: {as_numbers('x', input.dtype)}.nanmean()"
        )
    axes = axes_of(input, dim, "nanmean")
    numbers = ops.sum(ops.logical_not(ops.isnan(input)), dim=axes, keepdim=keepdim)
    return ops.div(ops.sum(_without_nan(input), dim=axes, keepdim=keepdim), numbers)


def _named_axes(input: Any, dim: DimsLike | None, op: str) -> tuple[int, ...]:
    """Return the positions of the dims to reduce, where an empty list means none (and None still all)."""
    # PyTorch is of two minds: for `sum` an empty list of dims means all of them, for `any` and `all` none.
    return () if dim is not None and not isinstance(dim, int | str) and not dim else axes_of(input, dim, op)


@offered(out=True)
def any(input: Tensor, dim: DimsLike | None = None, keepdim: bool = False) -> Tensor:
    """True where any value over the dims is non-zero.

    >>> import workbench as wb
    >>> wb.tensor([[0, 1], [0, 0]], names=("N", "C")).any("C")
    tensor([ True, False], names=('N',))
    """
    return ops.any(input, dim=_named_axes(input, dim, "any"), keepdim=keepdim)


@offered(out=True)
def all(input: Tensor, dim: DimsLike | None = None, keepdim: bool = False) -> Tensor:
    """True where all values over the dims are non-zero.

    >>> import workbench as wb
    >>> wb.tensor([[2, 1], [0, 1]], names=("N", "C")).all("C")
    tensor([ True, False], names=('N',))
    """
    return ops.all(input, dim=_named_axes(input, dim, "all"), keepdim=keepdim)


@offered()
def count_nonzero(input: Tensor, dim: DimsLike | None = None) -> Tensor:
    """Count (int64) the values over the dims that are not zero.

    >>> import workbench as wb
    >>> wb.tensor([[2, 1], [0, 1]], names=("N", "C")).count_nonzero("N")
    tensor([1, 2], names=('C',))
    """
    return ops.sum(ops.ne(input, 0), dim=axes_of(input, dim, "count_nonzero"), keepdim=False)


@offered(out=True)
def logsumexp(input: Tensor, dim: DimsLike | None, keepdim: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials over dims, without overflow: y = ln Σ e^x.

    >>> import workbench as wb
    >>> wb.zeros(N=2, C=4).logsumexp("C")
    tensor([1.3863, 1.3863], names=('N',))
    """
    return ops.logsumexp(input, dim=axes_of(input, dim, "logsumexp"), keepdim=keepdim)


@offered("Tensor")
def sum_to_size(input: Tensor, *size: Size) -> Tensor:
    """Sum over the dims along which a tensor of the given size would be stretched to this one.

    >>> import workbench as wb
    >>> wb.ones(N=2, C=3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]], names=('N', 'C'))
    """
    sizes = sizes_from(size)
    own = dims_of(input)
    extra = len(own.sizes) - len(sizes)
    pairs = zip(sizes, own.sizes[max(extra, 0) :], strict=False)
    if extra < 0 or not math.prod(a in (1, b) for a, b in pairs):
        raise DimensionIndexError(
            f"size {list(sizes)} is not expandable to size {list(own.sizes)}.",
            op="sum_to_size",
            operands=(own.operand("input"),),
        )
    axes = tuple(i for i, one in enumerate(own.sizes) if i < extra or (sizes[i - extra] == 1 != one))
    if sizes and not axes:
        return input
    return ops.reshape(ops.sum(input, dim=axes, keepdim=True), sizes=sizes)
