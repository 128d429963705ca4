"""Values along one dim by an index for each: gathered, scattered, and what PyTorch builds on that."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, broadcast, dim_index, unify_along, unify_names
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.base.numbers import fitted
from workbench.core.contribution import LINEAR, PRODUCT
from workbench.core.dispatch import numbers
from workbench.core.families import grid, unbroadcast
from workbench.core.index_types import check_index
from workbench.core.op import BadInput, Sample, Saves, ops
from workbench.core.outcome import seen_dims
from workbench.core.overlap import reads_apart
from workbench.core.quantization import GRADIENT, MOVED, WRITTEN, Quantization
from workbench.core.tape import Call
from workbench.core.typing import Dim, Operand, Scalar, Tensor
from workbench.core.value import Value, dims_of, new
from workbench.ops.index import batching
from workbench.ops.offer import offered
from workbench.ops.shape.movement import move

INDEX = Saves((1,), output=False)


def _gather_dims(x: Dims, index: Dims, dim: int) -> Dims:
    _fitting("gather", x, index, dim)
    return Dims(unify_along("gather", x, index, dim), index.sizes)


def _fitting(op: str, x: Dims, index: Dims, dim: int, label: str = "input") -> None:
    if len(x.sizes) != len(index.sizes):
        raise DimensionIndexError(
            f"Index tensor must have the same number of dimensions as {label} tensor",
            op=op,
            operands=(x.operand(label), index.operand("index")),
        )
    wrong = [i for i, (a, b) in enumerate(zip(x.sizes, index.sizes, strict=True)) if i != dim and b > a]
    if wrong:
        raise DimensionIndexError(
            f"Size does not match at dimension {wrong[0]}: expected index {list(index.sizes)} to be no larger than "
            f"{label} {list(x.sizes)} apart from dimension {dim}",
            op=op,
            operands=(x.operand(label, wrong), index.operand("index", wrong)),
        )


def _checked(index: Any, dim: int, size: int, op: str) -> None:
    if index.dtype.kind not in "iu":
        raise DTypeError(f"{op}(): Expected dtype int64 for index, got {index.dtype}. Cast it: index.long()")
    if index.size and (index.max() >= size or index.min() < 0):
        wrong = int(index.max()) if index.max() >= size else int(index.min())
        raise DimensionIndexError(
            f"index {wrong} is out of bounds for dimension {dim} with size {size}", op=op
        )


def _along(index: Any, dim: int) -> tuple[Any, ...]:
    """Return the NumPy key that picks `index` along `dim`, every other position from itself."""
    # Open grids broadcast: the positions of the other dims are never written out. NumPy's own makes them in Python,
    # and checks them.
    last = index.ndim - 1
    return tuple(
        [
            index if i == dim else np.arange(size).reshape((size,) + (1,) * (last - i))
            for i, size in enumerate(index.shape)
        ]
    )


def _places(sizes: tuple[int, ...], index: Any, dim: int) -> Any:
    """Return the positions, in row-major order of `sizes`, that `index` names along `dim`."""
    places = np.zeros(index.shape, np.int64)
    for size, one in zip(sizes, _along(index, dim), strict=True):
        places = places * size + one
    return places.ravel()


def _gather(x: Any, index: Any, dim: int) -> Any:
    _checked(index, dim, x.shape[dim] if x.ndim else 1, "gather")
    return x[_along(index, dim)]


GATHER = move(
    "gather",
    "Pick one value along a dim for each index.",
    "y[i][j] = x[index[i][j]][j] for dim 0",
    dims=_gather_dims,
    rule="as the index, whose names unify with the input's but along the dim; its unnamed dims take the input's",
    forward=_gather,
    vjp=lambda c, g: (
        ops.scatter_add(g, c.inputs[1], dim=c.params["dim"], sizes=tuple(c.inputs[0].payload.shape)),
        None,
    ),
    saves=INDEX,
    samples=lambda: [
        Sample((grid(3, 4), np.array([[0, 3, 3], [1, 1, 0]])), {"dim": 1}, names=(("N", "C"), None)),
        Sample((grid(3, 4), np.array([[0, 2]], np.uint8)), {"dim": 0}),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 4), np.array([[7]])), {"dim": 1}, DimensionIndexError, "out of bounds for dimension 1"
        ),
        BadInput((grid(3, 4), np.array([0])), {"dim": 1}, DimensionIndexError, "same number of dimensions"),
        BadInput((grid(3, 4), grid(2, 2)), {"dim": 1}, DTypeError, "Expected dtype int64 for index"),
        BadInput(
            (grid(3, 3), np.zeros((3, 3), np.int64)),
            {"dim": 1},
            DimensionError,
            "same in another order",
            (("N", "C"), ("C", "N")),
        ),
    ],
    properties=frozenset({"moves"}),
    batch=batching.along_dim,
    quantized=MOVED,
)


def _scatter_add(x: Any, index: Any, dim: int, sizes: tuple[int, ...]) -> Any:
    _checked(index, dim, sizes[dim] if sizes else 1, "scatter_add")
    out = np.zeros(sizes, x.dtype)
    # Unbuffered: where places occur several times, += would keep one of the values.
    np.add.at(out.reshape(-1), _places(sizes, index, dim), x.ravel())
    return out


SCATTER_ADD = move(
    "scatter_add",
    "Add each value along a dim at its index, into zeros: the transpose of gather.",
    "y[index[i][j]][j] += x[i][j] for dim 0",
    dims=lambda x, index, dim, sizes: Dims((None,) * len(sizes), sizes),
    rule="an unnamed tensor of the given sizes",
    forward=_scatter_add,
    vjp=lambda c, g: (ops.gather(g, c.inputs[1], dim=c.params["dim"]), None),
    saves=INDEX,
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [Sample((grid(2, 3), np.array([[0, 3, 3], [1, 1, 0]])), {"dim": 1, "sizes": (3, 4)})],
    properties=frozenset(),
    batch=batching.along_dim,
    quantized=GRADIENT,
    contribution=PRODUCT,
)


def _scatter_add_to_dims(x: Dims, added: Dims, index: Dims, dim: int) -> Dims:
    _fitting("scatter_add", x, index, dim, "self")
    if added.sizes != index.sizes:
        raise DimensionError(
            f"expected index {list(index.sizes)} to have the sizes of src {list(added.sizes)}",
            op="scatter_add",
            operands=(index.operand("index"), added.operand("src")),
        )
    check_written("scatter_add", x, added, index, dim)
    return x


def check_written(op: str, x: Dims, source: Dims, index: Dims, dim: int) -> None:
    """Refuse values to be written along a dim where their names, those of `x` and of the index do not go together."""
    unify_along(op, x, index, dim, ("self", "index"))
    if len(source.sizes) == len(x.sizes):  # a number has none
        unify_along(op, x, source, dim, ("self", "src"))
        unify_names(op, index, source)


def _scatter_add_to(x: Any, added: Any, index: Any, dim: int) -> Any:
    _checked(index, dim, x.shape[dim] if x.ndim else 1, "scatter_add")
    # In row-major order, so that the flat view below shares its memory.
    out = x.copy(order="C")
    np.add.at(out.reshape(-1), _places(x.shape, index, dim), added.ravel())
    return out


SCATTER_ADD_TO = move(
    "scatter_add_to",
    "A tensor to which each value along a dim is added at its index.",
    "y = x; y[index[i][j]][j] += a[i][j] for dim 0",
    dims=_scatter_add_to_dims,
    rule="as the input; names unify with those of values and index, but along the dim",
    forward=_scatter_add_to,
    vjp=lambda c, g: (
        g if c.needs[0] else None,
        ops.gather(g, c.inputs[2], dim=c.params["dim"]) if c.needs[1] else None,
        None,
    ),
    saves=Saves((2,), output=False),
    cost=lambda dims, out, **params: float(dims[1].numel),
    samples=lambda: [
        Sample(
            (grid(3, 4), grid(2, 3), np.array([[0, 3, 3], [1, 1, 0]])),
            {"dim": 1},
            names=(("N", "C"), None, None),
        )
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 4), grid(1, 2), np.array([[4, 0]])), {"dim": 1}, DimensionIndexError, "out of bounds"
        ),
        BadInput((grid(3, 4), grid(1, 2), np.array([[0]])), {"dim": 1}, DimensionError, "sizes of src"),
        BadInput(
            (grid(3, 3), grid(3, 3), np.zeros((3, 3), np.int64)),
            {"dim": 1},
            DimensionError,
            "same in another order",
            (("N", "C"), ("C", "N"), None),
        ),
    ],
    properties=frozenset(),
    batch=batching.along_dim,
    quantized=Quantization("own", inputs=("value", "value", "plain")),
    contribution=LINEAR,
)


def _scatter_dims(x: Dims, value: Dims, index: Dims, dim: int) -> Dims:
    _fitting("scatter", x, index, dim, "self")
    together = broadcast("scatter", Dims(index.names, index.sizes), value)
    if together.sizes != index.sizes:
        raise DimensionError(
            f"expected index {list(index.sizes)} to be no smaller than src {list(value.sizes)}",
            op="scatter",
            operands=(index.operand("index"), value.operand("src")),
        )
    check_written("scatter", x, value, index, dim)
    return x


def _scatter(x: Any, value: Any, index: Any, dim: int) -> Any:
    _checked(index, dim, x.shape[dim] if x.ndim else 1, "scatter")
    out = x.copy()
    out[_along(index, dim)] = value
    return out


def _scatter_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    index, dim = c.inputs[2], c.params["dim"]
    return (
        ops.scatter(g, 0.0, index, dim=dim) if c.needs[0] else None,
        unbroadcast(ops.gather(g, index, dim=dim), c.inputs[1]) if c.needs[1] else None,
        None,
    )


SCATTER = move(
    "scatter",
    "A tensor with the value at each index along a dim replaced; of values for one place the last one stays.",
    "y = x; y[index[i][j]][j] = value[i][j] for dim 0",
    dims=_scatter_dims,
    rule="as the input; names unify with those of values and index, but along the dim",
    forward=_scatter,
    vjp=_scatter_vjp,
    saves=Saves((2,), output=False),
    samples=lambda: [
        Sample(
            (grid(3, 4), grid(2, 3), np.array([[0, 3, 2], [1, 2, 0]])),
            {"dim": 1},
            names=(("N", "C"), None, None),
        ),
        Sample((grid(3, 4), 0.5, np.array([[2, 0]])), {"dim": 0}),
    ],
    bad=lambda: [
        BadInput(
            (grid(3, 4), 0.5, np.array([[4]])), {"dim": 1}, DimensionIndexError, "index 4 is out of bounds"
        ),
        BadInput(
            (grid(3, 3), grid(3, 3), np.zeros((3, 3), np.int64)),
            {"dim": 1},
            DimensionError,
            "same in another order",
            (("N", "C"), ("C", "N"), None),
        ),
    ],
    properties=frozenset({"moves"}),
    batch=batching.scatter,
    quantized=WRITTEN,
)


# ---------------------------------------------------------------------------------- the words people use


def _with_dims(value: Any) -> Any:
    """Return a value without dims as one of a single entry: PyTorch counts them the same here."""
    return value if not isinstance(value, Value) or dims_of(value).sizes else ops.reshape(value, sizes=(1,))


@offered(out="exact")
def gather(input: Tensor, dim: Dim, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Pick one value along `dim` for each index: for dim 0, y[i][j] = x[index[i][j]][j].

    `index` has as many dims as `input`, and the result its sizes. Gradients are dense, whatever `sparse_grad` says.

    >>> import workbench as wb
    >>> wb.tensor([[1, 2], [3, 4]]).gather(1, wb.tensor([[1], [0]])).tolist()
    [[2], [3]]
    """
    own, wanted = dims_of(input), dims_of(index)
    if not wanted.numel:  # its type says nothing then: [] is one of floats
        # Nothing is picked, yet the result has its place on the tape behind the input.
        nothing = ops.index(_with_dims(input), key=(slice(0, 0),))
        return ops.reshape(nothing, sizes=wanted.sizes) if dims_of(nothing).sizes != wanted.sizes else nothing
    check_index("gather", index)
    at = dim_index(own, dim, "gather")
    if len(own.sizes) > 1:
        return ops.gather(input, index, dim=at)
    picked = ops.gather(_with_dims(input), _with_dims(index), dim=at)
    return picked if wanted.sizes else ops.reshape(picked, sizes=())


