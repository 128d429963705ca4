"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.dtypes import plain_dtype
from workbench.base.errors import DimensionError
from workbench.core.batch_rules import matrices
from workbench.core.families import grid
from workbench.core.op import BadInput, Sample, ops
from workbench.core.typing import DeviceLike, Dim, DTypeLike, Tensor
from workbench.core.value import dims_of, new
from workbench.ops.elementwise.filling import masked_fill
from workbench.ops.index.view_scatter import writer
from workbench.ops.offer import offered
from workbench.ops.shape import batching
from workbench.ops.shape.creation import placed
from workbench.ops.shape.creation_words import creating
from workbench.ops.shape.movement import MOVES, copying, memory_of, move, see


def _length(sizes: tuple[int, ...], offset: int, dim1: int, dim2: int) -> int:
    """Return how many values the diagonal has."""
    rows, columns = sizes[dim1], sizes[dim2]
    return max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)


def _diagonal_dims(x: Dims, offset: int, dim1: int, dim2: int, name: str | None = None) -> Dims:
    rest = x.without((dim1, dim2))
    # The names of the two dims are free: they go.
    if name is not None and name in rest.names:
        raise DimensionError(
            f"diagonal: the name {name!r} for the diagonal is taken already.",
            op="diagonal",
            operands=(x.operand(),),
        )
    return Dims((*rest.names, name), (*rest.sizes, _length(x.sizes, offset, dim1, dim2)))


