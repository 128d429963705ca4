"""Activations that weigh a value by a gate: SiLU, Mish, GELU, and GLU, whose gate is half of the input."""

from __future__ import annotations

from workbench.base.dims import dim_index
from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.typing import Dim, Tensor
from workbench.core.value import dims_of
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.nn.activation.gated_ops import GLU
from workbench.ops.nn.activation.parametric_ops import MISH
from workbench.ops.nn.activation.pointwise import settled
from workbench.ops.offer import offered


@offered("nn.functional")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Sigmoid linear unit, also called swish: y = x/(1 + e^-x). Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.silu(wb.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """
    if input.payload.dtype.kind == "c":
        return settled("silu", input, inplace, lambda x: ops.mul(x, ops.sigmoid(x)))
    return settled("silu", input, inplace, ops.silu)


@offered("nn.functional")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Self-regularized unit: y = x·tanh(ln(1 + e^x)). Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.mish(wb.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """
    return settled("mish", input, inplace, MISH)


@offered("nn.functional")
@rounded_once
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Gaussian error linear unit: y = x·Φ(x), or with "tanh" x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))).

    Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.gelu(wb.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """
    if approximate == "none":
        return ops.gelu(input)
    if approximate != "tanh":
        raise ValueError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return ops.gelu_tanh(input)


@offered("nn.functional")
@rounded_once
def glu(input: Tensor, dim: Dim = -1) -> Tensor:
    """Gated linear unit: y = a·sigmoid(b), where a and b are the halves along `dim`, which keeps its name.

    Raises `DimensionError` unless the size of that dim is even.

    >>> import workbench as wb
    >>> wb.nn.functional.glu(wb.tensor([1.0, 2.0, 0.0, 100.0]))
    tensor([0.5000, 2.0000])
    """
    dims = dims_of(input)
    if not dims.sizes:
        raise DimensionError("glu does not support 0-dimensional tensors", op="glu")
    axis = dim_index(dims, dim, "glu")
    return GLU(input, dim=axis)