@offered(out="exact")
def take_along_dim(input: Tensor, indices: Tensor, dim: Dim | None = None) -> Tensor:
    """Pick values along `dim` by indices that broadcast with `input`; without `dim` both are taken as flat.

    >>> import workbench as wb
    >>> x = wb.tensor([[3, 1], [2, 4]])
    >>> wb.take_along_dim(x, x.argmax(1, keepdim=True), 1).tolist()
    [[3], [4]]
    """
    # PyTorch asks for int64 along a dim alone: without one the indices go to `gather` as they are.
    check_index("take_along_dim", indices, "int32/int64" if dim is None else "int64", "indices")
    if dim is None:
        dim = 0
        indices = ops.reshape(indices, sizes=(dims_of(indices).numel,))
        input = ops.reshape(input, sizes=(dims_of(input).numel,))
    own, wanted = dims_of(input), dims_of(indices)
    if len(own.sizes) != len(wanted.sizes):
        raise DimensionError(
            "take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(own.sizes)} dimensions for input, and {len(wanted.sizes)} dimensions for indices",
            op="take_along_dim",
            operands=(own.operand("input"), wanted.operand("indices")),
        )
    at = dim_index(own, dim, "take_along_dim")
    if own.sizes:
        seen, looked_up = seen_dims((input, indices))
        unify_along("take_along_dim", seen, looked_up, at, ("input", "indices"))
    together = broadcast("take_along_dim", _one_at(own, at), _one_at(wanted, at)).sizes
    sizes = [(*together[:at], *one.sizes[at : at + 1], *together[at + 1 :]) for one in (own, wanted)]
    # Unlike gather this counts negative indices from the end.
    from_start = ops.where(ops.lt(indices, 0), ops.add(indices, own.sizes[at] if own.sizes else 1), indices)
    return gather(ops.expand(input, sizes=sizes[0]), at, ops.expand(from_start, sizes=sizes[1]))


