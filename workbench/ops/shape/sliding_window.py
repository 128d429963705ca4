"""Windows along a dim, as a view of the same memory, and their sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.errors import DimensionError
from workbench.core.families import grid
from workbench.core.op import BadInput, Sample, ops
from workbench.core.quantization import GRADIENT
from workbench.core.typing import Dim, Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered
from workbench.ops.shape import batching
from workbench.ops.shape.movement import copying, memory_of, move, see

Steps = tuple[int, ...]


def _unfold_dims(x: Dims, dim: int, size: int, step: int) -> Dims:
    # A number is unfolded as a vector of one value, as in PyTorch.
    sizes = x.sizes or (1,)
    if size < 0 or step <= 0:
        raise DimensionError(
            f"unfold: size is {size} but must be >= 0, step is {step} but must be > 0",
            operands=(x.operand(),),
        )
    if size > sizes[dim]:
        raise DimensionError(
            f"maximum size for tensor at dimension {dim} is {sizes[dim]} but size is {size}",
            op="unfold",
            operands=(x.operand("input", [dim] if x.sizes else []),),
        )
    count = (sizes[dim] - size) // step + 1
    if not x.sizes:
        return Dims((None,), (size,))
    return Dims((*x.names, None), (*sizes[:dim], count, *sizes[dim + 1 :], size))


def _windows(x: Any, dim: int, size: int, step: int) -> Any:
    memory, here = memory_of(x)
    own = tuple(stride // x.itemsize for stride in x.strides)
    if not x.ndim:
        return see(memory, here, (size,), (1,))
    count = (x.shape[dim] - size) // step + 1
    shape = (*x.shape[:dim], count, *x.shape[dim + 1 :], size)
    return see(memory, here, shape, (*own[:dim], own[dim] * step, *own[dim + 1 :], own[dim]))


def _add_windows(x: Any, sizes: Steps, dim: int, step: int) -> Any:
    out = np.zeros(sizes, x.dtype)
    if not sizes:
        return x.sum(axis=0) if x.size else out
    count = x.shape[dim]
    # One sum for each place in a window: within one, windows do not overlap, so that += adds all.
    for k in range(x.shape[-1]):
        window = (slice(None),) * dim + (slice(k, k + step * count, step),)
        # The last window may end before the dim does: the slice holds `count` entries all the same.
        out[window] += x[..., k]
    return out


UNFOLD = move(
    "unfold",
    "Windows along a dim, in a new dim at the end.",
    "y[…, i, …, k] = x[…, i·step + k, …]",
    dims=_unfold_dims,
    rule="names pass through, the dim counts windows; a new unnamed dim at the end",
    forward=_windows,
    vjp=lambda c, g: (
        ops.add_windows(g, sizes=c.inputs[0].payload.shape, dim=c.params["dim"], step=c.params["step"]),
    ),
    samples=lambda: [
        Sample((grid(2, 7),), {"dim": 1, "size": 3, "step": 2}, names=(("N", "T"),)),
        Sample((grid(5, 2),), {"dim": 0, "size": 2, "step": 1}),
    ],
    bad=lambda: [
        BadInput((grid(2, 3),), {"dim": 1, "size": 4, "step": 1}, DimensionError, "is 3 but size is 4")
    ],
)

ADD_WINDOWS = move(
    "add_windows",
    "Add windows at their places into zeros: the transpose of unfold.",
    "y[…, i·step + k, …] += x[…, i, …, k]",
    dims=lambda x, sizes, dim, step: Dims((None,) * len(sizes), sizes),
    rule="an unnamed tensor of the given sizes",
    forward=_add_windows,
    vjp=lambda c, g: (
        ops.unfold(g, dim=c.params["dim"], size=c.inputs[0].payload.shape[-1], step=c.params["step"]),
    ),
    samples=lambda: [Sample((grid(2, 3, 3),), {"sizes": (2, 8), "dim": 1, "step": 2})],
    properties=frozenset({"linear"}),
    batch=batching.windows,
    quantized=GRADIENT,
)


@offered("Tensor")
def unfold(input: Tensor, dimension: Dim, size: int, step: int) -> Tensor:
    """Windows of `size` entries along a dim, `step` apart, in a new dim at the end: a view.

    >>> import workbench as wb
    >>> wb.arange(5).unfold(0, 2, 1).tolist()
    [[0, 1], [1, 2], [2, 3], [3, 4]]
    """
    at = dim_index(dims_of(input), dimension, "unfold")
    return ops.unfold(input, dim=at, size=int(size), step=int(step))


offered("workbench")(copying(unfold))
