"""NumPy's arrays and scalars in a pickle: what they are made of is checked, and nothing called that a file names."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from workbench.base.dims import MAXIMUM_DIMS
from workbench.base.errors import WeightsError, short
from workbench.interop.pickle_writing import PickleWriter
from workbench.interop.pickled import Function, Kind
from workbench.interop.pickled_result import Token

__all__ = ["NUMPY", "build", "write_array", "write_scalar"]

KINDS = "biufcSU"
"""Kinds of types that are read: numbers and text, not objects, records or dates."""
MAXIMUM_ITEM = 1 << 16
"""Most bytes of one value, which text may have many of."""
MAXIMUM_PICKLED = 16 << 20
"""Most bytes of an array in a pickle: what is larger is saved as a tensor."""


class _Type(Token):
    """A type on the way to an array: which it is, and by its state in which order of bytes."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        object.__setattr__(self, "name", f"numpy.dtype({dtype.str!r})")
        object.__setattr__(self, "dtype", dtype)

    dtype: np.dtype[Any]


def _dtype(word: Any, *_: Any) -> _Type:
    if not isinstance(word, str) or len(word) > 20:
        raise WeightsError("a type of NumPy's is called by no word")
    try:
        found = np.dtype(word)
    except (TypeError, ValueError):
        raise WeightsError(f"{short(word)} is no type of NumPy's") from None
    if found.kind not in KINDS or found.itemsize > MAXIMUM_ITEM:
        raise WeightsError(f"an array of type {found} is not read: numbers and text are")
    return _Type(found)


def _reconstruct(kind: Any, shape: Any, code: Any) -> np.ndarray[Any, Any]:
    if not isinstance(kind, Kind) or kind.value is not np.ndarray or shape != (0,) or code != b"b":
        raise WeightsError("an array is begun in a way that is not known")
    return np.empty((0,), np.int8)


def _scalar(kind: Any, data: Any) -> Any:
    if not isinstance(kind, _Type) or not isinstance(data, bytes) or len(data) != kind.dtype.itemsize:
        raise WeightsError("a number of NumPy's is made of no type and its bytes")
    if kind.dtype.kind == "b" and data not in (b"\0", b"\1"):
        raise WeightsError("a bool of NumPy's is neither 0 nor 1")
    return np.frombuffer(data, kind.dtype)[0]


def build(target: Any, state: Any) -> bool:
    """Give an array its values, or a type its order of bytes; return False for what is neither."""
    if isinstance(target, _Type):
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise WeightsError("the state of a type of NumPy's is not known")
        object.__setattr__(target, "dtype", target.dtype.newbyteorder(state[1]))
        return True
    if not isinstance(target, np.ndarray):
        return False
    if not isinstance(state, tuple) or len(state) != 5 or state[0] != 1:
        raise WeightsError("the state of an array is not known")
    _, shape, kind, fortran, data = state
    if (
        not isinstance(shape, tuple)
        or len(shape) > MAXIMUM_DIMS
        or not all(type(one) is int and 0 <= one < 2**59 for one in shape)
        or not isinstance(kind, _Type)
        or not isinstance(data, bytes)
        or len(data) != math.prod(shape) * kind.dtype.itemsize
        or math.prod(filter(None, shape)) >= 2**60
    ):
        raise WeightsError(f"an array of shape {short(shape)} does not have the bytes that it needs")
    if kind.dtype.kind == "b" and data and max(data) > 1:
        raise WeightsError("an array of bools has bytes that are neither 0 nor 1")
    # It keeps its identity: what stood for it while its state was read may stand in several places.
    cast(Any, target).__setstate__((1, shape, kind.dtype, bool(fortran), data))
    return True


def _functions() -> dict[str, Any]:
    known: dict[str, Any] = {
        "numpy.dtype": Function("numpy.dtype", _dtype, (1, 2, 3)),
        "numpy.ndarray": Kind("numpy.ndarray", np.ndarray),
    }
    for room in ("numpy.core.multiarray", "numpy._core.multiarray"):  # before NumPy 2, and since
        known[f"{room}._reconstruct"] = Function("numpy.ndarray", _reconstruct, (3,))
        known[f"{room}.scalar"] = Function("numpy.scalar", _scalar, (2,))
    return known


NUMPY = _functions()
"""What a file may name of NumPy's."""

_ROOM = str(np.empty(0).__reduce__()[0].__module__)


def _write_dtype(w: PickleWriter, dtype: np.dtype[Any]) -> None:
    _, arguments, state = cast(Any, dtype.__reduce__())
    w.call("numpy", "dtype", *arguments)
    w.row(state)
    w.parts.append(b"b")


def write_array(w: PickleWriter, value: np.ndarray[Any, Any]) -> None:
    """Write an array as NumPy pickles it."""
    if value.dtype.kind not in KINDS:
        raise w.refuse(f"an array of type {value.dtype} is not saved: numbers and text are")
    if value.nbytes > MAXIMUM_PICKLED:
        raise w.refuse(
            f"an array of {value.nbytes} bytes, where {MAXIMUM_PICKLED} are the most: save it as a tensor, "
            "wb.from_numpy(array)"
        )
    w.name(_ROOM, "_reconstruct")
    w.parts.append(b"(")
    w.name("numpy", "ndarray")
    w.write((0,))
    w.write(b"b")
    w.parts.append(b"tR")
    w.parts.append(b"(")
    w.write(1)
    w.write(value.shape)
    _write_dtype(w, value.dtype)
    w.write(False)
    w.write(value.tobytes())
    w.parts.append(b"tb")
    w.remember(value)


def write_scalar(w: PickleWriter, value: np.generic) -> None:
    """Write a number of NumPy's as NumPy pickles it."""
    if value.dtype.kind not in KINDS:
        raise w.refuse(f"a value of NumPy's type {value.dtype} is not saved: numbers and text are")
    w.name(_ROOM, "scalar")
    w.parts.append(b"(")
    _write_dtype(w, value.dtype)
    w.write(value.tobytes())
    w.parts.append(b"tR")
    w.remember(value)
