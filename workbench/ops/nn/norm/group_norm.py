"""Normalisation of each sample by itself over groups of its channels, and over neighbouring channels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import as_float
from workbench.core.contribution import composed
from workbench.core.dtype_rules import FLOAT, LEARNED_FLOAT
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, PLAIN, served
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.linalg.matrices import plus
from workbench.ops.nn import batching
from workbench.ops.nn.norm.standardise import (
    gradients,
    second_order,
    standardise,
    through_statistics,
    wanted,
)
from workbench.ops.nn.norm.steps import scaled, standardised
from workbench.ops.offer import offered


def _grouped(x: Any, groups: int) -> Any:
    """Lay [N, C, …] out as [N, groups, C/groups, the rest]."""
    n, channels = x.shape[:2]
    return x.reshape(n, groups, channels // groups, math.prod(x.shape[2:]))


def _group_norm(
    x: Any, weight: Any = None, bias: Any = None, *, groups: int, eps: float
) -> tuple[Any, Any, Any]:
    factors = (groups, x.shape[1] // groups, 1)
    y, mean, rstd = standardise(
        _grouped(x, groups),
        None if weight is None else weight.reshape(factors),
        None if bias is None else bias.reshape(factors),
        (2, 3),
        eps,
    )
    return y.reshape(x.shape), mean.reshape(x.shape[0], groups), rstd.reshape(x.shape[0], groups)


def _group_norm_dims(
    x: Dims, weight: Dims | None = None, bias: Dims | None = None, *, groups: int, eps: float
) -> tuple[Dims, Dims, Dims]:
    if len(x.sizes) < 2:
        raise DimensionError(
            f"Expected at least 2 dimensions for input tensor but received {len(x.sizes)}: [N, C, ...].",
            op="group_norm",
            operands=(x.operand("input"),),
        )
    if groups <= 0 or x.sizes[1] % groups:
        raise DimensionError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(x.sizes)} and num_groups={groups}",
            op="group_norm",
            operands=(x.operand("input", [1]),),
        )
    for label, factor in (("weight", weight), ("bias", bias)):
        if factor is not None and factor.sizes != (x.sizes[1],):
            raise DimensionError(
                f"Expected {label} to be a vector of size equal to the number of channels in input, but got {label} "
                f"of shape {list(factor.sizes)} and input of shape {list(x.sizes)}",
                op="group_norm",
                operands=(x.operand("input", [1]), factor.operand(label)),
            )
    statistic = Dims((x.names[0], None), (x.sizes[0], groups))
    return x, statistic, statistic


def _group_norm_vjp(c: Call, g: Any, g_mean: Any, g_rstd: Any) -> tuple[Any, ...]:
    x, *factors = c.inputs
    groups = c.params["groups"]
    found: list[Any] = [None, None, None]
    if g is not None:
        found = list(ops.group_norm_gradient(g, x, c.outs[1], c.outs[2], *factors[:1], groups=groups))
    layout = _Layout(x.payload.shape, groups)
    extra = through_statistics(
        layout.values(x),
        layout.statistic(c.outs[1]),
        layout.statistic(c.outs[2]),
        layout.statistic(g_mean),
        layout.statistic(g_rstd),
        (2, 3),
    )
    if extra is not None:
        found[0] = plus(found[0], ops.reshape(extra, sizes=x.payload.shape))
    return wanted(found, c.needs)


class _Layout:
    """Values laid out by groups, for rules written with ops."""

    def __init__(self, shape: tuple[int, ...], groups: int) -> None:
        self.shape = shape
        self.groups = groups
        self.inner = (groups, shape[1] // groups)

    def values(self, x: Any) -> Any:
        """Return [N, C, …] as [N, groups, C/groups, the rest]."""
        sizes = (self.shape[0], *self.inner, math.prod(self.shape[2:]))
        return None if x is None else ops.reshape(x, sizes=sizes)

    def statistic(self, x: Any) -> Any:
        """Return [N, groups] so that it goes with the values."""
        return None if x is None else ops.reshape(x, sizes=(self.shape[0], self.groups, 1, 1))

    def as_float(self, x: Any) -> Any:
        """Return [C] so that it goes with the values."""
        return None if x is None else ops.reshape(x, sizes=(*self.inner, 1))


def _steps(
    constant: Callable[[Any], Any], x: Any, weight: Any = None, bias: Any = None, *, groups: int, eps: float
) -> tuple[Any, Any, Any]:
    layout = _Layout(x.payload.shape, groups)
    y, mean, rstd = standardised(constant, layout.values(x), (2, 3), eps)
    factors = [layout.as_float(one) for one in (weight, bias)]
    sizes = (x.payload.shape[0], groups)
    return (
        ops.reshape(scaled(y, *factors), sizes=x.payload.shape),
        ops.reshape(mean, sizes=sizes),
        ops.reshape(rstd, sizes=sizes),
    )


GROUP_NORM = Op(
    name="group_norm",
    contribution=composed(_steps),
    doc="Scale each group of a sample's channels by its mean and variance; also returns mean and reciprocal deviation.",
    equation="y = (x - E[x]) / √(Var[x] + ε)·w + b, over the channels of a group and all places",
    reference="Wu and He 2018",
    dims=_group_norm_dims,
    rule="[N, C, …] passes through; the statistics are [N, groups]",
    dtype=LEARNED_FLOAT,
    forward=_group_norm,
    vjp=_group_norm_vjp,
    saves=Saves(None, output=True, outputs=(1, 2)),
    cost=lambda dims, out, **params: 8.0 * dims[0].numel,
    samples=lambda: [
        Sample(
            (grid(2, 6, 3), grid(6, seed=1), grid(6, seed=2)),
            {"groups": 2, "eps": 1e-5},
            names=(("N", "C", "L"), ("C",), ("C",)),
        ),
        Sample((grid(2, 4, 2, 2), grid(4, seed=1)), {"groups": 4, "eps": 1e-3}),
        Sample((grid(2, 4),), {"groups": 1, "eps": 1e-5}, names=(("N", "C"),)),
    ],
    bad=lambda: [
        BadInput((grid(3, 4),), {"groups": 3, "eps": 1e-5}, DimensionError, "divisible by num_groups"),
        BadInput((grid(3, 4), grid(3)), {"groups": 2, "eps": 1e-5}, DimensionError, "number of channels"),
    ],
    outputs=3,
    tolerance=1e-5,
    properties=frozenset({"wide"}),
    batch=batching.as_channels,
    quantized=served("group_norm", PLAIN),
)


def _group_norm_gradient(
    g: Any, x: Any, mean: Any, rstd: Any, weight: Any = None, *, groups: int
) -> tuple[Any, Any, Any]:
    n, channels = x.shape[:2]
    factors = (groups, channels // groups, 1)
    gx, gw, gb = gradients(
        _grouped(g, groups),
        _grouped(x, groups),
        mean.reshape(n, groups, 1, 1),
        rstd.reshape(n, groups, 1, 1),
        None if weight is None else weight.reshape(factors),
        (2, 3),
        factors,
    )
    return gx.reshape(x.shape), gw.reshape(channels), gb.reshape(channels)


def _group_norm_gradient_dims(
    g: Dims, x: Dims, mean: Dims, rstd: Dims, weight: Dims | None = None, *, groups: int
) -> tuple[Dims, Dims, Dims]:
    channels = Dims((x.names[1],), (x.sizes[1],))
    return x, channels, channels


def _group_norm_gradient_vjp(c: Call, *directions: Any) -> tuple[Any, ...]:
    g, x, mean, rstd, *weight = c.inputs
    layout = _Layout(x.payload.shape, c.params["groups"])
    to_x, to_weight, to_bias = directions
    found = second_order(
        (layout.values(to_x), layout.as_float(to_weight), layout.as_float(to_bias)),
        layout.values(g),
        layout.values(x),
        layout.statistic(mean),
        layout.statistic(rstd),
        layout.as_float(weight[0]) if weight else None,
        (2, 3),
    )
    back = [
        None if one is None else ops.reshape(one, sizes=value.payload.shape)
        for one, value in zip(found, c.inputs, strict=False)
    ]
    return wanted(back, c.needs)


GROUP_NORM_GRADIENT = Op(
    name="group_norm_gradient",
    doc="Gradients of group normalisation for its input, weight and bias.",
    equation="gx = rstd·(h - E[h] - x̂·E[h·x̂]), gw = Σ g·x̂, gb = Σ g, with h = g·w and x̂ = (x - mean)·rstd",
    reference="Wu and He 2018",
    dims=_group_norm_gradient_dims,
    rule="as the input of the normalisation, and its channels twice",
    dtype=FLOAT,
    forward=_group_norm_gradient,
    vjp=_group_norm_gradient_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: 12.0 * dims[1].numel,
    samples=lambda: [
        Sample(
            (
                grid(2, 4, 3, seed=1),
                grid(2, 4, 3, seed=2),
                grid(2, 2, seed=3),
                grid(2, 2, low=0.5, seed=4),
                grid(4, seed=5),
            ),
            {"groups": 2},
        ),
    ],
    outputs=3,
    tolerance=1e-5,
    batch=batching.as_channels,
    quantized=GRADIENT,
)


# ---------------------------------------------------------------------------------- the words people use
@offered("workbench", "nn.functional")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Scale each group of channels of [N, C, …] by its mean and variance: (x - E[x]) / √(Var[x] + ε)·weight + bias.

    C is divisible by `num_groups`; `weight` and `bias` are [C].

    >>> import workbench as wb
    >>> wb.group_norm(wb.tensor([[1.0, 3.0, 0.0, 4.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    return group_norm_parts(input, weight, bias, num_groups, eps)[0]


def group_norm_parts(
    input: Any, weight: Any, bias: Any, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what `group_norm` does, with the mean and the reciprocal deviation of each group."""
    # The op takes a bias only beside a weight.
    factors = [one for one in (weight, bias if weight is not None else None) if one is not None]
    y, mean, rstd = ops.group_norm(input, *factors, groups=groups, eps=eps)
    if weight is None and bias is not None:
        sizes = (*dims_of(bias).sizes, *(1,) * (len(dims_of(input).sizes) - 2))
        y = ops.add(y, ops.reshape(bias, sizes=sizes))
    return y, mean, rstd


