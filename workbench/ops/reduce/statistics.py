"""How values spread and go together: variance, standard deviation, covariance, correlation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError, DTypeError
from workbench.core.contribution import composed
from workbench.core.op import Absent, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import OWN, ROUNDED
from workbench.core.tape import Call
from workbench.core.typing import DimsLike, Tensor
from workbench.core.value import dims_of
from workbench.ops.elementwise.complex import conjugate
from workbench.ops.index.indexing import getitem
from workbench.ops.offer import offered
from workbench.ops.reduce.reductions import axes_of, count, kept, reduction, reduction_samples


def _real(dtype: np.dtype[Any], params: Mapping[str, Any]) -> np.dtype[Any]:
    return np.empty(0, dtype).real.dtype


REAL = DTypeRule("as the input; complex becomes real", None, _real)


def _samples() -> list[Sample]:
    return [
        *(Sample(s.inputs, {**s.params, "correction": 1}, s.names) for s in reduction_samples()[:4]),
        Sample(reduction_samples()[1].inputs, {"dim": (0, 1), "keepdim": True, "correction": 0.5}),
    ]


def _var(x: Any, dim: tuple[int, ...], keepdim: bool, correction: float) -> Any:
    n = math.prod(x.shape[i] for i in dim)
    with np.errstate(all="ignore"):
        # By two passes: the square of the mean taken from the mean of squares would lose the digits of small spreads.
        centred = x - np.true_divide(np.sum(x, axis=dim, keepdims=True), n)
        square = centred.real**2 + centred.imag**2 if x.dtype.kind == "c" else centred * centred
        # Never below 0 degrees of freedom, as in PyTorch: then the result is infinite, or NaN for 0/0.
        return np.true_divide(np.sum(square, axis=dim, keepdims=keepdim), max(n - correction, 0))


def _std(x: Any, dim: tuple[int, ...], keepdim: bool, correction: float) -> Any:
    """The root of the variance, in double precision where squares of single precision leave its range."""
    found = np.sqrt(_var(x, dim, keepdim, correction))
    if x.dtype.char not in "fF" or not found.size:
        return found
    # Below 1e-18 a square has lost digits, or is 0.
    if np.isfinite(found).all() and found.min() > 1e-18:
        return found
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    return np.sqrt(_var(wide, dim, keepdim, correction)).astype(found.dtype)


def _var_gradient(c: Call, g: Any, dim: tuple[int, ...], keepdim: bool, correction: float) -> Any:
    x = c.inputs[0]
    freedom = count(x, dim) - correction
    centred = ops.sub(x, ops.mean(x, dim=dim, keepdim=True))
    # One value alone is not off its mean: 0·∞.
    none = math.nan if count(x, dim) == 1 else math.inf
    return ops.mul(kept(g, x, dim), ops.mul(centred, 2.0 / freedom if freedom else none))


def _std_gradient(c: Call, g: Any, dim: tuple[int, ...], keepdim: bool, correction: float) -> Any:
    """The root has no slope at 0: values that are all equal get 0. Where it is infinite it has none: ∞ - ∞ is NaN."""
    flat = ops.to(ops.eq(c.out, 0.0), dtype=np.dtype(g.payload.dtype))
    # Half of g and not twice the deviation, which would leave the range.
    half = ops.mul(ops.mul(g, 0.5), ops.sub(1.0, flat))
    share = ops.div(half, ops.add(ops.add(c.out, flat), ops.sub(c.out, c.out)))
    return _var_gradient(c, share, dim, keepdim, correction)


def _var_steps(
    constant: Callable[[Any], Any], x: Any, *, dim: tuple[int, ...], keepdim: bool, correction: float
) -> Any:
    centred = ops.sub(x, ops.mean(x, dim=dim, keepdim=True))
    total = ops.sum(ops.mul(centred, centred), dim=dim, keepdim=keepdim)
    return ops.div(total, max(0.0, math.prod(x.payload.shape[i] for i in dim) - correction))


def _std_steps(constant: Callable[[Any], Any], x: Any, **params: Any) -> Any:
    return ops.sqrt(_var_steps(constant, x, **params))


VAR = reduction(
    "var",
    "Variance over dims, with `correction` fewer degrees of freedom.",
    "y = Σ |x - x̄|² / (n - correction)",
    _var,
    _var_gradient,
    saves=Saves(None, output=False),
    dtype=REAL,
    samples=_samples,
    properties=["wide"],
    quantized=replace(
        OWN, codes=Absent("a variance has another unit than its values, and no scale of theirs")
    ),
    contribution=composed(_var_steps),
)
STD = reduction(
    "std",
    "Standard deviation over dims, with `correction` fewer degrees of freedom.",
    "y = √(Σ |x - x̄|² / (n - correction))",
    _std,
    _std_gradient,
    saves=Saves(None, output=True),
    dtype=REAL,
    samples=_samples,
    properties=["wide"],
    quantized=ROUNDED,
    contribution=composed(_std_steps),
)

# ---------------------------------------------------------------------------------- the words people use


def _spread(
    op: Op, name: str, input: Any, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None
) -> tuple[Tensor, tuple[int, ...]]:
    """Sort out the two signatures of PyTorch, and return the spread and the dims it was taken over."""
    # In the older signature `unbiased` stands where `dim` does now.
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}: give correction= or unbiased=, not both: unbiased=True is correction=1")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    # What codes have, their op says.
    if input.payload.dtype.kind not in "fcV" and not getattr(input.payload.dtype, "quantized", False):
        raise DTypeError(
            f"{name}: std and var only support floating point and complex dtypes, this is {input.dtype.name}. "
            f"Cast first: x.float().{name}()"
        )
    axes = axes_of(input, dim, name)
    return op(input, dim=axes, keepdim=keepdim, correction=correction), axes


@offered(out=True)
def var(
    input: Tensor,
    dim: DimsLike | bool | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """Variance over dims: y = Σ |x - x̄|² / (n - correction).

    `correction` is 1 unless given; ``unbiased=False`` is the older word for ``correction=0``.

    >>> import workbench as wb
    >>> wb.tensor([[1.0, 3.0], [2.0, 2.0]], names=("N", "C")).var("C")
    tensor([2., 0.], names=('N',))
    """
    return _spread(VAR, "var", input, dim, unbiased, keepdim, correction)[0]


@offered(out=True)
def std(
    input: Tensor,
    dim: DimsLike | bool | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """Standard deviation over dims: y = √(Σ |x - x̄|² / (n - correction)).

    `correction` is 1 unless given; ``unbiased=False`` is the older word for ``correction=0``.
    """
    return _spread(STD, "std", input, dim, unbiased, keepdim, correction)[0]


@offered("workbench")
def var_mean(
    input: Tensor,
    dim: DimsLike | bool | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Variance and mean over dims, see `var`."""
    result, axes = _spread(VAR, "var_mean", input, dim, unbiased, keepdim, correction)
    return result, ops.mean(input, dim=axes, keepdim=keepdim)


