"""pandas: tables and columns as tensors, tensors as tables and columns; names of axes are names of dims.

pandas is imported when a table is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, get_default_dtype, plain_dtype, promote_types
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.lazy import Lazy
from workbench.base.public import words
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["frame_of", "from_pandas", "to_dataframe", "to_series"]

_pandas = Lazy("pandas")

_ABSENT = object()


def from_pandas(data: Any, *, names: Any = _ABSENT, dtype: Any = None) -> Tensor:
    """Return the numbers of a Series or a DataFrame as a tensor.

    Dims are named as the index and the columns are where these names are fit for dims; `names` says others, or None.
    Columns become one type, as in arithmetic on tensors. Missing values become NaN, in floats. Memory is shared where
    pandas keeps the values in one array of that type; pandas may hold it read-only.

    Raises `DTypeError` for values that are no numbers.
    """
    table = getattr(data, "ndim", 0) == 2
    if not hasattr(data, "to_numpy") or not hasattr(data, "index"):
        raise TypeError(f"from_pandas: expected a Series or a DataFrame, got {type(data).__name__}")
    columns = [data.iloc[:, i] for i in range(data.shape[1])] if table else [data]
    kinds = [_kind(one) for one in columns]
    common = get_default_dtype() if not kinds else kinds[0]
    for kind in kinds[1:]:
        common = promote_types(common, kind)
    target = (common if dtype is None else plain_dtype(dtype)).numpy
    # Only there: other types have no number for what is missing.
    nan = {"na_value": np.nan} if target.kind in "fc" else {}
    array = data.to_numpy(dtype=target, **nan)
    if names is _ABSENT:
        own = [data.index.name, data.columns.name] if table else [data.index.name]
        names = tuple(one if _fit(one) else None for one in own)
        # Two dims cannot have one name.
        if len(set(names)) < len(names):
            names = None
    return from_numpy(array, names=names)


def _fit(name: object) -> bool:
    return isinstance(name, str) and name.isascii() and name.isidentifier() and len(name) <= 256


def _kind(column: Any) -> Any:
    """Return the type of a column; floats where an integer one has missing values."""
    # pandas' own types of numbers, which know missing values, have NumPy's behind them.
    dtype = getattr(column.dtype, "numpy_dtype", column.dtype)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biufc":
        called = f"column {column.name!r}" if column.name is not None else "the values"
        raise DTypeError(
            f"from_pandas: {called} of type {column.dtype} are not numbers: choose columns with "
            "data.select_dtypes('number'), or make numbers of them first"
        )
    if dtype.kind in "biu" and column.isna().any():
        return as_dtype(np.float64)
    return as_dtype(dtype)


def to_series(tensor: Tensor, *, index: Any = None, name: Any = None) -> Any:
    """Return a tensor of one dim as a Series, in shared memory where pandas takes it; its index is named as the dim."""
    if tensor.ndim != 1:
        raise DimensionError(f"to_series: a Series has 1 dim, this tensor has {tensor.ndim}", op="to_series")
    series = _pandas.Series(tensor.numpy(), index=index, name=name)
    return series.rename_axis(tensor.names[0])


def to_dataframe(tensor: Tensor, *, index: Any = None, columns: Any = None) -> Any:
    """Return a tensor of two dims as a DataFrame whose index and columns are named as the dims."""
    if tensor.ndim != 2:
        raise DimensionError(
            f"to_dataframe: a DataFrame has 2 dims, this tensor has {tensor.ndim}", op="to_dataframe"
        )
    frame = _pandas.DataFrame(tensor.numpy(), index=index, columns=columns)
    return frame.rename_axis(index=tensor.names[0], columns=tensor.names[1])


def frame_of(columns: Mapping[str, Any], *, index: Any = None, index_name: str | None = None) -> Any:
    """Return columns of numbers by name, each with a type of its own, as a DataFrame."""
    frame = _pandas.DataFrame(dict(columns), index=index)
    return frame.rename_axis(index=index_name)


__getattr__, __dir__ = words(__name__, __all__)
