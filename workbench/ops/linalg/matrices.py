"""What ops on matrices share: adjoints, triangles and diagonals of batches, the checks of their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.dims import Dims, Names, broadcast_sizes, unify_names
from workbench.base.dtypes import as_numbers
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.batch_rules import matrices
from workbench.core.op import DTypeRule, Op, Saves, ops
from workbench.core.quantization import DIGITS
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.elementwise.complex import complex_type, conjugate, is_complex_value, real_type
from workbench.ops.shape.creation import eye, tri

WORDS = {
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
} | {
    "float16": "Half",
    "bfloat16": "BFloat16",
}
"""What error messages call the types that linear algebra does not take."""


def shape(x: Any) -> tuple[int, ...]:
    """Return the sizes of a value, as a gradient rule sees them."""
    return tuple(x.payload.shape)


def real(x: Any) -> Any:
    """Return the real part: the value itself where it is real."""
    return ops.real(x) if is_complex_value(x) else x


def swap(x: Any) -> Tensor:
    """Exchange the last two dims."""
    ndim = len(shape(x))
    return ops.permute(x, dim=(*range(ndim - 2), ndim - 1, ndim - 2))


def adjoint(x: Any) -> Any:
    """Return the conjugate transpose of every matrix."""
    return conjugate(swap(x))


def diagonal(x: Any) -> Any:
    """Return the main diagonal of every matrix, as the last dim."""
    *batch, rows, columns = shape(x)
    count = min(rows, columns)
    flat = ops.reshape(x, sizes=(*batch, rows * columns))
    # A slice of the flat matrix, whose gradient is a slice too: nothing is gathered.
    stop = (count - 1) * (columns + 1) + 1 if count else 0
    return ops.index(flat, key=(Ellipsis, slice(0, stop, columns + 1)))


def _mask(sizes: tuple[int, ...], offset: int) -> Any:
    rows, columns = sizes[-2:]
    return tri(rows, columns, offset)


def lower(x: Any, offset: int = 0) -> Any:
    """Return every matrix with zeros above the diagonal `offset`."""
    # Chosen and not multiplied: what stands in the other triangle may be NaN.
    return ops.where(_mask(shape(x), offset), x, 0.0)


def upper(x: Any, offset: int = 0) -> Any:
    """Return every matrix with zeros below the diagonal `offset`."""
    # The complement of what lies below, so that one mask of ones is all that is needed.
    return ops.where(_mask(shape(x), offset - 1), 0.0, x)


def with_diagonal(x: Any, values: Any) -> Any:
    """Return every square matrix with `values` (one, or a vector for each) on its diagonal."""
    size = shape(x)[-1]
    if not isinstance(values, float):
        values = ops.unsqueeze(values, dim=len(shape(values)), name=None)
    return ops.where(eye(size, size, bool), values, x)


def embedded(values: Any) -> Any:
    """Return square matrices with the given vectors on their diagonals, and zeros elsewhere."""
    size = shape(values)[-1]
    column = ops.unsqueeze(values, dim=len(shape(values)), name=None)
    return ops.where(eye(size, size, bool), column, 0.0)


def identity(size: int, like: Any, columns: int | None = None) -> Any:
    """Return an identity matrix of the type of `like`."""
    dtype = like.payload.dtype
    if getattr(dtype, "quantized", False):
        raise DTypeError(f"an identity matrix has numbers, and not codes, {dtype}: call .dequantize() first")
    return eye(size, size if columns is None else columns, dtype)


def columns(x: Any, start: int, stop: int) -> Any:
    """Return the columns from `start` up to `stop` of every matrix."""
    return ops.index(x, key=(Ellipsis, slice(start, stop)))


def rows(x: Any, start: int, stop: int) -> Any:
    """Return the rows from `start` up to `stop` of every matrix."""
    return ops.index(x, key=(Ellipsis, slice(start, stop), slice(None)))


def column(x: Any) -> Any:
    """Return vectors as matrices of one column."""
    return ops.unsqueeze(x, dim=len(shape(x)), name=None)


def row(x: Any) -> Any:
    """Return vectors as matrices of one row."""
    return ops.unsqueeze(x, dim=len(shape(x)) - 1, name=None)


def plus(a: Any, b: Any) -> Any:
    """Add two values, either of which may be None."""
    return b if a is None else a if b is None else ops.add(a, b)


def batch_dims(x: Dims) -> Dims:
    """Return the dims of a batch of matrices less those of the matrix."""
    return Dims(x.names[:-2], x.sizes[:-2])


def distinct(batch: Names, *matrix: str | None) -> Names:
    """Return names of a batch and of a matrix together: a name that would stand twice is dropped from the matrix."""
    result = list(batch)
    for name in matrix:
        # A square matrix may have one name twice in its result: the second place has none then.
        result.append(None if name in result else name)
    return tuple(result)


def together(op: str, a: Dims, b: Dims) -> Dims:
    """Return what the batch dims of two operands are together: names unified, sizes broadcast."""
    # Names first: a clash of names says more than one of sizes.
    names = unify_names(op, a, b)
    try:
        return Dims(names, broadcast_sizes(a.sizes, b.sizes))
    except ValueError:
        raise DimensionError(
            f"The batch sizes {list(a.sizes)} and {list(b.sizes)} do not go together.",
            op=op,
            operands=(a.operand("input"), b.operand("other")),
        ) from None


def check_floating(x: Any, op: str, argument: str = "tensor", half: bool = False) -> None:
    """Refuse values that are neither floating point nor complex, and those of 16 bits unless `half`."""
    dtype = x.payload.dtype
    if dtype.kind in "biuq":
        name = x.dtype.name
        raise DTypeError(
            f"{op}: Expected a floating point or complex {argument} as input. Got {WORDS.get(name, name)}. "
            f"Cast it first: {as_numbers('x', dtype)}"
        )
    if not half and dtype.itemsize == 2:
        raise DTypeError(
            f"{op}: Low precision dtypes not supported. Got {WORDS[x.dtype.name]}. Cast it first: x.float()"
        )


def check_matrix(x: Any, op: str, argument: str = "A") -> None:
    """Refuse what is no batch of matrices."""
    dims = dims_of(x)
    if len(dims.sizes) < 2:
        raise DimensionError(
            f"{op}: The input tensor {argument} must have at least 2 dimensions.",
            operands=(dims.operand(argument),),
        )


def check_square(x: Any, op: str, argument: str = "A", floating: bool = True) -> None:
    """Refuse what is no batch of square matrices of a floating point or complex type (or of any type)."""
    check_matrix(x, op, argument)
    dims = dims_of(x)
    if dims.sizes[-1] != dims.sizes[-2]:
        raise DimensionError(
            f"{op}: {argument} must be batches of square matrices, "
            f"but they are {dims.sizes[-2]} by {dims.sizes[-1]} matrices",
            operands=(dims.operand(argument, [len(dims.sizes) - 2, len(dims.sizes) - 1]),),
        )
    if floating:
        check_floating(x, op)


# --------------------------------------------------------------------------------- declaring ops on matrices


def outputs(kinds: str) -> DTypeRule:
    """Return the type rule of an op on matrices: one letter an output.

    v: the type of the inputs; r: its real type; c: its complex type; i: int32; l: int64.
    """
    fixed = {"i": np.dtype(np.int32), "l": np.dtype(np.int64)}

    def result(dtype: np.dtype[Any], params: Mapping[str, Any]) -> Any:
        own = {"v": dtype, "r": real_type(dtype), "c": complex_type(dtype), **fixed}
        dtypes = tuple(own[kind] for kind in kinds)
        return dtypes if len(dtypes) > 1 else dtypes[0]

    return DTypeRule("promoted; see the outputs", lambda dtype: dtype, result)


def matrix_op(name: str, doc: str, equation: str, outs: str = "v", **fields: Any) -> Op:
    """Declare an op on batches of matrices, of the order of n³ operations each."""
    defaults: dict[str, Any] = {
        "reference": "Golub and Van Loan 2013",
        "dtype": outputs(outs),
        "outputs": len(outs),
        "saves": Saves(),
        "cost": _cubic,
        "batch": matrices,
        "quantized": DIGITS,
    }
    return Op(name=name, doc=doc, equation=equation, **{**defaults, **fields})


def _cubic(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    x = dims[0]
    # Up to the constant, which differs from one factorization to the next.
    return float(x.numel * min(x.sizes[-2:], default=0)) if len(x.sizes) > 1 else float(x.numel)


def fixed(x: Any) -> Any:
    """Return a result that no gradient goes through, off the tape."""
    return ops.detach(x) if x._requires_grad else x
