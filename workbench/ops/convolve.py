"""Two-dimensional convolution and its two gradients: three bilinear ops that are each other's derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.dtype_rules import PROMOTE
from workbench.core.families import NOT_QUANTIZED, grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.tape import Call

Pair = tuple[int, int]


def output_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Return how many positions a window takes along one dim."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _conv2d_dims(
    x: Dims,
    weight: Dims,
    bias: Dims | None = None,
    *,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Dims:
    if len(x.sizes) != 4 or len(weight.sizes) != 4:
        raise DimensionError(
            f"Expected 4D input [N, C, H, W] and 4D weight to conv2d, but got {len(x.sizes)}D and "
            f"{len(weight.sizes)}D.",
            op="conv2d",
            operands=(x.operand("input"), weight.operand("weight")),
            fix="input.unsqueeze(0)" if len(x.sizes) == 3 else "",
        )
    if x.sizes[1] != weight.sizes[1] * groups:
        raise DimensionError(
            f"Given groups={groups}, weight of size {list(weight.sizes)}, expected input{list(x.sizes)} to have "
            f"{weight.sizes[1] * groups} channels, but got {x.sizes[1]} channels instead.",
            op="conv2d",
            operands=(x.operand("input", [1]), weight.operand("weight", [1])),
            fix="input.permute(0, 3, 1, 2)" if x.sizes[3] == weight.sizes[1] * groups else "",
        )
    if weight.sizes[0] % groups:
        raise DimensionError(
            f"out_channels ({weight.sizes[0]}) must be divisible by groups ({groups}).", op="conv2d"
        )
    if bias is not None and bias.sizes != weight.sizes[:1]:
        raise DimensionError(
            f"expected bias to be 1-dimensional with {weight.sizes[0]} elements, but got bias of size "
            f"{list(bias.sizes)} instead.",
            op="conv2d",
            operands=(weight.operand("weight", [0]), bias.operand("bias", [0])),
        )
    sizes = tuple(
        output_size(x.sizes[i + 2], weight.sizes[i + 2], stride[i], padding[i], dilation[i]) for i in (0, 1)
    )
    if min(sizes) <= 0:
        raise DimensionError(
            f"Kernel size {list(weight.sizes[2:])} (dilation {list(dilation)}) can't be greater than "
            "the padded input size "
            f"{[x.sizes[i + 2] + 2 * padding[i] for i in (0, 1)]}.",
            op="conv2d",
            operands=(x.operand("input", [2, 3]), weight.operand("weight", [2, 3])),
        )
    return Dims(x.names, (x.sizes[0], weight.sizes[0], *sizes))


def windows(x: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, fill: float = 0.0) -> Any:
    """Return a view [N, C, H', W', kH, kW] of the windows of a padded array."""
    if any(padding):
        x = np.pad(
            x, ((0, 0), (0, 0), (padding[0], padding[0]), (padding[1], padding[1])), constant_values=fill
        )
    n, c, h, w = x.shape
    oh, ow = (output_size(size, kernel[i], stride[i], 0, dilation[i]) for i, size in enumerate((h, w)))
    sn, sc, sh, sw = x.strides
    return np.lib.stride_tricks.as_strided(
        x,
        (n, c, oh, ow, *kernel),
        (sn, sc, sh * stride[0], sw * stride[1], sh * dilation[0], sw * dilation[1]),
        writeable=False,
    )


def _conv2d(
    x: Any, weight: Any, bias: Any = None, *, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Any:
    n, _c = x.shape[:2]
    o, i, kh, kw = weight.shape
    view = windows(x, (kh, kw), stride, padding, dilation)
    oh, ow = view.shape[2:4]
    out = np.empty((n, o, oh, ow), x.dtype)
    per = o // groups
    for group in range(groups):
        part = view[:, group * i : (group + 1) * i]
        columns = part.transpose(0, 2, 3, 1, 4, 5).reshape(n * oh * ow, i * kh * kw)
        product = columns @ weight[group * per : (group + 1) * per].reshape(per, -1).T
        out[:, group * per : (group + 1) * per] = product.reshape(n, oh, ow, per).transpose(0, 3, 1, 2)
    if bias is not None:
        out += bias.reshape(1, -1, 1, 1)
    return out


def _conv2d_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x, weight = c.inputs[:2]
    grads = [
        ops.conv2d_input_gradient(g, weight, input_shape=x._array.shape, **c.params) if c.needs[0] else None,
        ops.conv2d_weight_gradient(g, x, weight_shape=weight._array.shape, **c.params)
        if c.needs[1]
        else None,
    ]
    if len(c.inputs) > 2:
        grads.append(ops.sum(g, dim=(0, 2, 3), keepdim=False) if c.needs[2] else None)
    return tuple(grads)


def _cost(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    weight = dims[1]
    return 2.0 * out.numel * weight.sizes[1] * weight.sizes[2] * weight.sizes[3]


def _params(stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> dict[str, Any]:
    return {"stride": (stride,) * 2, "padding": (padding,) * 2, "dilation": (dilation,) * 2, "groups": groups}


NCHW = ("N", "C", "H", "W")

CONV2D = Op(
    name="conv2d",
    doc="Two-dimensional cross-correlation with learned weights.",
    equation="y[n, o, p, q] = b[o] + Σ_{c, i, j} x[n, c, p·s + i·d - pad, q·s + j·d - pad]·w[o, c, i, j]",
    reference="elementary",
    dims=_conv2d_dims,
    rule="[N, C, H, W] keep their names; C becomes the weight's output channels, H and W the window positions",
    dtype=PROMOTE,
    forward=_conv2d,
    vjp=_conv2d_vjp,
    saves=Saves((0, 1), output=False),
    quantized=NOT_QUANTIZED,
    cost=_cost,
    samples=lambda: [
        Sample((grid(2, 3, 5, 5), grid(4, 3, 3, 3), grid(4)), _params(padding=1), names=(NCHW, None, None)),
        Sample((grid(2, 3, 6, 5), grid(4, 3, 3, 2)), _params(stride=2)),
        Sample((grid(1, 4, 7, 7), grid(6, 2, 3, 3), grid(6)), _params(padding=2, dilation=2, groups=2)),
    ],
    bad=lambda: [
        BadInput(
            (grid(2, 3, 5, 5), grid(4, 2, 3, 3)),
            _params(),
            DimensionError,
            "to have 2 channels, but got 3 channels instead",
        ),
        BadInput(
            (grid(2, 3, 2, 2), grid(4, 3, 3, 3)),
            _params(),
            DimensionError,
            "can't be greater than the padded input size",
        ),
        BadInput((grid(3, 5, 5), grid(4, 3, 3, 3)), _params(), DimensionError, "Expected 4D input"),
    ],
)


def _input_gradient_dims(g: Dims, weight: Dims, *, input_shape: tuple[int, ...], **params: Any) -> Dims:
    return Dims(g.names, input_shape)


def _input_gradient(
    g: Any,
    weight: Any,
    *,
    input_shape: tuple[int, ...],
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Any:
    n, c, h, w = input_shape
    o, i, kh, kw = weight.shape
    oh, ow = g.shape[2:]
    padded = np.zeros((n, c, h + 2 * padding[0], w + 2 * padding[1]), np.result_type(g, weight))
    per = o // groups
    for group in range(groups):
        rows = g[:, group * per : (group + 1) * per].transpose(0, 2, 3, 1).reshape(-1, per)
        columns = (rows @ weight[group * per : (group + 1) * per].reshape(per, -1)).reshape(
            n, oh, ow, i, kh, kw
        )
        for a in range(kh):
            for b in range(kw):
                top, left = a * dilation[0], b * dilation[1]
                padded[
                    :,
                    group * i : (group + 1) * i,
                    top : top + stride[0] * oh : stride[0],
                    left : left + stride[1] * ow : stride[1],
                ] += columns[..., a, b].transpose(0, 3, 1, 2)
    return padded[:, :, padding[0] : padding[0] + h, padding[1] : padding[1] + w]


def _without(params: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key not in names}


def _input_gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    g, weight = c.inputs
    params = _without(c.params, "input_shape")
    return (
        ops.conv2d(u, weight, **params) if c.needs[0] else None,
        ops.conv2d_weight_gradient(g, u, weight_shape=weight._array.shape, **params) if c.needs[1] else None,
    )


CONV2D_INPUT_GRADIENT = Op(
    name="conv2d_input_gradient",
    doc="Gradient of conv2d for its input (transposed convolution).",
    equation="gx = ∂⟨g, conv2d(x, w)⟩/∂x",
    reference="elementary",
    dims=_input_gradient_dims,
    rule="names of the gradient, sizes of the convolution's input",
    dtype=PROMOTE,
    forward=_input_gradient,
    vjp=_input_gradient_vjp,
    saves=Saves(None, output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: 2.0 * dims[0].numel * dims[1].numel / dims[1].sizes[0],
    samples=lambda: [
        Sample(
            (grid(2, 4, 5, 5), grid(4, 3, 3, 3)),
            {"input_shape": (2, 3, 5, 5), **_params(padding=1)},
            names=(NCHW, None),
        ),
        Sample((grid(2, 4, 2, 2), grid(4, 3, 3, 2)), {"input_shape": (2, 3, 6, 5), **_params(stride=2)}),
        Sample(
            (grid(1, 6, 7, 7), grid(6, 2, 3, 3)),
            {"input_shape": (1, 4, 7, 7), **_params(padding=2, dilation=2, groups=2)},
        ),
    ],
    bad=list,
)


def _weight_gradient_dims(g: Dims, x: Dims, *, weight_shape: tuple[int, ...], **params: Any) -> Dims:
    return Dims((None,) * 4, weight_shape)


def _weight_gradient(
    g: Any, x: Any, *, weight_shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Any:
    o, i, kh, kw = weight_shape
    view = windows(x, (kh, kw), stride, padding, dilation)[:, :, : g.shape[2], : g.shape[3]]
    out = np.empty(weight_shape, np.result_type(g, x))
    per = o // groups
    for group in range(groups):
        rows = g[:, group * per : (group + 1) * per].transpose(1, 0, 2, 3).reshape(per, -1)
        part = view[:, group * i : (group + 1) * i].transpose(0, 2, 3, 1, 4, 5).reshape(-1, i * kh * kw)
        out[group * per : (group + 1) * per] = (rows @ part).reshape(per, i, kh, kw)
    return out


def _weight_gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    g, x = c.inputs
    params = _without(c.params, "weight_shape")
    return (
        ops.conv2d(x, u, **params) if c.needs[0] else None,
        ops.conv2d_input_gradient(g, u, input_shape=x._array.shape, **params) if c.needs[1] else None,
    )


CONV2D_WEIGHT_GRADIENT = Op(
    name="conv2d_weight_gradient",
    doc="Gradient of conv2d for its weight.",
    equation="gw = ∂⟨g, conv2d(x, w)⟩/∂w",
    reference="elementary",
    dims=_weight_gradient_dims,
    rule="unnamed, sizes of the weight",
    dtype=PROMOTE,
    forward=_weight_gradient,
    vjp=_weight_gradient_vjp,
    saves=Saves(None, output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: 2.0 * dims[0].numel * out.numel / out.sizes[0],
    samples=lambda: [
        Sample((grid(2, 4, 5, 5), grid(2, 3, 5, 5)), {"weight_shape": (4, 3, 3, 3), **_params(padding=1)}),
        Sample((grid(2, 4, 2, 2), grid(2, 3, 6, 5)), {"weight_shape": (4, 3, 3, 2), **_params(stride=2)}),
        Sample(
            (grid(1, 6, 7, 7), grid(1, 4, 7, 7)),
            {"weight_shape": (6, 2, 3, 3), **_params(padding=2, dilation=2, groups=2)},
        ),
    ],
    bad=list,
)

# ---------------------------------------------------------------------------------- the words people use


def pair(value: int | tuple[int, int] | list[int], what: str) -> Pair:
    """Return one number for both directions, or two, as a pair.

    >>> pair(3, "stride"), pair((1, 2), "stride")
    ((3, 3), (1, 2))
    """
    both = (value, value) if isinstance(value, int) else tuple(value)
    if len(both) != 2 or not all(isinstance(one, int) for one in both):
        raise ValueError(f"{what} is a whole number or a pair of them, got {value!r}")
    return both


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Two-dimensional cross-correlation.

    y[n, o, p, q] = b[o] + Σ_{c, i, j} x[n, c, p·s + i·d - pad, q·s + j·d - pad]·w[o, c, i, j]

    Shapes: input [N, C, H, W], weight [O, C / groups, kH, kW], bias [O].

    >>> import workbench as wb
    >>> wb.conv2d(wb.ones(N=1, C=1, H=4, W=4), wb.ones(2, 1, 3, 3)).shape
    (1, 2, 2, 2)
    """
    params = {
        "stride": pair(stride, "stride"),
        "padding": pair(padding, "padding"),
        "dilation": pair(dilation, "dilation"),
        "groups": groups,
    }
    return ops.conv2d(input, weight, **params) if bias is None else ops.conv2d(input, weight, bias, **params)


FUNCTIONS: dict[str, Any] = {
    "conv2d": conv2d,
}
"""What `workbench` offers of this file by name."""

NOT_METHODS = ("conv2d",)
"""Functions that are no methods of a tensor."""

NN: dict[str, Any] = {"conv2d": conv2d}
"""What `workbench.nn.functional` offers of this file."""
