"""Products of two vectors, matrices or tensors under the names people know them by: all end in `matmul` or `mul`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from workbench.base.dims import dim_index
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.op import ops
from workbench.core.typing import Dim, Tensor
from workbench.core.value import Value, dims_of
from workbench.ops.elementwise.complex import conjugate
from workbench.ops.linalg.matrices import column
from workbench.ops.offer import offered


def check_rank(op: str, rank: int, message: str, **operands: Any) -> None:
    """Refuse operands that have not `rank` dims."""
    for label, value in operands.items():
        dims = dims_of(value)
        if len(dims.sizes) != rank:
            raise DimensionError(message, op=op, operands=(dims.operand(label),))


def check_same_dtype(message: str, a: Any, b: Any) -> None:
    """Refuse two types: a product does not convert silently what may be large."""
    first, second = a.payload.dtype, b.payload.dtype
    if first != second:
        codes = a.dtype.is_quantized or b.dtype.is_quantized
        way = "Call .dequantize() on codes" if codes else "Cast one of them, e.g. other.to(input.dtype)"
        raise DTypeError(f"{message}: {a.dtype.name} != {b.dtype.name}. {way}")


@offered(out="exact")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Matrix product of two matrices: y[n, p] = Σ_m a[n, m]·b[m, p].

    >>> import workbench as wb
    >>> wb.mm(wb.ones(N=2, C=3), wb.ones(C=3, K=4)).names
    ('N', 'K')
    """
    check_rank("mm", 2, "self must be a matrix", input=input)
    check_rank("mm", 2, "mat2 must be a matrix", mat2=mat2)
    check_same_dtype("expected m1 and m2 to have the same dtype, but got", input, mat2)
    return ops.matmul(input, mat2)


@offered(out="exact")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector: y[n] = Σ_m a[n, m]·x[m].

    >>> import workbench as wb
    >>> wb.mv(wb.ones(N=2, C=3), wb.ones(C=3))
    tensor([3., 3.], names=('N',))
    """
    a, b = dims_of(input), dims_of(vec)
    if len(a.sizes) != 2 or len(b.sizes) != 1:
        raise DimensionError(
            f"vector + matrix @ vector expected, got 1, {len(a.sizes)}, {len(b.sizes)}",
            op="mv",
            operands=(a.operand("input"), b.operand("vec")),
        )
    if a.sizes[1] != b.sizes[0]:
        raise DimensionError(
            f"size mismatch, got input ({a.sizes[0]}), mat ({a.sizes[0]}x{a.sizes[1]}), vec ({b.sizes[0]})",
            op="mv",
            operands=(a.operand("input", [1]), b.operand("vec", [0])),
        )
    check_same_dtype("expected mat and vec to have the same dtype, but got", input, vec)
    return ops.matmul(input, vec)


def _check_vectors(op: str, input: Any, other: Any) -> None:
    a, b = dims_of(input), dims_of(other)
    operands = (a.operand("input"), b.operand("other"))
    if len(a.sizes) != 1 or len(b.sizes) != 1:
        raise DimensionError(
            f"1D tensors expected, but got {len(a.sizes)}D and {len(b.sizes)}D tensors",
            op=op,
            operands=operands,
        )
    if a.sizes != b.sizes:
        raise DimensionError(
            f"inconsistent tensor size, expected tensor [{a.sizes[0]}] and src [{b.sizes[0]}] to have the same number "
            f"of elements, but got {a.sizes[0]} and {b.sizes[0]} elements respectively",
            op=op,
            operands=operands,
        )
    check_same_dtype(f"{op} : expected both vectors to have same dtype, but found", input, other)


@offered(out="exact")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Dot product of two vectors, without conjugation: y = Σ_i a[i]·b[i].

    >>> import workbench as wb
    >>> wb.dot(wb.tensor([2.0, 3.0]), wb.tensor([2.0, 1.0]))
    tensor(7.)
    """
    _check_vectors("dot", input, tensor)
    return ops.matmul(input, tensor)


@offered(out="exact")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Dot product of two vectors, the first conjugated: y = Σ_i conj(a[i])·b[i].

    >>> import workbench as wb
    >>> wb.vdot(wb.tensor([2.0, 3.0]), wb.tensor([2.0, 1.0]))
    tensor(7.)
    """
    _check_vectors("vdot", input, other)
    return ops.matmul(conjugate(input), other)


@offered(out="exact")
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Matrix products of two batches of one size: y[b, n, p] = Σ_m a[b, n, m]·c[b, m, p].

    >>> import workbench as wb
    >>> wb.bmm(wb.ones(B=5, N=2, C=3), wb.ones(B=5, C=3, K=4)).names
    ('B', 'N', 'K')
    """
    check_batches("bmm", input, mat2)
    return ops.matmul(input, mat2)


