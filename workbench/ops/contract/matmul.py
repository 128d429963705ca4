"""Contractions: dims that meet in two operands and end in a sum of products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import Dims, broadcast_sizes, near_miss, new_name, unify_names
from workbench.base.errors import DimensionError
from workbench.core import sparse_rules
from workbench.core.contribution import DENSE, PRODUCT
from workbench.core.dtype_rules import LEARNED, PROMOTE
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import served, weighted
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.contract import batching
from workbench.ops.elementwise.complex import conjugate
from workbench.ops.linalg.matrices import adjoint
from workbench.ops.offer import offered

BOTH = Saves(None, output=False)


def _matmul_dims(a: Dims, b: Dims) -> Dims:
    """M k, k n -> m n, with batch dims at the left unified; a vector on either side has no m or no n."""
    if not a.sizes or not b.sizes:
        raise DimensionError(
            "both arguments to matmul need to be at least 1D, but they are "
            f"{len(a.sizes)}D and {len(b.sizes)}D",
            op="matmul",
            operands=(a.operand("input"), b.operand("other")),
        )
    k_a = len(a.sizes) - 1
    k_b = max(len(b.sizes) - 2, 0)
    if a.sizes[k_a] != b.sizes[k_b]:
        raise DimensionError(
            f"mat1 and mat2 shapes cannot be multiplied ({_shape(a)} and {_shape(b)}): {a.sizes[k_a]} "
            f"meets {b.sizes[k_b]}.",
            op="matmul",
            operands=(a.operand("input", [k_a]), b.operand("other", [k_b])),
            fix="input @ other.transpose(-2, -1)" if len(b.sizes) > 1 and b.sizes[-1] == a.sizes[-1] else "",
        )
    _check_contracted(a, k_a, b, k_b)
    batch_a, batch_b = Dims(a.names[:-2], a.sizes[:-2]), Dims(b.names[:-2], b.sizes[:-2])
    for batch, other, which in ((batch_a, b, "second"), (batch_b, a, "first")):
        overlap = {name for name in batch.names if name} & set(other.names[-2:])
        if overlap:
            raise DimensionError(
                f"Misaligned dims when batch matrix multiplying Tensor{list(a.names)} and "
                f"Tensor{list(b.names)}: there is "
                f"overlap between the feature dims of the {which} tensor ({list(other.names[-2:])}) "
                "and the batch dims of "
                "the other.",
                op="matmul",
                operands=(a.operand("input"), b.operand("other")),
            )
    sizes = _batch_sizes(batch_a, batch_b, a, b)
    names = unify_names("matmul", batch_a, batch_b)
    if len(a.sizes) > 1:
        names, sizes = (*names, a.names[-2]), (*sizes, a.sizes[-2])
    if len(b.sizes) > 1:
        names, sizes = (*names, b.names[-1]), (*sizes, b.sizes[-1])
    if len(names) > 1 and names[-1] is not None and names[-1] == names[-2]:
        raise DimensionError(
            f"Matrix multiplying Tensor{list(a.names)} and Tensor{list(b.names)} would produce output "
            "tensor with duplicate "
            f"names {list(names)}.",
            op="matmul",
            operands=(a.operand("input"), b.operand("other")),
            fix=f"input.rename({names[-1]}='{names[-1]}_rows') @ other",
        )
    return Dims(names, sizes)


def _shape(dims: Dims) -> str:
    return "x".join(str(size) for size in dims.sizes)


def _check_contracted(a: Dims, k_a: int, b: Dims, k_b: int) -> None:
    """Positions decide what is contracted; a contracted name that stands elsewhere in the other is a mistake."""
    for name, other, at in ((a.names[k_a], b, k_b), (b.names[k_b], a, k_a)):
        if name is not None and name in other.names and other.names[at] != name:
            raise DimensionError(
                f"{name!r} is contracted in one operand of {list(a.names)} @ {list(b.names)} and "
                "stands elsewhere in the other: "
                "matmul contracts the last dim of the first with the last but one of the second.",
                op="matmul",
                operands=(
                    a.operand("input", [k_a]),
                    b.operand("other", [k_b, other.names.index(name)] if other is b else [k_b]),
                ),
                fix=f"wb.contract(input, other, {name!r})",
            )


def _batch_sizes(batch_a: Dims, batch_b: Dims, a: Dims, b: Dims) -> tuple[int, ...]:
    try:
        return broadcast_sizes(batch_a.sizes, batch_b.sizes)
    except ValueError:
        raise DimensionError(
            f"The batch sizes {list(batch_a.sizes)} and {list(batch_b.sizes)} do not go together.",
            op="matmul",
            operands=(a.operand("input"), b.operand("other")),
        ) from None


def _vector_gradients(c: Call, a: Any, b: Any, g: Any) -> tuple[Any, ...]:
    """Gradients of a product of two vectors, or of a vector and a matrix: products and outer products again."""

    def outer(column: Any, row: Any) -> Any:
        return ops.mul(ops.unsqueeze(column, dim=1, name=None), row)

    if len(a.payload.shape) == 2:  # m k, k -> m
        return (
            outer(g, conjugate(b)) if c.needs[0] else None,
            ops.matmul(g, conjugate(a)) if c.needs[1] else None,
        )
    if len(b.payload.shape) == 2:  # k, k n -> n
        return (
            ops.matmul(conjugate(b), g) if c.needs[0] else None,
            outer(conjugate(a), g) if c.needs[1] else None,
        )
    return (
        ops.mul(conjugate(b), g) if c.needs[0] else None,
        ops.mul(conjugate(a), g) if c.needs[1] else None,
    )


def _matmul_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    a, b = c.inputs
    rank_a, rank_b = len(a.payload.shape), len(b.payload.shape)
    if rank_a + rank_b <= 3:
        return _vector_gradients(c, a, b, g)
    if rank_a == rank_b == 2:  # as a rule: nothing was stretched
        return (
            ops.matmul(g, conjugate(ops.permute(b, dim=(1, 0)))) if c.needs[0] else None,
            ops.matmul(conjugate(ops.permute(a, dim=(1, 0))), g) if c.needs[1] else None,
        )
    left = a if rank_a > 1 else ops.unsqueeze(a, dim=0, name=None)
    right = b if rank_b > 1 else ops.unsqueeze(b, dim=1, name=None)
    if rank_b == 1:
        g = ops.unsqueeze(g, dim=len(g.payload.shape), name=None)
    if rank_a == 1:
        g = ops.unsqueeze(g, dim=len(g.payload.shape) - 1, name=None)

    def fit(gradient: Any, value: Any, matrix: Any) -> Any:
        if gradient.payload.shape == value.payload.shape:
            return gradient
        return ops.reshape(ops.sum_to(gradient, sizes=matrix.payload.shape), sizes=value.payload.shape)

    return (
        fit(ops.matmul(g, adjoint(right)), a, left) if c.needs[0] else None,
        fit(ops.matmul(adjoint(left), g), b, right) if c.needs[1] else None,
    )


def product(a: Any, b: Any) -> Any:
    """Multiply arrays as `np.matmul` does; a batch against one matrix is one product, where NumPy makes many."""
    # Contiguous, so that the reshape copies nothing.
    if a.ndim > 2 and b.ndim == 2 and a.flags.c_contiguous:
        return np.matmul(a.reshape(math.prod(a.shape[:-1]), a.shape[-1]), b).reshape(
            *a.shape[:-1], b.shape[1]
        )
    return np.matmul(a, b)


MATMUL = Op(
    name="matmul",
    contribution=PRODUCT,
    doc="Matrix product over the last two dims, batches at the left.",
    equation="y[…, m, n] = Σ_k a[…, m, k]·b[…, k, n]",
    dims=_matmul_dims,
    rule="m k, k n -> m n by position; batch names unify; a contracted name elsewhere in the other is refused",
    dtype=PROMOTE,
    forward=product,
    vjp=_matmul_vjp,
    saves=BOTH,
    cost=lambda dims, out, **params: 2.0 * out.numel * dims[0].sizes[-1],
    samples=lambda: [
        Sample((grid(3, 4), grid(4, 2)), names=(("N", "C"), ("in_features", "K"))),
        Sample((grid(5, 3, 4), grid(4, 2)), names=(("B", "N", "C"), (None, "K"))),
        Sample((grid(5, 3, 4), grid(1, 4, 2))),
        Sample((grid(4), grid(4, 2)), names=(("C",), ("C", "K"))),
        Sample((grid(3, 4), grid(4))),
        Sample((grid(4), grid(4, seed=3))),
    ],
    bad=lambda: [
        BadInput((grid(3, 4), grid(3, 2)), {}, DimensionError, "shapes cannot be multiplied (3x4 and 3x2)"),
        BadInput((grid(3, 3), grid(3, 3)), {}, DimensionError, "wb.contract", names=(("N", "C"), ("K", "C"))),
        BadInput(
            (grid(3, 3), grid(3, 3)), {}, DimensionError, "duplicate names", names=(("N", "C"), (None, "N"))
        ),
        BadInput((grid(), grid(3)), {}, DimensionError, "at least 1D"),
    ],
    properties=frozenset({"narrow"}),
    small="matmul",
    sparse=sparse_rules.matmul,
    batch=batching.matmul,
    quantized=served("matmul"),
)


def _linear_dims(x: Dims, weight: Dims, bias: Dims | None = None) -> Dims:
    if len(weight.sizes) != 2 or (bias is not None and bias.sizes not in ((), (1,), weight.sizes[:1])):
        raise DimensionError(
            f"the weight must be [out_features, in_features] and the bias [out_features], they are "
            f"{list(weight.sizes)} and {None if bias is None else list(bias.sizes)}.",
            op="linear",
            operands=(weight.operand("weight"),)
            if bias is None
            else (weight.operand("weight"), bias.operand("bias")),
        )
    if not x.sizes or x.sizes[-1] != weight.sizes[1]:
        given = x.sizes[-1] if x.sizes else "nothing"
        raise DimensionError(
            f"mat1 and mat2 shapes cannot be multiplied: the last dim of the input has {given} "
            "values, the weight takes "
            f"{weight.sizes[1]} (in_features).",
            op="linear",
            operands=(x.operand("input", [len(x.sizes) - 1]), weight.operand("weight", [1])),
        )
    name = new_name(weight.names[0], x.names[:-1], x.names)
    return Dims((*x.names[:-1], name), (*x.sizes[:-1], weight.sizes[0]))


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    out = product(x, weight.T)
    if bias is not None:
        # In place: nobody else has the product.
        out += bias
    return out


def _as_rows(x: Any) -> Any:
    """Lay all dims but the last out as rows."""
    sizes = x.payload.shape
    return x if len(sizes) == 2 else ops.reshape(x, sizes=(math.prod(sizes[:-1]), sizes[-1]))


def _linear_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x, weight = c.inputs[:2]
    flat = _as_rows(g) if any(c.needs[1:]) else g
    grads = [
        ops.matmul(g, conjugate(weight)) if c.needs[0] else None,
        ops.matmul(ops.permute(flat, dim=(1, 0)), conjugate(_as_rows(x))) if c.needs[1] else None,
    ]
    if len(c.inputs) > 2:
        grads.append(ops.sum(flat, dim=(0,), keepdim=False) if c.needs[2] else None)
    return tuple(grads)


LINEAR = Op(
    name="linear",
    contribution=DENSE,
    doc="Affine map of the last dim.",
    equation="y[…, o] = Σ_i x[…, i]·w[o, i] + b[o]",
    dims=_linear_dims,
    rule="the last dim ends here, the weight's out_features takes its place; names of an input that has any",
    dtype=LEARNED,
    forward=_linear,
    vjp=_linear_vjp,
    saves=Saves((0, 1), output=False),
    cost=lambda dims, out, **params: 2.0 * out.numel * dims[1].sizes[1],
    samples=lambda: [
        Sample(
            (grid(3, 4), grid(2, 4), grid(2)),
            names=(("N", "features"), ("out_features", "in_features"), ("out_features",)),
        ),
        Sample((grid(5, 3, 4), grid(2, 4)), names=(("N", "T", "C"), None)),
        Sample((grid(4), grid(2, 4), grid(2))),
    ],
    bad=lambda: [
        BadInput((grid(3, 5), grid(2, 4), grid(2)), {}, DimensionError, "the weight takes 4 (in_features)"),
        BadInput((grid(3, 4), grid(4)), {}, DimensionError, "[out_features, in_features]"),
        BadInput((grid(3, 4), grid(2, 4), grid(3)), {}, DimensionError, "the bias [out_features]"),
    ],
    properties=frozenset({"narrow"}),
    small="linear",
    batch=batching.linear,
    quantized=weighted("quantized_linear", absorbs=("relu",), settings={"relu": False}),
)

# ---------------------------------------------------------------------------------- the words people use


@offered("workbench", "Tensor", "linalg", out="exact")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product over the last two dims, batches at the left: y[…, m, n] = Σ_k a[…, m, k]·b[…, k, n].

    >>> import workbench as wb
    >>> (wb.ones(N=2, C=3) @ wb.ones(C=3, K=4)).names
    ('N', 'K')
    """
    return ops.matmul(input, other)


