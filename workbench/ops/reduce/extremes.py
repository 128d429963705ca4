"""The largest and smallest: values, where they stand, and how their gradient is shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, overload

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.core.batching import Batch
from workbench.core.contribution import ORDERED, SELECTED, SMALLEST, Contribution
from workbench.core.dtype_rules import INDEX, KEEP
from workbench.core.families import NOT_DIFFERENTIABLE, grid
from workbench.core.op import Absent, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import CHOSEN, COMPARED
from workbench.core.tape import Call
from workbench.core.typing import Dim, DimsLike, Tensor
from workbench.core.value import Value, dims_of
from workbench.ops.offer import offered
from workbench.ops.reduce.reductions import (
    EVERYTHING,
    kept,
    nonempty_axes,
    reduced_dims,
    reduction,
    reduction_samples,
)


class ValuesIndices(NamedTuple):
    """Values picked along a dim, and where along it they stood."""

    values: Tensor
    indices: Tensor


class MinMax(NamedTuple):
    """The smallest and the largest value."""

    min: Tensor
    max: Tensor


# ------------------------------------------------------------------------------------- over several dims


def _extreme_gradient(c: Call, g: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    """Shared evenly between the values that tie."""
    x = c.inputs[0]
    hit = ops.to(ops.eq(x, kept(c.out, x, dim)), dtype=np.dtype(g.payload.dtype))
    # PyTorch's rule: the largest share the gradient evenly; `max` along a dim gives it to one.
    share = ops.div(hit, ops.sum(hit, dim=dim, keepdim=True))
    return ops.mul(kept(g, x, dim), share)


AMAX = reduction(
    "amax",
    "Largest value over dims.",
    "y = max x",
    lambda x, dim, keepdim: np.amax(x, axis=dim, keepdims=keepdim),
    _extreme_gradient,
    saves=EVERYTHING,
    quantized=CHOSEN,
    contribution=SELECTED,
)
AMIN = reduction(
    "amin",
    "Smallest value over dims.",
    "y = min x",
    lambda x, dim, keepdim: np.amin(x, axis=dim, keepdims=keepdim),
    _extreme_gradient,
    saves=EVERYTHING,
    quantized=CHOSEN,
    contribution=SMALLEST,
)


def overall(
    name: str,
    doc: str,
    equation: str,
    forward: Callable[[Any], Any],
    *,
    by_dim: str | None = None,
    contribution: Contribution | Absent = ORDERED,
) -> Op:
    """Declare an op that picks one value out of all; its gradient is shared evenly between those equal to it.

    `by_dim` names the op that picks the same along dims, which serves all entries of a batch at once.
    """

    def entries(b: Batch) -> Any:
        assert by_dim is not None
        dims = tuple(range(1, len(b.shape(0)) + 1))
        return getattr(ops, by_dim)(b.inputs[0], dim=dims, keepdim=False)

    def vjp(c: Call, g: Any) -> tuple[Any, ...]:
        x = c.inputs[0]
        # NaN equals nothing: where it is the result, the NaN that are there share.
        hit = ops.logical_or(ops.eq(x, c.out), ops.logical_and(ops.isnan(x), ops.isnan(c.out)))
        hit = ops.to(hit, dtype=np.dtype(g.payload.dtype))
        everywhere = tuple(range(len(x.payload.shape)))
        return (ops.mul(hit, ops.div(g, ops.sum(hit, dim=everywhere, keepdim=False))),)

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        dims=lambda x: Dims((), ()),
        rule="all dims end here",
        dtype=KEEP,
        forward=forward,
        vjp=vjp,
        saves=EVERYTHING,
        cost=lambda dims, out, **params: float(dims[0].numel),
        samples=lambda: [Sample((grid(3, 5),), names=(("N", "C"),)), Sample((grid(),))],
        batch=entries if by_dim is not None else None,
        quantized=CHOSEN,
        contribution=contribution,
    )


MAX = overall("max", "Largest of all values.", "y = max x", np.max, by_dim="amax", contribution=SELECTED)
MIN = overall("min", "Smallest of all values.", "y = min x", np.min, by_dim="amin", contribution=SMALLEST)

# --------------------------------------------------------------------------------------- along one dim

PICKED = DTypeRule("values as the input, indices int64", None, lambda dtype, params: (dtype, np.dtype("i8")))


def index_pair(result: Any) -> ValuesIndices:
    """Return values and indices by name; no gradient goes through an index."""
    values, indices = result
    return ValuesIndices(values, indices.detach() if indices._requires_grad else indices)


def along(x: Any) -> Any:
    """Return `x` with one dim at least: a tensor without dims may be reduced along dim 0."""
    return x.reshape(1) if x.ndim == 0 else x


def selection_samples(**params: Any) -> list[Sample]:
    """Return samples of an op that picks one value along a dim."""
    return [
        Sample((s.inputs[0],), {**params, "dim": s.params["dim"][0], "keepdim": keepdim}, s.names)
        for s in reduction_samples()
        if len(s.params["dim"]) == 1
        for keepdim in (False, True)
    ]


def selection(
    name: str,
    doc: str,
    equation: str,
    pick: Callable[..., Any],
    samples: Callable[[], list[Sample]] = selection_samples,
    contribution: Contribution | Absent = ORDERED,
) -> Op:
    """Declare an op that picks one value along a dim, and says where it stands.

    `pick` takes an array, the dim and the parameters, and returns indices. The gradient goes to the value picked.
    """

    def dims(x: Dims, dim: int, keepdim: bool, **params: Any) -> tuple[Dims, Dims]:
        out = reduced_dims(x, (dim,), keepdim)
        return out, out

    def forward(x: Any, dim: int, keepdim: bool, **params: Any) -> tuple[Any, Any]:
        row = along(x)
        # Kept as a dim: values are picked by them.
        indices = np.expand_dims(pick(row, dim, **params), dim)
        values = np.take_along_axis(row, indices, dim)
        # A value without dims was given one: it goes again even under keepdim.
        if x.ndim == 0 or not keepdim:
            return np.squeeze(values, dim), np.squeeze(indices, dim)
        return values, indices

    def vjp(c: Call, g: Any, _: Any) -> tuple[Any, ...]:
        x, dim = c.inputs[0], c.params["dim"]
        # A number is its own largest.
        if g is None or not x.payload.shape:
            return (g,)
        indices = kept(c.outs[1], x, (dim,))
        return (ops.scatter_add(kept(g, x, (dim,)), indices, dim=dim, sizes=x.payload.shape),)

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        dims=dims,
        rule="the dim ends here (or stays with size 1 under keepdim), the others pass through",
        dtype=PICKED,
        forward=forward,
        vjp=vjp,
        saves=Saves((), output=True, outputs=(1,)),
        cost=lambda dims, out, **params: float(dims[0].numel),
        samples=samples,
        outputs=2,
        quantized=CHOSEN,
        contribution=contribution,
    )


MAX_DIM = selection(
    "max_dim",
    "Largest value along a dim, and where it stands first.",
    "y, i = max x, argmax x",
    lambda x, dim: np.argmax(x, axis=dim),
    contribution=SELECTED,
)
MIN_DIM = selection(
    "min_dim",
    "Smallest value along a dim, and where it stands first.",
    "y, i = min x, argmin x",
    lambda x, dim: np.argmin(x, axis=dim),
    contribution=SMALLEST,
)


def _index_samples() -> list[Sample]:
    return [s for s in reduction_samples() if len(s.params["dim"]) == 1]


def _where(find: Any) -> Any:
    def forward(x: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
        return find(x, axis=dim[0], keepdims=keepdim) if x.ndim else np.zeros((), np.int64)

    return forward


ARGMAX = reduction(
    "argmax",
    "Index of the largest value along a dim, the first of several.",
    "y = argmax x",
    _where(np.argmax),
    NOT_DIFFERENTIABLE,
    dtype=INDEX,
    samples=_index_samples,
    quantized=COMPARED,
)
ARGMIN = reduction(
    "argmin",
    "Index of the smallest value along a dim, the first of several.",
    "y = argmin x",
    _where(np.argmin),
    NOT_DIFFERENTIABLE,
    dtype=INDEX,
    samples=_index_samples,
    quantized=COMPARED,
)

# ---------------------------------------------------------------------------------- the words people use


def ordered(input: Any, name: str) -> None:
    """Refuse complex values: they have no order."""
    if input.payload.dtype.kind == "c":
        raise DTypeError(
            f"{name}(): does not support complex input, this is {input.dtype.name}. Order x.abs() or x.real"
        )


@offered(out="exact")
def amax(input: Tensor, dim: DimsLike | None = None, keepdim: bool = False) -> Tensor:
    """Largest value over dims; the gradient is shared evenly between ties.

    >>> import workbench as wb
    >>> wb.tensor([[1.0, 5.0], [3.0, 2.0]], names=("N", "C")).amax("C")
    tensor([5., 3.], names=('N',))
    """
    ordered(input, "amax")
    return ops.amax(input, dim=nonempty_axes(input, dim, "amax"), keepdim=keepdim)


@offered(out="exact")
def amin(input: Tensor, dim: DimsLike | None = None, keepdim: bool = False) -> Tensor:
    """Smallest value over dims; the gradient is shared evenly between ties."""
    ordered(input, "amin")
    return ops.amin(input, dim=nonempty_axes(input, dim, "amin"), keepdim=keepdim)


@offered(out="exact")
def aminmax(input: Tensor, *, dim: Dim | None = None, keepdim: bool = False) -> MinMax:
    """Smallest and largest value, of all or along one dim, as a named tuple ``(min, max)``.

    >>> import workbench as wb
    >>> wb.tensor([3.0, 1.0, 2.0]).aminmax()
    MinMax(min=tensor(1.), max=tensor(3.))
    """
    ordered(input, "aminmax")
    axes = nonempty_axes(input, dim, "aminmax")
    return MinMax(ops.amin(input, dim=axes, keepdim=keepdim), ops.amax(input, dim=axes, keepdim=keepdim))


def pick_all(op: Op, input: Any) -> Tensor:
    """Pick one of all values; there must be some."""
    dims = dims_of(input)
    if dims.numel == 0:
        raise DimensionError(
            f"{op.name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument.",
            op=op.name,
            operands=(dims.operand("input"),),
        )
    return op(input)


def pick_along(op: Op, input: Any, dim: int | str, keepdim: bool, name: str, **params: Any) -> ValuesIndices:
    """Pick one value along a dim that is not empty."""
    sizes = input.payload.shape
    if type(dim) is int and -len(sizes) <= dim < len(sizes) and sizes[dim] != 0:
        return index_pair(op(input, dim=dim % len(sizes), keepdim=keepdim, **params))
    at = dim_index(dims_of(input), dim, name)
    # For its refusal: NumPy would say it in words of its own.
    nonempty_axes(input, dim, name)
    return index_pair(op(input, dim=at, keepdim=keepdim, **params))


@overload
def max(input: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, dim: Dim, keepdim: bool = False) -> ValuesIndices: ...
@overload
def max(input: Tensor, dim: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, *, other: Tensor) -> Tensor: ...
@offered(out="exact pair")
def max(
    input: Tensor, dim: Dim | Tensor | None = None, keepdim: bool = False, *, other: Tensor | None = None
) -> Tensor | ValuesIndices:
    """Largest of all values; with `dim`, largest along it as a named tuple ``(values, indices)``.

    The gradient of the largest of all is shared between ties; along a dim the first has it.
    With a tensor in the place of `dim`, the larger of two, value by value.

    >>> import workbench as wb
    >>> wb.tensor([[1.0, 5.0], [3.0, 2.0]], names=("N", "C")).max("C")
    ValuesIndices(values=tensor([5., 3.], names=('N',)), indices=tensor([1, 0], names=('N',)))
    """
    return _extreme("max", MAX, MAX_DIM, "maximum", input, dim, keepdim, other)


@overload
def min(input: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, dim: Dim, keepdim: bool = False) -> ValuesIndices: ...
@overload
def min(input: Tensor, dim: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, *, other: Tensor) -> Tensor: ...
@offered(out="exact pair")
def min(
    input: Tensor, dim: Dim | Tensor | None = None, keepdim: bool = False, *, other: Tensor | None = None
) -> Tensor | ValuesIndices:
    """Smallest of all values; with `dim`, smallest along it as a named tuple ``(values, indices)``.

    The gradient of the smallest of all is shared between ties; along a dim the first has it.
    With a tensor in the place of `dim`, the smaller of two, value by value.
    """
    return _extreme("min", MIN, MIN_DIM, "minimum", input, dim, keepdim, other)


def _extreme(
    name: str, whole: Op, one: Op, pair: str, input: Any, dim: Any, keepdim: bool, other: Any
) -> Tensor | ValuesIndices:
    if isinstance(dim, Value):
        # PyTorch's third form: max(a, b) is `maximum`.
        dim, other = None, dim
    if other is not None:
        larger: Tensor = getattr(ops, pair)(input, other)
        return larger
    ordered(input, name)
    return pick_all(whole, input) if dim is None else pick_along(one, input, dim, keepdim, name)


def _index_of(op: str, input: Any, dim: int | str | None, keepdim: bool) -> Tensor:
    ordered(input, op)
    sizes = input.payload.shape
    if type(dim) is int and -len(sizes) <= dim < len(sizes) and sizes[dim] != 0:
        at: Tensor = getattr(ops, op)(input, dim=(dim % len(sizes),), keepdim=keepdim)
        return at
    dims = dims_of(input)
    if dim is None:
        if dims.numel == 0:
            raise DimensionIndexError(
                f"{op}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument.",
                op=op,
                operands=(dims.operand("input"),),
            )
        found: Tensor = getattr(ops, op)(ops.reshape(input, sizes=(dims.numel,)), dim=(0,), keepdim=False)
        # Without a dim the index counts in the flat tensor, and `keepdim` still keeps the rank.
        return ops.reshape(found, sizes=(1,) * len(dims.sizes)) if keepdim else found
    axes = nonempty_axes(input, dim, op)
    places: Tensor = getattr(ops, op)(input, dim=axes, keepdim=keepdim)
    return places


@offered(out="exact")
def argmax(input: Tensor, dim: Dim | None = None, keepdim: bool = False) -> Tensor:
    """Index (int64) of the largest value along a dim, or of all values laid out in a row; the first of several.

    >>> import workbench as wb
    >>> wb.tensor([[1.0, 5.0], [3.0, 2.0]], names=("N", "C")).argmax("C")
    tensor([1, 0], names=('N',))
    """
    return _index_of("argmax", input, dim, keepdim)


@offered(out="exact")
def argmin(input: Tensor, dim: Dim | None = None, keepdim: bool = False) -> Tensor:
    """Index (int64) of the smallest value along a dim, or of all values laid out in a row; the first of several."""
    return _index_of("argmin", input, dim, keepdim)
