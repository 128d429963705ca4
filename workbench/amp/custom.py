"""Functions with gradients of their own that say in which type they are computed under `autocast`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from workbench.autograd import autocast, is_autocast_enabled
from workbench.autograd.mixed_precision import get_autocast_dtype
from workbench.autograd.pytree import map_tensors

__all__ = ["custom_bwd", "custom_fwd"]


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str = "cpu", cast_inputs: Any = None
) -> Any:
    """Decorate the ``forward`` of an `autograd.Function`: under `autocast` its inputs are cast to `cast_inputs`.

    The inside is then computed in the types of its inputs. Without `cast_inputs` it is computed under whatever is in
    force where it is called. Outside of `autocast` nothing changes.

    >>> import workbench as wb
    >>> class Square(wb.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu", cast_inputs=wb.float32)
    ...     def forward(ctx, x):
    ...         return x * x
    >>> Square.apply(wb.tensor(3.0)).item()
    9.0
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    function = fwd

    @functools.wraps(function)
    def forward(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        context._dtype = get_autocast_dtype(device_type)
        context._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not context._fwd_used_autocast:
            return function(*args, **kwargs)
        context._fwd_used_autocast = False
        args = (context, *map_tensors(_cast_to(cast_inputs), args[1:]))
        kwargs = map_tensors(_cast_to(cast_inputs), kwargs)
        with autocast(device_type, enabled=False):
            return function(*args, **kwargs)

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str = "cpu") -> Any:
    """Decorate the ``backward`` that belongs to a ``forward`` with `custom_fwd`: it is computed as that was."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    function = bwd

    @functools.wraps(function)
    def backward(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        if not context._fwd_used_autocast:
            with autocast(device_type, enabled=False):
                return function(*args, **kwargs)
        with autocast(device_type, dtype=context._dtype):
            return function(*args, **kwargs)

    return backward


def _cast_to(dtype: Any) -> Callable[[Any], Any]:
    # PyTorch casts what is computed in floats, and leaves float64 as it is.
    return lambda x: x.to(dtype) if x.is_floating_point() and x.dtype.name != "float64" else x
