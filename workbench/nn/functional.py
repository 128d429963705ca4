"""Layers as functions: PyTorch's `torch.nn.functional`."""

from __future__ import annotations

from workbench.base.dims import dim_index
from workbench.base.public import words
from workbench.core.value import dims_of
from workbench.ops import NN as _NN
from workbench.ops.shape.reshape import flatten as _flatten
from workbench.tensor import Tensor

__all__ = sorted({*_NN, "flatten"})

globals().update(_NN)


def flatten(
    input: Tensor, start_dim: int | str = 1, end_dim: int | str = -1, out_dim: str | None = None
) -> Tensor:
    """Lay the dims from `start_dim` to `end_dim` out as one, called ``features`` where all of them have names."""
    if out_dim is None and input._names is not None:
        dims = dims_of(input)
        start, end = dim_index(dims, start_dim, "flatten"), dim_index(dims, end_dim, "flatten")
        if start < end and None not in input._names[start : end + 1]:
            out_dim = "features"
    return _flatten(input, start_dim, end_dim, out_dim)  # type: ignore[no-any-return]


__getattr__, __dir__ = words(__name__, __all__)
