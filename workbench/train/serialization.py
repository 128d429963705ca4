"""A state, nested as it may be, as JSON and tensors by key; and back, to the same types and bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype
from workbench.base.errors import short
from workbench.core.value import labelled
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["pack", "unpack"]

MARK = "$"
"""Key of the objects that stand for what JSON has not."""


def pack(state: Any, tensors: dict[str, Any], path: str = "") -> Any:
    """Return `state` as JSON takes it, and put its tensors and arrays into `tensors` by their path.

    Raises TypeError for what is neither a number, text, a tensor, an array, nor a list, tuple or dict of them.

    >>> tensors = {}
    >>> pack({"betas": (0.9, 0.999), 0: np.zeros(2)}, tensors)
    {'$': 'dict', 'items': [['betas', {'$': 'tuple', 'items': [0.9, 0.999]}], [0, {'$': 'array', 'key': '0'}]]}
    >>> list(tensors)
    ['0']
    """
    # Before Python's own numbers: a NumPy float64 is a float too, and would come back as one.
    if isinstance(state, np.generic) and isinstance(state.item(), bool | int | float):
        return {MARK: "scalar", "dtype": state.dtype.name, "value": state.item()}
    if state is None or isinstance(state, bool | int | float | str):
        return state
    if isinstance(state, Tensor | np.ndarray):
        tensors[path] = state
        found: dict[str, Any] = {
            MARK: "tensor" if isinstance(state, Tensor) else "array",
            "key": path,
        }
        order = _order(state)
        return found if order is None else {**found, "order": order}
    lead = f"{path}." if path else ""
    if isinstance(state, Mapping):
        items = [[key, pack(value, tensors, f"{lead}{key}")] for key, value in state.items()]
        # Keys that JSON would turn into text, such as the numbers of parameters, go as pairs.
        if all(isinstance(key, str) and key != MARK for key in state):
            return dict(items)
        _check_keys(state, path)
        return {MARK: "dict", "items": items}
    if isinstance(state, list | tuple):
        values = [pack(value, tensors, f"{lead}{i}") for i, value in enumerate(state)]
        return values if isinstance(state, list) else {MARK: "tuple", "items": values}
    raise TypeError(
        f"{path or 'a state'} is a {type(state).__name__}, which a checkpoint does not hold: it takes numbers, text, "
        "tensors, arrays, and lists, tuples and dicts of them"
    )


def _check_keys(state: Mapping[Any, Any], path: str) -> None:
    for key in state:
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise TypeError(
                f"{path or 'a state'} has the key {key!r}: a checkpoint takes text and whole numbers"
            )


def _order(state: Any) -> list[int] | None:
    """Return the axes from the outermost in memory to the innermost; None for C order.

    Sums over a gradient go through memory in its order, so that the order is part of what makes them repeat.
    """
    array = state.payload if isinstance(state, Tensor) else state
    if not isinstance(array, np.ndarray) or array.flags.c_contiguous:
        return None
    # Of equal strides, which dims of size 1 have, the outer one first, so that the order is always the same.
    return sorted(range(array.ndim), key=lambda axis: (-abs(array.strides[axis]), axis))


_MAKERS: dict[str, Callable[[dict[str, Any], Mapping[str, Any]], Any]] = {
    "scalar": lambda told, tensors: _scalar(told["dtype"], told["value"]),
    "tensor": lambda told, tensors: _placed(tensors[told["key"]], told.get("order")),
    "array": lambda told, tensors: _placed(tensors[told["key"]], told.get("order")).numpy(),
    "tuple": lambda told, tensors: tuple(unpack(value, tensors) for value in told["items"]),
    "dict": lambda told, tensors: {key: unpack(value, tensors) for key, value in told["items"]},
}


def _scalar(dtype: Any, value: Any) -> Any:
    """Return a number of NumPy's; as for types, those of the workbench."""
    if not isinstance(dtype, str) or not isinstance(value, bool | int | float):
        raise ValueError(f"{short(value)} is no number of type {short(dtype)}")
    return as_dtype(dtype).numpy.type(value)


def unpack(told: Any, tensors: Mapping[str, Any]) -> Any:
    """Return the state that `pack` made `told` of; KeyError, TypeError or ValueError where it made no such thing."""
    if isinstance(told, dict):
        if MARK in told:
            return _MAKERS[told[MARK]](told, tensors)
        return {key: unpack(value, tensors) for key, value in told.items()}
    return [unpack(value, tensors) for value in told] if isinstance(told, list) else told


def _placed(tensor: Tensor, order: Any) -> Tensor:
    """Lay a tensor out in memory as it was."""
    if order is None:
        return tensor
    if sorted(order) != list(range(tensor.ndim)):
        raise ValueError(f"{order} are no axes of {tensor.ndim} dims")
    inner = np.ascontiguousarray(tensor.numpy().transpose(order))
    laid_out = from_numpy(inner.transpose(np.argsort(order)), names=tensor._names)
    return labelled(laid_out, tensor._labels)  # type: ignore[no-any-return]
