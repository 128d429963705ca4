"""Families of type rules: what the inputs of an op are cast to, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.dtypes import get_default_dtype
from workbench.core.op import DTypeRule

__all__ = ["FLOAT", "INDEX", "KEEP", "PREDICATE", "PROMOTE", "SUM"]

_Type = np.dtype[Any]


def _same(dtype: _Type) -> _Type:
    return dtype


def _floating(dtype: _Type) -> _Type:
    return dtype if dtype.kind in "fcV" else get_default_dtype().numpy


def _wide(dtype: _Type) -> _Type:
    return dtype if dtype.kind in "fcV" else np.dtype(np.int64)


def _result(dtype: _Type, params: Mapping[str, Any]) -> _Type:
    return dtype


PROMOTE = DTypeRule("promoted", _same, _result)
"""All inputs become one type, and so is the output."""
FLOAT = DTypeRule("promoted, integers become float32", _floating, _result)
KEEP = DTypeRule("as the first input", None, _result)
PREDICATE = DTypeRule("bool", _same, lambda dtype, params: np.dtype(np.bool_))
INDEX = DTypeRule("int64", None, lambda dtype, params: np.dtype(np.int64))
SUM = DTypeRule("as the input, integers become int64", _wide, _result)
