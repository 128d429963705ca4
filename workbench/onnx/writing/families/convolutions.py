"""Convolutions, those that go back, and patches."""

from __future__ import annotations

from typing import Any

from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.borders import pads
from workbench.onnx.writing.table import written

__all__: list[str] = []


@written("conv1d", "conv2d", "conv3d")
def _conv(call: Any) -> Any:
    params = call.params
    if not call.common.is_floating_point:
        raise OnnxError("whole numbers and complex ones have no such convolution in the format")
    bias = call.x(2) if call.given(2) else None
    return (
        call(
            "Conv", call.x(0), call.x(1), bias, kernel_shape=_kernel(call, 1), strides=list(params["stride"]),
            pads=pads(call), dilations=list(params["dilation"]), group=params["groups"],
        )
    )  # fmt: skip


def _kernel(call: Any, weight: int) -> list[int]:
    sizes = call.sizes(weight)[2:]
    if any(type(one) is not int for one in sizes):
        raise OnnxError("the size of the kernel is not known")
    return list(sizes)


@written("conv1d_input_gradient", "conv2d_input_gradient", "conv3d_input_gradient")
def _transposed(call: Any) -> Any:
    params = call.params
    if not call.common.is_floating_point:
        raise OnnxError("whole numbers and complex ones have no such convolution in the format")
    kernel, shape = _kernel(call, 1), params["input_shape"]
    extra = []
    for i, width in enumerate(kernel):
        stride, padding, dilation = (params[one][i] for one in ("stride", "padding", "dilation"))
        size = call.sizes(0)[2 + i]
        # What is missing at the end: the sizes that a stride rounds away are several.
        rest = shape[2 + i] - ((size - 1) * stride - 2 * padding + dilation * (width - 1) + 1)
        if type(rest) is not int:
            raise OnnxError("how much is added at the end depends on sizes that are not known")
        extra.append(rest)
    if any(
        one < 0 or one >= max(a, b)
        for one, a, b in zip(extra, params["stride"], params["dilation"], strict=True)
    ):
        raise OnnxError(
            f"{extra} values are to be added at the end, and the operator adds fewer than a stride"
        )
    return (
        call(
            "ConvTranspose", call.x(0), call.x(1), kernel_shape=kernel, strides=list(params["stride"]),
            pads=[*params["padding"]] * 2, dilations=list(params["dilation"]), group=params["groups"],
            output_padding=extra,
        )
    )  # fmt: skip


@written("unfold_patches")
def _patches(call: Any) -> Any:
    """Pick along one spatial dim after the other."""
    params, sizes = call.params, call.sizes(0)
    x, n = call.raw(0), len(params["kernel"])
    padding = params["padding"]
    if any(padding):
        row = call.row([0, 0, *padding] * 2)
        x = call("Pad", x, row, call.number(0, call.kind(0)))
    counts = []
    for i in range(n):
        size, kernel = sizes[2 + i], params["kernel"][i]
        stride, dilation = params["stride"][i], params["dilation"][i]
        if type(size) is not int:
            raise OnnxError("the spatial sizes are not known, and the places are written as numbers")
        count = (size + 2 * padding[i] - dilation * (kernel - 1) - 1) // stride + 1
        counts.append(count)
        places = [[j * dilation + k * stride for k in range(count)] for j in range(kernel)]
        x = call("Gather", x, call.constant(places), axis=2 + 2 * i)
    order = [0, 1, *(2 + 2 * i for i in range(n)), *(3 + 2 * i for i in range(n))]
    return call.reshape(call.transpose(x, order), call.out_sizes())


@written("fold")
def _fold(call: Any) -> Any:
    if not call.has(18):
        raise OnnxError("the operator Col2Im came with version 18: pass opset=18")
    params = call.params
    return (
        call(
            "Col2Im", call.raw(0), call.row(params["sizes"]), call.row(params["kernel"]),
            strides=list(params["stride"]), pads=[*params["padding"]] * 2, dilations=list(params["dilation"]),
        )
    )  # fmt: skip
