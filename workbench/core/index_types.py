"""The types that numbers of entries (indices, classes, counts) may have: for each op those that PyTorch takes."""

from __future__ import annotations

from typing import Any, Literal

from workbench.base.dtypes import as_places, dtype_of
from workbench.base.errors import DTypeError

__all__ = ["check_index"]

_Types = Literal["int64", "int32/int64", "uint8/int64", "uint8/int8/int16/int32/int64"]


def check_index(
    op: str, index: Any, types: _Types = "int32/int64", label: str = "index", advice: str = ""
) -> None:
    """Refuse an index of another type than `types`; messages call it by its `label` and may end with more `advice`.

    >>> import workbench as wb
    >>> check_index("take", wb.tensor([0, 2]).int(), "int64")
    Traceback (most recent call last):
    ...
    workbench.base.errors.DTypeError: take(): Expected dtype int64 for index, got int32. Cast it: index.long()
    """
    given = dtype_of(index.payload)
    if given.name not in types.split("/"):
        raise DTypeError(
            f"{op}(): Expected dtype {types} for {label}, got {given.name}. Cast it: {as_places(label, given)}{advice}"
        )
