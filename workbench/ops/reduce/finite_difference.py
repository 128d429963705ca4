"""Differences between neighbours along a dim, and sums of the areas under them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.dims import dim_index, dim_indices
from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.typing import Dim, Scalar, Tensor
from workbench.core.value import Value, dims_of
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.offer import offered


def part(x: Any, dim: int, start: int | None, stop: int | None) -> Tensor:
    """Return the entries from `start` to `stop` along `dim`."""
    return ops.index(x, key=(slice(None),) * dim + (slice(start, stop),))


@offered(out="exact")
def diff(
    input: Tensor, n: int = 1, dim: Dim = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours along a dim, `n` times over: y_i = x_{i+1} - x_i. Of bools: whether they differ.

    `prepend` and `append` are put before and after the input first.

    >>> import workbench as wb
    >>> wb.tensor([1, 4, 9]).diff()
    tensor([3, 5])
    """
    dims = dims_of(input)
    if not dims.sizes:
        raise DimensionError("diff expects input to be at least one-dimensional", op="diff")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    at = dim_index(dims, dim, "diff")
    if n == 0:
        return ops.clone(input)
    several = [one for one in (prepend, input, append) if one is not None]
    x = ops.cat(*several, dim=at) if len(several) > 1 else input
    minus = ops.ne if input.payload.dtype.kind == "b" else ops.sub
    size = x.payload.shape[at]
    # As many rounds as there are values leave none.
    if n >= size:
        return part(x, at, 0, 0)
    for _ in range(n):
        x = minus(part(x, at, 1, None), part(x, at, None, -1))
    return x


def _beside(x: Any, at: int, ndim: int) -> Any:
    """Lay a vector out along dim `at` of `ndim`."""
    return ops.reshape(x, sizes=tuple(-1 if i == at else 1 for i in range(ndim)))


def _slope(x: Any, at: int, spacing: Any, edge_order: int) -> Any:
    """Second-order differences inside, differences of `edge_order` at both ends, along one dim."""
    size, ndim = x.payload.shape[at], len(x.payload.shape)

    def at_place(i: int) -> Any:
        return part(x, at, i, i + 1 if i != -1 else None)

    one: Any
    two: Any
    both: Any
    weights: Any
    if isinstance(spacing, Value) and spacing.payload.shape:
        steps = diff(ops.rename(spacing, names=None))
        one, two = (_beside(part(steps, 0, *cut), at, ndim) for cut in ((None, -1), (1, None)))
        both = ops.add(one, two)
        weights = (
            ops.neg(ops.div(two, ops.mul(one, both))),
            ops.div(ops.sub(two, one), ops.mul(one, two)),
            ops.div(one, ops.mul(two, both)),
        )
        first = ops.div(ops.sub(at_place(1), at_place(0)), _beside(part(steps, 0, 0, 1), at, ndim))
        last = ops.div(ops.sub(at_place(-1), at_place(-2)), _beside(part(steps, 0, -1, None), at, ndim))
    else:
        h = spacing
        one = two = both = weights = None
        first = ops.div(ops.sub(at_place(1), at_place(0)), h)
        last = ops.div(ops.sub(at_place(-1), at_place(-2)), h)
    before, middle, after = part(x, at, None, -2), part(x, at, 1, -1), part(x, at, 2, None)
    if weights is None:
        inside = ops.div(ops.sub(after, before), 2 * spacing)
    else:
        inside = ops.add(
            ops.add(ops.mul(weights[0], before), ops.mul(weights[1], middle)), ops.mul(weights[2], after)
        )
    if edge_order == 2:
        # The slope at the end of the parabola through three points: that between two less what bends it.
        if weights is None:
            bend = ops.div(ops.add(ops.sub(part(x, at, None, -2), ops.mul(middle, 2.0)), after), 2 * spacing)
            first = ops.sub(first, part(bend, at, 0, 1))
            last = ops.add(last, part(bend, at, -1, None))
        else:
            left, right = ops.div(ops.sub(middle, before), one), ops.div(ops.sub(after, middle), two)
            bend = ops.div(ops.sub(right, left), both)
            first = ops.sub(first, ops.mul(part(bend, at, 0, 1), part(one, at, 0, 1)))
            last = ops.add(last, ops.mul(part(bend, at, -1, None), part(two, at, -1, None)))
    return ops.cat(first, inside, last, dim=at) if size > 2 else ops.cat(first, last, dim=at)


