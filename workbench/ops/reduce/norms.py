"""Norms: the size of a vector, values scaled to a size, and the distance of two tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.dtypes import as_dtype, as_numbers
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.op import Sample, ops
from workbench.core.tape import Call
from workbench.core.typing import DimsLike, DTypeLike, Tensor
from workbench.core.value import dims_of
from workbench.ops.elementwise.complex import zeros
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.linalg.svd import svdvals
from workbench.ops.offer import offered
from workbench.ops.reduce.reductions import EVERYTHING, axes_of, kept, reduction, reduction_samples
from workbench.ops.reduce.statistics import REAL


def _norm(x: Any, dim: tuple[int, ...], keepdim: bool, p: float) -> Any:
    how: dict[str, Any] = {"axis": dim, "keepdims": keepdim}
    if p == 0:
        return np.sum(x != 0, **how).astype(np.empty(0, x.dtype).real.dtype)
    if p == 2 and x.dtype.kind != "c":
        # Without a power, which is many times slower than a product.
        return np.sqrt(np.sum(x * x, **how))
    size = np.abs(x)
    if p == math.inf:
        return np.max(size, **how)
    if p == -math.inf:
        return np.min(size, **how)
    if p == 1:
        return np.sum(size, **how)
    with np.errstate(divide="ignore"):
        return np.power(np.sum(np.power(size, p), **how), 1 / p)


def _norm_gradient(c: Call, g: Any, dim: tuple[int, ...], keepdim: bool, p: float) -> Any:
    """At 0 the norm has no slope: it is taken to be 0."""
    x = c.inputs[0]
    g, out = kept(g, x, dim), kept(c.out, x, dim)
    real = np.dtype(g.payload.dtype)
    if p == 0:
        return zeros(ops.expand(g, sizes=x.payload.shape))
    if p == 1:
        return ops.mul(ops.sgn(x), g)
    if abs(p) == math.inf:
        size = ops.abs(x)
        hit = ops.logical_or(ops.eq(size, out), ops.logical_and(ops.isnan(size), ops.isnan(out)))
        hit = ops.to(hit, dtype=real)
        return ops.mul(ops.sgn(x), ops.mul(hit, ops.div(g, ops.sum(hit, dim=dim, keepdim=True))))
    # Zeros are replaced by ones before dividing; what is divided there is 0.
    nothing = ops.to(ops.eq(out, 0.0), dtype=real)
    g, out = ops.mul(g, ops.sub(1.0, nothing)), ops.add(out, nothing)
    if p == 2:
        return ops.mul(x, ops.div(g, out))
    size = ops.abs(x)
    size = ops.add(size, ops.to(ops.eq(size, 0.0), dtype=real))
    return ops.mul(ops.mul(ops.sgn(x), ops.pow(size, p - 1.0)), ops.div(g, ops.pow(out, p - 1.0)))


VECTOR_NORM = reduction(
    "vector_norm",
    "Size of the values over dims: the p-norm.",
    "y = (Σ |x|^p)^{1/p}; max |x| for p = ∞, min |x| for -∞, Σ [x ≠ 0] for 0",
    _norm,
    _norm_gradient,
    saves=EVERYTHING,
    dtype=REAL,
    samples=lambda: [
        Sample(s.inputs, {**s.params, "p": p}, s.names)
        for p in (2.0, 1.0, 3.0, 1.5, 0.5, -1.0, 0.0, math.inf, -math.inf)
        for s in (reduction_samples() if p == 2 else reduction_samples()[2:3])
    ],
    tolerance=1e-5,
    properties=["wide"],
)

# ---------------------------------------------------------------------------------- the words people use


def vector_norm(input: Any, p: float, axes: tuple[int, ...], keepdim: bool, name: str) -> Tensor:
    """Return the p-norm over the dims at the positions `axes`."""
    if input.payload.dtype.kind not in "fcV":
        raise DTypeError(
            f"{name}(): the desired output dtype should be either floating point or complex. Got "
            f"{input.dtype.name} instead. Cast first: {as_numbers('x', input.dtype)}"
        )
    dims = dims_of(input)
    if (p == math.inf or p < 0) and not all(dims.sizes[i] for i in axes):
        raise DimensionError(
            f"{name} cannot compute the {p} norm on an empty dimension because the operation does not have an "
            "identity",
            op=name,
            operands=(dims.operand("input"),),
        )
    return ops.vector_norm(input, dim=axes, keepdim=keepdim, p=float(p))


@offered()
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: DimsLike | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Norm of all values or over dims: (Σ |x|^p)^{1/p}; ``"fro"`` is p = 2, ``"nuc"`` the sum of singular values.

    >>> import workbench as wb
    >>> wb.tensor([[3.0, 4.0], [0.0, 2.0]], names=("N", "C")).norm(dim="C")
    tensor([5., 2.], names=('N',))
    """
    if dtype is not None:
        input = input.to(as_dtype(dtype))
    if p == "nuc":
        result = _nuclear(input, dim, keepdim)
    elif isinstance(p, str) and p != "fro":
        raise ValueError(f"norm(): only 'fro', 'nuc' and numbers name a norm, got {p!r}")
    else:
        order = 2.0 if p is None or p == "fro" else float(p)
        result = vector_norm(input, order, axes_of(input, dim, "norm"), keepdim, "norm")
    return result if out is None else out.copy_(result)