def _one_at(dims: Dims, at: int) -> Dims:
    if not dims.sizes:
        return dims
    return Dims((None,) * len(dims.sizes), (*dims.sizes[:at], 1, *dims.sizes[at + 1 :]))


@offered(out="exact", in_place="Tensor")
@reads_apart
def scatter(
    input: Tensor,
    dim: Dim,
    index: Tensor,
    src: Operand | None = None,
    *,
    value: Scalar | None = None,
    reduce: str | None = None,
) -> Tensor:
    """A copy of `input` in which the value at each index along `dim` is replaced by one of `src`, or by a number.

    ``reduce="add"`` or ``"multiply"`` combines with what is there instead. `src` may be larger than `index`.

    >>> import workbench as wb
    >>> wb.zeros(2, 3).scatter(1, wb.tensor([[2], [0]]), 1.0).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if (src is None) == (value is None):
        raise TypeError("scatter() takes either src, a tensor, or value, a number")
    if reduce not in (None, "add", "multiply"):
        raise DimensionError(f"reduce argument must be either add or multiply, got {reduce!r}", op="scatter")
    source, own = value if src is None else src, dims_of(input)
    at = dim_index(own, dim, "scatter")
    if not dims_of(index).numel:
        return ops.clone(input)
    check_index("scatter", index)
    if not isinstance(source, Value):
        source = fitted("scatter", source, input.payload.dtype)
    elif source.payload.dtype != input.payload.dtype:
        raise DTypeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if reduce is not None:
        spread = source if isinstance(source, Value) else _spread(source, input, index)
        if reduce == "add":
            return scatter_add(input, at, index, spread)
        product = _multiplied(_with_dims(input), _with_dims(index), _cropped(spread, index), at)
        return ops.reshape(product, sizes=own.sizes)
    result = ops.scatter(_with_dims(input), _cropped(source, index), _with_dims(index), dim=at)
    return result if own.sizes else ops.reshape(result, sizes=())


def _spread(value: Any, like: Any, index: Any) -> Any:
    """Return a number as a value of the type of `like` for each index."""
    return ops.expand(new(np.asarray(value, like.payload.dtype)), sizes=dims_of(index).sizes)


def _cropped(src: Any, index: Any) -> Any:
    """Return the part of `src` that has the sizes of `index`."""
    if not isinstance(src, Value):
        return src
    src, index = _with_dims(src), _with_dims(index)
    have, want = dims_of(src).sizes, dims_of(index).sizes
    if len(have) != len(want) or any(a < b for a, b in zip(have, want, strict=True)):
        raise DimensionError(
            f"Expected index {list(want)} to be no larger than src {list(have)}",
            op="scatter",
            operands=(dims_of(index).operand("index"), dims_of(src).operand("src")),
        )
    return src if have == want else ops.index(src, key=tuple(slice(size) for size in want))


def _multiplied(input: Any, index: Any, src: Any, dim: int) -> Any:
    """Multiply values at indices one set at a time: the k-th value for a place is in the k-th set."""
    places = _places(dims_of(input).sizes, numbers(index), dim)
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    turn = np.empty(len(places), np.int64)
    turn[order] = np.arange(len(places)) - np.repeat(starts, np.diff([*starts, len(places)]))
    flat = ops.reshape(input, sizes=(dims_of(input).numel,))
    values = ops.reshape(src, sizes=(len(places),))
    for k in range(int(turn.max()) + 1):
        chosen = np.flatnonzero(turn == k)
        at = new(places[chosen])
        product = ops.mul(ops.pick(flat, at, dims=(0,)), ops.pick(values, new(chosen), dims=(0,)))
        flat = ops.index_put(flat, product, at, dims=(0,))
    return ops.reshape(flat, sizes=dims_of(input).sizes)


@offered(out="exact", in_place="Tensor")
@reads_apart
def scatter_add(input: Tensor, dim: Dim, index: Tensor, src: Tensor) -> Tensor:
    """A copy of `input` to which each value of `src` is added at its index along `dim`.

    >>> import workbench as wb
    >>> wb.zeros(3).scatter_add(0, wb.tensor([0, 0, 2]), wb.ones(3))
    tensor([2., 0., 1.])
    """
    own = dims_of(input)
    at = dim_index(own, dim, "scatter_add")
    if input.payload.dtype != src.payload.dtype:
        raise DTypeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not dims_of(index).numel:
        return ops.clone(input)
    check_index("scatter_add", index)
    index = _with_dims(index)
    added = ops.scatter_add_to(_with_dims(input), _cropped(src, index), index, dim=at)
    return added if own.sizes else ops.reshape(added, sizes=())