def check_batches(op: str, batch1: Any, batch2: Any) -> None:
    check_rank(op, 3, "batch1 must be a 3D tensor", batch1=batch1)
    check_rank(op, 3, "batch2 must be a 3D tensor", batch2=batch2)
    a, b = dims_of(batch1), dims_of(batch2)
    if a.sizes[0] != b.sizes[0] or a.sizes[2] != b.sizes[1]:
        raise DimensionError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{a.sizes[0]}, {a.sizes[2]}] but got: [{b.sizes[0]}, {b.sizes[1]}].",
            op=op,
            operands=(a.operand("batch1", [0, 2]), b.operand("batch2", [0, 1])),
        )
    check_same_dtype("expected batch1 and batch2 to have the same dtype, but got", batch1, batch2)


@offered(aliases=["ger"], out=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of the values of two vectors: y[i, j] = a[i]·b[j].

    >>> import workbench as wb
    >>> wb.outer(wb.ones(N=2), wb.ones(C=3)).names
    ('N', 'C')
    """
    for label, value in (("self", input), ("vec2", vec2)):
        dims = dims_of(value)
        if len(dims.sizes) != 1:
            raise DimensionError(
                f"outer: Expected 1-D argument {label}, but got {len(dims.sizes)}-D",
                operands=(dims.operand(label),),
            )
    # Of one vector with itself, rows and columns would have one name: the rows give way.
    return ops.mul(column(_distinct(input, vec2)), vec2)


def _distinct(a: Any, b: Any) -> Any:
    """Return `a` without its names where `b` has one of them: what is made of both has no name twice."""
    shared = {name for name in dims_of(a).names if name} & set(dims_of(b).names)
    if not shared:
        return a
    return ops.rename(a, names=tuple(None if name in shared else name for name in dims_of(a).names))


@offered(out="exact")
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Dot products along the last dims of two tensors: y[i…, j…] = Σ_k a[i…, k]·b[j…, k].

    >>> import workbench as wb
    >>> wb.inner(wb.ones(N=2, C=3), wb.ones(K=4, C=3)).names
    ('N', 'K')
    """
    a, b = dims_of(input), dims_of(other)
    if not a.sizes or not b.sizes:
        return ops.mul(input, other)
    if a.sizes[-1] != b.sizes[-1]:
        raise DimensionError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(a.sizes)} and {list(b.sizes)}",
            operands=(a.operand("input", [len(a.sizes) - 1]), b.operand("other", [len(b.sizes) - 1])),
        )
    check_same_dtype("inner: expected both tensors to have the same dtype, but got", input, other)
    return tensordot(input, other, dims=([-1], [-1]))


@offered("workbench", out="exact")
def tensordot(a: Tensor, b: Tensor, dims: int | Sequence[Sequence[Dim]] | Tensor = 2) -> Tensor:
    """Sum of products over several dims: the last `dims` of `a` with the first of `b`, or a list for each.

    Dims are given by position or by name. The result has the other dims of `a`, then those of `b`.

    >>> import workbench as wb
    >>> wb.tensordot(wb.ones(N=2, C=3, T=4), wb.ones(T=4, K=5), dims=(["T"], ["T"])).names
    ('N', 'C', 'K')
    """
    own, other = dims_of(a), dims_of(b)
    if isinstance(dims, Value):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(len(own.sizes), len(other.sizes)):
            raise DimensionError(
                f"tensordot expects dims >= 0 and no more than both tensors have, but got dims={dims}",
                operands=(own.operand("a"), other.operand("b")),
            )
        left = tuple(range(len(own.sizes) - dims, len(own.sizes)))
        right = tuple(range(dims))
    else:
        left = tuple(dim_index(own, dim, "tensordot") for dim in _listed(dims[0]))
        right = tuple(dim_index(other, dim, "tensordot") for dim in _listed(dims[1]))
    if len(left) != len(right):
        raise DimensionError(
            f"both dimension lists should have same length, got {list(left)} and {list(right)}",
            op="tensordot",
        )
    for i, j in zip(left, right, strict=True):
        if own.sizes[i] != other.sizes[j] and 1 not in (own.sizes[i], other.sizes[j]):
            raise DimensionError(
                f"contracted dimensions need to match, but first has size {own.sizes[i]} in dim {i} and second has "
                f"size {other.sizes[j]} in dim {j}",
                op="tensordot",
                operands=(own.operand("a", [i]), other.operand("b", [j])),
            )
    # A dim of size 1 that meets a longer one is stretched along it: the longer one is summed alone.
    for i, j in zip(left, right, strict=True):
        if own.sizes[i] != other.sizes[j]:
            if own.sizes[i] == 1:
                b = _summed(b, j)
            else:
                a = _summed(a, i)
    return summed_over(a, b, left, right)