@offered("workbench")
def native_group_norm(
    input: Tensor, weight: Tensor, bias: Tensor, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm`, with the mean and reciprocal deviation [N, group] it used.

    N, C and HxW say the sizes of the input once more.

    >>> import workbench as wb
    >>> [one.shape for one in wb.native_group_norm(wb.zeros(2, 6, 3), None, None, 2, 6, 3, 2, 1e-5)]
    [(2, 6, 3), (2, 2), (2, 2)]
    """
    sizes = dims_of(input).sizes
    if sizes[:2] != (N, C) or math.prod(sizes[2:]) != HxW:
        raise DimensionError(
            f"native_group_norm: N={N}, C={C} and HxW={HxW} are not the sizes of the input {list(sizes)}.",
            op="native_group_norm",
            operands=(dims_of(input).operand("input"),),
        )
    return group_norm_parts(input, weight, bias, group, eps)


@offered("nn.functional")
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide each value by its neighbours in `size` channels: x / (k + α·E[x²])^β. Krizhevsky et al. 2012.

    Shapes: [N, C, …], with at least one more dim; beyond the channels there is nothing (zeros).

    >>> import workbench as wb
    >>> wb.nn.functional.local_response_norm(wb.ones(1, 1, 2), 1, alpha=3.0, beta=0.5)
    tensor([[[0.5000, 0.5000]]])
    """
    sizes = dims_of(input).sizes
    if len(sizes) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {len(sizes)} dimensions): [N, C, ...] with places"
        )
    # What a trace sees has no count of values, and need not be asked: what is empty stays so below, too.
    if getattr(input.payload, "size", 1) == 0:
        return input
    square = ops.mul(input, input)
    # Of an even size one more lies before than behind, as in PyTorch.
    before = ((0, 0), (size // 2, (size - 1) // 2)) + ((0, 0),) * (len(sizes) - 2)
    padded = ops.pad(square, padding=before, value=0.0)
    total = None
    # Slices added up: one pass for each neighbour, and no array of windows.
    for first in range(size):
        part = ops.index(padded, key=(slice(None), slice(first, first + sizes[1])))
        total = plus(total, part)
    mean = ops.div(total, as_float(size))
    if input.payload.dtype.kind in "iu":
        # The mean of whole numbers is a whole number, as where they are pooled.
        mean = ops.floor(mean)
    return ops.div(input, ops.pow(ops.add(ops.mul(mean, alpha), k), beta))
