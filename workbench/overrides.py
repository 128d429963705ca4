"""The guards of classes that answer for tensors: the workbench asks no ``__torch_function__``, and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from workbench.base.errors import UnavailableError
from workbench.base.public import words
from workbench.tensor import Tensor

__all__ = [
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "is_tensor_like", "is_tensor_method_or_property", "typename",
]  # fmt: skip


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Say whether one of these would answer for a function itself: no class is asked here.

    >>> import workbench as wb
    >>> has_torch_function((wb.zeros(2),))
    False
    """
    return False


def has_torch_function_unary(input: Any) -> bool:
    """Say whether this would answer for a function itself: no class is asked here."""
    return False


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Say whether one of these would answer for a function itself: no class is asked here."""
    return False


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> NoReturn:
    """Have an argument answer for a function. Raises UnavailableError: no class is asked here."""
    raise UnavailableError(
        "overrides.handle_torch_function: the workbench asks no __torch_function__: call the function with tensors"
    )


def is_tensor_like(inp: Any) -> bool:
    """Say whether something is a tensor, or a class that would answer as one."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def typename(obj: Any) -> str:
    """Return the name of something's type, with its module where that is not Python's own.

    >>> import workbench as wb
    >>> typename([1]), typename(wb.float32)
    ('list', 'workbench.base.dtypes.DType')
    """
    kind = obj if isinstance(obj, type) else type(obj)
    named = getattr(obj, "__qualname__", kind.__qualname__)
    module = getattr(obj, "__module__", kind.__module__)
    return named if module in (None, "builtins") else f"{module}.{named}"


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Say whether a function is one of the tensor's own."""
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func


__getattr__, __dir__ = words(
    __name__,
    __all__,
    elsewhere={
        "TorchFunctionMode": "no mode sees calls of functions; wb.graph.trace records them in a graph"
    },
)
