"""Reading types from text: ``f32[N:2, C=3]``, ``dict[str, list[int]]``."""

from __future__ import annotations

import re
from collections.abc import Callable

from workbench.base import dtypes
from workbench.base.dims import MAXIMUM_DIMS, Dims, check_names
from workbench.base.dtypes import DType
from workbench.base.errors import DimensionError
from workbench.graph.blocks import GraphError
from workbench.graph.types import PLAIN, DictType, ListType, OptionalType, TensorType, TupleType, Type

__all__ = ["read_type", "type_at"]

Refuse = Callable[[str], GraphError]

_SHORT: dict[str, DType] = {one.short: one for one in vars(dtypes).values() if isinstance(one, DType)}
_WORD = re.compile(r"\w+")
_DIMS = re.compile(r"\[([^\[\]]*)\]")
# At most 18 digits: `int` of a long text takes quadratic time, and no size needs more.
_DIM = re.compile(r"(·|\w+)([:=])(\d{1,18})")
_COUNTS = {"list": 1, "optional": 1, "dict": 2}
"""How many types stand in the brackets."""
_DEEPEST = 32


def read_type(text: str, refuse: Refuse) -> Type:
    """Return the type that all of `text` is."""
    found, end = type_at(text, 0, refuse)
    if end != len(text):
        raise refuse(f"has {text[:80]!r} where a type is expected, such as f32[N:2]")
    return found


def type_at(text: str, start: int, refuse: Refuse, depth: int = 0) -> tuple[Type, int]:
    """Return the type that stands in `text` at `start`, and where it ends."""
    word = _WORD.match(text, start)
    if word is None or depth > _DEEPEST:
        raise refuse(f"has {text[start : start + 80]!r} where a type is expected, such as f32[N:2]")
    name, end = word[0], word.end()
    # Slices, as they may begin behind the end.
    if text[end : end + 1] != "[":
        if name not in PLAIN:
            raise refuse(f"has {name!r} where a type is expected, such as f32[N:2]")
        return PLAIN[name], end
    if name == "tuple" or name in _COUNTS:
        items, end = _types(text, end + 1, refuse, depth + 1)
        # A tuple has as many as it likes.
        if len(items) != _COUNTS.get(name, len(items)):
            raise refuse(f"has {name}[…] of {len(items)} types, and there are {_COUNTS[name]}")
        return _made(name, items), end
    dims = _DIMS.match(text, end)
    if dims is None:
        raise refuse(f"has {text[start : start + 80]!r} where a type is expected, such as f32[N:2]")
    return _tensor(name, dims[1], refuse), dims.end()


def _types(text: str, start: int, refuse: Refuse, depth: int) -> tuple[list[Type], int]:
    """Read types up to the closing bracket."""
    items: list[Type] = []
    end = start
    while text[end : end + 1] != "]":
        one, end = type_at(text, end, refuse, depth)
        items.append(one)
        if text[end : end + 2] == ", ":
            end += 2
        elif text[end : end + 1] != "]":
            raise refuse(f"has {text[start : start + 80]!r}, where types end with a bracket")
    return items, end + 1


def _made(name: str, items: list[Type]) -> Type:
    match name:
        case "list":
            return ListType(items[0])
        case "optional":
            return OptionalType(items[0])
        case "dict":
            return DictType(items[0], items[1])
    return TupleType(tuple(items))


def _tensor(name: str, written: str, refuse: Refuse) -> TensorType:
    if name not in _SHORT:
        raise refuse(f"has {name!r}, which is not a data type")
    parts = [_DIM.fullmatch(dim) for dim in written.split(", ") if dim]
    # Compared by number below: one that does not match is missing.
    found = [one for one in parts if one is not None]
    if len(found) != len(parts) or len(parts) > MAXIMUM_DIMS:
        raise refuse(f"has {written!r} where dims with their sizes are expected, such as N:2, C:3")
    names, sizes = (
        tuple(None if one[1] == "·" else one[1] for one in found),
        tuple(int(one[3]) for one in found),
    )
    fixed = frozenset(i for i, one in enumerate(found) if one[2] == "=")
    try:
        check_names(names, len(names))
    except DimensionError as error:
        raise refuse(f"has a type that cannot be: {error}") from None
    dtype = _SHORT[name]
    return TensorType(dtype if dtype.is_quantized else dtype.numpy, Dims(names, sizes), fixed)
