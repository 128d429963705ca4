"""Ops that put tensors together, or a border around one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index, unify_names
from workbench.base.errors import DimensionError
from workbench.core.dtype_rules import PROMOTE
from workbench.core.families import grid
from workbench.core.op import BadInput, Sample, ops
from workbench.core.tape import Call
from workbench.core.value import dims_of
from workbench.ops.shape import move, unsqueeze


def _cat_dims(*tensors: Dims, dim: int) -> Dims:
    first = tensors[0]
    names = first.names
    for i, other in enumerate(tensors[1:], 1):
        if len(other.sizes) != len(first.sizes):
            raise DimensionError(
                f"Tensors must have same number of dimensions: got {len(first.sizes)} and {len(other.sizes)}.",
                op="cat",
                operands=(first.operand("tensors[0]"), other.operand(f"tensors[{i}]")),
            )
        clash = [
            k for k, (a, b) in enumerate(zip(first.sizes, other.sizes, strict=True)) if a != b and k != dim
        ]
        if clash:
            raise DimensionError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {first.sizes[clash[0]]} but got "
                f"size {other.sizes[clash[0]]} for tensor number {i} in the list.",
                op="cat",
                operands=(first.operand("tensors[0]", clash), other.operand(f"tensors[{i}]", clash)),
            )
        names = unify_names("cat", Dims(names, first.sizes), other)
    total = sum(one.sizes[dim] for one in tensors)
    return Dims(names, (*first.sizes[:dim], total, *first.sizes[dim + 1 :]))


def _cat_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    dim, start, parts = c.params["dim"], 0, []
    for value, need in zip(c.inputs, c.needs, strict=True):
        size = value._array.shape[dim]
        key = (slice(None),) * dim + (slice(start, start + size),)
        parts.append(ops.index(g, key=key) if need else None)
        start += size
    return tuple(parts)


CAT = move(
    "cat",
    "Tensors one after another along a dim.",
    "y = (x₁, x₂, …)",
    dims=_cat_dims,
    rule="names unify, sizes add along the dim",
    dtype=PROMOTE,
    forward=lambda *tensors, dim: np.concatenate(tensors, axis=dim),
    vjp=_cat_vjp,
    samples=lambda: [Sample((grid(2, 3), grid(2, 1)), {"dim": 1}, names=(("N", "C"), ("N", None)))],
    bad=lambda: [
        BadInput((grid(2, 3), grid(3, 3)), {"dim": 1}, DimensionError, "must match except in dimension 1"),
        BadInput((grid(2, 3), grid(2, 3, 1)), {"dim": 1}, DimensionError, "same number of dimensions"),
    ],
    properties=frozenset({"linear"}),
)


def _pad_dims(x: Dims, padding: tuple[tuple[int, int], ...], value: float) -> Dims:
    sizes = tuple(size + before + after for size, (before, after) in zip(x.sizes, padding, strict=True))
    if any(size < 0 for size in sizes):
        raise DimensionError(
            f"padding {padding} takes more than is there.", op="pad", operands=(x.operand(),)
        )
    return Dims(x.names, sizes)


def _pad(x: Any, padding: tuple[tuple[int, int], ...], value: float) -> Any:
    cut = tuple(
        slice(max(-before, 0), x.shape[i] - max(-after, 0)) for i, (before, after) in enumerate(padding)
    )
    grow = tuple((max(before, 0), max(after, 0)) for before, after in padding)
    return np.pad(x[cut], grow, constant_values=value)


PAD = move(
    "pad",
    "A constant border around; negative widths cut.",
    "y = x inside, value in the border",
    dims=_pad_dims,
    rule="names pass through, sizes grow by the border",
    forward=_pad,
    vjp=lambda c, g: (ops.pad(g, padding=tuple((-a, -b) for a, b in c.params["padding"]), value=0.0),),
    samples=lambda: [
        Sample((grid(2, 3),), {"padding": ((0, 0), (1, 2)), "value": 0.5}, names=(("N", "C"),)),
        Sample((grid(2, 3),), {"padding": ((1, 0), (-1, 2)), "value": 0.0}),
    ],
    properties=frozenset(),
)

# ---------------------------------------------------------------------------------- the words people use


def cat(tensors: Sequence[Any], dim: int | str = 0) -> Any:
    """Put tensors one after another along a dim; names unify, other sizes are equal."""
    if not tensors:
        raise DimensionError("cat: expected a non-empty list of tensors", op="cat")
    return ops.cat(*tensors, dim=dim_index(dims_of(tensors[0]), dim, "cat"))


def stack(tensors: Sequence[Any], dim: int = 0, name: str | None = None) -> Any:
    """Put tensors of equal sizes one after another along a new dim, under `name` if given."""
    if not tensors:
        raise DimensionError("stack: expected a non-empty list of tensors", op="stack")
    first = dims_of(tensors[0])
    for i, other in enumerate(tensors):
        if dims_of(other).sizes != first.sizes:
            raise DimensionError(
                f"stack expects each tensor to be equal size, but got {list(first.sizes)} at entry 0 and "
                f"{list(dims_of(other).sizes)} at entry {i}",
                op="stack",
                operands=(first.operand("tensors[0]"), dims_of(other).operand(f"tensors[{i}]")),
            )
    new = [unsqueeze(one, dim, name) for one in tensors]
    return ops.cat(*new, dim=dim % (len(first.sizes) + 1))


def pad(input: Any, pad: Sequence[int], value: float = 0.0) -> Any:
    """Pad with a constant: `pad` lists (before, after) from the last dim backwards, as in PyTorch."""
    ndim = len(dims_of(input).sizes)
    if len(pad) % 2 or len(pad) > 2 * ndim:
        raise DimensionError(
            f"Padding length should be even and at most twice the number of dims: got {len(pad)} for {ndim} dims.",
            op="pad",
        )
    pairs = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    padding = ((0, 0),) * (ndim - len(pairs)) + tuple(reversed(pairs))
    return ops.pad(input, padding=padding, value=value)


FUNCTIONS: dict[str, Any] = {
    "cat": cat,
    "pad": pad,
    "stack": stack,
}
"""What `workbench` offers of this file by name."""

NOT_METHODS = ("cat", "pad", "stack")
"""Functions that are no methods of a tensor."""

NN: dict[str, Any] = {"pad": pad}
"""What `workbench.nn.functional` offers of this file."""
