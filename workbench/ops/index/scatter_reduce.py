"""Values put together where their indices meet: sums, products, means, extremes; and values repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index, unify_along
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.base.sizes import check_memory
from workbench.base.symbolic_size import SymbolicSize
from workbench.core.dispatch import numbers
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.index_types import check_index
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.outcome import seen_dims
from workbench.core.overlap import reads_apart
from workbench.core.quantization import OWN
from workbench.core.tape import Call
from workbench.core.typing import Dim, Tensor
from workbench.core.value import Value, dims_of, new
from workbench.ops.elementwise.complex import conjugate
from workbench.ops.index import batching
from workbench.ops.index.gather import check_written
from workbench.ops.index.indexing import getitem
from workbench.ops.offer import offered
from workbench.ops.shape.creation import is_symbolic, runs

_MEET: dict[str, Any] = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _start(reduce: str, dtype: np.dtype[Any]) -> Any:
    """Return the value that changes nothing when it is put together with others."""
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if reduce == "amin" else np.iinfo(dtype).min
    return np.inf if reduce == "amin" else -np.inf


def _key(index: Any, dim: int) -> tuple[Any, ...]:
    """Return the NumPy key that picks `index` along `dim`, every other position from itself."""
    grids = np.ogrid[tuple(slice(size) for size in index.shape)]
    return tuple(index if i == dim else grids[i] for i in range(index.ndim))


def _meet_dims(x: Dims, src: Dims, index: Dims, dim: int, reduce: str, include_self: bool) -> Dims:
    wrong = [
        i for i, (own, size) in enumerate(zip(x.sizes, index.sizes, strict=False)) if i != dim and size > own
    ]
    if len(x.sizes) != len(index.sizes) or src.sizes != index.sizes or wrong:
        raise DimensionError(
            f"Expected index {list(index.sizes)} to be no larger than self {list(x.sizes)} apart from dimension {dim} "
            f"and to be no larger size than src {list(src.sizes)}",
            op="scatter_reduce",
            operands=(x.operand("self", wrong), index.operand("index", wrong), src.operand("src")),
        )
    check_written("scatter_reduce", x, src, index, dim)
    return x


def _meet(x: Any, src: Any, index: Any, dim: int, reduce: str, include_self: bool) -> Any:
    size = x.shape[dim]
    if index.size and (index.max() >= size or index.min() < 0):
        wrong = int(index.max()) if index.max() >= size else int(index.min())
        raise DimensionIndexError(
            f"index {wrong} is out of bounds for dimension {dim} with size {size}", op="scatter_reduce"
        )
    out = x.copy()
    key = _key(index, dim)
    # Places that values are put into start with what changes nothing, all others keep what they have.
    if not include_self:
        out[key] = _start(reduce, x.dtype)
    _MEET[reduce].at(out, key, src)
    return out


def _meet_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x, index = c.inputs[0], c.inputs[2]
    dim, include_self = c.params["dim"], c.params["include_self"]
    own, other = (_product_gradients if c.params["reduce"] == "prod" else _extreme_gradients)(c, g)
    if not include_self and own is not None:
        own = ops.mul(own, _untouched(index, dim, x.payload.shape, own.payload.dtype))
    return own, other, None


def _untouched(index: Any, dim: int, sizes: tuple[int, ...], dtype: Any) -> Any:
    """Return 1 where no index points, else 0."""
    return ops.to(ops.eq(_hits(index, dim, sizes), 0), dtype=np.dtype(dtype))


def _hits(index: Any, dim: int, sizes: tuple[int, ...]) -> Any:
    """Return how many indices point to each place."""
    # Made of the indices, so that they are entries of a batch or values of a trace where these are.
    ones = ops.add(ops.mul(index, 0), 1)
    return ops.scatter_add(ones, index, dim=dim, sizes=sizes)


def _extreme_gradients(c: Call, g: Any) -> tuple[Any, Any]:
    """Shared evenly between the values that tie."""
    x, src, index = c.inputs
    dim = c.params["dim"]
    kind = np.dtype(g.payload.dtype)
    mine = ops.to(ops.eq(x, c.out), dtype=kind)
    theirs = ops.to(ops.eq(src, ops.gather(c.out, index, dim=dim)), dtype=kind)
    ties = ops.add(mine, ops.scatter_add(theirs, index, dim=dim, sizes=x.payload.shape))
    # Where nothing ties nothing is shared; the count is kept from 0 all the same.
    share = ops.div(g, ops.maximum(ties, 1.0))
    return (
        ops.mul(mine, share) if c.needs[0] else None,
        ops.mul(theirs, ops.gather(share, index, dim=dim)) if c.needs[1] else None,
    )


def _product_gradients(c: Call, g: Any) -> tuple[Any, Any]:
    """The product of the others: divided out of the whole, but for a single zero, which is left out of it."""
    x, src, index = c.inputs
    dim = c.params["dim"]

    def product(own: Any, values: Any) -> Any:
        return ops.scatter_reduce(own, values, index, **c.params)

    own = other = None
    if c.needs[0]:
        zero = ops.eq(x, 0.0)
        filled = ops.where(zero, 1.0, x)
        own = ops.div(ops.mul(g, conjugate(product(filled, src))), conjugate(filled))
    if c.needs[1]:
        zero = ops.eq(src, 0.0)
        counted = ops.to(zero, dtype=np.dtype(np.int64))
        zeros = ops.gather(ops.scatter_add(counted, index, dim=dim, sizes=x.payload.shape), index, dim=dim)
        single = ops.logical_and(zero, ops.eq(zeros, 1))
        filled = ops.where(single, 1.0, src)
        alone = ops.div(
            ops.gather(ops.mul(g, conjugate(product(x, filled))), index, dim=dim),
            conjugate(ops.where(zero, 1.0, src)),
        )
        whole = ops.div(
            ops.gather(ops.mul(g, conjugate(c.out)), index, dim=dim), conjugate(ops.where(zero, 1.0, src))
        )
        other = ops.where(single, alone, whole)
    return own, other


def _meet_samples() -> list[Sample]:
    index = np.array([[0, 1, 1], [2, 2, 0]])
    return [
        Sample(
            (grid(2, 4, seed=1), grid(2, 3, seed=2), index),
            {"dim": 1, "reduce": reduce, "include_self": include_self},
            (("N", "C"), None, None),
        )
        for reduce in _MEET
        for include_self in (True, False)
    ]


SCATTER_REDUCE = Op(
    name="scatter_reduce",
    doc="A tensor with each value along a dim multiplied into, or compared with, the one at its index.",
    equation="y = x; y[index[i][j]][j] ∘= src[i][j] for dim 0, where ∘ is ·, max or min",
    dims=_meet_dims,
    rule="as the input; names unify with those of values and index, but along the dim",
    dtype=KEEP,
    forward=_meet,
    vjp=_meet_vjp,
    saves=Saves(None, output=True),
    cost=lambda dims, out, **params: float(dims[1].numel),
    samples=_meet_samples,
    bad=lambda: [
        BadInput(
            (grid(2, 4), grid(2, 3), np.array([[0, 1, 4], [0, 0, 0]])),
            {"dim": 1, "reduce": "prod", "include_self": True},
            DimensionIndexError,
            "index 4 is out of bounds",
        ),
        BadInput(
            (grid(2, 4), grid(3, 3), np.zeros((3, 3), np.int64)),
            {"dim": 1, "reduce": "prod", "include_self": True},
            DimensionError,
            "no larger than self",
        ),
    ],
    batch=batching.along_dim,
    quantized=OWN,
)

# ---------------------------------------------------------------------------------- the words people use


def _together(input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
    """Put `src` into `input` where `index` points; all have one dim at least, `src` the sizes of `index`."""
    if reduce in _MEET:
        return ops.scatter_reduce(input, src, index, dim=dim, reduce=reduce, include_self=include_self)
    sizes = input.payload.shape
    total = ops.scatter_add(src, index, dim=dim, sizes=sizes)
    own = input
    if not include_self:
        own = ops.mul(input, _untouched(index, dim, sizes, input.payload.dtype))
    total = ops.add(own, total)
    if reduce == "sum":
        return total
    count = ops.add(_hits(index, dim, sizes), 1 if include_self else 0)
    # Where nothing was put the value stays what it is, divided by 1.
    count = ops.maximum(count, 1)
    # PyTorch rounds a mean of integers down.
    if input.payload.dtype.kind in "iu":
        return ops.to(ops.div_floor(total, count), dtype=np.dtype(input.payload.dtype))
    return ops.div(total, count)


def _lifted(value: Any) -> Any:
    """Return a value with one dim at least."""
    return value if value.payload.shape else ops.reshape(value, sizes=(1,))


def _check_reduce(op: str, reduce: str, input: Any, src: Any, words: tuple[str, ...]) -> None:
    if reduce not in words:
        raise RuntimeError(f"{op}(): reduce argument must be one of {', '.join(words)}, got {reduce!r}")
    if input.payload.dtype != src.payload.dtype:
        raise DTypeError(
            f"{op}(): expected self.dtype to be equal to src.dtype, got {input.dtype.name} and {src.dtype.name}"
        )


@offered(out="exact", in_place="Tensor")
@reads_apart
def scatter_reduce(
    input: Tensor, dim: Dim, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy of `input` into which each value of `src` is put at its index along `dim`.

    `reduce` says how values meet: ``sum``, ``prod``, ``mean``, ``amax`` or ``amin``. Without `include_self`
    the value that stood where an index points has no part in it. `src` may be larger than `index`.

    >>> import workbench as wb
    >>> wb.zeros(3).scatter_reduce(0, wb.tensor([0, 0, 2]), wb.tensor([1.0, 3.0, 5.0]), "mean", include_self=False)
    tensor([2., 0., 5.])
    """
    _check_reduce("scatter_reduce", reduce, input, src, ("sum", "prod", "mean", "amax", "amin"))
    dims = dims_of(input)
    at = dim_index(dims, dim, "scatter_reduce")
    if not dims_of(index).numel:
        return ops.clone(input)
    check_index("scatter_reduce", index)
    x, places, values = _lifted(input), _lifted(index), _lifted(src)
    want, have = places.payload.shape, values.payload.shape
    if len(have) == len(want) and have != want and all(a >= b for a, b in zip(have, want, strict=True)):
        values = ops.index(values, key=tuple(slice(size) for size in want))
    own, given, index_dims = seen_dims((x, values, places))
    _meet_dims(own, given, index_dims, at, reduce, include_self)
    bare = [ops.rename(one, names=None) if one._names else one for one in (places, values)]
    result = _together(x, at, bare[0], bare[1], reduce, include_self)
    return result if dims.sizes else ops.reshape(result, sizes=())