def _diagonal(x: Any, offset: int, dim1: int, dim2: int, name: str | None = None) -> Any:
    # By hand, not `np.diagonal`: that view is read-only, and PyTorch's is written through.
    memory, here = memory_of(x)
    strides = tuple(stride // x.itemsize for stride in x.strides)
    length = _length(x.shape, offset, dim1, dim2)
    # Above the main diagonal it begins further right, below further down.
    start = strides[dim2] * offset if offset > 0 else -strides[dim1] * offset
    rest = [i for i in range(x.ndim) if i not in (dim1, dim2)]
    return see(
        memory,
        # A diagonal without values would begin outside the memory.
        here + start if length and x.size else 0,
        (*(x.shape[i] for i in rest), length),
        (*(strides[i] for i in rest), strides[dim1] + strides[dim2]),
    )


def _embedded(x: Any, sizes: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Any:
    # Written through the view: both ops agree on where the diagonal lies.
    out = np.zeros(sizes, x.dtype)
    _diagonal(out, offset, dim1, dim2)[...] = x
    return out


def _planes(**params: Any) -> dict[str, Any]:
    return {"offset": 0, "dim1": 0, "dim2": 1, **params}


DIAGONAL = move(
    "diagonal",
    "The diagonal of two dims, as the last dim.",
    "y[…, i] = x[i, …, i + offset]",
    dims=_diagonal_dims,
    rule="the two dims go, the diagonal comes last with the given name or none",
    forward=_diagonal,
    vjp=lambda c, g: (
        ops.diagonal_embed(
            g,
            sizes=tuple(c.inputs[0].payload.shape),
            offset=c.params["offset"],
            dim1=c.params["dim1"],
            dim2=c.params["dim2"],
        ),
    ),
    samples=lambda: [
        Sample((grid(3, 4),), _planes(name="D"), names=(("N", "C"),)),
        Sample((grid(3, 2, 4),), _planes(offset=-1, dim1=2, dim2=0)),
        Sample((grid(3, 3),), _planes(offset=5)),
    ],
    bad=lambda: [
        BadInput(
            (grid(2, 3, 3),), _planes(dim1=1, dim2=2, name="N"), DimensionError, "taken", (("N", "H", "W"),)
        )
    ],
    batch=batching.pair_of_dims,
)

DIAGONAL_EMBED = move(
    "diagonal_embed",
    "Values on the diagonal of zeros: the transpose of diagonal.",
    "y = 0; y[i, …, i + offset] = x[…, i]",
    dims=lambda x, sizes, offset, dim1, dim2: Dims((None,) * len(sizes), sizes),
    rule="an unnamed tensor of the given sizes",
    forward=_embedded,
    vjp=lambda c, g: (
        ops.diagonal(g, offset=c.params["offset"], dim1=c.params["dim1"], dim2=c.params["dim2"]),
    ),
    samples=lambda: [Sample((grid(2, 3),), {"sizes": (2, 4, 3), "offset": -1, "dim1": 1, "dim2": 2})],
    properties=MOVES,
    batch=batching.pair_of_dims,
)

DIAGONAL_SCATTER = writer(
    "diagonal_scatter",
    DIAGONAL,
    samples=lambda: [
        Sample((grid(3, 4), grid(3)), _planes(offset=1), names=(("N", "C"), None)),
        Sample((grid(3, 2, 3), 0.5), _planes(offset=-1, dim1=2, dim2=0)),
    ],
    batch=batching.diagonal_scatter,
)


def _triangle(x: Any, diagonal: int, upper: bool) -> Any:
    rows, columns = x.shape[-2:]
    # Whatever lies beyond the matrix is as good as its corner; then four bytes hold every place.
    diagonal = max(-rows, min(diagonal, columns))
    beside = np.arange(diagonal, diagonal + rows, dtype=np.int32)[:, None]
    place = np.arange(columns, dtype=np.int32)
    outside = place < beside if upper else place > beside
    # Written over, not multiplied: NaN and infinities outside the triangle become 0.
    out = x.copy()
    np.copyto(out, np.zeros((), x.dtype), where=outside)
    return out


def _triangle_op(name: str, doc: str, equation: str, upper: bool) -> Any:
    return move(
        name,
        doc,
        equation,
        dims=lambda x, diagonal: x,
        rule="names and sizes pass through",
        forward=lambda x, diagonal: _triangle(x, diagonal, upper),
        vjp=lambda c, g: (getattr(ops, name)(g, diagonal=c.params["diagonal"]),),
        samples=lambda: [
            Sample((grid(3, 4),), {"diagonal": 0}, names=(("N", "C"),)),
            Sample((grid(2, 3, 2),), {"diagonal": -1}),
        ],
        properties=MOVES,
        batch=matrices,
    )


TRIL = _triangle_op("tril", "The lower triangle, zeros above.", "y_ij = [j - i ≤ diagonal] x_ij", upper=False)
TRIU = _triangle_op("triu", "The upper triangle, zeros below.", "y_ij = [j - i ≥ diagonal] x_ij", upper=True)

# ---------------------------------------------------------------------------------- the words people use


@offered()
def diagonal(
    input: Tensor,
    offset: int = 0,
    dim1: Dim = 0,
    dim2: Dim = 1,
    *,
    outdim: str | None = None,
) -> Tensor:
    """The diagonal of two dims as the last dim, `offset` above (or, negative, below) the main one: a view.

    The two dims go with their names; the new one is called `outdim`, if given.

    >>> import workbench as wb
    >>> wb.zeros(N=2, H=3, W=4).diagonal(0, "H", "W", outdim="D").names
    ('N', 'D')
    """
    a, b = _plane(input, dim1, dim2, "diagonal")
    params: dict[str, Any] = {"offset": int(offset), "dim1": a, "dim2": b}
    return ops.diagonal(input, **params, **({"name": outdim} if outdim is not None else {}))


offered("workbench")(copying(diagonal))


def _plane(input: Any, dim1: int | str, dim2: int | str, op: str) -> tuple[int, int]:
    dims = dims_of(input)
    a, b = dim_index(dims, dim1, op), dim_index(dims, dim2, op)
    if a == b:
        raise DimensionError(
            f"diagonal dimensions cannot be identical {dim1}, {dim2}",
            op=op,
            operands=(dims.operand("input"),),
        )
    return a, b


@offered()
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: Dim = 0, dim2: Dim = 1) -> Tensor:
    """A copy of `input` in which the diagonal of two dims is replaced by `src`."""
    a, b = _plane(input, dim1, dim2, "diagonal_scatter")
    # Without broadcasting, as in PyTorch.
    part = _diagonal_dims(dims_of(input), offset, a, b)
    if part.sizes != dims_of(src).sizes:
        raise DimensionError(
            f"expected src to have a size equal to the slice of self. src size = {list(dims_of(src).sizes)}, slice "
            f"size = {list(part.sizes)}",
            op="diagonal_scatter",
            operands=(dims_of(input).operand("input"), dims_of(src).operand("src")),
        )
    return ops.diagonal_scatter(input, src, offset=int(offset), dim1=a, dim2=b)


@offered()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dim on the diagonals of square matrices of zeros, whose dims stand at `dim1` and `dim2`.

    Other dims keep their names.

    >>> import workbench as wb
    >>> wb.diag_embed(wb.tensor([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    dims = dims_of(input)
    if not dims.sizes:
        raise DimensionError("diag_embed: expected a tensor with at least one dim", op="diag_embed")
    ndim = len(dims.sizes) + 1
    # The positions count in the result, which has one dim more than the input.
    template = Dims((None,) * ndim, (1,) * ndim)
    a, b = dim_index(template, dim1, "diag_embed"), dim_index(template, dim2, "diag_embed")
    if a == b:
        raise DimensionError(f"diagonal dimensions cannot be identical {dim1}, {dim2}", op="diag_embed")
    size = dims.sizes[-1] + abs(int(offset))
    others = iter(zip(dims.names[:-1], dims.sizes[:-1], strict=True))
    full = [(None, size) if i in (a, b) else next(others) for i in range(ndim)]
    out = ops.diagonal_embed(input, sizes=tuple(one for _, one in full), offset=int(offset), dim1=a, dim2=b)
    names = tuple(name for name, _ in full)
    return ops.rename(out, names=names) if any(names) else out


@offered(out="exact")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Of a vector the matrix with it on a diagonal, of a matrix that diagonal.

    >>> import workbench as wb
    >>> wb.diag(wb.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    ndim = len(dims_of(input).sizes)
    if ndim not in (1, 2):
        raise DimensionError(
            f"diag(): Supports 1D or 2D tensors. Got {ndim}D", op="diag", operands=(dims_of(input).operand(),)
        )
    if ndim == 1:
        return diag_embed(input, diagonal)
    # Of its own, unlike `diagonal`: PyTorch's `diag` copies.
    return ops.clone(ops.diagonal(input, offset=int(diagonal), dim1=0, dim2=1))


@offered()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all values of a tensor, taken as flat, on a diagonal."""
    return diag_embed(ops.reshape(input, sizes=(dims_of(input).numel,)), offset)


@offered()
def trace(input: Tensor) -> Tensor:
    """The sum of the main diagonal of a matrix.

    >>> import workbench as wb
    >>> wb.trace(wb.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if len(dims_of(input).sizes) != 2:
        raise DimensionError(
            f"trace: expected a matrix, but got tensor with dim {len(dims_of(input).sizes)}",
            op="trace",
            operands=(dims_of(input).operand(),),
        )
    return ops.sum(ops.diagonal(input, offset=0, dim1=0, dim2=1), dim=(0,), keepdim=False)


@offered(out="exact", in_place="Tensor")
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of the last two dims, up to a diagonal above the main one; zeros elsewhere.

    >>> import workbench as wb
    >>> wb.tril(wb.ones(2, 3)).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    return ops.tril(_matrices(input, "tril"), diagonal=int(diagonal))


@offered(out="exact", in_place="Tensor")
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of the last two dims, from a diagonal above the main one on; zeros elsewhere."""
    return ops.triu(_matrices(input, "triu"), diagonal=int(diagonal))


def _matrices(input: Any, op: str) -> Any:
    if len(dims_of(input).sizes) < 2:
        raise DimensionError(
            f"{op}: input tensor must have at least 2 dimensions", op=op, operands=(dims_of(input).operand(),)
        )
    return input


def _triangle_indices(rows: Any, dtype: Any, device: Any, row: int, col: int) -> Tensor:
    if row < 0 or col < 0:
        raise DimensionError(f"row and col must be non-negative, got {row} and {col}")
    kind = plain_dtype(dtype if dtype is not None else "int64").numpy
    return placed(np.stack(rows).astype(kind), device)  # type: ignore[no-any-return]


@offered("workbench")
@creating(out=False)
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Rows and columns of the lower triangle of a matrix, [2, count], row by row.

    >>> import workbench as wb
    >>> wb.tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    # Negative sizes are refused below, with PyTorch's words: NumPy's would come first.
    return _triangle_indices(np.tril_indices(max(row, 0), offset, max(col, 0)), dtype, device, row, col)


@offered("workbench")
@creating(out=False)
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Rows and columns of the upper triangle of a matrix, [2, count], row by row."""
    return _triangle_indices(np.triu_indices(max(row, 0), offset, max(col, 0)), dtype, device, row, col)


@offered("Tensor", in_place="Tensor")
def fill_diagonal(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """A copy with a number on the main diagonal; with `wrap` it goes on below, after a row without, in tall matrices.

    >>> import workbench as wb
    >>> wb.zeros(2, 3).fill_diagonal(1.0).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    dims = dims_of(input)
    sizes = dims.sizes
    # In three dims or more the diagonal has all indices equal, so PyTorch wants one size.
    if len(sizes) < 2 or (len(sizes) > 2 and len(set(sizes)) > 1):
        raise DimensionError(
            "fill_diagonal: the main diagonal is that of a tensor of two dims, or of more that all have one size: got "
            f"{list(sizes)}",
            op="fill_diagonal_",
            operands=(dims.operand(),),
        )
    mask = np.zeros(sizes, np.bool_)
    # NumPy wraps tall matrices as PyTorch does, with a row left out between.
    np.fill_diagonal(mask, True, wrap=wrap)
    return masked_fill(input, new(mask), fill_value)
