"""Ops that move or relabel values and compute nothing: views where memory allows it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import Dims, broadcast, dim_index, dim_indices
from workbench.base.errors import DimensionError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import NOT_QUANTIZED, grid
from workbench.core.op import Absent, BadInput, Op, Sample, Saves, ops
from workbench.core.value import dims_of

NOTHING = Saves((), output=False)


def _no_cost(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    return 0.0


def move(name: str, doc: str, equation: str, **fields: Any) -> Op:
    """Declare an op that moves values: linear, without cost, saving nothing."""
    defaults: dict[str, Any] = {
        "reference": "elementary",
        "dtype": KEEP,
        "saves": NOTHING,
        "quantized": NOT_QUANTIZED,
        "cost": _no_cost,
        "bad": list,
        "properties": frozenset({"linear", "view"}),
    }
    return Op(name=name, doc=doc, equation=equation, **{**defaults, **fields})


def _on_codes(forward: Any) -> Any:
    """The quantized rule of an op that moves values: move the codes, keep scale and zero point."""
    return lambda q, **params: q.with_codes(forward(q.codes, **params))


# -------------------------------------------------------------------------------------- reshape, flatten


def resolve_sizes(sizes: Sequence[int], count: int, op: str, x: Dims) -> tuple[int, ...]:
    """Return `sizes` with one -1 replaced by what is left of `count` values."""
    result = [int(size) for size in sizes]
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
    if sizes == x.sizes:
        return x
    names: list[str | None] = [None] * len(sizes)
    shared = min(len(sizes), len(x.sizes))
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
    quantized=_on_codes(_reshape),
    vjp=lambda c, g: (ops.reshape(g, sizes=c.inputs[0]._array.shape),),
    samples=lambda: [
        Sample((grid(2, 3, 4),), {"sizes": (2, 12)}, names=(("N", "C", "T"),)),
        Sample((grid(2, 3, 4),), {"sizes": (-1, 4)}, names=(("N", "C", "T"),)),
        Sample((grid(4, 6).T,), {"sizes": (4, 6)}),
    ],
    bad=lambda: [
        BadInput((grid(2, 3),), {"sizes": (4, 2)}, DimensionError, "is invalid for input of size 6")
    ],
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
    quantized=_on_codes(_flatten),
    vjp=lambda c, g: (ops.reshape(g, sizes=c.inputs[0]._array.shape),),
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
)


def _unflatten_dims(x: Dims, dim: int, sizes: tuple[int, ...], names: tuple[str | None, ...]) -> Dims:
    if math.prod(sizes) != x.sizes[dim]:
        raise DimensionError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({x.sizes[dim]}).",
            op="unflatten",
            operands=(x.operand("input", [dim]),),
        )
    return Dims((*x.names[:dim], *names, *x.names[dim + 1 :]), (*x.sizes[:dim], *sizes, *x.sizes[dim + 1 :]))


UNFLATTEN = move(
    "unflatten",
    "One dim split into several.",
    "y = x",
    dims=_unflatten_dims,
    rule="the dim becomes several, under names of their own",
    forward=lambda x, dim, sizes, names: x.reshape((*x.shape[:dim], *sizes, *x.shape[dim + 1 :])),
    vjp=lambda c, g: (ops.reshape(g, sizes=c.inputs[0]._array.shape),),
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
    ],
)

# ------------------------------------------------------------------------------- permute, squeeze, expand


def _permute_dims(x: Dims, dim: tuple[int, ...]) -> Dims:
    return Dims(tuple(x.names[i] for i in dim), tuple(x.sizes[i] for i in dim))


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort(order))


PERMUTE = move(
    "permute",
    "The dims in another order.",
    "y[i_p] = x[i]",
    dims=_permute_dims,
    rule="names move with their dims",
    forward=lambda x, dim: x.transpose(dim),
    quantized=_on_codes(lambda x, dim: x.transpose(dim)),
    vjp=lambda c, g: (ops.permute(g, dim=_inverse(c.params["dim"])),),
    samples=lambda: [Sample((grid(2, 3, 4),), {"dim": (2, 0, 1)}, names=(("N", "C", "T"),))],
)

SQUEEZE = move(
    "squeeze",
    "Dims of size 1 taken away.",
    "y = x",
    dims=lambda x, dim: x.without(dim),
    rule="the dims go, with their names",
    forward=lambda x, dim: np.squeeze(x, axis=dim),
    vjp=lambda c, g: (ops.reshape(g, sizes=c.inputs[0]._array.shape),),
    samples=lambda: [Sample((grid(2, 1, 3),), {"dim": (1,)}, names=(("N", "C", "T"),))],
)


def _unsqueeze_dims(x: Dims, dim: int, name: str | None) -> Dims:
    return Dims((*x.names[:dim], name, *x.names[dim:]), (*x.sizes[:dim], 1, *x.sizes[dim:]))


UNSQUEEZE = move(
    "unsqueeze",
    "A new dim of size 1.",
    "y = x",
    dims=_unsqueeze_dims,
    rule="a new dim, with the given name or none",
    forward=lambda x, dim, name: np.expand_dims(x, dim),
    vjp=lambda c, g: (ops.reshape(g, sizes=c.inputs[0]._array.shape),),
    samples=lambda: [Sample((grid(2, 3),), {"dim": 1, "name": "C"}, names=(("N", "T"),))],
)


def _expand_dims(x: Dims, sizes: tuple[int, ...]) -> Dims:
    extra = len(sizes) - len(x.sizes)
    full = (
        *sizes[: max(extra, 0)],
        *(own if size == -1 else size for own, size in zip(x.sizes, sizes[max(extra, 0) :], strict=False)),
    )
    if extra < 0 or any(own not in (1, size) for own, size in zip(x.sizes, full[extra:], strict=True)):
        raise DimensionError(
            f"The expanded size of the tensor {list(sizes)} must match the existing size {list(x.sizes)} at "
            "non-singleton dimensions, counted from the right.",
            op="expand",
            operands=(x.operand(),),
        )
    return Dims((None,) * extra + x.names, full)


def _expand(x: Any, sizes: tuple[int, ...]) -> Any:
    extra = len(sizes) - x.ndim
    full = [size if size != -1 else x.shape[i - extra] for i, size in enumerate(sizes)]
    return np.broadcast_to(x, full)


EXPAND = move(
    "expand",
    "Stretch dims of size 1, and add dims at the left.",
    "y[…, i] = x[…, 0]",
    dims=_expand_dims,
    rule="stretched dims keep their names, new dims have none",
    forward=_expand,
    vjp=lambda c, g: (ops.sum_to(g, sizes=c.inputs[0]._array.shape),),
    samples=lambda: [
        Sample((grid(3, 1),), {"sizes": (2, 3, 4)}, names=(("N", "C"),)),
        Sample((grid(),), {"sizes": (2, 3)}),
    ],
    bad=lambda: [BadInput((grid(3, 2),), {"sizes": (3, 4)}, DimensionError, "must match the existing size")],
)


def _sum_to(x: Any, sizes: tuple[int, ...]) -> Any:
    extra = x.ndim - len(sizes)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, size in enumerate(sizes) if size == 1 and x.shape[i + extra] != 1
    )
    return np.sum(x, axis=axes, keepdims=True).reshape(sizes) if axes else x


SUM_TO = move(
    "sum_to",
    "Sum over the dims along which smaller sizes would be stretched: the transpose of expand.",
    "y = Σ x",
    dims=lambda x, sizes: Dims(x.names[len(x.sizes) - len(sizes) :], sizes),
    rule="dims at the left end, dims of size 1 are summed, the others pass through",
    forward=_sum_to,
    vjp=lambda c, g: (ops.expand(g, sizes=c.inputs[0]._array.shape),),
    samples=lambda: [Sample((grid(2, 3, 4),), {"sizes": (3, 1)}, names=(("N", "C", "T"),))],
    properties=frozenset({"linear"}),
)

RENAME = move(
    "rename",
    "The same tensor under other names.",
    "y = x",
    dims=lambda x, names: Dims(names or (None,) * len(x.sizes), x.sizes),
    rule="as asked",
    forward=lambda x, names: x,
    quantized=_on_codes(lambda x, names: x),
    vjp=lambda c, g: (g,),
    samples=lambda: [Sample((grid(2, 3),), {"names": ("N", "C")})],
)

DETACH = move(
    "detach",
    "The same values off the tape.",
    "y = x",
    dims=lambda x: x,
    rule="names and sizes pass through",
    forward=lambda x: x,
    quantized=_on_codes(lambda x: x),
    vjp=Absent("it is there to stop gradients"),
    samples=lambda: [Sample((grid(2, 3),), names=(("N", "C"),))],
    properties=frozenset({"view"}),
)

FLIP = move(
    "flip",
    "Dims in reverse order of their entries.",
    "y_i = x_{n-1-i}",
    dims=lambda x, dim: x,
    rule="names and sizes pass through",
    forward=lambda x, dim: np.flip(x, dim),
    vjp=lambda c, g: (ops.flip(g, dim=c.params["dim"]),),
    samples=lambda: [Sample((grid(2, 3),), {"dim": (1,)}, names=(("N", "C"),))],
)

# ---------------------------------------------------------------------------------- the words people use


def reshape(input: Any, *shape: Any) -> Any:
    """The same values in row-major order under other sizes, one of which may be -1.

    Names stay with the unchanged dims at the start and the end. Shares memory where strides allow it.

    >>> import workbench as wb
    >>> wb.zeros(N=2, C=3).reshape(2, 3, 1).names
    ('N', 'C', None)
    """
    sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return ops.reshape(input, sizes=tuple(int(size) for size in sizes))


def flatten(input: Any, start_dim: Any = 0, end_dim: Any = -1, out_dim: str | None = None) -> Any:
    """Lay several neighbouring dims out as one: ``flatten(1)``, or by name ``flatten(['C', 'H', 'W'], 'features')``.

    >>> import workbench as wb
    >>> wb.zeros(N=2, C=3, H=4, W=4).flatten(["C", "H", "W"], "features").shape
    (2, 48)
    """
    dims = dims_of(input)
    if isinstance(start_dim, list | tuple):
        out_dim = end_dim if isinstance(end_dim, str) else out_dim
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
    if not dims.sizes:
        return ops.reshape(input, sizes=(1,))
    start, end = dim_index(dims, start_dim, "flatten"), dim_index(dims, end_dim, "flatten")
    if start > end:
        raise DimensionError("flatten() has invalid args: start_dim cannot come after end_dim", op="flatten")
    return ops.flatten(
        input, start=start, end=end, name=out_dim if start != end else out_dim or dims.names[start]
    )


def unflatten(input: Any, dim: int | str, sizes: Any) -> Any:
    """Split one dim into several: `sizes` is a list of sizes, or of pairs of name and size."""
    pairs = [size if isinstance(size, tuple | list) else (None, size) for size in sizes]
    if not pairs:
        raise DimensionError("unflatten: sizes must be non-empty", op="unflatten")
    dims = dims_of(input)
    index = dim_index(dims, dim, "unflatten")
    known = [int(size) for _, size in pairs]
    full = resolve_sizes(known, dims.sizes[index], "unflatten", dims) if -1 in known else tuple(known)
    return ops.unflatten(input, dim=index, sizes=full, names=tuple(name for name, _ in pairs))


def permute(input: Any, *dims: Any) -> Any:
    """The dims in another order, by position or by name."""
    order = dims[0] if len(dims) == 1 and not isinstance(dims[0], int | str) else dims
    own = dims_of(input)
    positions = tuple(dim_index(own, dim, "permute") for dim in order)
    if sorted(positions) != list(range(len(own.sizes))):
        raise DimensionError(
            f"permute(dims): {list(order)} must name each of the {len(own.sizes)} dims once.",
            op="permute",
            operands=(own.operand(),),
        )
    return ops.permute(input, dim=positions)


def transpose(input: Any, dim0: int | str, dim1: int | str) -> Any:
    """Exchange two dims."""
    dims = dims_of(input)
    a, b = dim_index(dims, dim0, "transpose"), dim_index(dims, dim1, "transpose")
    order = list(range(len(dims.sizes)))
    if order:
        order[a], order[b] = order[b], order[a]
    return ops.permute(input, dim=tuple(order))


def t(input: Any) -> Any:
    """Transpose a tensor of at most two dims."""
    dims = dims_of(input)
    if len(dims.sizes) > 2:
        raise DimensionError(
            f"t() expects a tensor with <= 2 dimensions, but self is {len(dims.sizes)}D",
            op="t",
            operands=(dims.operand(),),
            fix="x.transpose(-2, -1)",
        )
    return ops.permute(input, dim=tuple(reversed(range(len(dims.sizes)))))


def squeeze(input: Any, dim: Any = None) -> Any:
    """Take dims of size 1 away: all of them, or those given (others of them stay)."""
    dims = dims_of(input)
    positions = dim_indices(dims, dim, "squeeze") if dims.sizes else ()
    return ops.squeeze(input, dim=tuple(i for i in positions if dims.sizes[i] == 1))


def unsqueeze(input: Any, dim: int, name: str | None = None) -> Any:
    """Put a new dim of size 1 at position `dim`, under `name` if given."""
    ndim = len(dims_of(input).sizes)
    if not -ndim - 1 <= dim <= ndim:
        raise DimensionError(
            f"Dimension out of range (expected to be in range of [{-ndim - 1}, {ndim}], but got {dim})",
            op="unsqueeze",
        )
    return ops.unsqueeze(input, dim=dim % (ndim + 1), name=name)


def expand(input: Any, *sizes: Any) -> Any:
    """Stretch dims of size 1 without copying; -1 keeps a size."""
    full = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return ops.expand(input, sizes=tuple(int(size) for size in full))


def broadcast_tensors(a: Any, b: Any) -> tuple[Any, Any]:
    """Stretch two tensors to the sizes that they have together."""
    sizes = broadcast("broadcast_tensors", dims_of(a), dims_of(b)).sizes
    return ops.expand(a, sizes=sizes), ops.expand(b, sizes=sizes)


def flip(input: Any, dims: Any) -> Any:
    """Reverse the order of entries along the given dims."""
    return ops.flip(input, dim=dim_indices(dims_of(input), dims, "flip"))


FUNCTIONS: dict[str, Any] = {
    "broadcast_tensors": broadcast_tensors,
    "expand": expand,
    "flatten": flatten,
    "flip": flip,
    "permute": permute,
    "reshape": reshape,
    "squeeze": squeeze,
    "t": t,
    "transpose": transpose,
    "unflatten": unflatten,
    "unsqueeze": unsqueeze,
}
"""What `workbench` offers of this file by name."""

NOT_METHODS = ("broadcast_tensors",)
"""Functions that are no methods of a tensor."""

METHODS: dict[str, Any] = {"view": reshape}
"""What only a tensor offers."""
