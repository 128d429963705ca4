"""The same values under other sizes and names: reshaped, flattened, with dims of size 1 more or less."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from workbench.base.dims import Dims, dim_index, dim_indices, unnamed
from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.base.symbolic_size import whole
from workbench.core.batch_rules import as_it_is
from workbench.core.contribution import ENDS
from workbench.core.families import grid
from workbench.core.op import Absent, BadInput, Sample, ops
from workbench.core.quantization import MOVED, SEEN
from workbench.core.typing import Dim, DimsLike, Size, Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered
from workbench.ops.shape import batching
from workbench.ops.shape.movement import copying, move, sizes_from
from workbench.ops.shape.permute import permute, transpose

__all__ = [
    "flatten",
    "move",
    "permute",
    "reshape",
    "resolve_sizes",
    "squeeze",
    "transpose",
    "unflatten",
    "unsqueeze",
]

# -------------------------------------------------------------------------------------- reshape, flatten


def resolve_sizes(sizes: Sequence[int], count: int, op: str, x: Dims) -> tuple[int, ...]:
    """Return `sizes` with one -1 replaced by what is left of `count` values."""
    result = [whole(size) for size in sizes]
    if result.count(-1) > 1:
        raise DimensionError(
            "only one dimension can be inferred: -1 stands twice.", op=op, operands=(x.operand(),)
        )
    if any(size < -1 for size in result):
        raise DimensionError(
            f"invalid shape dimension in {result}: a size is not negative.", op=op, operands=(x.operand(),)
        )
    if -1 in result:
        known = math.prod(size for size in result if size != -1)
        # 0 = 0·n for every n.
        if known == 0 and count == 0:
            raise DimensionError(
                f"cannot reshape tensor of 0 elements into shape {result} because the unspecified dimension size -1 "
                "can be any value and is ambiguous",
                op=op,
                operands=(x.operand(),),
            )
        if known == 0 or count % known:
            raise DimensionError(
                f"shape '{result}' is invalid for input of size {count}.", op=op, operands=(x.operand(),)
            )
        result[result.index(-1)] = count // known
    if math.prod(result) != count:
        raise DimensionError(
            f"shape '{result}' is invalid for input of size {count}.", op=op, operands=(x.operand(),)
        )
    return tuple(result)


def _reshape_dims(x: Dims, sizes: tuple[int, ...]) -> Dims:
    """Names stay with the dims that stay: the longest unchanged start and end."""
    sizes = resolve_sizes(sizes, x.numel, "reshape", x)
    if not any(x.names):
        return unnamed(sizes)
    if sizes == x.sizes:
        return x
    names: list[str | None] = [None] * len(sizes)
    shared = min(len(sizes), len(x.sizes))
    # From both ends, and the tail stops where the head ended: no dim lends its name twice.
    head = 0
    while head < shared and sizes[head] == x.sizes[head]:
        names[head] = x.names[head]
        head += 1
    tail = 1
    while tail <= shared - head and sizes[-tail] == x.sizes[-tail]:
        names[-tail] = x.names[-tail]
        tail += 1
    return Dims(tuple(names), sizes)


def _reshape(x: Any, sizes: tuple[int, ...]) -> Any:
    return x.reshape(sizes)


RESHAPE = move(
    "reshape",
    "The same values in row-major order under other sizes.",
    "y = x",
    dims=_reshape_dims,
    rule="names stay with the unchanged dims at the start and the end, others lose theirs",
    forward=_reshape,
    quantized=MOVED,
    vjp=lambda c, g: (ops.reshape(g, sizes=c.inputs[0].payload.shape),),
    samples=lambda: [
        Sample((grid(2, 3, 4),), {"sizes": (2, 12)}, names=(("N", "C", "T"),)),
        Sample((grid(2, 3, 4),), {"sizes": (-1, 4)}, names=(("N", "C", "T"),)),
        Sample((grid(4, 6).T,), {"sizes": (4, 6)}),
    ],
    bad=lambda: [
        BadInput((grid(2, 3),), {"sizes": (4, 2)}, DimensionError, "is invalid for input of size 6")
    ],
    batch=batching.reshape,
    small="reshape",
)


def _flatten_dims(x: Dims, start: int, end: int, name: str | None) -> Dims:
    size = math.prod(x.sizes[start : end + 1])
    names = (*x.names[:start], name, *x.names[end + 1 :])
    if name is not None and names.count(name) > 1:
        raise DimensionError(
            f"flatten: the name {name!r} for the flattened dim is taken already.",
            op="flatten",
            operands=(x.operand(),),
        )
    return Dims(names, (*x.sizes[:start], size, *x.sizes[end + 1 :]))


def _flatten(x: Any, start: int, end: int, name: str | None) -> Any:
    shape = x.shape
    return x.reshape((*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


FLATTEN = move(
    "flatten",
    "Several neighbouring dims laid out as one.",
    "y = x",
    dims=_flatten_dims,
    rule="the dims from start to end become one, under a name of its own",
    forward=_flatten,
    quantized=MOVED,
    vjp=lambda c, g: (ops.reshape(g, sizes=c.inputs[0].payload.shape),),
    samples=lambda: [
        Sample((grid(2, 3, 4),), {"start": 1, "end": 2, "name": "features"}, names=(("N", "C", "T"),)),
        Sample(
            (grid(2, 3, 4).transpose(0, 2, 1),),
            {"start": 0, "end": 1, "name": None},
            names=(("N", "C", "T"),),
        ),
    ],
    bad=lambda: [
        BadInput(
            (grid(2, 3, 4),),
            {"start": 1, "end": 2, "name": "N"},
            DimensionError,
            "taken already",
            names=(("N", "C", "T"),),
        ),
    ],
    batch=batching.resized,
    small="flatten",
)


def _unflatten_dims(x: Dims, dim: int, sizes: tuple[int, ...], names: tuple[str | None, ...]) -> Dims:
    if math.prod(sizes) != x.sizes[dim]:
        raise DimensionError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({x.sizes[dim]}).",
            op="unflatten",
            operands=(x.operand("input", [dim]),),
        )
    rest = {*x.names[:dim], *x.names[dim + 1 :]} - {None}
    twice = [name for i, name in enumerate(names) if name is not None and (name in rest or name in names[:i])]
    if twice:
        raise DimensionError(
            f"unflatten: {twice[0]!r} would stand twice among the dims "
            f"{[*x.names[:dim], *names, *x.names[dim + 1 :]]}.",
            op="unflatten",
            operands=(x.operand("input", [i for i, one in enumerate(x.names) if one == twice[0]]),),
            fix="give the parts of the dim names that no other dim has",
        )
    return Dims((*x.names[:dim], *names, *x.names[dim + 1 :]), (*x.sizes[:dim], *sizes, *x.sizes[dim + 1 :]))


UNFLATTEN = move(
    "unflatten",
    "One dim split into several.",
    "y = x",
    dims=_unflatten_dims,
    rule="the dim becomes several, under names of their own",
    forward=lambda x, dim, sizes, names: x.reshape((*x.shape[:dim], *sizes, *x.shape[dim + 1 :])),
    vjp=lambda c, g: (ops.reshape(g, sizes=c.inputs[0].payload.shape),),
    samples=lambda: [
        Sample((grid(2, 12),), {"dim": 1, "sizes": (3, 4), "names": ("H", "W")}, names=(("N", "features"),)),
    ],
    bad=lambda: [
        BadInput(
            (grid(2, 12),),
            {"dim": 1, "sizes": (5, 4), "names": (None, None)},
            DimensionError,
            "don't multiply up",
        ),
        BadInput(
            (grid(2, 12),),
            {"dim": 1, "sizes": (3, 4), "names": ("N", "W")},
            DimensionError,
            "'N' would stand twice",
            names=(("N", "features"),),
        ),
    ],
    batch=batching.resized,
)

# ------------------------------------------------------------------------- squeeze, rename, detach

SQUEEZE = move(
    "squeeze",
    "Dims of size 1 taken away.",
    "y = x",
    dims=lambda x, dim: x.without(dim),
    rule="the dims go, with their names",
    forward=lambda x, dim: np.squeeze(x, axis=dim),
    vjp=lambda c, g: (ops.reshape(g, sizes=c.inputs[0].payload.shape),),
    samples=lambda: [Sample((grid(2, 1, 3),), {"dim": (1,)}, names=(("N", "C", "T"),))],
    small="squeeze",
)


def _unsqueeze_dims(x: Dims, dim: int, name: str | None) -> Dims:
    if name is not None and name in x.names:
        raise DimensionError(
            f"unsqueeze: the name {name!r} for the new dim is taken already.",
            op="unsqueeze",
            operands=(x.operand(),),
        )
    return Dims((*x.names[:dim], name, *x.names[dim:]), (*x.sizes[:dim], 1, *x.sizes[dim:]))


UNSQUEEZE = move(
    "unsqueeze",
    "A new dim of size 1.",
    "y = x",
    dims=_unsqueeze_dims,
    rule="a new dim, with the given name or none",
    forward=lambda x, dim, name: np.expand_dims(x, dim),
    vjp=lambda c, g: (ops.reshape(g, sizes=c.inputs[0].payload.shape),),
    samples=lambda: [Sample((grid(2, 3),), {"dim": 1, "name": "C"}, names=(("N", "T"),))],
    batch=batching.unsqueeze,
    small="unsqueeze",
)


RENAME = move(
    "rename",
    "The same tensor under other names.",
    "y = x",
    dims=lambda x, names: Dims(names or (None,) * len(x.sizes), x.sizes),
    rule="as asked",
    forward=lambda x, names: x,
    quantized=SEEN,
    vjp=lambda c, g: (g,),
    samples=lambda: [Sample((grid(2, 3),), {"names": ("N", "C")})],
    batch=batching.same_value,
)

DETACH = move(
    "detach",
    "The same values off the tape.",
    "y = x",
    dims=lambda x: x,
    rule="names and sizes pass through",
    forward=lambda x: x,
    quantized=SEEN,
    vjp=Absent("it is there to stop gradients"),
    contribution=ENDS,
    samples=lambda: [Sample((grid(2, 3),), names=(("N", "C"),))],
    properties=frozenset({"view"}),
    batch=as_it_is,
)

# ---------------------------------------------------------------------------------- the words people use


@offered()
def reshape(input: Tensor, *sizes: Size, shape: Size | None = None) -> Tensor:
    """The same values in row-major order under other sizes, one of which may be -1.

    Names stay with the unchanged dims at the start and the end. Shares memory where strides allow it.
    Raises `DimensionError` where the sizes do not hold as many values.

    >>> import workbench as wb
    >>> wb.zeros(N=2, C=3).reshape(2, 3, 1).names
    ('N', 'C', None)
    """
    return ops.reshape(input, sizes=sizes_from(sizes if shape is None else (shape,)))


@offered("Tensor")
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The same values under the sizes of `other`."""
    return ops.reshape(input, sizes=dims_of(other).sizes)