@offered("workbench", "nn.functional")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Affine map of the last dim: y[…, o] = Σ_i x[…, i]·w[o, i] + b[o].

    Shapes: input [..., in_features], weight [out_features, in_features], bias [out_features]; a weight [in_features]
    makes one number of each last dim.
    """
    if len(weight.payload.shape) == 1:
        product = ops.matmul(input, weight)
        return product if bias is None else ops.add(product, bias)
    return ops.linear(input, weight) if bias is None else ops.linear(input, weight, bias)


@offered("workbench")
def contract(a: Tensor, b: Tensor, *names: str) -> Tensor:
    """Sum of products over the dims called `names`, which both tensors must have, whatever their positions.

    Other dims that both have go along together; the result has those first, then the rest of `a`, the rest of `b`.

    >>> import workbench as wb
    >>> wb.contract(wb.ones(N=2, C=3), wb.ones(K=4, C=3), "C").names
    ('N', 'K')
    """
    dims_a, dims_b = dims_of(a), dims_of(b)
    if not names:
        raise DimensionError("contract: give the names of the dims to contract", op="contract")
    for name in names:
        for dims, label in ((dims_a, "a"), (dims_b, "b")):
            if name not in dims.names:
                near = near_miss(name, dims.names)
                raise DimensionError(
                    f"Name {name!r} not found in Tensor{list(dims.names)} ({label})."
                    + (f" Did you mean {near!r}?" if near else ""),
                    op="contract",
                    operands=(dims_a.operand("a"), dims_b.operand("b")),
                )
        if dims_a.sizes[dims_a.names.index(name)] != dims_b.sizes[dims_b.names.index(name)]:
            raise DimensionError(
                f"dim {name!r} has different sizes in the two tensors.",
                op="contract",
                operands=(
                    dims_a.operand("a", [dims_a.names.index(name)]),
                    dims_b.operand("b", [dims_b.names.index(name)]),
                ),
            )
    for dims, label in ((dims_a, "a"), (dims_b, "b")):
        if None in dims.names:
            raise DimensionError(
                f"contract: all dims of {label} must be named", op="contract", operands=(dims.operand(label),)
            )
    shared = [name for name in dims_a.names if name in dims_b.names and name not in names]
    rest_a = [name for name in dims_a.names if name not in dims_b.names]
    rest_b = [name for name in dims_b.names if name not in dims_a.names]
    left = a.align_to(*shared, *rest_a, *names)
    right = b.align_to(*shared, *names, *rest_b)
    sizes = dict(zip(dims_a.names, dims_a.sizes, strict=True)) | dict(
        zip(dims_b.names, dims_b.sizes, strict=True)
    )
    inner = math.prod(sizes[name] for name in names)
    batch = tuple(sizes[name] for name in shared)
    product = ops.matmul(
        ops.reshape(left.rename(None), sizes=(*batch, math.prod(sizes[n] for n in rest_a), inner)),
        ops.reshape(right.rename(None), sizes=(*batch, inner, math.prod(sizes[n] for n in rest_b))),
    )
    out = tuple(str(name) for name in (*shared, *rest_a, *rest_b))
    named: Tensor = ops.reshape(product, sizes=tuple(sizes[name] for name in out)).rename(*out)
    return named
