"""Products of vectors and matrices under the names people know them by: all of them end in `matmul` or `mul`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from workbench.base.dims import dim_index
from workbench.base.dtypes import as_dtype
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.op import ops
from workbench.core.value import dims_of
from workbench.ops.matrices import column, conj, row, shape

Scalar = int | float | complex


def _check_rank(op: str, rank: int, message: str, **operands: Any) -> None:
    """Refuse operands that have not `rank` dims."""
    for label, value in operands.items():
        dims = dims_of(value)
        if len(dims.sizes) != rank:
            raise DimensionError(message, op=op, operands=(dims.operand(label),))


def _check_same_dtype(message: str, a: Any, b: Any) -> None:
    """Refuse two types: a product does not convert silently what may be large."""
    first, second = a._array.dtype, b._array.dtype
    if first != second:
        raise DTypeError(
            f"{message}: {a.dtype.name} != {b.dtype.name}. Cast one of them, e.g. other.to(input.dtype)"
        )


# ---------------------------------------------------------------------------------------------- two operands


def mm(input: Any, mat2: Any) -> Any:
    """Matrix product of two matrices: y[n, p] = Σ_m a[n, m]·b[m, p].

    >>> import workbench as wb
    >>> wb.mm(wb.ones(N=2, C=3), wb.ones(C=3, K=4)).names
    ('N', 'K')
    """
    _check_rank("mm", 2, "self must be a matrix", input=input)
    _check_rank("mm", 2, "mat2 must be a matrix", mat2=mat2)
    _check_same_dtype("expected m1 and m2 to have the same dtype, but got", input, mat2)
    return ops.matmul(input, mat2)


def mv(input: Any, vec: Any) -> Any:
    """Product of a matrix and a vector: y[n] = Σ_m a[n, m]·x[m].

    >>> import workbench as wb
    >>> wb.mv(wb.ones(N=2, C=3), wb.ones(C=3))
    tensor([3.0000, 3.0000], names=('N',))
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
    _check_same_dtype("expected mat and vec to have the same dtype, but got", input, vec)
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
    _check_same_dtype(f"{op} : expected both vectors to have same dtype, but found", input, other)


def dot(input: Any, tensor: Any) -> Any:
    """Dot product of two vectors, without conjugation: y = Σ_i a[i]·b[i].

    >>> import workbench as wb
    >>> wb.dot(wb.tensor([2.0, 3.0]), wb.tensor([2.0, 1.0]))
    tensor(7.0000)
    """
    _check_vectors("dot", input, tensor)
    return ops.matmul(input, tensor)


def vdot(input: Any, other: Any) -> Any:
    """Dot product of two vectors, the first conjugated: y = Σ_i conj(a[i])·b[i].

    >>> import workbench as wb
    >>> wb.vdot(wb.tensor([2.0, 3.0]), wb.tensor([2.0, 1.0]))
    tensor(7.0000)
    """
    _check_vectors("vdot", input, other)
    return ops.matmul(conj(input), other)


def bmm(input: Any, mat2: Any) -> Any:
    """Matrix products of two batches of one size: y[b, n, p] = Σ_m a[b, n, m]·c[b, m, p].

    >>> import workbench as wb
    >>> wb.bmm(wb.ones(B=5, N=2, C=3), wb.ones(B=5, C=3, K=4)).names
    ('B', 'N', 'K')
    """
    _check_batches("bmm", input, mat2)
    return ops.matmul(input, mat2)


def _check_batches(op: str, batch1: Any, batch2: Any) -> None:
    _check_rank(op, 3, "batch1 must be a 3D tensor", batch1=batch1)
    _check_rank(op, 3, "batch2 must be a 3D tensor", batch2=batch2)
    a, b = dims_of(batch1), dims_of(batch2)
    if a.sizes[0] != b.sizes[0] or a.sizes[2] != b.sizes[1]:
        raise DimensionError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{a.sizes[0]}, {a.sizes[2]}] but got: [{b.sizes[0]}, {b.sizes[1]}].",
            op=op,
            operands=(a.operand("batch1", [0, 2]), b.operand("batch2", [0, 1])),
        )
    _check_same_dtype("expected batch1 and batch2 to have the same dtype, but got", batch1, batch2)


