"""Type rules: their families, and what they make of the inputs of an op and of what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.dtypes import get_default_dtype, half_width, narrowest, promote
from workbench.base.errors import DTypeError
from workbench.base.numbers import wrapped
from workbench.core.op import DTypeRule, Op

__all__ = [
    "ATTENDED", "ATTENDED_GRADIENT", "FLOAT", "INDEX", "KEEP", "LEARNED", "LEARNED_FLOAT", "NORMALISED",
    "NORMALISED_GRADIENT", "PREDICATE", "PROMOTE", "SUM", "cast", "check_kinds", "check_precision", "common_dtype",
    "compute", "mixed_types", "narrowed", "settled",
]  # fmt: skip

_Type = np.dtype[Any]
_FLOAT32: _Type = np.dtype(np.float32)


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
LEARNED = DTypeRule(
    "promoted; single and double precision are refused together", _same, _result, precise=True
)
"""What meets parameters: where precisions differ, most of the time is spent on digits that nobody asked for."""
LEARNED_FLOAT = DTypeRule(
    "promoted, integers become float32; single and double precision are refused together",
    _floating,
    _result,
    precise=True,
)
_KEPT = "16-bit values keep their type beside float32 parameters"
NORMALISED = replace(LEARNED_FLOAT, name=f"{LEARNED_FLOAT.name}; {_KEPT}", mixed=(0,))
NORMALISED_GRADIENT = replace(FLOAT, name=f"{FLOAT.name}; {_KEPT}", mixed=(0,))
ATTENDED = replace(
    FLOAT,
    name=f"{FLOAT.name}; logarithms of sums of 16-bit scores are float32",
    result=lambda dtype, params: (dtype, _FLOAT32 if half_width(dtype) else dtype),
)
"""A gradient takes powers of the logarithms: in 16 bits weights would be off by some percent."""
ATTENDED_GRADIENT = replace(FLOAT, name=f"{FLOAT.name}; 16-bit values keep their type", mixed=(0, 1, 2))
KEEP = DTypeRule("as the first input", None, _result)
PREDICATE = DTypeRule("bool", _same, lambda dtype, params: np.dtype(np.bool_))
INDEX = DTypeRule("int64", None, lambda dtype, params: np.dtype(np.int64))
SUM = DTypeRule("as the input, integers become int64", _wide, _result)


def settled(op: Op, arrays: list[Any]) -> bool:
    """Say, quickly, whether the arrays have the type already in which the op computes."""
    if op.dtype.common is None:
        if op.widens:
            for array in arrays:
                # By letters, which are quicker than types: e is float16, E is bfloat16.
                if type(array) is np.ndarray and array.dtype.char in "eE45":  # 4 and 5 are floats of 8 bits
                    return False
        return True
    first: Any = None
    for array in arrays[op.dtype.skip :] if op.dtype.skip else arrays:
        if type(array) is np.ndarray:
            if first is None:
                first = array.dtype
                # Half floats may have to be widened, whole numbers to become floating: `cast` looks closer.
                if first.char not in "fd":
                    return False
            elif array.dtype is not first:
                # NumPy has one object for each builtin type. Where types are equal but not identical, only the quick
                # way is lost.
                return False
        elif type(array) is not float:
            # An int may have to wrap, a complex number widens; NumPy's own numbers have types, and float64 derives
            # from float.
            return False
    return first is not None


def common_dtype(op: Op, arrays: list[Any]) -> np.dtype[Any]:
    """Return the type that the inputs of `op` are brought to, or that of the first where they stay."""
    arrays = arrays[op.dtype.skip :]
    if op.dtype.common is None:
        if not arrays:
            return get_default_dtype().numpy  # made from sizes alone, of the type that its parameters say
        first = arrays[0]
        return first.dtype if hasattr(first, "dtype") else promote((first,))
    # The number of dims goes along: tensors with dims outweigh those without, and these outweigh Python's numbers.
    operands = tuple(
        (one.dtype, one.ndim) if hasattr(one, "dtype") else one for one in arrays if one is not None
    )
    if op.dtype.precise:
        dtypes = [one[0] for one in operands if isinstance(one, tuple)]
        check_precision(dtypes)
        if op.dtype.common is _same:
            check_kinds(dtypes)
    return op.dtype.common(promote(operands))


def mixed_types(op: Op, arrays: list[Any]) -> tuple[_Type, ...] | None:
    """Return the types of the outputs where 16-bit values meet parameters in float32, and the op goes on in 16 bits."""
    if not op.dtype.mixed:
        return None
    types = [one.dtype for one in arrays if hasattr(one, "dtype")]
    first = types[0]
    if not half_width(first) or set(types) != {first, _FLOAT32}:
        return None
    return tuple([first if i in op.dtype.mixed else _FLOAT32 for i in range(op.outputs)])


def check_kinds(dtypes: list[_Type]) -> None:
    """Refuse whole numbers beside floating ones, and beside those of another width, as PyTorch's layers do."""
    whole = [one for one in dtypes if one.kind in "biu"]
    if whole and (len(whole) < len(dtypes) or len(set(whole)) > 1):
        first, other = whole[0], next(one for one in dtypes if one != whole[0])
        raise DTypeError(
            f"Input type, weight type and bias type should be the same: got {first} and {other}. Cast one of them, "
            "e.g. input.float()"
        )