@offered()
def ravel(input: Tensor) -> Tensor:
    """All values in row-major order as one dim; shares memory where they lie so already."""
    # By way of a copy: reshaping every second value of a vector would give a view, PyTorch's `ravel` is contiguous.
    flags = getattr(input.payload, "flags", None)
    if flags is not None and not flags.c_contiguous:
        input = ops.clone(input)
    return ops.reshape(input, sizes=(dims_of(input).numel,))


def _from_start(dim: int, ndim: int) -> int:
    return dim + ndim if dim < 0 else dim


@offered()
def flatten(input: Tensor, start_dim: DimsLike = 0, end_dim: Dim = -1, out_dim: str | None = None) -> Tensor:
    """Lay several neighbouring dims out as one: ``flatten(1)``, or by name ``flatten(['C', 'H', 'W'], 'features')``.

    >>> import workbench as wb
    >>> wb.zeros(N=2, C=3, H=4, W=4).flatten(["C", "H", "W"], "features").shape
    (2, 48)
    """
    sizes = input.payload.shape
    if type(start_dim) is int and type(end_dim) is int and out_dim is None and input._names is None:
        start, end = _from_start(start_dim, len(sizes)), _from_start(end_dim, len(sizes))
        if 0 <= start < end < len(sizes):
            return ops.flatten(input, start=start, end=end, name=None)
    dims = dims_of(input)
    if isinstance(start_dim, list | tuple):
        out_dim = end_dim if isinstance(end_dim, str) else out_dim
        # In this call the second argument is the name of the new dim.
        positions = dim_indices(dims, start_dim, "flatten")
        if not start_dim:
            raise DimensionError("flatten(tensor, dims, out_dim): dims cannot be empty", op="flatten")
        if positions != tuple(range(positions[0], positions[0] + len(positions))):
            raise DimensionError(
                f"flatten(tensor, dims, out_dim): dims {list(start_dim)} must be consecutive in "
                f"Tensor{list(dims.names)}",
                op="flatten",
                operands=(dims.operand("input", positions),),
            )
        return ops.flatten(input, start=positions[0], end=positions[-1], name=out_dim)
    # PyTorch makes one dim of a number, which `start_dim` could not count.
    if not dims.sizes:
        return ops.reshape(input, sizes=(1,))
    first: Any = start_dim  # not several, as it turned out
    start, end = dim_index(dims, first, "flatten"), dim_index(dims, end_dim, "flatten")
    if start > end:
        raise DimensionError("flatten() has invalid args: start_dim cannot come after end_dim", op="flatten")
    # Under a new name it is another tensor, with one dim laid out as itself.
    if start == end and out_dim in (None, dims.names[start]):
        return input  # as in PyTorch, what changes nothing is the tensor itself
    return ops.flatten(
        input, start=start, end=end, name=out_dim if start != end else out_dim or dims.names[start]
    )


