"""Pooling over windows of [N, C, H, W]."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import NOT_QUANTIZED, grid
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.ops.convolve import NCHW, Pair, output_size, pair, windows


def _pool_sizes(op: str, x: Dims, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Dims:
    if len(x.sizes) != 4:
        raise DimensionError(
            f"Expected 4D input [N, C, H, W], but got {len(x.sizes)}D.",
            op=op,
            operands=(x.operand("input"),),
            fix="input.unsqueeze(0)" if len(x.sizes) == 3 else "",
        )
    if any(2 * padding[i] > kernel[i] for i in (0, 1)):
        raise DimensionError(
            f"pad should be at most half of effective kernel size, but got pad={padding} and kernel={kernel}.",
            op=op,
        )
    sizes = tuple(output_size(x.sizes[i + 2], kernel[i], stride[i], padding[i], dilation[i]) for i in (0, 1))
    if min(sizes) <= 0:
        raise DimensionError(
            f"Given input size {list(x.sizes[1:])}, calculated output size {[x.sizes[1], *sizes]}: "
            "output size is too small.",
            op=op,
            operands=(x.operand("input", [2, 3]),),
        )
    return Dims(x.names, (*x.sizes[:2], *sizes))


def _max_pool_dims(x: Dims, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> tuple[Dims, Dims]:
    out = _pool_sizes("max_pool2d", x, kernel, stride, padding, dilation)
    return out, out


def _max_pool(x: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> tuple[Any, Any]:
    """The first largest value of each window (NaN counts as largest), and where it lies in H·W."""
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    view = windows(x, kernel, stride, padding, dilation, lowest)
    flat = view.reshape(*view.shape[:4], -1)
    pick = flat.argmax(axis=-1)
    values = np.take_along_axis(flat, pick[..., None], -1)[..., 0]
    rows = np.arange(view.shape[2])[:, None] * stride[0] - padding[0] + pick // kernel[1] * dilation[0]
    columns = np.arange(view.shape[3])[None, :] * stride[1] - padding[1] + pick % kernel[1] * dilation[1]
    return values, rows * x.shape[3] + columns


def _max_pool_quantized(q: Any, **params: Any) -> tuple[Any, Any]:
    codes, indices = _max_pool(q.codes, **params)
    return q.with_codes(codes), indices


def _max_pool_vjp(c: Call, g: Any, g_indices: Any) -> tuple[Any, ...]:
    return (ops.max_pool2d_gradient(g, c.outs[1], input_shape=c.inputs[0]._array.shape),)


def _params(kernel: int, stride: int, padding: int = 0, dilation: int = 1) -> dict[str, Any]:
    return {
        "kernel": (kernel,) * 2,
        "stride": (stride,) * 2,
        "padding": (padding,) * 2,
        "dilation": (dilation,) * 2,
    }


MAX_POOL2D = Op(
    name="max_pool2d",
    doc="Largest value of each window, and its index in the plane H·W.",
    equation="y[n, c, p, q] = max_{i, j} x[n, c, p·s + i·d - pad, q·s + j·d - pad]",
    reference="elementary",
    dims=_max_pool_dims,
    rule="[N, C, H, W] keep their names; H and W become window positions",
    dtype=DTypeRule("as the input, and int64", None, lambda dtype, params: (dtype, np.dtype(np.int64))),
    forward=_max_pool,
    vjp=_max_pool_vjp,
    saves=Saves((), output=True),
    quantized=_max_pool_quantized,
    cost=lambda dims, out, **params: float(out.numel * params["kernel"][0] * params["kernel"][1]),
    samples=lambda: [
        Sample((grid(2, 3, 6, 6),), _params(2, 2), names=(NCHW,)),
        Sample((grid(1, 2, 7, 5),), _params(3, 2, 1)),
        Sample((grid(1, 2, 7, 7).transpose(0, 1, 3, 2),), _params(2, 1, 0, 2)),
    ],
    bad=lambda: [
        BadInput((grid(2, 3, 1, 1),), _params(2, 2), DimensionError, "output size is too small"),
        BadInput((grid(3, 6, 6),), _params(2, 2), DimensionError, "Expected 4D input"),
        BadInput((grid(2, 3, 6, 6),), _params(2, 2, 2), DimensionError, "at most half"),
    ],
    outputs=2,
)


def _planes(x: Any) -> Any:
    return x.reshape(x.shape[0], x.shape[1], -1)


def _max_pool_gradient(g: Any, indices: Any, input_shape: tuple[int, ...]) -> Any:
    n, c, h, w = input_shape
    base = (np.arange(n * c) * (h * w)).reshape(n, c, 1)
    flat = np.bincount((_planes(indices) + base).ravel(), _planes(g).ravel(), n * c * h * w)
    return flat.reshape(input_shape).astype(g.dtype, copy=False)


def _max_pool_gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    indices = c.inputs[1]
    n, channels, h, w = c.params["input_shape"]
    flat = ops.reshape(indices, sizes=(n, channels, indices._array.shape[2] * indices._array.shape[3]))
    picked = ops.gather(ops.reshape(u, sizes=(n, channels, h * w)), flat, dim=2)
    return ops.reshape(picked, sizes=indices._array.shape), None


MAX_POOL2D_GRADIENT = Op(
    name="max_pool2d_gradient",
    doc="Gradient of max_pool2d: each value goes back to where the largest was.",
    equation="gx[n, c, index] += g",
    reference="elementary",
    dims=lambda g, indices, input_shape: Dims(g.names, input_shape),
    rule="names of the gradient, sizes of the pooling's input",
    dtype=KEEP,
    forward=_max_pool_gradient,
    vjp=_max_pool_gradient_vjp,
    saves=Saves((1,), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(dims[0].numel),
    samples=lambda: [
        Sample(
            (grid(2, 3, 2, 2), np.array([[0, 2], [9, 15]]) + np.zeros((2, 3, 1, 1), int)),
            {"input_shape": (2, 3, 4, 4)},
        ),
    ],
    bad=list,
)


def _avg_pool_dims(x: Dims, kernel: Pair, stride: Pair, padding: Pair) -> Dims:
    return _pool_sizes("avg_pool2d", x, kernel, stride, padding, (1, 1))


def _avg_pool(x: Any, kernel: Pair, stride: Pair, padding: Pair) -> Any:
    return windows(x, kernel, stride, padding, (1, 1)).mean(axis=(-2, -1))


def _avg_pool_gradient(
    g: Any, input_shape: tuple[int, ...], kernel: Pair, stride: Pair, padding: Pair
) -> Any:
    n, c, h, w = input_shape
    padded = np.zeros((n, c, h + 2 * padding[0], w + 2 * padding[1]), g.dtype)
    oh, ow = g.shape[2:]
    for a in range(kernel[0]):
        for b in range(kernel[1]):
            padded[:, :, a : a + stride[0] * oh : stride[0], b : b + stride[1] * ow : stride[1]] += g
    return padded[:, :, padding[0] : padding[0] + h, padding[1] : padding[1] + w] / (kernel[0] * kernel[1])


def _avg_params(kernel: int, stride: int, padding: int = 0) -> dict[str, Any]:
    return {"kernel": (kernel,) * 2, "stride": (stride,) * 2, "padding": (padding,) * 2}


AVG_POOL2D = Op(
    name="avg_pool2d",
    doc="Mean of each window; the padding counts as zeros.",
    equation="y[n, c, p, q] = mean_{i, j} x[n, c, p·s + i - pad, q·s + j - pad]",
    reference="elementary",
    dims=_avg_pool_dims,
    rule="[N, C, H, W] keep their names; H and W become window positions",
    dtype=KEEP,
    forward=_avg_pool,
    vjp=lambda c, g: (ops.avg_pool2d_gradient(g, input_shape=c.inputs[0]._array.shape, **c.params),),
    saves=Saves((), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(out.numel * params["kernel"][0] * params["kernel"][1]),
    samples=lambda: [
        Sample((grid(2, 3, 6, 6),), _avg_params(2, 2), names=(NCHW,)),
        Sample((grid(1, 2, 7, 5),), _avg_params(3, 2, 1)),
    ],
    bad=lambda: [
        BadInput((grid(2, 3, 1, 1),), _avg_params(2, 2), DimensionError, "output size is too small")
    ],
    properties=frozenset({"linear"}),
)

AVG_POOL2D_GRADIENT = Op(
    name="avg_pool2d_gradient",
    doc="Gradient of avg_pool2d: each value spread evenly over its window.",
    equation="gx = ∂⟨g, avg_pool2d(x)⟩/∂x",
    reference="elementary",
    dims=lambda g, input_shape, kernel, stride, padding: Dims(g.names, input_shape),
    rule="names of the gradient, sizes of the pooling's input",
    dtype=KEEP,
    forward=_avg_pool_gradient,
    vjp=lambda c, u: (ops.avg_pool2d(u, **{k: v for k, v in c.params.items() if k != "input_shape"}),),
    saves=Saves((), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(out.numel),
    samples=lambda: [
        Sample((grid(2, 3, 3, 3),), {"input_shape": (2, 3, 6, 6), **_avg_params(2, 2)}, names=(NCHW,)),
        Sample((grid(1, 2, 4, 3),), {"input_shape": (1, 2, 7, 5), **_avg_params(3, 2, 1)}),
    ],
    bad=list,
    properties=frozenset({"linear"}),
)

# ---------------------------------------------------------------------------------- the words people use


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
) -> Any:
    """Largest value of each window of [N, C, H, W]; `stride` defaults to the kernel size.

    >>> import workbench as wb
    >>> wb.max_pool2d(wb.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 5.0000,  7.0000],
              [13.0000, 15.0000]]]])
    """
    kernel = pair(kernel_size, "kernel_size")
    values, indices = ops.max_pool2d(
        input,
        kernel=kernel,
        stride=kernel if stride is None else pair(stride, "stride"),
        padding=pair(padding, "padding"),
        dilation=pair(dilation, "dilation"),
    )
    return (values, indices) if return_indices else values


def avg_pool2d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Any:
    """Mean of each window of [N, C, H, W]; the padding counts as zeros."""
    kernel = pair(kernel_size, "kernel_size")
    return ops.avg_pool2d(
        input,
        kernel=kernel,
        stride=kernel if stride is None else pair(stride, "stride"),
        padding=pair(padding, "padding"),
    )


FUNCTIONS: dict[str, Any] = {
    "avg_pool2d": avg_pool2d,
    "max_pool2d": max_pool2d,
}
"""What `workbench` offers of this file by name."""

NOT_METHODS = ("avg_pool2d", "max_pool2d")
"""Functions that are no methods of a tensor."""

NN: dict[str, Any] = {"avg_pool2d": avg_pool2d, "max_pool2d": max_pool2d}
"""What `workbench.nn.functional` offers of this file."""