@offered(out="exact", in_place="Tensor")
@reads_apart
def index_reduce(
    input: Tensor, dim: Dim, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy of `input` into which the entries of `source` along `dim` are put at the entries that `index` names.

    `reduce` says how values meet: ``prod``, ``mean``, ``amax`` or ``amin``; see `scatter_reduce`.

    >>> import workbench as wb
    >>> wb.ones(3).index_reduce(0, wb.tensor([0, 0]), wb.tensor([2.0, 3.0]), "prod")
    tensor([6., 1., 1.])
    """
    _check_reduce("index_reduce", reduce, input, source, ("prod", "mean", "amax", "amin"))
    dims = dims_of(input)
    if dims_of(index).numel:
        check_index("index_reduce", index)
    at = dim_index(dims, dim, "index_reduce")
    places, values, x = _lifted(index), _lifted(source), _lifted(input)
    count = places.payload.shape
    own = x.payload.shape
    wanted = (*own[:at], *count, *own[at + 1 :])
    if len(count) != 1 or values.payload.shape != wanted:
        raise DimensionError(
            f"index_reduce(): expected one vector of indices and a source of size {list(wanted)}, got index "
            f"{list(count)} and source {list(values.payload.shape)}.",
            op="index_reduce",
            operands=(
                dims.operand("self"),
                dims_of(index).operand("index"),
                dims_of(source).operand("source"),
            ),
        )
    if not dims_of(places).numel:
        return ops.clone(input)
    there, given = seen_dims((x, values))
    unify_along("index_reduce", there, given, at, ("self", "source"))
    line = tuple(-1 if i == at else 1 for i in range(len(own)))
    places = ops.expand(ops.reshape(ops.rename(places, names=None), sizes=line), sizes=wanted)
    values = ops.rename(values, names=None)
    result = _together(x, at, places, values, reduce, include_self)
    return result if dims.sizes else ops.reshape(result, sizes=())


@offered()
def repeat_interleave(
    input: Tensor,
    repeats: Tensor | int | None = None,
    dim: Dim | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each entry along `dim` (without it, of all values in a row) repeated as often as `repeats` says, for all or each.

    With one tensor of counts only, the indices 0, 1, … each as often as its count.

    >>> import workbench as wb
    >>> wb.tensor([1, 2]).repeat_interleave(wb.tensor([1, 2]))
    tensor([1, 2, 2])
    """
    counted = input if repeats is None else repeats
    if isinstance(counted, Value):
        check_index("repeat_interleave", counted, label="repeats")
    if repeats is None:
        counts = np.asarray(numbers(input))
        return new(np.repeat(np.arange(len(counts), dtype=counts.dtype), counts))
    if dim is None:
        input, dim = ops.reshape(input, sizes=(dims_of(input).numel,)), 0
    x = _lifted(input)
    dims = dims_of(x)
    at = dim_index(dims, dim, "repeat_interleave")
    size = dims.sizes[at]
    if output_size is None and is_symbolic(size, repeats) and isinstance(repeats, int | SymbolicSize):
        if repeats < 0:
            raise RuntimeError("repeats can not be negative")
        return getitem(x, (*(slice(None),) * at, runs(size, repeats)))
    counts = np.asarray(numbers(repeats) if isinstance(repeats, Value) else repeats)
    if counts.dtype.kind not in "iu":
        raise DTypeError(f"repeats has to be of integer type, got {counts.dtype}")
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if counts.ndim > 1 or (counts.ndim == 1 and counts.shape[0] not in (1, size)):
        raise DimensionError(
            f"repeats must be 0-dim or have one count for each of {size} entries along dim {at}, "
            f"got {list(counts.shape)}.",
            op="repeat_interleave",
            operands=(dims.operand("input", [at]),),
        )
    # Counted with Python's integers, which do not overflow.
    rows = sum(counts.ravel().tolist()) * (1 if counts.ndim and counts.shape[0] == size else size)
    check_memory("repeat_interleave", (*dims.sizes[:at], rows, *dims.sizes[at + 1 :]))
    places = np.repeat(np.arange(size), counts)
    if output_size is not None and output_size != len(places):
        raise RuntimeError(
            f"allocated size does not match required size: {output_size} given, {len(places)} needed"
        )
    return getitem(x, (*(slice(None),) * at, places))