def _nuclear(input: Any, dim: DimsLike | None, keepdim: bool) -> Any:
    dims = dims_of(input)
    axes = axes_of(input, dim, "norm")
    if len(axes) != 2:
        raise DimensionError(
            f"norm(): the nuclear norm is that of a matrix, over two dims; got {len(axes)}.",
            op="norm",
            operands=(dims.operand("input"),),
            fix='input.norm("nuc", dim=(-2, -1))',
        )
    rest = tuple(i for i in range(len(dims.sizes)) if i not in axes)
    matrices = ops.permute(input, dim=rest + axes)
    result = ops.sum(svdvals(matrices), dim=(len(rest),), keepdim=False)
    return kept(result, input, axes) if keepdim else result


@offered()
@rounded_once
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Distance of two tensors: the p-norm of their difference, over all dims.

    >>> import workbench as wb
    >>> wb.dist(wb.tensor([3.0, 0.0]), wb.tensor([0.0, 4.0]))
    tensor(5.)
    """
    difference = ops.sub(input, other)
    return vector_norm(difference, p, axes_of(difference, None, "dist"), False, "dist")


@offered(out="exact", in_place="Tensor")
@rounded_once
def renorm(input: Tensor, p: float, dim: int | str, maxnorm: float) -> Tensor:
    """Scale down the parts along `dim` whose p-norm is larger than `maxnorm`, to that norm.

    >>> import workbench as wb
    >>> wb.tensor([[3.0, 4.0], [0.3, 0.4]]).renorm(2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    dims = dims_of(input)
    if len(dims.sizes) < 2:
        raise DimensionError(
            f"renorm: input needs at least 2 dimensions, got {len(dims.sizes)} dimensions",
            op="renorm",
            operands=(dims.operand("input"),),
        )
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p = {p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    at = dim_index(dims, dim, "renorm")
    others = tuple(i for i in range(len(dims.sizes)) if i != at)
    sizes = vector_norm(input, p, others, True, "renorm")
    # PyTorch's 1e-7: what is scaled stays a little below the bound.
    scale = ops.where(ops.gt(sizes, maxnorm), ops.div(maxnorm, ops.add(sizes, 1e-7)), 1.0)
    return ops.mul(input, scale)


@offered("nn.functional")
def normalize(
    input: Tensor, p: float = 2.0, dim: DimsLike = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Values divided by their p-norm over `dim`: y = x / max(‖x‖_p, ε). Shapes and names pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.normalize(wb.tensor([[3.0, 4.0]], names=("N", "C")), dim="C")
    tensor([[0.6000, 0.8000]], names=('N', 'C'))
    """
    result = _normalized(input, p, dim, eps)
    return result if out is None else out.copy_(result)


@rounded_once
def _normalized(input: Any, p: float, dim: Any, eps: float) -> Any:
    size = vector_norm(input, p, axes_of(input, dim, "normalize"), True, "normalize")
    return ops.div(input, ops.maximum(size, eps))
