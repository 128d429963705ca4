"""Values out of a tensor, and its memory into other libraries: Python numbers, NumPy's protocols, DLPack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.base import dlpack
from workbench.base.errors import AutogradError, DeviceError, DTypeError
from workbench.base.quantized_array import QuantizedArray
from workbench.core import dispatch
from workbench.core.backend import backend_of, device_of
from workbench.core.lending import lend
from workbench.core.value import Abstract, Value, dims_of
from workbench.ops import METHODS
from workbench.ops.shape.movement import storage
from workbench.tensor.operators import operand

if TYPE_CHECKING:
    from workbench.tensor.tensor import Tensor

__all__ = [
    "array", "array_function", "array_ufunc", "contains", "data_ptr", "dlpack_capsule", "dlpack_device",
    "element_size", "formatted", "is_set_to", "item", "iterate", "length", "ndimension", "nelement", "numpy",
    "plain", "reverse", "shares_storage", "to_complex", "to_float", "to_index", "to_int", "tolist", "truth",
]  # fmt: skip

UFUNCS = {
    **dict.fromkeys(("absolute", "fabs"), "abs"),
    **{f"arc{name}{h}": f"a{name}{h}" for name in ("sin", "cos", "tan") for h in ("", "h")},
    **{
        name: name
        for name in (
            "add", "ceil", "copysign", "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "float_power",
            "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd", "heaviside", "hypot", "isfinite",
            "isinf", "isnan", "lcm", "ldexp", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2",
            "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "maximum", "minimum",
            "nextafter", "positive", "rad2deg", "reciprocal", "remainder", "sign", "signbit", "sin", "sinh",
            "sqrt", "square", "tan", "tanh", "trunc",
        )
    },
    **{f"bitwise_{name}": f"bitwise_{name}" for name in ("and", "or", "xor")},
    "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "arctan2": "atan2",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "radians": "deg2rad",
    "divide": "div",
    "equal": "eq",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "power": "pow",
    "rint": "round",
    "subtract": "sub",
}  # fmt: skip
"""NumPy's universal functions that are ops here, under another name or the same."""


def numpy(self: Value, *, force: bool = False) -> np.ndarray[Any, Any]:
    """Return the values as a NumPy array that shares their memory.

    Raises `AutogradError` while a gradient is wanted and `DeviceError` for values that are elsewhere, unless
    `force` asks for them all the same: off the tape, and copied to the CPU where they must be.
    """
    if not force and self._requires_grad:
        raise AutogradError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if not force and backend_of(self.payload) is not None:
        raise DeviceError(
            f"can't convert {device_of(self.payload)} device type tensor to numpy. Use Tensor.cpu() to copy the "
            "tensor to host memory first."
        )
    array = plain(self)
    lend(self)
    return array


def plain(self: Value) -> np.ndarray[Any, Any]:
    """Return the values as an array to be read, off the tape and on the CPU; who may write takes `numpy`."""
    array = dispatch.numbers(self)
    if hasattr(array, "quantizer"):
        raise DTypeError(
            "a quantized tensor has no plain values: call dequantize() for numbers, int_repr() for codes"
        )
    return array  # type: ignore[no-any-return]


def tolist(self: Tensor) -> Any:
    """Return the values as nested lists of Python numbers."""
    return _readable(plain(self)).tolist()


_PYTHON = frozenset({float, int, bool, complex})
"""Types of Python's own numbers."""


def item(self: Tensor) -> Any:
    """Return the value of a tensor that has only one, as a Python number."""
    array: Any = self.payload
    # As nearly always: one number of NumPy's own types, which knows what it is in Python.
    if type(array) is np.ndarray and array.size == 1:
        found = array.item()
        if type(found) in _PYTHON:
            return found
    # The number of one code is asked for as that of any other value; an array of them is not handed out as plain.
    array = array.dequantize() if isinstance(array, QuantizedArray) else plain(self)
    if array.size != 1:
        raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
    return _readable(array).item()


def to_float(self: Tensor) -> float:
    return float(self.item())


def to_int(self: Tensor) -> int:
    return int(self.item())


def to_complex(self: Tensor) -> complex:
    return complex(self.item())


def to_index(self: Tensor) -> int:
    value = self.item()
    # A float with a whole value is no index, as in Python.
    if not isinstance(value, int):
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(value)


def truth(self: Tensor) -> bool:
    array: Any = self.payload
    # As with `item`.
    array = array.dequantize() if isinstance(array, QuantizedArray) else plain(self)
    if array.size != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {array.size} values is ambiguous: use .any() or .all()"
        )
    return bool(array.item())


def formatted(self: Tensor, spec: str) -> str:
    """Format the number of a tensor without dims; other tensors print as a whole, and take no width."""
    # Values of a trace and codes have no number to give: as long as no width is asked for, they print.
    silent = isinstance(self.payload, Abstract) or hasattr(self.payload, "quantizer")
    number = not self.ndim and (spec or not silent)
    return format(self.item(), spec) if number else object.__format__(self, spec)


def length(self: Tensor) -> int:
    if not self.payload.shape:
        raise TypeError("len() of a 0-d tensor")
    return self.payload.shape[0]  # type: ignore[no-any-return]


def iterate(self: Tensor) -> Iterator[Any]:
    if not self.payload.shape:
        raise TypeError("iteration over a 0-d tensor")
    # An expression, where `yield` would put the refusal off until the first step.
    return (self[i] for i in range(self.payload.shape[0]))


def reverse(self: Tensor) -> Any:
    return METHODS["flip"](self, 0) if self.ndim else self


def contains(self: Tensor, element: Any) -> bool:
    if not isinstance(element, Value | int | float | complex | np.generic):
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )
    return bool(METHODS["any"](METHODS["eq"](self, operand(element))))