@offered()
def unflatten(input: Tensor, dim: Dim, sizes: Sequence[int] | Sequence[tuple[str, int]]) -> Tensor:
    """Split one dim into several: `sizes` is a list of sizes, or of pairs of name and size, or a dict of these.

    >>> import workbench as wb
    >>> wb.zeros(N=2, features=12).unflatten("features", {"C": 3, "H": 4}).names
    ('N', 'C', 'H')
    """
    if isinstance(sizes, Mapping):
        sizes = tuple(sizes.items())
    pairs = [size if isinstance(size, tuple | list) else (None, size) for size in sizes]
    if not pairs:
        raise DimensionError("unflatten: sizes must be non-empty", op="unflatten")
    dims = dims_of(input)
    if not dims.sizes:
        raise DimensionIndexError(
            f"dim {dim!r} is not there: the tensor has no dims.",
            op="unflatten",
            operands=(dims.operand("input"),),
            fix="input.unsqueeze(0)",
        )
    index = dim_index(dims, dim, "unflatten")
    known = [whole(size) for _, size in pairs]
    full = resolve_sizes(known, dims.sizes[index], "unflatten", dims) if -1 in known else tuple(known)
    return ops.unflatten(input, dim=index, sizes=full, names=tuple(name for name, _ in pairs))