def outer(input: Any, vec2: Any) -> Any:
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
    return ops.mul(column(_distinct(input, vec2)), vec2)


def _distinct(a: Any, b: Any) -> Any:
    """Return `a` without its names where `b` has one of them: what is made of both has no name twice."""
    shared = {name for name in dims_of(a).names if name} & set(dims_of(b).names)
    if not shared:
        return a
    return ops.rename(a, names=tuple(None if name in shared else name for name in dims_of(a).names))


def inner(input: Any, other: Any) -> Any:
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
    _check_same_dtype("inner: expected both tensors to have the same dtype, but got", input, other)
    return tensordot(input, other, dims=([-1], [-1]))


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Sum of products over several dims: the last `dims` of `a` with the first of `b`, or a list for each.

    Dims are given by position or by name. The result has the other dims of `a`, then those of `b`.

    >>> import workbench as wb
    >>> wb.tensordot(wb.ones(N=2, C=3, T=4), wb.ones(T=4, K=5), dims=(["T"], ["T"])).names
    ('N', 'C', 'K')
    """
    own, other = dims_of(a), dims_of(b)
    if hasattr(dims, "_array"):
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
                b = ops.sum(b, dim=(j,), keepdim=True)
            else:
                a = ops.sum(a, dim=(i,), keepdim=True)
    return _tensordot(a, b, left, right)


def _listed(dims: Any) -> Sequence[int | str]:
    return (dims,) if isinstance(dims, int | str) else tuple(dims)


def _tensordot(a: Any, b: Any, left: tuple[int, ...], right: tuple[int, ...]) -> Any:
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
    product = ops.matmul(
        ops.reshape(_bare(ops.permute(a, dim=rest_a + left)), sizes=(math.prod(sizes_a), inner_size)),
        ops.reshape(_bare(ops.permute(b, dim=right + rest_b)), sizes=(inner_size, math.prod(sizes_b))),
    )
    return _named(ops.reshape(product, sizes=sizes_a + sizes_b), (*names_a, *names_b))


def _bare(x: Any) -> Any:
    return x if x._names is None else ops.rename(x, names=None)


def _named(x: Any, names: tuple[str | None, ...]) -> Any:
    return ops.rename(x, names=names) if any(names) else x


def kron(input: Any, other: Any) -> Any:
    """Kronecker product: every value of `input` times the whole of `other`.

    Dims meet from the right; one keeps its name where the other tensor has size 1 or no such dim.

    >>> import workbench as wb
    >>> wb.kron(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 1.0]))
    tensor([1.0000, 1.0000, 2.0000, 2.0000])
    """
    a, b = dims_of(input), dims_of(other)
    ndim = max(len(a.sizes), len(b.sizes))
    sizes_a = (1,) * (ndim - len(a.sizes)) + a.sizes
    sizes_b = (1,) * (ndim - len(b.sizes)) + b.sizes
    names_a = (None,) * (ndim - len(a.sizes)) + a.names
    names_b = (None,) * (ndim - len(b.sizes)) + b.names
    left = ops.reshape(_bare(input), sizes=tuple(one for size in sizes_a for one in (size, 1)))
    right = ops.reshape(_bare(other), sizes=tuple(one for size in sizes_b for one in (1, size)))
    product = ops.mul(left, right)
    sizes = tuple(x * y for x, y in zip(sizes_a, sizes_b, strict=True))
    names: list[str | None] = []
    for x, y, size_a, size_b in zip(names_a, names_b, sizes_a, sizes_b, strict=True):
        name = x if size_b == 1 and (y is None or y == x) else y if size_a == 1 and x is None else None
        names.append(name if name not in names else None)
    return _named(ops.reshape(product, sizes=sizes), tuple(names))


def vecdot(x: Any, y: Any, *, dim: int | str = -1) -> Any:
    """Dot products along a dim, `x` conjugated: y = Σ conj(x)·y. Names unify, sizes broadcast.

    >>> import workbench as wb
    >>> wb.linalg.vecdot(wb.ones(N=2, C=3), wb.ones(N=2, C=3)).names
    ('N',)
    """
    product = ops.mul(conj(x), y)
    return ops.sum(product, dim=(dim_index(dims_of(product), dim, "linalg.vecdot"),), keepdim=False)


# ------------------------------------------------------------------------------------- products that are added


def _scaled(x: Any, factor: Scalar) -> Any:
    """Return x times a factor, of which integers take the whole part, as PyTorch's products do."""
    if x._array.dtype.kind in "biu" and isinstance(factor, float):
        factor = int(factor)
    return x if type(factor) is not bool and factor == 1 else ops.mul(x, factor)


