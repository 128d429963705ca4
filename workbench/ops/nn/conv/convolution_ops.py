"""Convolution in one, two and three dims and its two gradients: three bilinear ops that are each other's derivatives.

The gradient for the input is the transposed convolution. All three exist once for every number of spatial dims.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError, DimensionValueError
from workbench.core.contribution import CONVOLUTION
from workbench.core.dtype_rules import LEARNED
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, weighted
from workbench.core.tape import Call
from workbench.ops.elementwise.complex import conjugate
from workbench.ops.nn import batching
from workbench.ops.nn.conv.window_geometry import (
    LAYOUT,
    Sizes,
    check_kernel,
    columns,
    output_size,
    overlap_add,
)

Pair = tuple[int, int]
"""One number for each of two directions."""

NCHW = LAYOUT[2]

WORDS = {1: "One", 2: "Two", 3: "Three"}


def _conv_dims(n: int) -> Callable[..., Dims]:
    """Return the dims rule of the convolution over `n` spatial dims."""
    name = f"conv{n}d"
    layout = ", ".join(map(str, LAYOUT[n]))

    def rule(
        x: Dims,
        weight: Dims,
        bias: Dims | None = None,
        *,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
    ) -> Dims:
        if len(x.sizes) != n + 2 or len(weight.sizes) != n + 2:
            raise DimensionError(
                f"Expected {n + 2}D input [{layout}] and {n + 2}D weight to {name}, but got {len(x.sizes)}D and "
                f"{len(weight.sizes)}D.",
                op=name,
                operands=(x.operand("input"), weight.operand("weight")),
                fix="input.unsqueeze(0)" if len(x.sizes) == n + 1 else "",
            )
        if weight.sizes[0] < 1:
            raise DimensionError(
                f"Given groups={groups}, expected weight to be at least 1 at dimension 0, but got weight of size "
                f"{list(weight.sizes)} instead.",
                op=name,
                operands=(weight.operand("weight", [0]),),
            )
        check_kernel(name, weight)
        if x.sizes[1] != weight.sizes[1] * groups:
            # Channels stand last: the one mistake that a permutation mends.
            fits = x.sizes[-1] == weight.sizes[1] * groups
            order = ", ".join(map(str, (0, n + 1, *range(1, n + 1))))
            raise DimensionError(
                f"Given groups={groups}, weight of size {list(weight.sizes)}, expected input{list(x.sizes)} to have "
                f"{weight.sizes[1] * groups} channels, but got {x.sizes[1]} channels instead.",
                op=name,
                operands=(x.operand("input", [1]), weight.operand("weight", [1])),
                fix=f"input.permute({order})" if fits else "",
            )
        if weight.sizes[1] < 1:
            raise DimensionError(
                "expected input and weight to have at least one channel.",
                op=name,
                operands=(x.operand("input", [1]), weight.operand("weight", [1])),
            )
        if weight.sizes[0] % groups:
            raise DimensionError(
                f"out_channels ({weight.sizes[0]}) must be divisible by groups ({groups}).", op=name
            )
        if bias is not None and bias.sizes != weight.sizes[:1]:
            raise DimensionError(
                f"expected bias to be 1-dimensional with {weight.sizes[0]} elements, but got bias of size "
                f"{list(bias.sizes)} instead.",
                op=name,
                operands=(weight.operand("weight", [0]), bias.operand("bias", [0])),
            )
        if min(stride) < 1 or min(dilation) < 1 or min(padding) < 0:
            raise DimensionValueError(
                f"stride {list(stride)} and dilation {list(dilation)} must be at least 1, padding {list(padding)} at "
                "least 0.",
                op=name,
            )
        sizes = tuple(map(output_size, x.sizes[2:], weight.sizes[2:], stride, padding, dilation))
        if any(one <= 0 for one in sizes):
            room = [size + 2 * p for size, p in zip(x.sizes[2:], padding, strict=True)]
            spatial = range(2, n + 2)
            raise DimensionError(
                f"Kernel size {list(weight.sizes[2:])} (dilation {list(dilation)}) can't be greater than "
                f"the padded input size {room}.",
                op=name,
                operands=(x.operand("input", spatial), weight.operand("weight", spatial)),
            )
        return Dims(x.names, (x.sizes[0], weight.sizes[0], *sizes))

    return rule


def _patches(x: Any, kernel: Sizes, out: Sizes, groups: int, params: dict[str, Any]) -> Any:
    """Return the windows of `x` as [N, groups, channels · taps, positions]."""
    view = columns(x, kernel, params["stride"], params["padding"], params["dilation"], out)
    rows = x.shape[1] // groups * math.prod(kernel)
    # The windows are copied here, for the sake of one product of matrices.
    return view.reshape(x.shape[0], groups, rows, math.prod(out))


def _conv(x: Any, weight: Any, bias: Any = None, *, groups: int, **params: Any) -> Any:
    kernel = weight.shape[2:]
    out = tuple(
        map(output_size, x.shape[2:], kernel, params["stride"], params["padding"], params["dilation"])
    )
    # Out of no values -1 cannot be reckoned.
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1 if weight.size else 0)
    product = matrix @ _patches(x, kernel, out, groups, params)
    y = product.reshape(x.shape[0], weight.shape[0], *out)
    return y if bias is None else y + bias.reshape(-1, *(1,) * len(kernel))


def _input_gradient(
    g: Any, weight: Any, *, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    o, i, *kernel = weight.shape
    out = g.shape[2:]
    matrix = weight.reshape(groups, o // groups, i * math.prod(kernel)).swapaxes(1, 2)
    product = matrix @ g.reshape(g.shape[0], groups, o // groups, math.prod(out))
    parts = product.reshape(g.shape[0], groups * i, *kernel, *out)
    return overlap_add(parts, input_shape[2:], stride, padding, dilation)


def _weight_gradient(g: Any, x: Any, *, weight_shape: Sizes, groups: int, **params: Any) -> Any:
    o, i, *kernel = weight_shape
    out = g.shape[2:]
    rows, positions = i * math.prod(kernel), math.prod(out)
    patches = _patches(x, tuple(kernel), out, groups, params)
    left = g.reshape(g.shape[0], groups, o // groups, positions)
    product = np.zeros((groups, o // groups, rows), np.result_type(g, x))
    # Example by example: side by side they would have to be transposed in memory first.
    for gradient, patch in zip(left, patches, strict=True):
        product += gradient @ patch.swapaxes(-1, -2)
    return product.reshape(weight_shape)


def _without(params: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key not in names}


def _params(n: int, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> dict[str, Any]:
    return {
        "stride": (stride,) * n,
        "padding": (padding,) * n,
        "dilation": (dilation,) * n,
        "groups": groups,
    }


def _cost(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    return 2.0 * out.numel * math.prod(dims[1].sizes[1:])


class _Case(NamedTuple):
    """Operands of one sample: of the convolution, and of its gradients."""

    x: Any
    weight: Any
    params: dict[str, Any]

    def gradient(self) -> Any:
        """Return a gradient for the output."""
        sizes = map(
            output_size,
            self.x.shape[2:],
            self.weight.shape[2:],
            self.params["stride"],
            self.params["padding"],
            self.params["dilation"],
        )
        return grid(len(self.x), len(self.weight), *sizes)


def _cases(n: int) -> tuple[_Case, _Case, _Case]:
    """Return operands that are padded, that are taken in steps, and in groups with holes in the kernel."""
    return (
        _Case(grid(2, 3, *(5,) * n), grid(4, 3, *(3,) * n), _params(n, padding=1)),
        _Case(grid(2, 3, *(6, 5, 4)[:n]), grid(4, 3, *(3, 2, 2)[:n]), _params(n, stride=2)),
        _Case(grid(1, 4, *(7, 6, 7)[:n]), grid(6, 2, *(3,) * n), _params(n, padding=2, dilation=2, groups=2)),
    )


def _samples(n: int) -> list[Sample]:
    """Return the samples of the convolution: two of them with a bias."""
    padded, strided, grouped = _cases(n)
    return [
        Sample((padded.x, padded.weight, grid(4)), padded.params, names=(LAYOUT[n], None, None)),
        Sample((strided.x, strided.weight), strided.params),
        Sample((grouped.x, grouped.weight, grid(6)), grouped.params),
    ]


def _bad(n: int) -> list[BadInput]:
    x, weight, _ = _cases(n)[0]
    large = grid(4, 3, *(6,) * n)
    return [
        BadInput((x, weight[:, :2]), _params(n), DimensionError, "to have 2 channels, but got 3"),
        BadInput((x, large), _params(n), DimensionError, "can't be greater than the padded"),
        BadInput((x[0], weight), _params(n), DimensionError, f"Expected {n + 2}D input"),
    ]


def _gradient(name: str, **own: Any) -> Op:
    """Declare one of the gradients, which are bilinear like the convolution itself."""
    return Op(
        name=name,
        dtype=LEARNED,
        saves=Saves(None, output=False),
        **own,
    )


_SERVED = {
    1: weighted("quantized_conv1d", absorbs=("relu",), settings={"relu": False}),
    2: weighted("quantized_conv2d", absorbs=("relu", "pool"), settings={"pool": False, "relu": False}),
    3: weighted("quantized_conv3d", absorbs=("relu",), settings={"relu": False}),
}
"""By number of spatial dims: which op computes it on codes."""


def convolution(n: int) -> tuple[Op, Op, Op]:
    """Declare the convolution over `n` spatial dims, its gradient for the input and that for the weight."""
    name = f"conv{n}d"
    spatial = tuple(range(2, n + 2))
    plane = ", ".join(map(str, LAYOUT[n][2:]))

    def vjp(c: Call, g: Any) -> tuple[Any, ...]:
        x, weight = c.inputs[:2]
        gx = gw = None
        # The convolution conjugates nothing, so that its gradients do.
        if c.needs[0]:
            gx = to_input(g, conjugate(weight), input_shape=x.payload.shape, **c.params)
        if c.needs[1]:
            gw = to_weight(g, conjugate(x), weight_shape=weight.payload.shape, **c.params)
        if len(c.inputs) == 2:
            return gx, gw
        return gx, gw, ops.sum(g, dim=(0, *spatial), keepdim=False) if c.needs[2] else None

    # All three ops come from one form that is linear in x, w and g: each has its gradients in the others.
    def input_vjp(c: Call, u: Any) -> tuple[Any, ...]:
        g, weight = c.inputs
        params = _without(c.params, "input_shape")
        gg = forward(u, conjugate(weight), **params) if c.needs[0] else None
        if not c.needs[1]:
            return gg, None
        return gg, to_weight(conjugate(g), u, weight_shape=weight.payload.shape, **params)

    def weight_vjp(c: Call, u: Any) -> tuple[Any, ...]:
        g, x = c.inputs
        params = _without(c.params, "weight_shape")
        gg = forward(conjugate(x), u, **params) if c.needs[0] else None
        return gg, to_input(conjugate(g), u, input_shape=x.payload.shape, **params) if c.needs[1] else None

    forward = Op(
        name=name,
        doc=f"{WORDS[n]}-dimensional cross-correlation with learned weights.",
        equation=f"y[n, o, p] = b[o] + Σ_{{c, k}} x[n, c, p·s + k·d - pad]·w[o, c, k], p and k along ({plane})",
        dims=_conv_dims(n),
        rule=f"[N, C, {plane}] keep their names; C becomes the weight's output channels, {plane} window positions",
        dtype=LEARNED,
        forward=_conv,
        vjp=vjp,
        saves=Saves((0, 1), output=False),
        cost=_cost,
        samples=lambda: _samples(n),
        bad=lambda: _bad(n),
        properties=frozenset({"narrow"}),
        batch=batching.convolution,
        quantized=_SERVED[n],
        contribution=CONVOLUTION,
    )
    to_input = _gradient(
        f"{name}_input_gradient",
        doc=f"Gradient of {name} for its input (transposed convolution).",
        equation=f"gx = ∂⟨g, {name}(x, w)⟩/∂x",
        dims=lambda g, weight, *, input_shape, **params: Dims(g.names, input_shape),
        rule="names of the gradient, sizes of the convolution's input",
        forward=_input_gradient,
        vjp=input_vjp,
        cost=lambda dims, out, **params: 2.0 * dims[0].numel * math.prod(dims[1].sizes[1:]),
        samples=lambda: [
            Sample((one.gradient(), one.weight), {"input_shape": one.x.shape, **one.params}, names=names)
            for one, names in zip(_cases(n), ((LAYOUT[n], None), None, None), strict=True)
        ],
        batch=batching.convolution_input_gradient,
        # Of two operands it is the transposed convolution, whose weight has its channels second.
        quantized=weighted(inputs=("value", "weight"), axis=1),
        contribution=CONVOLUTION,
    )
    to_weight = _gradient(
        f"{name}_weight_gradient",
        doc=f"Gradient of {name} for its weight.",
        equation=f"gw = ∂⟨g, {name}(x, w)⟩/∂w",
        dims=lambda g, x, *, weight_shape, **params: Dims((None,) * len(weight_shape), weight_shape),
        rule="unnamed, sizes of the weight",
        forward=_weight_gradient,
        vjp=weight_vjp,
        cost=lambda dims, out, **params: 2.0 * dims[0].numel * math.prod(out.sizes[1:]),
        samples=lambda: [
            Sample((one.gradient(), one.x), {"weight_shape": one.weight.shape, **one.params})
            for one in _cases(n)
        ],
        batch=batching.convolution_weight_gradient,
        quantized=GRADIENT,
    )
    return forward, to_input, to_weight


CONV1D, CONV1D_INPUT_GRADIENT, CONV1D_WEIGHT_GRADIENT = convolution(1)
CONV2D, CONV2D_INPUT_GRADIENT, CONV2D_WEIGHT_GRADIENT = convolution(2)
CONV3D, CONV3D_INPUT_GRADIENT, CONV3D_WEIGHT_GRADIENT = convolution(3)