def _summed(x: Any, dim: int) -> Any:
    """Sum over a dim without a change of type: a sum of integers is int64, a product of them is not."""
    total = ops.sum(x, dim=(dim,), keepdim=True)
    return total if total.payload.dtype == x.payload.dtype else ops.to(total, dtype=x.payload.dtype)


def _listed(dims: Any) -> Sequence[int | str]:
    return (dims,) if isinstance(dims, int | str) else tuple(dims)


def summed_over(a: Any, b: Any, left: tuple[int, ...], right: tuple[int, ...]) -> Tensor:
    own, other = dims_of(a), dims_of(b)
    rest_a = tuple(i for i in range(len(own.sizes)) if i not in left)
    rest_b = tuple(i for i in range(len(other.sizes)) if i not in right)
    names_a = [own.names[i] for i in rest_a]
    names_b = [other.names[i] for i in rest_b]
    clash = {name for name in names_a if name} & set(names_b)
    if clash:
        raise DimensionError(
            f"the result would have the name {min(str(name) for name in clash)!r} twice: rename it in one of the two",
            op="tensordot",
            operands=(own.operand("a", rest_a), other.operand("b", rest_b)),
        )
    inner_size = math.prod(own.sizes[i] for i in left)
    sizes_a, sizes_b = (tuple(d.sizes[i] for i in rest) for d, rest in ((own, rest_a), (other, rest_b)))
    # As one product of matrices: the summed dims last on the left, first on the right.
    product = ops.matmul(
        ops.reshape(bare(ops.permute(a, dim=rest_a + left)), sizes=(math.prod(sizes_a), inner_size)),
        ops.reshape(bare(ops.permute(b, dim=right + rest_b)), sizes=(inner_size, math.prod(sizes_b))),
    )
    return named(ops.reshape(product, sizes=sizes_a + sizes_b), (*names_a, *names_b))


def bare(x: Any) -> Any:
    return x if x._names is None else ops.rename(x, names=None)


def named(x: Any, names: tuple[str | None, ...]) -> Tensor:
    return ops.rename(x, names=names) if any(names) else x


@offered(out=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: every value of `input` times the whole of `other`.

    Dims meet from the right; one keeps its name where the other tensor has size 1 or no such dim.

    >>> import workbench as wb
    >>> wb.kron(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 1.0]))
    tensor([1., 1., 2., 2.])
    """
    a, b = dims_of(input), dims_of(other)
    ndim = max(len(a.sizes), len(b.sizes))
    sizes_a = (1,) * (ndim - len(a.sizes)) + a.sizes
    sizes_b = (1,) * (ndim - len(b.sizes)) + b.sizes
    names_a = (None,) * (ndim - len(a.sizes)) + a.names
    names_b = (None,) * (ndim - len(b.sizes)) + b.names
    # With ones in between the dims of both stand in turn, and each pair can be laid out as one.
    left = ops.reshape(bare(input), sizes=tuple(one for size in sizes_a for one in (size, 1)))
    right = ops.reshape(bare(other), sizes=tuple(one for size in sizes_b for one in (1, size)))
    product = ops.mul(left, right)
    sizes = tuple(x * y for x, y in zip(sizes_a, sizes_b, strict=True))
    names: list[str | None] = []
    for x, y, size_a, size_b in zip(names_a, names_b, sizes_a, sizes_b, strict=True):
        # Where both dims have more than one entry the new one is neither of them.
        name = x if size_b == 1 and (y is None or y == x) else y if size_a == 1 and x is None else None
        names.append(name if name not in names else None)
    return named(ops.reshape(product, sizes=sizes), tuple(names))


@offered("linalg")
def vecdot(x: Tensor, y: Tensor, *, dim: Dim = -1) -> Tensor:
    """Dot products along a dim, `x` conjugated: y = Σ conj(x)·y. Names unify, sizes broadcast.

    >>> import workbench as wb
    >>> wb.linalg.vecdot(wb.ones(N=2, C=3), wb.ones(N=2, C=3)).names
    ('N',)
    """
    product = ops.mul(conjugate(x), y)
    return ops.sum(product, dim=(dim_index(dims_of(product), dim, "linalg.vecdot"),), keepdim=False)