def _check_factors(op: str, value: Any, alpha: Scalar, beta: Scalar) -> None:
    kind = value._array.dtype.kind
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if kind in "biu" and (isinstance(factor, complex) or (op == "addr" and isinstance(factor, float))):
            raise DTypeError(
                f"{op}: For integral input tensors, argument {name} must not be a floating point number, "
                f"it is {factor}"
            )
        if kind != "c" and isinstance(factor, complex):
            raise DTypeError(
                f"{op}: For non-complex input tensors, argument {name} must not be a complex number."
            )


def _added(op: str, input: Any, product: Any, alpha: Scalar, beta: Scalar) -> Any:
    """Return β·input + α·product, of the size of the product; with β = 0 the numbers of `input` are not looked at."""
    _check_factors(op, product, alpha, beta)
    sizes = shape(product)
    own = dims_of(input)
    extra = len(sizes) - len(own.sizes)
    for position, size in enumerate(own.sizes):
        if extra < 0 or size not in (1, sizes[position + extra]):
            raise DimensionError(
                f"The expanded size of the tensor ({sizes[position + extra] if extra >= 0 else 'none'}) must match the "
                f"existing size ({size}) at non-singleton dimension {max(position + extra, position)}.  Target sizes: "
                f"{list(sizes)}.  Tensor sizes: {list(own.sizes)}",
                op=op,
                operands=(own.operand("input", [position]), dims_of(product).operand("product")),
            )
    product = _scaled(product, alpha)
    if beta == 0:
        return product
    return ops.add(_scaled(input, beta), product)


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Scalar = 1, alpha: Scalar = 1) -> Any:
    """Add a matrix product: y = β·input + α·(a @ b). Names of `input` unify with those of the product.

    >>> import workbench as wb
    >>> wb.addmm(wb.zeros(K=4), wb.ones(N=2, C=3), wb.ones(C=3, K=4)).names
    ('N', 'K')
    """
    _check_rank("addmm", 2, "mat1 must be a matrix", mat1=mat1)
    _check_rank("addmm", 2, "mat2 must be a matrix", mat2=mat2)
    _check_same_dtype("expected m1 and m2 to have the same dtype, but got", mat1, mat2)
    return _added("addmm", input, ops.matmul(mat1, mat2), alpha, beta)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Scalar = 1, alpha: Scalar = 1) -> Any:
    """Add the product of a matrix and a vector: y = β·input + α·(A @ x).

    >>> import workbench as wb
    >>> wb.addmv(wb.ones(N=2), wb.ones(N=2, C=3), wb.ones(C=3))
    tensor([4.0000, 4.0000], names=('N',))
    """
    return _added("addmv", input, mv(mat, vec), alpha, beta)


def addr(input: Any, vec1: Any, vec2: Any, *, beta: Scalar = 1, alpha: Scalar = 1) -> Any:
    """Add an outer product: y = β·input + α·(a ⊗ b).

    >>> import workbench as wb
    >>> wb.addr(wb.zeros(N=2, C=3), wb.ones(N=2), wb.ones(C=3)).names
    ('N', 'C')
    """
    for label, value in (("vec1", vec1), ("vec2", vec2)):
        dims = dims_of(value)
        if len(dims.sizes) != 1:
            raise DimensionError(
                f"addr: Expected 1-D argument {label}, but got {len(dims.sizes)}-D",
                operands=(dims.operand(label),),
            )
    return _added("addr", input, outer(vec1, vec2), alpha, beta)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Scalar = 1, alpha: Scalar = 1) -> Any:
    """Add matrix products of two batches: y[b] = β·input[b] + α·(a[b] @ c[b]).

    >>> import workbench as wb
    >>> wb.baddbmm(wb.zeros(K=4), wb.ones(B=5, N=2, C=3), wb.ones(B=5, C=3, K=4)).names
    ('B', 'N', 'K')
    """
    _check_batches("baddbmm", batch1, batch2)
    return _added("baddbmm", input, ops.matmul(batch1, batch2), alpha, beta)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Scalar = 1, alpha: Scalar = 1) -> Any:
    """Add the sum of the matrix products of two batches: y = β·input + α·Σ_b a[b] @ c[b].

    >>> import workbench as wb
    >>> wb.addbmm(wb.zeros(K=4), wb.ones(B=5, N=2, C=3), wb.ones(B=5, C=3, K=4)).names
    ('N', 'K')
    """
    _check_batches("addbmm", batch1, batch2)
    total = _tensordot(ops.permute(batch1, dim=(1, 0, 2)), batch2, (1, 2), (0, 1))
    return _added("addbmm", input, total, alpha, beta)


