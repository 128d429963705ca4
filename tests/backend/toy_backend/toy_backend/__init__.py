"""A device outside the workbench: it keeps its numbers to itself and knows three ops."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench as wb

__all__ = ["BACKEND", "ToyArray"]


class ToyArray:
    """Numbers on the toy device: NumPy cannot see them."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values
        self.shape, self.dtype, self.ndim, self.nbytes = (
            values.shape,
            values.dtype,
            values.ndim,
            values.nbytes,
        )

    shape: tuple[int, ...]
    dtype: Any
    ndim: int
    nbytes: int


COUNTS: dict[str, int] = {}
"""How often each kernel ran."""


def _kernel(name: str, compute: Any) -> Any:
    def run(*arrays: Any, **params: Any) -> ToyArray:
        COUNTS[name] = COUNTS.get(name, 0) + 1
        return ToyArray(np.asarray(compute(*[getattr(one, "_values", one) for one in arrays], **params)))

    return run


BACKEND = wb.Backend(
    name="toy",
    array=ToyArray,
    from_numpy=lambda array, device: ToyArray(array.copy()),
    to_numpy=lambda array: array._values.copy(),
    kernels={
        name: _kernel(name, compute)
        for name, compute in {"add": np.add, "mul": np.multiply, "exp": np.exp}.items()
    },
)
