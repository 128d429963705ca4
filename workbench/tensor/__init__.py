"""The tensor people hold: thin, with its methods bound from the table."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import float32, float64, int32, int64
from workbench.ops import FUNCTIONS
from workbench.ops.elementwise import to
from workbench.tensor.tensor import Tensor

__all__ = ["METHODS", "Tensor"]

NOT_METHODS = frozenset(
    {
        "cat",
        "stack",
        "where",
        "linear",
        "conv2d",
        "contract",
        "cross_entropy",
        "nll_loss",
        "mse_loss",
        "one_hot",
        "max_pool2d",
        "avg_pool2d",
        "broadcast_tensors",
        "pad",
    }
)
METHODS: dict[str, Any] = {name: function for name, function in FUNCTIONS.items() if name not in NOT_METHODS}
"""Functions whose first argument is the tensor: they are its methods too."""

METHODS |= {
    "to": to,
    "type": to,
    "view": FUNCTIONS["reshape"],
    "float": lambda self: to(self, float32),
    "double": lambda self: to(self, float64),
    "long": lambda self: to(self, int64),
    "int": lambda self: to(self, int32),
}

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
