"""The table: every op, declared once, by family; and the functions people call."""

from __future__ import annotations

from typing import Any

from workbench.core.op import Op, ops
from workbench.ops import (
    contract,
    convolve,
    elementwise,
    fake_quantize,
    index,
    join,
    loss,
    normalise,
    pool,
    quantize,
    quantized,
    reduce,
    shape,
)
from workbench.ops.contract import contract as contract_by_name
from workbench.ops.contract import linear, matmul
from workbench.ops.convolve import conv2d
from workbench.ops.elementwise import clamp
from workbench.ops.index import gather, index_select, one_hot
from workbench.ops.join import cat, pad, stack
from workbench.ops.loss import cross_entropy, mse_loss, nll_loss
from workbench.ops.normalise import log_softmax, softmax
from workbench.ops.pool import avg_pool2d, max_pool2d
from workbench.ops.reduce import all as all_
from workbench.ops.reduce import amax, amin, argmax, argmin, cumsum, logsumexp, mean, std, var
from workbench.ops.reduce import any as any_
from workbench.ops.reduce import sum as sum_
from workbench.ops.shape import (
    broadcast_tensors,
    expand,
    flatten,
    flip,
    permute,
    reshape,
    squeeze,
    t,
    transpose,
    unflatten,
    unsqueeze,
)

_FUNCTIONS: dict[str, Any] = {
    "contract": contract_by_name,
    "linear": linear,
    "matmul": matmul,
    "conv2d": conv2d,
    "clamp": clamp,
    "gather": gather,
    "index_select": index_select,
    "one_hot": one_hot,
    "cross_entropy": cross_entropy,
    "log_softmax": log_softmax,
    "mse_loss": mse_loss,
    "nll_loss": nll_loss,
    "softmax": softmax,
    "avg_pool2d": avg_pool2d,
    "max_pool2d": max_pool2d,
    "all": all_,
    "amax": amax,
    "amin": amin,
    "any": any_,
    "argmax": argmax,
    "argmin": argmin,
    "cumsum": cumsum,
    "logsumexp": logsumexp,
    "mean": mean,
    "std": std,
    "sum": sum_,
    "var": var,
    "broadcast_tensors": broadcast_tensors,
    "cat": cat,
    "expand": expand,
    "flatten": flatten,
    "flip": flip,
    "pad": pad,
    "permute": permute,
    "reshape": reshape,
    "squeeze": squeeze,
    "stack": stack,
    "t": t,
    "transpose": transpose,
    "unflatten": unflatten,
    "unsqueeze": unsqueeze,
}


def _plain(op: Op, operands: int) -> Any:
    """Return the function people call for an elementwise op: its operands and nothing else."""
    if operands == 1:

        def function(input: Any) -> Any:
            return op(input)
    else:

        def function(input: Any, other: Any) -> Any:  # type: ignore[misc]
            return op(input, other)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{op.doc} {op.equation}. Dims: {op.rule}."
    return function


_ONE = (
    "neg",
    "abs",
    "sign",
    "exp",
    "log",
    "log1p",
    "expm1",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "relu",
    "floor",
    "ceil",
    "round",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "clone",
)
_TWO = (
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "maximum",
    "minimum",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
)

FUNCTIONS: dict[str, Any] = {
    **{name: _plain(getattr(ops, name), 1) for name in _ONE},
    **{name: _plain(getattr(ops, name), 2) for name in _TWO},
    **_FUNCTIONS,
    **quantize.FUNCTIONS,
    **fake_quantize.FUNCTIONS,
}
"""What `workbench` offers by name for the ops of the table."""


def where(condition: Any, input: Any, other: Any) -> Any:
    """Choose from two operands by a condition: y = condition ? a : b. Names unify, sizes broadcast."""
    return elementwise.WHERE(condition, input, other)


FUNCTIONS["where"] = where

__all__ = [
    "FUNCTIONS",
    "contract",
    "convolve",
    "elementwise",
    "fake_quantize",
    "index",
    "join",
    "loss",
    "normalise",
    "pool",
    "quantize",
    "quantized",
    "reduce",
    "shape",
]
