"""Mixed precision: products in a 16-bit type, what needs range or digits in float32, everything else as it comes.

Micikevicius et al., Mixed precision training, 2018. Which op is computed in which type stands on its record: the
properties ``narrow`` and ``wide``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import half_width
from workbench.core import dispatch
from workbench.core.bases import eager
from workbench.core.op import Op, ops
from workbench.core.value import Value
from workbench.kernels.casts import BFLOAT16

__all__ = ["Autocast", "autocast_dtype"]

_FLOAT32 = np.dtype(np.float32)


class Autocast:
    """The interpreter that brings the inputs of some ops to another type; weights and gradients stay float32.

    Where it is all that looks on, and inputs are plain arrays, compiled dispatch does the same
    (`extensions/kernels/source/eager/autocast.cpp`).
    """

    # The casts are calls of their own on the tape: through them gradients come back to the weights in float32.
    transparent = True

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run the op on inputs of the type that it is computed in."""
        if "narrow" in op.properties:
            inputs = tuple([self._narrowed(value) for value in inputs])
        elif "wide" in op.properties:
            inputs = tuple([_widened(value) for value in inputs])
        return dispatch.apply(op, *inputs, **params)

    def _narrowed(self, value: Any) -> Any:
        if isinstance(value, Value) and getattr(value.payload, "dtype", None) == _FLOAT32:
            return ops.to(value, dtype=self.dtype)
        return value


def _widened(value: Any) -> Any:
    if isinstance(value, Value):
        # A quantized payload has a type of the workbench's own, which has no width in floats.
        dtype = getattr(value.payload, "dtype", None)
        if isinstance(dtype, np.dtype) and half_width(dtype):
            return ops.to(value, dtype=_FLOAT32)
    return value


if eager is not None:
    # A compiled op does on plain arrays what `process` does, and bfloat16 as it is.
    eager.connect_autocast(Autocast, ops, BFLOAT16)


def autocast_dtype() -> np.dtype[Any] | None:
    """Return the 16-bit type in force here and now; None where types are not changed."""
    found = dispatch.find(Autocast)
    return None if found is None else found.dtype
