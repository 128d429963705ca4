"""xarray: a DataArray's dims are a tensor's names, both ways. xarray is imported when a DataArray is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.lazy import Lazy
from workbench.base.public import words
from workbench.tensor import Tensor
from workbench.tensor.factories import array_by_protocol, from_numpy

__all__ = ["from_xarray", "to_xarray"]

_xarray = Lazy("xarray")


def from_xarray(data: Any) -> Tensor:
    """Return the values of a DataArray as a tensor whose dims have the same names, in shared memory where it has one.

    Raises `DimensionError` for dims whose names are fit for no tensor, `DTypeError` for values that are no numbers.
    """
    if not hasattr(data, "dims") or not hasattr(data, "coords") or not hasattr(data, "values"):
        raise TypeError(f"from_xarray: expected a DataArray, got {type(data).__name__}")
    values = data.data
    return from_numpy(values if isinstance(values, np.ndarray) else array_by_protocol(data), names=data.dims)


def to_xarray(tensor: Tensor, *, coords: Any = None, name: Any = None) -> Any:
    """Return a tensor as a DataArray in shared memory; a dim without a name is called ``dim_0``, by its position."""
    dims = [own or f"dim_{i}" for i, own in enumerate(tensor.names)]
    return _xarray.DataArray(tensor.numpy(), dims=dims, coords=coords, name=name)


__getattr__, __dir__ = words(__name__, __all__)