def element_size(self: Tensor) -> int:
    """Return how many bytes a value takes.

    >>> import workbench as wb
    >>> wb.ones(2, dtype=wb.bfloat16).element_size()
    2
    """
    return self.itemsize


def ndimension(self: Tensor) -> int:
    """Return the number of dims."""
    return self.ndim


def nelement(self: Tensor) -> int:
    """Return the number of values."""
    return dims_of(self).numel


def data_ptr(self: Tensor) -> int:
    """Return the address of the first value; 0 where there is none.

    Raises `NoNumbersError` for a value without memory, `DeviceError` where the device does not say.
    """
    lend(self)  # who has the address may write there
    return _address(self)


def _address(self: Tensor) -> int:
    array = self.payload
    if backend_of(array) is not None:
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is None:
            raise DeviceError(f"the device {str(device_of(array))!r} does not say where its memory is")
        return int(interface["data"][0])
    codes = _codes(dispatch.numbers(self))
    return int(codes.__array_interface__["data"][0]) if codes.size else 0


def is_set_to(self: Tensor, tensor: Any) -> bool:
    """Say whether both are the same values in the same memory, seen in the same way.

    >>> import workbench as wb
    >>> x = wb.zeros(2, 3)
    >>> x.is_set_to(x.detach()), x.is_set_to(x.clone()), x.is_set_to(x[:1])
    (True, False, False)
    """
    if self.payload is tensor.payload:
        return True
    a, b = _codes(dispatch.numbers(self)), _codes(dispatch.numbers(tensor))
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and (not a.size or (_address(self) == _address(tensor) and a.strides == b.strides))
    )


def shares_storage(self: Tensor, tensor: Any) -> bool:
    """Say whether both lie in one piece of memory: a change of one may then be a change of the other.

    >>> import workbench as wb
    >>> x = wb.zeros(2, 3)
    >>> x[0].shares_storage(x[1]), x.shares_storage(x.clone())
    (True, False)
    """
    a, b = (storage(_codes(dispatch.numbers(one))) for one in (self, tensor))
    # Of whole storages: two views may share one without a byte in common.
    return a is b or bool(np.may_share_memory(a, b))


def array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(
                f"values of type {array.dtype} cannot be seen as {np.dtype(dtype)} without a copy: leave "
                "copy=False away"
            )
        return array.astype(dtype)
    # `copy=None` copies only where it must.
    return array.copy() if copy else array


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
    """Let NumPy's functions work on tensors: as ops where there is one, so that names and gradients stay."""
    known = (int, float, complex, list, tuple, np.ndarray, np.generic, Value)
    # NumPy then asks the other operand, which may know what to do.
    if not all(isinstance(one, known) for one in inputs):
        return NotImplemented
    out = keywords.get("out") or ()
    if any(isinstance(one, Value) for one in out):
        raise TypeError(
            f"numpy.{ufunc.__name__}: out= takes arrays; for a tensor write x.copy_(...) or an op of workbench"
        )
    name = UFUNCS.get(ufunc.__name__)
    if method == "__call__" and not keywords and name in METHODS:
        return METHODS[name](
            *[operand(np.asarray(one) if isinstance(one, list | tuple) else one) for one in inputs]
        )
    # NumPy's own code leaves no trace on the tape, so that what asks for a gradient is refused here.
    arrays = [numpy(one) if isinstance(one, Value) else one for one in inputs]
    result = getattr(ufunc, method)(*arrays, **keywords)
    if out or result is None:
        return result
    return tuple(map(_wrapped, result)) if isinstance(result, tuple) else _wrapped(result)


def array_function(
    self: Tensor, function: Any, types: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Let NumPy's other functions see the values as arrays, and give arrays."""
    # NumPy's functions work on NumPy's arrays: what they give is an array, off the tape.
    return function(*_arrays(inputs), **_arrays(keywords))


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """Return the kind and the index of the device, in DLPack's numbers."""
    array = self.payload
    if backend_of(array) is None:
        return dlpack.CPU_CODE, 0
    if not hasattr(array, "__dlpack_device__"):
        raise BufferError(
            f"arrays on device {str(device_of(array))!r} are not shared by DLPack: call .cpu() first"
        )
    return dlpack.device_code(array)


def dlpack_capsule(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule that shares the memory. Raises BufferError where it cannot be shared as asked."""
    # What NumPy does with the memory would be missing on the tape.
    if self._requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    wishes = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
    if backend_of(self.payload) is not None:
        self.__dlpack_device__()
        given = {word: wish for word, wish in wishes.items() if wish is not None}
        return self.payload.__dlpack__(stream=stream, **given)
    array = dispatch.numbers(self)
    if hasattr(array, "quantizer"):
        raise BufferError("a quantized tensor has no plain values: export dequantize() or int_repr()")
    if stream is not None:
        raise BufferError("values on the CPU have no stream: leave stream= away")
    if not copy:
        lend(self)
    return dlpack.export(array, **wishes)


def _arrays(given: Any) -> Any:
    """Return arguments of a function of NumPy with arrays in the places of tensors."""
    if isinstance(given, Value):
        return numpy(given)
    if isinstance(given, dict):
        return {word: _arrays(one) for word, one in given.items()}
    return type(given)(map(_arrays, given)) if type(given) in (list, tuple) else given


def _readable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """bfloat16 as float32: its own scalars are no Python numbers."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _codes(array: Any) -> np.ndarray[Any, Any]:
    return getattr(array, "codes", array)  # type: ignore[no-any-return]


def _wrapped(result: Any) -> Any:
    """Return what a function of NumPy made as a tensor, where there is such a type."""
    return operand(result) if isinstance(result, np.ndarray | np.generic) else result