@offered(inplace_view=True)
def squeeze(input: Tensor, dim: DimsLike | None = None) -> Tensor:
    """Take dims of size 1 away, with their names: all of them, or those given (of which others stay). A view.

    >>> import workbench as wb
    >>> wb.zeros(N=1, C=3, H=1).squeeze("N").shape
    (3, 1)
    """
    if type(dim) is int:
        sizes = input.payload.shape
        at = _from_start(dim, len(sizes))
        if 0 <= at < len(sizes):
            return ops.squeeze(input, dim=(at,) if sizes[at] == 1 else ())
    dims = dims_of(input)
    if isinstance(dim, list | tuple) and not dim:
        # No dims are none here; None is all of them.
        return ops.squeeze(input, dim=())
    positions = dim_indices(dims, dim, "squeeze")
    # Dims of other sizes stay without a word, as in PyTorch. A number has dim 0 to name and none to take away.
    return ops.squeeze(input, dim=tuple(i for i in positions if dims.sizes and dims.sizes[i] == 1))


offered("workbench")(copying(squeeze))


@offered(inplace_view=True)
def unsqueeze(input: Tensor, dim: int, name: str | None = None) -> Tensor:
    """Put a new dim of size 1 at position `dim`, under `name` if given: a view.

    >>> import workbench as wb
    >>> wb.zeros(N=2, T=3).unsqueeze(1, "C").shape
    (2, 1, 3)
    """
    ndim = len(input.payload.shape)
    if not -ndim - 1 <= dim <= ndim:
        raise DimensionIndexError(
            f"Dimension out of range (expected to be in range of [{-ndim - 1}, {ndim}], but got {dim})",
            op="unsqueeze",
            operands=(dims_of(input).operand(),),
        )
    return ops.unsqueeze(input, dim=dim % (ndim + 1), name=name)


offered("workbench")(copying(unsqueeze))


@offered("workbench")
def alias_copy(input: Tensor) -> Tensor:
    """The same values in memory of their own."""
    return ops.clone(input)


@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(first: Tensor, second: Tensor, /, *more: Tensor) -> tuple[Tensor, ...]: ...
@offered("workbench")
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Give tensors without dims one of size 1; several tensors (or a list of them) give a tuple."""
    return _each(tensors, lambda one: ops.reshape(one, sizes=(1,)) if not dims_of(one).sizes else one)


def _two(input: Tensor) -> Tensor:
    return unsqueeze(atleast_1d(input), 0) if len(dims_of(input).sizes) < 2 else input


@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(first: Tensor, second: Tensor, /, *more: Tensor) -> tuple[Tensor, ...]: ...
@offered("workbench")
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Put new dims of size 1 at the front until there are two; several tensors give a tuple."""
    return _each(tensors, _two)


@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(first: Tensor, second: Tensor, /, *more: Tensor) -> tuple[Tensor, ...]: ...
@offered("workbench")
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Give tensors three dims: [N] becomes [1, N, 1], [N, M] becomes [N, M, 1]; several tensors give a tuple.

    >>> import workbench as wb
    >>> wb.atleast_3d(wb.zeros(N=2, C=3)).names
    ('N', 'C', None)
    """
    return _each(tensors, lambda one: unsqueeze(_two(one), -1) if len(dims_of(one).sizes) < 3 else one)


def _each(tensors: Sequence[Any], function: Callable[[Any], Tensor]) -> Tensor | tuple[Tensor, ...]:
    if len(tensors) == 1 and not isinstance(tensors[0], list | tuple):
        return function(tensors[0])
    several = tensors[0] if len(tensors) == 1 else tensors
    return tuple(function(one) for one in several)