@offered("workbench")
def std_mean(
    input: Tensor,
    dim: DimsLike | bool | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over dims, see `std`."""
    result, axes = _spread(STD, "std_mean", input, dim, unbiased, keepdim, correction)
    return result, ops.mean(input, dim=axes, keepdim=keepdim)


def _weights(input: Any, weights: Any, name: str, floating: bool) -> Any:
    if weights is None:
        return None
    if (weights.payload.dtype.kind in "fV") is not floating:
        kind = "floating point" if floating else "integral"
        raise DTypeError(
            f"cov(): expected {name} to have {kind} dtype but got {weights.dtype.name}. "
            "fweights count observations, aweights weigh them."
        )
    if weights.payload.shape != input.payload.shape[1:]:
        raise DimensionError(
            f"cov(): expected {name} to have one weight for each of {input.payload.shape[1]} observations, "
            f"got {list(weights.payload.shape)}.",
            op="cov",
            operands=(dims_of(input).operand("input", [1]), dims_of(weights).operand(name)),
        )
    _check_not_negative(weights, name)
    return weights


def _check_not_negative(weights: Any, name: str) -> None:
    array = weights.payload
    if isinstance(array, np.ndarray) and bool((array < 0).any()):
        raise ValueError(
            f"cov(): {name} cannot be negative: a weight says how often, or how much, an observation counts"
        )


@offered()
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Covariance of the variables in rows over the observations in columns: y_ij = Σ_k (x_ik - x̄_i)·(x_jk - x̄_j)* / n.

    n is the number (with weights: the weight) of observations less `correction`; `fweights` are how often an
    observation counts (integers), `aweights` how much. A vector is one variable. The result has no names.

    >>> import workbench as wb
    >>> wb.cov(wb.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    dims = dims_of(input)
    if len(dims.sizes) > 2:
        raise DimensionError(
            f"cov(): expected input to have two or fewer dimensions but got {len(dims.sizes)} dimensions.",
            op="cov",
            operands=(dims.operand("input"),),
        )
    if input.payload.dtype.kind == "b":
        raise DTypeError("cov(): bool dtype is not supported for input. Cast first: x.float()")
    if len(dims.sizes) < 2:
        input = ops.reshape(input, sizes=(1, dims.numel))
    x = input.rename(None) if input._names else input
    counts, weights = (
        _weights(x, fweights, "fweights", False),
        _weights(x, aweights, "aweights", True),
    )
    w = counts if weights is None else weights if counts is None else ops.mul(counts, weights)
    n: Any = x.payload.shape[1]
    if w is None:
        mean = ops.div(ops.sum(x, dim=(1,), keepdim=True), n) if n else ops.sum(x, dim=(1,), keepdim=True)
        freedom: Any = float(max(n - correction, 0))
    else:
        n = ops.sum(w, dim=(0,), keepdim=False)
        if isinstance(n.payload, np.ndarray) and not n.payload:
            raise ValueError("cov(): weights sum to zero, can't be normalized")
        mean = ops.div(ops.sum(ops.mul(x, w), dim=(1,), keepdim=True), n)
        lost: Any = correction
        if weights is not None and correction:
            # PyTorch's rule: what is lost is what an observation weighs on average.
            squares = ops.sum(ops.mul(w, weights), dim=(0,), keepdim=False)
            lost = ops.mul(ops.div(squares, n), float(correction))
        freedom = ops.maximum(ops.sub(n, lost), 0)
    centred = ops.sub(x, mean)
    other = centred if w is None else ops.mul(centred, w)
    product = ops.matmul(centred, conjugate(ops.permute(other, dim=(1, 0))))
    result = ops.div(product, freedom)
    return ops.reshape(result, sizes=()) if result.payload.shape == (1, 1) else result


@offered()
def corrcoef(input: Tensor) -> Tensor:
    """Correlation of the variables in rows over the observations in columns: y_ij = c_ij / √(c_ii·c_jj).

    The result has no names.

    >>> import workbench as wb
    >>> wb.corrcoef(wb.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    c = cov(input)
    # One variable goes with itself entirely: 1, or NaN where it does not vary.
    if not c.payload.shape:
        return ops.div(c, c)
    own = np.arange(c.payload.shape[0])
    # The diagonal is real and not negative: its absolute value is itself, as a real number.
    deviation = ops.sqrt(ops.abs(getitem(c, (own, own))))
    c = ops.div(ops.div(c, ops.reshape(deviation, sizes=(-1, 1))), ops.reshape(deviation, sizes=(1, -1)))
    if c.payload.dtype.kind != "c":
        return ops.clamp(c, low=-1.0, high=1.0)
    parts = (ops.clamp(part(c), low=-1.0, high=1.0) for part in (ops.real, ops.imag))
    return ops.complex(*parts)