# -------------------------------------------------------------------------------------------- many matrices


def _best_order(sizes: list[int]) -> list[list[int]]:
    """Return, for every run of matrices, where to split it for the fewest multiplications.

    Matrix i has ``sizes[i]`` rows and ``sizes[i + 1]`` columns.
    """
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for start in range(count - length):
            stop = start + length
            best = None
            for middle in range(start, stop):
                work = (
                    cost[start][middle]
                    + cost[middle + 1][stop]
                    + sizes[start] * sizes[middle + 1] * sizes[stop + 1]
                )
                if best is None or work < best:
                    best, split[start][stop] = work, middle
            cost[start][stop] = best or 0
    return split


def multi_dot(tensors: Sequence[Any]) -> Any:
    """Product of several matrices, in the order that needs the fewest multiplications.

    The first may be a vector, taken as a row, and the last one, taken as a column.

    >>> import workbench as wb
    >>> wb.linalg.multi_dot([wb.ones(N=2, C=3), wb.ones(C=3, K=4), wb.ones(K=4)]).names
    ('N',)
    """
    given = list(tensors)
    if len(given) < 2:
        raise DimensionError(f"multi_dot(): expected at least 2 tensors but got {len(given)}")
    ranks = [len(shape(one)) for one in given]
    for position, rank in enumerate(ranks):
        allowed = (1, 2) if position in (0, len(given) - 1) else (2,)
        if rank not in allowed:
            raise DimensionError(
                f"multi_dot(): tensor {position} must be {'1D or 2D' if 1 in allowed else '2D'} but got {rank}D",
                operands=(dims_of(given[position]).operand(f"tensors[{position}]"),),
            )
    first, last = ranks[0] == 1, ranks[-1] == 1
    if first:
        given[0] = row(given[0])
    if last:
        given[-1] = column(given[-1])
    for position in range(len(given) - 1):
        a, b = dims_of(given[position]), dims_of(given[position + 1])
        if a.sizes[1] != b.sizes[0]:
            raise DimensionError(
                f"multi_dot(): tensors {position} and {position + 1} with shapes {list(a.sizes)} and {list(b.sizes)} "
                "cannot be multiplied",
                operands=(
                    a.operand(f"tensors[{position}]", [1]),
                    b.operand(f"tensors[{position + 1}]", [0]),
                ),
            )
    split = _best_order([shape(one)[0] for one in given] + [shape(given[-1])[1]])

    def product(start: int, stop: int) -> Any:
        if start == stop:
            return given[start]
        middle = split[start][stop]
        return ops.matmul(product(start, middle), product(middle + 1, stop))

    result = product(0, len(given) - 1)
    if last:
        result = ops.squeeze(result, dim=(1,))
    return ops.squeeze(result, dim=(0,)) if first else result


def chain_matmul(*matrices: Any) -> Any:
    """Product of matrices, in the order that needs the fewest multiplications; see `linalg.multi_dot`.

    >>> import workbench as wb
    >>> wb.chain_matmul(wb.ones(N=2, C=3), wb.ones(C=3, K=4)).names
    ('N', 'K')
    """
    given = (
        list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], list | tuple) else list(matrices)
    )
    if not given:
        raise DimensionError("chain_matmul(): Expected one or more matrices")
    _check_rank(
        "chain_matmul", 2, "Tensor dimension is not 2", **{f"matrix{i}": one for i, one in enumerate(given)}
    )
    return given[0] if len(given) == 1 else multi_dot(given)


# --------------------------------------------------------------------------------------- cross and bilinear


