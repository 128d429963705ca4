"""Bringing a module's parameters and buffers to another type or device, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.base.devices import Device
from workbench.base.dtypes import DType, as_dtype, is_dtype
from workbench.base.memory_formats import check_format
from workbench.core.backend import backend_of, device_of, move
from workbench.core.dispatch import no_grad
from workbench.core.lending import share
from workbench.core.value import Value, labelled, new
from workbench.nn.parameter import is_lazy

if TYPE_CHECKING:
    from workbench.nn.module import Module
    from workbench.tensor import Tensor

__all__ = ["caster", "convert", "emptied", "targets"]

Convert = Callable[["Tensor"], "Tensor"]


def targets(arguments: tuple[Any, ...], dtype: Any, device: Any) -> tuple[Device | None, DType | None]:
    """Read the arguments of ``module.to``: a device, a type, both, or a tensor to be like."""
    for one in arguments:
        if isinstance(one, Value):
            dtype, device = one.payload.dtype, device_of(one.payload)
        elif isinstance(one, Device) or (isinstance(one, str) and not is_dtype(one)):
            device = one
        elif one is not None and not isinstance(one, bool):  # a third argument of PyTorch's is non_blocking
            dtype = one
    kind = None if dtype is None else as_dtype(dtype)
    if kind is not None and not (kind.is_floating_point or kind.is_complex):
        raise TypeError(
            f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={kind.name}"
        )
    return None if device is None else Device(device), kind


def caster(device: Device | None, dtype: DType | None, memory_format: Any = None) -> Convert:
    """Return what brings a tensor to a device and, if it is floating point or complex, to a type.

    What has the dims of pictures or volumes comes to lie in memory as `memory_format` says.
    """
    check_format("to", memory_format)

    def cast(value: Tensor) -> Tensor:
        own = value.dtype
        change = dtype is not None and (own.is_floating_point or own.is_complex)
        words: list[Any] = [*([device] if device is not None else ()), *([dtype] if change else ())]
        moved = value.to(*words) if words else value
        return (
            moved
            if memory_format is None or value.ndim not in (4, 5)
            else moved.to(memory_format=memory_format)
        )

    return cast


def convert(module: Module, function: Convert) -> None:
    """Put ``function(tensor)`` in the place of every parameter, gradient and buffer that `module` itself holds.

    A parameter stays the same object, which optimizers know; what was recorded with its old numbers says so when it
    is asked for gradients. A buffer is replaced. All is computed before anything changes.
    """
    own = module.__dict__
    parameters = [own[name] for name in module._parameter_names if own[name] is not None]
    buffers = {name: own[name] for name in module._buffer_names if own[name] is not None}
    with no_grad():
        made = [
            (one, function(one.detach()), None if one.grad is None else function(one.grad.detach()))
            for one in parameters
        ]
        replaced = {name: function(one) for name, one in buffers.items()}
    for parameter, value, _ in made:
        if parameter._requires_grad and not (value.dtype.is_floating_point or value.dtype.is_complex):
            raise RuntimeError(
                f"a parameter that requires gradients must be floating point or complex, not {value.dtype.name}: "
                "call requires_grad_(False) first"
            )
    for parameter, value, gradient in made:
        # The same memory: what was recorded with it is still right, so the version stays.
        if value.payload is not parameter.payload:
            parameter._grad = None
            parameter._version += 1
            parameter.payload = value.payload
            share(value, parameter)
            parameter._grad = gradient
    own.update(replaced)


def emptied(value: Tensor, device: Any) -> Tensor:
    """Return a tensor of the same size, type and names, with numbers that nobody set."""
    if is_lazy(value):
        return value.to(device)
    array = value.payload
    # The memory itself is new: to empty a module is to let go of the old numbers.
    if backend_of(array) is None and isinstance(array, np.ndarray):
        array = np.empty_like(array)
    made = new(array if device is None else move(array, device), value._names)
    return labelled(made, value._labels)  # type: ignore[no-any-return]