@offered("workbench")
def gradient(
    input: Tensor,
    *,
    spacing: Scalar | Tensor | Sequence[Scalar | Tensor] | None = 1,
    dim: int | str | Sequence[int | str] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """Estimate the slope along each dim by differences: y_i = (x_{i+1} - x_{i-1}) / 2h inside.

    `spacing` is the step h, one step a dim, or one vector of places a dim. At both ends the slope is that
    between two points, or with ``edge_order=2`` that of the parabola through three. Returns one tensor a dim.

    >>> import workbench as wb
    >>> wb.gradient(wb.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    dims = dims_of(input)
    axes = dim_indices(dims, dim, "gradient")
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}")
    if spacing is None:
        spacing = 1
    if isinstance(spacing, list | tuple):
        steps = tuple(spacing)
        if len(steps) != len(axes):
            raise RuntimeError(
                f"gradient expected spacing to have one entry for each of {len(axes)} dims, got {len(steps)}"
            )
    else:
        steps = (spacing,) * len(axes)
    for axis, step in zip(axes, steps, strict=True):
        if dims.sizes[axis] < edge_order + 1:
            raise DimensionError(
                f"gradient expected each dimension size to be at least edge_order + 1 = {edge_order + 1}.",
                op="gradient",
                operands=(dims.operand("input", [axis]),),
            )
        if isinstance(step, Value) and step.payload.shape not in ((), (dims.sizes[axis],)):
            raise DimensionError(
                f"gradient expected one place for each of {dims.sizes[axis]} entries of dim {axis}.",
                op="gradient",
                operands=(dims.operand("input", [axis]), dims_of(step).operand("spacing")),
            )
    if input.payload.dtype.kind in "biu":
        input = input.float()
    return tuple(_slope(input, axis, step, edge_order) for axis, step in zip(axes, steps, strict=True))


def _areas(name: str, y: Any, x: Any, dx: Any, dim: int | str) -> tuple[Any, int]:
    """Return the areas of the trapezoids between neighbours, and the dim they lie along."""
    dims = dims_of(y)
    at = dim_index(dims, dim, name)
    if not dims.sizes:
        raise DimensionError(f"{name}: expects at least one dim to go along", op=name)
    if x is not None and dx is not None:
        raise TypeError(f"{name}: give the places x or the step dx, not both")
    size = dims.sizes[at]
    heights = ops.add(part(y, at, 1, None), part(y, at, None, max(size - 1, 0)))
    if x is None:
        return ops.mul(heights, (1.0 if dx is None else dx) / 2), at
    places = ops.rename(x, names=None)
    ndim, own = len(dims.sizes), len(places.payload.shape)
    if own == 1:
        if places.payload.shape[0] != size:
            raise DimensionError(
                f"{name}: There must be one `x` value for each sample point: got {places.payload.shape[0]} for {size}.",
                op=name,
                operands=(dims.operand("y", [at]), dims_of(x).operand("x")),
            )
        places = _beside(places, at, ndim)
    elif own < ndim:
        # Places of fewer dims go with the last ones of the values.
        places = ops.reshape(places, sizes=(1,) * (ndim - own) + places.payload.shape)
    return ops.div(ops.mul(heights, diff(places, dim=at - ndim)), 2.0), at


@offered("workbench", aliases=["trapz"])
@rounded_once
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Scalar | None = None, dim: Dim = -1) -> Tensor:
    """Area under the values along a dim by trapezoids: Σ (y_i + y_{i+1})·(x_{i+1} - x_i)/2.

    The places are `x`, or one step `dx` (1) apart.

    >>> import workbench as wb
    >>> wb.trapezoid(wb.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    areas, at = _areas("trapezoid", y, x, dx, dim)
    return ops.sum(areas, dim=(at,), keepdim=False)


@offered("workbench")
@rounded_once
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Scalar | None = None, dim: Dim = -1
) -> Tensor:
    """Area under the values along a dim up to each place but the first, by trapezoids; see `trapezoid`.

    >>> import workbench as wb
    >>> wb.cumulative_trapezoid(wb.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    areas, at = _areas("cumulative_trapezoid", y, x, dx, dim)
    return ops.cumsum(areas, dim=at)