def _cross(op: str, input: Any, other: Any, dim: int | str) -> Any:
    a, b = dims_of(input), dims_of(other)
    if len(a.sizes) != len(b.sizes):
        raise DimensionError(
            f"{op}: inputs must have the same number of dimensions.",
            operands=(a.operand("input"), b.operand("other")),
        )
    i = dim_index(a, dim, op) if not isinstance(dim, str) or dim in a.names else dim_index(b, dim, op)
    if a.sizes[i] != 3 or b.sizes[i] != 3:
        raise DimensionError(
            f"{op}: inputs dimension {dim} must have length 3. Got {a.sizes[i]} and {b.sizes[i]}",
            operands=(a.operand("input", [i]), b.operand("other", [i])),
        )
    ndim = len(a.sizes)

    def turned(x: Any, by: int) -> Any:
        at = (slice(None),) * i
        parts = [ops.index(x, key=(*at, slice(by, 3))), ops.index(x, key=(*at, slice(0, by)))]
        return ops.cat(*parts, dim=i)

    assert ndim
    return ops.sub(
        ops.mul(turned(input, 1), turned(other, 2)),
        ops.mul(turned(input, 2), turned(other, 1)),
    )


def linalg_cross(input: Any, other: Any, *, dim: int | str = -1) -> Any:
    """Cross product of vectors of three values along a dim: y = a × b. Other dims broadcast.

    >>> import workbench as wb
    >>> wb.linalg.cross(wb.tensor([1.0, 0.0, 0.0]), wb.tensor([0.0, 1.0, 0.0]))
    tensor([0.0000, 0.0000, 1.0000])
    """
    return _cross("linalg.cross", input, other, dim)


def cross(input: Any, other: Any, dim: int | str | None = None) -> Any:
    """Cross product along a dim, or without one along the first that has size 3; see `linalg.cross`.

    >>> import workbench as wb
    >>> wb.cross(wb.tensor([1.0, 0.0, 0.0]), wb.tensor([0.0, 1.0, 0.0]))
    tensor([0.0000, 0.0000, 1.0000])
    """
    if dim is None:
        sizes = dims_of(input).sizes
        if 3 not in sizes:
            raise DimensionError(
                "no dimension of size 3 in input", op="cross", operands=(dims_of(input).operand("input"),)
            )
        dim = sizes.index(3)
    return _cross("linalg.cross", input, other, dim)


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """Products of two vectors under a stack of matrices: y[…, o] = Σ_ij x₁[…, i]·w[o, i, j]·x₂[…, j] + b[o].

    Shapes: input1 [..., in1_features], input2 [..., in2_features], weight [out_features, in1_features, in2_features].

    >>> import workbench as wb
    >>> wb.nn.functional.bilinear(wb.ones(N=2, C=3), wb.ones(N=2, D=4), wb.ones(5, 3, 4)).shape
    (2, 5)
    """
    a, b, w = dims_of(input1), dims_of(input2), dims_of(weight)
    if len(a.sizes) != len(b.sizes) or len(w.sizes) != 3 or a.sizes[:-1] != b.sizes[:-1]:
        raise DimensionError(
            "bilinear(): input1 and input2 must have the same dims but for the last, and weight 3 of them.",
            operands=(a.operand("input1"), b.operand("input2"), w.operand("weight")),
        )
    for which, dims, axis in (("1", a, 1), ("2", b, 2)):
        if dims.sizes[-1] != w.sizes[axis]:
            raise DimensionError(
                f"bilinear(): input{which} size does not match weight size: got {dims.sizes[-1]} but expected "
                f"{w.sizes[axis]}",
                operands=(dims.operand(f"input{which}", [len(dims.sizes) - 1]), w.operand("weight", [axis])),
            )
    batch, (out_features, first, second) = a.sizes[:-1], w.sizes
    rows = math.prod(batch)
    flat = ops.reshape(ops.permute(_bare(weight), dim=(1, 0, 2)), sizes=(first, out_features * second))
    half = ops.matmul(ops.reshape(_bare(input1), sizes=(rows, first)), flat)
    half = ops.reshape(half, sizes=(rows, out_features, second))
    full = ops.matmul(half, column(ops.reshape(_bare(input2), sizes=(rows, second))))
    out = ops.reshape(full, sizes=(*batch, out_features))
    names = [x if y is None else y for x, y in zip(a.names[:-1], b.names[:-1], strict=True)]
    name = w.names[0] if w.names[0] not in names else None
    out = _named(out, (*names, name))
    return out if bias is None else ops.add(out, _bare(bias))


