"""A stand-in for CuPy where there is no GPU: arrays that NumPy cannot see, with the functions that CuPy has.

It is stricter than CuPy: what is not written here does not work, and arrays of NumPy are refused as operands.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

__all__ = ["COUNTS", "make", "ndarray"]

COUNTS = {"from": 0, "to": 0}
"""How often numbers went to the device and came back."""

UFUNCS = frozenset(
    [
        "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
        "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "conjugate", "copysign", "cos", "cosh",
        "deg2rad", "divide", "equal", "exp", "exp2", "expm1", "floor", "floor_divide", "fmax",
        "fmin", "fmod", "gcd", "greater", "greater_equal", "hypot", "invert", "isfinite", "isinf",
        "isnan", "lcm", "left_shift", "less", "less_equal", "log", "log10", "log1p", "log2",
        "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor",
        "matmul", "maximum", "minimum", "multiply", "negative", "nextafter", "not_equal",
        "positive", "power", "rad2deg", "reciprocal", "remainder", "right_shift", "rint", "sign",
        "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
    ]
)  # fmt: skip
FUNCTIONS = frozenset(
    [
        "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "broadcast_to", "clip",
        "concatenate", "copy", "cumprod", "cumsum", "diagonal", "einsum", "expand_dims", "flip",
        "imag", "isposinf", "isneginf", "max", "mean", "min", "moveaxis", "nan_to_num", "nansum",
        "ones_like", "permute_dims", "prod", "ravel", "real", "result_type", "repeat", "reshape",
        "roll", "rollaxis", "rot90", "round", "sinc", "sort", "squeeze", "stack", "std", "sum",
        "swapaxes", "take", "take_along_axis", "tensordot", "tile", "transpose", "trace", "tril",
        "triu", "var", "vdot", "where", "zeros_like", "empty_like", "full_like", "outer", "kron",
        "dot", "count_nonzero", "atleast_1d", "ascontiguousarray",
    ]
)  # fmt: skip

METHODS = (
    "astype", "all", "any", "argmax", "argmin", "argsort", "clip", "conj", "copy", "cumprod",
    "cumsum", "diagonal", "dot", "fill", "flatten", "max", "mean", "min", "prod", "ravel", "repeat",
    "reshape", "round", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var",
    "view",
)  # fmt: skip


def _inner(one: Any) -> Any:
    if isinstance(one, ndarray):
        return one._values
    if isinstance(one, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(one, list | tuple):
        return type(one)(map(_inner, one))
    return one


def _outer(one: Any) -> Any:
    if isinstance(one, np.ndarray | np.generic):
        return ndarray(np.asarray(one))
    return type(one)(map(_outer, one)) if isinstance(one, list | tuple) else one


class ndarray:
    """Numbers that NumPy cannot see."""

    __array_priority__ = 100

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    shape = property(lambda self: self._values.shape)
    dtype = property(lambda self: self._values.dtype)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)
    nbytes = property(lambda self: self._values.nbytes)
    itemsize = property(lambda self: self._values.itemsize)
    strides = property(lambda self: self._values.strides)
    T = property(lambda self: _outer(self._values.T))
    real = property(lambda self: _outer(self._values.real))
    imag = property(lambda self: _outer(self._values.imag))
    device = property(lambda self: types.SimpleNamespace(id=0))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"data": (self._values.__array_interface__["data"][0], False)}

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        if method != "__call__" or ufunc.__name__ not in UFUNCS or keywords.keys() - {"dtype"}:
            return NotImplemented
        return _outer(ufunc(*map(_inner, inputs), **keywords))

    def __array_function__(self, function: Any, kinds: Any, inputs: Any, keywords: Any) -> Any:
        if function.__name__ not in FUNCTIONS or not all(issubclass(kind, ndarray) for kind in kinds):
            return NotImplemented
        return _outer(function(*map(_inner, inputs), **{word: _inner(one) for word, one in keywords.items()}))

    def __getitem__(self, key: Any) -> Any:
        return _outer(self._values[_inner(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[_inner(key)] = _inner(value)

    def __len__(self) -> int:
        return len(self._values)

    def __bool__(self) -> bool:
        return bool(self._values)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **wishes: Any) -> Any:
        return self._values.__dlpack__()

    def get(self) -> np.ndarray:
        return self._values.copy()


def _method(name: str) -> Any:
    def method(self: ndarray, *inputs: Any, **keywords: Any) -> Any:
        return _outer(
            getattr(self._values, name)(*map(_inner, inputs), **{k: _inner(v) for k, v in keywords.items()})
        )

    return method


for _name in METHODS:
    setattr(ndarray, _name, _method(_name))


def _diagonal(self: ndarray, *places: int) -> ndarray:
    found = self._values.diagonal(*places)
    found.flags.writeable = True  # CuPy's is a view that can be written to
    return ndarray(found)


ndarray.diagonal = _diagonal


def _operator(name: str) -> Any:
    def operator(self: ndarray, *others: Any) -> Any:
        return _outer(getattr(self._values, name)(*map(_inner, others)))

    return operator


for _sign in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
]:
    setattr(ndarray, f"__{_sign}__", _operator(f"__{_sign}__"))
    setattr(ndarray, f"__r{_sign}__", _operator(f"__r{_sign}__"))
for _sign in ["neg", "pos", "abs", "invert", "lt", "le", "gt", "ge", "eq", "ne"]:
    setattr(ndarray, f"__{_sign}__", _operator(f"__{_sign}__"))


def make(gpus: int = 1) -> types.ModuleType:
    """Return the module, as for a machine with `gpus` GPUs."""
    module = types.ModuleType("cupy")

    def asarray(array: Any) -> ndarray:
        COUNTS["from"] += 1
        if array.dtype.kind == "V":
            raise TypeError(f"Unsupported dtype {array.dtype}")
        return ndarray(np.array(array))

    def asnumpy(array: ndarray) -> np.ndarray:
        COUNTS["to"] += 1
        return array.get()

    class Device:
        def __init__(self, index: int | None = None) -> None:
            self.id = 0 if index is None else index

        def __enter__(self) -> Device:
            return self

        def __exit__(self, *_: Any) -> None:
            return None

    def as_strided(x: ndarray, shape: Any, strides: Any) -> ndarray:
        return ndarray(np.lib.stride_tricks.as_strided(x._values, shape, strides))

    module.ndarray, module.asarray, module.asnumpy = ndarray, asarray, asnumpy  # type: ignore[attr-defined]
    module.may_share_memory = lambda a, b: np.may_share_memory(a._values, b._values)  # type: ignore[attr-defined]
    module.from_dlpack = lambda one: ndarray(one._values)  # type: ignore[attr-defined]
    module.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        is_available=lambda: gpus > 0,
        Device=Device,
        runtime=types.SimpleNamespace(getDeviceCount=lambda: gpus),
    )
    tricks = types.SimpleNamespace(as_strided=as_strided)
    module.lib = types.SimpleNamespace(stride_tricks=tricks)  # type: ignore[attr-defined]
    for name in FUNCTIONS | UFUNCS:
        function = getattr(np, name)
        setattr(
            module,
            name,
            lambda *a, _f=function, **k: _outer(_f(*map(_inner, a), **{w: _inner(v) for w, v in k.items()})),
        )
    return module