_OTHERS = {"f": "dD", "F": "dD", "d": "fF", "D": "fF"}
"""Types of the other precision, by NumPy's letters."""


def check_precision(dtypes: list[_Type]) -> None:
    """Refuse float32 beside float64, as PyTorch does; 16-bit floats and whole numbers go with either."""
    first = next((one for one in dtypes if one.char in _OTHERS), None)
    other = next((one for one in dtypes if first is not None and one.char in _OTHERS[first.char]), None)
    if first is None or other is None:
        return
    raise DTypeError(
        f"The input is {first} and the parameters are {other}. Convert the input, "
        f"input.to(wb.{other}), or the model, model.to(wb.{first})"
        + (": NumPy's numbers are float64 unless they are told otherwise" if first == np.float64 else "")
    )


def cast(op: Op, arrays: list[Any]) -> tuple[list[Any], Any]:
    """Bring array inputs to the type that the op's rule asks for; Python scalars stay what they are.

    Returns the 16-bit type to go back to where the op is computed in float32 in its stead, or the types of all outputs
    where they differ, else None.
    """
    target = common_dtype(op, arrays)
    if op.widens and narrowest(target):
        raise DTypeError(
            f"{op.name} is not computed in {target}: values are stored in it. Call .float() first, and "
            f".to(workbench.{target}) on the result"
        )
    wide = target
    half: Any = mixed_types(op, arrays)
    if op.widens and half_width(target):
        half, wide = target, _FLOAT32
    if op.dtype.common is None:
        if op.widens:
            arrays = [
                kernels.cast(array, _FLOAT32)
                if isinstance(array, np.ndarray) and half_width(array.dtype)
                else array
                for array in arrays
            ]
        return arrays, half
    skip = op.dtype.skip
    if wide.kind in "iu" and "exponent" not in op.properties:
        # NumPy refuses a number that the integers beside it have not, or compares it as it is.
        arrays = [wrapped(array, wide) if type(array) is int else array for array in arrays]
    return arrays[:skip] + [
        kernels.cast(array, wide) if hasattr(array, "dtype") and array.dtype != wide else array
        for array in arrays[skip:]
    ], half


def narrowed(op: Op, out: Any, half: Any, params: dict[str, Any]) -> Any:
    """Bring results computed in float32 back to the 16-bit type that the op's rule names."""
    dtypes = op.dtype.results(half, params)
    several = (out,) if op.outputs == 1 else out
    dtypes = dtypes if isinstance(dtypes, tuple) else (dtypes,) * op.outputs
    with np.errstate(all="ignore"):  # what is too large for the type is infinite there
        narrow = [
            one if one.dtype == dtype else kernels.cast(one, dtype)
            for one, dtype in zip(map(np.asarray, several), dtypes, strict=True)
        ]
    return narrow[0] if op.outputs == 1 else tuple(narrow)


def compute(op: Op, arrays: list[Any], params: dict[str, Any]) -> Any:
    """Return what the op's own array code makes of plain arrays, brought together in type."""
    arrays, half = cast(op, arrays)
    with np.errstate(all="ignore"):
        out = op.forward(*arrays, **params)
    return out if half is None else narrowed(op, out, half, params)