def vander(x: Any, N: int | None = None) -> Any:
    """Powers of every value, from 0 to N - 1: y[…, i, j] = x[…, i]ʲ.

    >>> import workbench as wb
    >>> wb.linalg.vander(wb.tensor([1, 2, 3]), N=3).tolist()
    [[1, 1, 1], [1, 2, 4], [1, 3, 9]]
    """
    if not shape(x):
        x = ops.reshape(x, sizes=(1,))
    count = shape(x)[-1] if N is None else N
    if N is not None and N <= 1:
        raise DimensionError(f"N must be greater than 1. It is {N}.", op="linalg.vander")
    if x._array.dtype.kind == "b":
        x = ops.to(x, dtype=as_dtype("int64"))
    power = column(x)
    powers = ops.add(ops.mul(ops.detach(power), 0), 1)
    powers = ops.cat(powers, power, dim=len(shape(x)))
    # Each round multiplies all powers that are known by the next one, and so doubles their number.
    while shape(powers)[-1] < count:
        known = shape(powers)[-1]
        last = ops.index(powers, key=(Ellipsis, slice(known - 1, known)))
        more = ops.index(powers, key=(Ellipsis, slice(1, min(known, count - known + 1))))
        powers = ops.cat(powers, ops.mul(more, last), dim=len(shape(x)))
    return ops.index(powers, key=(Ellipsis, slice(0, count)))


def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int | str = -2, dim2: int | str = -1) -> Any:
    """Diagonals of matrices, as the last dim: y[…, i] = A[…, i, i + offset].

    >>> import workbench as wb
    >>> wb.linalg.diagonal(wb.eye(3), offset=1)
    tensor([0.0000, 0.0000])
    """
    dims = dims_of(A)
    i, j = dim_index(dims, dim1, "linalg.diagonal"), dim_index(dims, dim2, "linalg.diagonal")
    if i == j:
        raise DimensionError(
            f"diagonal dimensions cannot be identical {dim1}, {dim2}", operands=(dims.operand("A", [i]),)
        )
    rest = tuple(k for k in range(len(dims.sizes)) if k not in (i, j))
    return diagonal_of(ops.permute(A, dim=(*rest, i, j)), offset)


def diagonal_of(x: Any, offset: int = 0) -> Any:
    """Return the diagonal `offset` of every matrix, as a last dim without a name."""
    sizes, names = shape(x), dims_of(x).names
    rows, columns = sizes[-2:]
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    start = offset if offset >= 0 else -offset * columns
    flat = ops.reshape(_bare(x), sizes=(*sizes[:-2], rows * columns))
    stop = start + (count - 1) * (columns + 1) + 1 if count else start
    picked = ops.index(flat, key=(Ellipsis, slice(start, stop, columns + 1)))
    return _named(picked, (*names[:-2], None))


FUNCTIONS: dict[str, Any] = {
    "addbmm": addbmm,
    "addmm": addmm,
    "addmv": addmv,
    "addr": addr,
    "baddbmm": baddbmm,
    "bmm": bmm,
    "chain_matmul": chain_matmul,
    "cross": cross,
    "dot": dot,
    "ger": outer,
    "inner": inner,
    "kron": kron,
    "mm": mm,
    "mv": mv,
    "outer": outer,
    "tensordot": tensordot,
    "vdot": vdot,
}

NOT_METHODS = ("chain_matmul", "tensordot")

INPLACE = ("addbmm", "addmm", "addmv", "addr", "baddbmm")

OUT = (
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "chain_matmul", "cross", "dot", "ger", "inner", "kron",
    "mm", "mv", "outer", "tensordot", "vdot",
)  # fmt: skip

LINALG: dict[str, Any] = {
    "cross": linalg_cross,
    "diagonal": linalg_diagonal,
    "multi_dot": multi_dot,
    "vander": vander,
    "vecdot": vecdot,
}

NN: dict[str, Any] = {"bilinear": bilinear}
