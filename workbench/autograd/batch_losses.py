"""Batching rules of losses of values against targets: each place by itself, then what is reduced of each entry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.core.batching import Batch, Rule, elementwise
from workbench.ops import ops

__all__ = ["RULES"]


def _each(b: Batch, *inputs: Any) -> Any:
    params = {**b.params, "reduction": "none"}
    return elementwise(Batch(b.op, b.entries, inputs, b.batched, params, b.size))


def _loss(b: Batch) -> Any:
    each = _each(b, *b.inputs)
    dims = tuple(range(1, len(each.payload.shape)))
    if b.params["reduction"] == "none" or not dims:
        return each
    return (ops.mean if b.params["reduction"] == "mean" else ops.sum)(each, dim=dims, keepdim=False)


def _gradient(b: Batch) -> Any:
    g, *others = b.inputs
    if b.params["reduction"] == "mean":
        g = ops.div(g, float(math.prod(np.broadcast_shapes(b.shape(1), b.shape(2)))))
    return _each(b, g, *others)


RULES: dict[str, Rule] = {}
"""Rules by the names of their ops."""
for _name in ("mse_loss", "l1_loss", "huber_loss", "binary_cross_entropy_with_logits", "kl_div"):
    RULES |= {_name: _loss, f"{_name}_gradient": _gradient}
