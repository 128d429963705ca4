"""JAX's arrays behind NumPy's protocols, so that the array code of ops is traced by XLA as it stands.

Array code is written with NumPy's functions. NumPy hands a call with an `XlaArray` among its arguments to the methods
below, and they call JAX's function of the same name. JAX's arrays never change: what writes into one (``y[0] = 1``,
``out=``) makes a new one, which the `XlaArray` holds from then on. NumPy's views would show such a write, these do not;
which array code may be traced is therefore held to its samples by a test.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from workbench.interop.xla.libraries import jax, jnp, special

__all__ = ["XlaArray", "bare", "calling", "wide_types"]


def wide_types() -> Any:
    """Return the context in which JAX keeps 64-bit types as they are, without telling all of the process."""
    return jax.enable_x64(True)


def bare(thing: Any) -> Any:
    """Return JAX's arrays in the place of ours, also inside tuples, lists and dicts."""
    if isinstance(thing, XlaArray):
        return thing.value
    if isinstance(thing, tuple | list):
        return type(thing)(bare(one) for one in thing)
    if isinstance(thing, dict):
        return {key: bare(one) for key, one in thing.items()}
    return thing


def _ours(thing: Any) -> Any:
    if isinstance(thing, tuple | list):
        return tuple(_ours(one) for one in thing)
    return XlaArray(thing) if isinstance(thing, jax.Array) else thing


def calling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of JAX's as one on our arrays."""

    @functools.wraps(function)
    def called(*arguments: Any, **keywords: Any) -> Any:
        with wide_types():
            return _ours(function(*bare(arguments), **bare(keywords)))

    return called


class XlaArray(NDArrayOperatorsMixin):
    """An array of JAX's: numbers on a device, or while a graph is lowered what stands for them."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    shape = property(lambda self: tuple(self.value.shape))
    dtype = property(lambda self: np.dtype(self.value.dtype))
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    nbytes = property(lambda self: self.value.size * np.dtype(self.value.dtype).itemsize)
    itemsize = property(lambda self: np.dtype(self.value.dtype).itemsize)
    T = property(lambda self: _method("transpose")(self))
    real = property(lambda self: calling(jnp.real)(self))
    imag = property(lambda self: calling(jnp.imag)(self))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **keywords: Any) -> Any:
        """Call the function of JAX's that has the ufunc's name."""
        function = _function_of(ufunc)
        if function is None:
            return NotImplemented
        if method == "at":
            target, key, *values = inputs
            target.value = _written(target, key, _AT[ufunc.__name__], *values)
            return None
        dtype = keywords.pop("dtype", None)
        keywords.pop("casting", None)
        if method == "__call__":
            if "where" in keywords:
                return NotImplemented
            found = calling(function)(*_typed(inputs), **keywords)
        else:
            found = calling(getattr(function, method))(*inputs, **keywords)
        return _into(found if dtype is None else found.astype(dtype), out)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        """Call the function of JAX's that has the name of NumPy's."""
        room = {"numpy.linalg": jnp.linalg, "numpy.fft": jnp.fft}.get(function.__module__, jnp)
        theirs = getattr(room, function.__name__, None)
        if theirs is None:
            return NotImplemented
        keywords = {name: one for name, one in keywords.items() if name not in ("subok", "order", "copy")}
        out = keywords.pop("out", None)
        if keywords.get("kind") == "stable" and function in (np.argsort, np.sort):
            keywords = {name: one for name, one in keywords.items() if name != "kind"} | {"stable": True}
        if function is np.take and isinstance(arguments[1], list):
            arguments = (arguments[0], np.asarray(arguments[1]), *arguments[2:])
        if function is np.copyto:
            arguments[0].value = (
                calling(jnp.broadcast_to)(arguments[1], arguments[0].shape).astype(arguments[0].dtype).value
            )
            return None
        return _into(calling(theirs)(*arguments, **keywords), out)

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        """Refuse to become NumPy's array unasked: while a graph is lowered there are no numbers."""
        raise TypeError("array code asks for the numbers of an array that is traced by XLA")

    def __getitem__(self, key: Any) -> Any:
        return calling(self.value.__getitem__)(_key(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value = _written(self, key, "set", value)

    def __len__(self) -> int:
        return int(self.value.shape[0])

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __index__(self) -> int:
        return int(self.value.__index__())

    def __repr__(self) -> str:
        return f"XlaArray({self.value!r})"

    def astype(self, dtype: Any, copy: bool = True) -> XlaArray:
        """Return the values in another type, cut off towards 0 where that has whole numbers only."""
        with wide_types():
            return XlaArray(self.value.astype(dtype))

    def copy(self, order: str = "C") -> XlaArray:
        """Return an array that later writes do not reach."""
        return XlaArray(self.value)

    def item(self) -> Any:
        """Return the one number."""
        return self.value.item()


_AT = {"add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max", "minimum": "min"}
_OTHER_NAMES = {"divide": "true_divide", "conjugate": "conj", "xlogy": "xlogy"}


def _function_of(ufunc: Any) -> Any:
    name = _OTHER_NAMES.get(ufunc.__name__, ufunc.__name__)
    return getattr(jnp, name, None) or getattr(special, name, None)


def _typed(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give NumPy's scalars their type: JAX would take them for Python's, which yield."""
    return tuple(jnp.asarray(one) if isinstance(one, np.generic) else one for one in inputs)


def _key(key: Any) -> Any:
    return tuple(bare(one) for one in key) if isinstance(key, tuple) else bare(key)


def _written(target: XlaArray, key: Any, how: str, *values: Any) -> Any:
    with wide_types():
        given = [jnp.asarray(bare(one)).astype(target.dtype) for one in values]
        return getattr(target.value.at[_key(key)], how)(*given)


def _into(found: Any, out: Any) -> Any:
    """Put a result where ``out=`` says."""
    if isinstance(out, tuple):
        out = out[0] if len(out) == 1 else out
    if out is None:
        return found
    if not isinstance(out, XlaArray):
        raise TypeError("array code writes what is traced by XLA into an array of NumPy's")
    out.value = found.astype(out.dtype).value
    return out


def _method(name: str) -> Callable[..., Any]:
    def method(self: XlaArray, *arguments: Any, **keywords: Any) -> Any:
        keywords.pop("order", None)
        out = keywords.pop("out", None)
        return _into(calling(getattr(self.value, name))(*arguments, **keywords), out)

    method.__name__ = name
    return method


for _name in (
    "all", "any", "argmax", "argmin", "argsort", "clip", "conj", "conjugate", "cumprod", "cumsum", "diagonal", "dot",
    "flatten", "max", "mean", "min", "prod", "ravel", "repeat", "reshape", "round", "squeeze", "std", "sum", "swapaxes",
    "take", "trace", "transpose", "var", "view",
):  # fmt: skip
    setattr(XlaArray, _name, _method(_name))
