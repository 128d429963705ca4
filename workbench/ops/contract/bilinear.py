"""Products of two vectors under a stack of matrices."""

from __future__ import annotations

import math

from workbench.base.dims import Dims, new_name, unify_names
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.dtype_rules import check_precision
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.contract.products import bare, named
from workbench.ops.linalg.matrices import column
from workbench.ops.offer import offered


@offered("workbench", "nn.functional")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Products of two vectors under a stack of matrices: y[…, o] = Σ_ij x₁[…, i]·w[o, i, j]·x₂[…, j] + b[o].

    Shapes: input1 [..., in1_features], input2 [..., in2_features], weight [out_features, in1_features, in2_features].

    >>> import workbench as wb
    >>> wb.nn.functional.bilinear(wb.ones(N=2, C=3), wb.ones(N=2, D=4), wb.ones(5, 3, 4)).shape
    (2, 5)
    """
    a, b, w = dims_of(input1), dims_of(input2), dims_of(weight)
    if len(a.sizes) != len(b.sizes) or len(w.sizes) != 3 or a.sizes[:-1] != b.sizes[:-1]:
        raise DimensionError(
            "bilinear(): input1 and input2 must have the same dims but for the last, and weight 3 of them.",
            operands=(a.operand("input1"), b.operand("input2"), w.operand("weight")),
        )
    for one in (input1, input2, weight):
        if getattr(one.payload.dtype, "quantized", False):
            raise DTypeError(
                f"bilinear computes with numbers, and was given codes, {one.dtype.name}: call .dequantize() first; in "
                "a model that is prepared, put a DeQuantStub before the layer and a QuantStub behind it"
            )
    check_precision([one.payload.dtype for one in (input1, input2, weight)])
    for which, dims, axis in (("1", a, 1), ("2", b, 2)):
        if dims.sizes[-1] != w.sizes[axis]:
            raise DimensionError(
                f"bilinear(): input{which} size does not match weight size: got {dims.sizes[-1]} but expected "
                f"{w.sizes[axis]}",
                operands=(dims.operand(f"input{which}", [len(dims.sizes) - 1]), w.operand("weight", [axis])),
            )
    batch, (out_features, first, second) = a.sizes[:-1], w.sizes
    names = unify_names("bilinear", Dims(a.names[:-1], batch), Dims(b.names[:-1], batch))
    rows = math.prod(batch)
    # One product with all matrices side by side, then a small one a row: all products x₁ᵢ·x₂ⱼ are never in memory at
    # once.
    flat = ops.reshape(ops.permute(bare(weight), dim=(1, 0, 2)), sizes=(first, out_features * second))
    half = ops.matmul(ops.reshape(bare(input1), sizes=(rows, first)), flat)
    half = ops.reshape(half, sizes=(rows, out_features, second))
    full = ops.matmul(half, column(ops.reshape(bare(input2), sizes=(rows, second))))
    out = ops.reshape(full, sizes=(*batch, out_features))
    name = new_name(w.names[0], names, (*a.names, *b.names))
    out = named(out, (*names, name))
    return out if bias is None else ops.add(out, bare(bias))
