"""Losses: how far scores are from what was wanted, for each sample or together."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import NOT_QUANTIZED, grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.value import dims_of


def _nll_dims(x: Dims, target: Dims) -> Dims:
    if len(x.sizes) != 2 or target.sizes != x.sizes[:1]:
        raise DimensionError(
            f"expected log-probabilities [N, C] and one class [N] each, got {list(x.sizes)} and {list(target.sizes)}.",
            op="nll_loss",
            operands=(x.operand("input", [0]), target.operand("target", range(len(target.sizes)))),
        )
    return Dims((x.names[0],), x.sizes[:1])


def _nll(x: Any, target: Any) -> Any:
    if target.size and (target.min() < 0 or target.max() >= x.shape[1]):
        wrong = int(target.min()) if target.min() < 0 else int(target.max())
        raise DimensionIndexError(
            f"Target {wrong} is out of bounds: the input has {x.shape[1]} classes.", op="nll_loss"
        )
    return -x[np.arange(len(target)), target]


def _nll_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x, target = c.inputs
    column = (x._array.shape[0], 1)
    return (
        ops.scatter_add(
            ops.neg(ops.reshape(g, sizes=column)),
            ops.reshape(target, sizes=column),
            dim=1,
            sizes=x._array.shape,
        ),
        None,
    )


NLL_LOSS = Op(
    name="nll_loss",
    doc="Negative log-likelihood of each row's class.",
    equation="y_n = -x[n, target_n]",
    reference="elementary",
    dims=_nll_dims,
    rule="[N, C], [N] -> [N]",
    dtype=KEEP,
    forward=_nll,
    vjp=_nll_vjp,
    saves=Saves((1,), output=False),
    quantized=NOT_QUANTIZED,
    cost=lambda dims, out, **params: float(out.numel),
    samples=lambda: [Sample((grid(3, 4), np.array([0, 3, 1])), names=(("N", "C"), ("N",)))],
    bad=lambda: [
        BadInput((grid(3, 4), np.array([0, 4, 1])), {}, DimensionIndexError, "Target 4 is out of bounds"),
        BadInput((grid(3, 4), np.array([0, 1])), {}, DimensionError, "one class [N] each"),
    ],
)

# ---------------------------------------------------------------------------------- the words people use


def nll_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Negative log-likelihood of the classes `target` [N] under log-probabilities `input` [N, C]."""
    return reduce_loss(ops.nll_loss(input, target), reduction)


def cross_entropy(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Cross entropy between scores `input` [N, C] and classes `target` [N]: -ln softmax(x)[target].

    >>> import workbench as wb
    >>> wb.cross_entropy(wb.zeros(N=2, C=4), wb.tensor([0, 3])).item()
    1.3862943649291992
    """
    return nll_loss(ops.log_softmax(input, dim=1), target, reduction)


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Squared difference: (x - target)²."""
    difference = ops.sub(input, target)
    return reduce_loss(ops.mul(difference, difference), reduction)


def reduce_loss(loss: Any, reduction: str) -> Any:
    """Bring a loss for each sample to what `reduction` asks for: "none", "sum" or "mean"."""
    axes = tuple(range(len(dims_of(loss).sizes)))
    if reduction == "none":
        return loss
    if reduction == "sum":
        return ops.sum(loss, dim=axes, keepdim=False)
    if reduction == "mean":
        return ops.mean(loss, dim=axes, keepdim=False)
    raise ValueError(f"{reduction!r} is not a valid value for reduction: use 'none', 'mean' or 'sum'")


FUNCTIONS: dict[str, Any] = {
    "cross_entropy": cross_entropy,
    "mse_loss": mse_loss,
    "nll_loss": nll_loss,
}
"""What `workbench` offers of this file by name."""

NOT_METHODS = ("cross_entropy", "mse_loss", "nll_loss")
"""Functions that are no methods of a tensor."""

NN: dict[str, Any] = {"cross_entropy": cross_entropy, "mse_loss": mse_loss, "nll_loss": nll_loss}
"""What `workbench.nn.functional` offers of this file."""
