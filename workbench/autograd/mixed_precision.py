"""Mixed precision as a block or a decorator."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from workbench.base.devices import Device
from workbench.base.dtypes import DType, as_dtype, half_width
from workbench.base.errors import DTypeError
from workbench.core import dispatch
from workbench.core.autocast import Autocast, autocast_dtype
from workbench.core.backend import is_available

__all__ = [
    "autocast", "clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
]  # fmt: skip


class autocast:
    """Compute products in a 16-bit type inside this block, and what needs range or digits in float32.

    Matrix products and convolutions take ``dtype`` (bfloat16 unless told), reductions, exponentials, logarithms,
    powers and losses take float32, every other op the type of its inputs. Parameters keep their type, and so do their
    gradients. float64, complex and integer values are left alone. Blocks nest; ``enabled=False`` switches an outer
    one off. For a device that is not here, as in ``autocast("cuda")`` without a GPU, a block warns and changes nothing.

    Raises DTypeError for a type that has not 16 bits. Micikevicius et al. 2018.

    >>> import workbench as wb
    >>> w = wb.ones(2, 2, requires_grad=True)
    >>> with wb.autocast(dtype=wb.bfloat16):
    ...     y = wb.ones(1, 2) @ w
    >>> y.dtype.name, y.sum().dtype.name
    ('bfloat16', 'bfloat16')
    """

    def __init__(
        self,
        device_type: Any = "cpu",
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if isinstance(device_type, DType):
            raise TypeError(f"autocast takes the device first: autocast(dtype={device_type})")
        self.device_type = Device(device_type).type  # refuses what is no device
        found = as_dtype(get_autocast_dtype(self.device_type) if dtype is None else dtype)
        # Programs open such a block wherever they run. Results there are those of full precision.
        self._here = is_available(self.device_type)
        if enabled and not self._here:
            warnings.warn(
                f"autocast: there is no device {self.device_type!r} here: disabling autocast",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        if enabled and not half_width(found.numpy):
            raise DTypeError(
                f"autocast computes in a 16-bit type, bfloat16 or float16, got {found.name}: leave the block away to "
                "compute in the types of the inputs"
            )
        self.dtype, self.enabled = found, enabled
        self._entered: list[ExitStack] = []

    def __enter__(self) -> autocast:
        # Should entering the second block fail, the first is left again.
        with ExitStack() as block:
            if self._here:  # a block for another device says nothing of this one
                block.enter_context(dispatch.without(Autocast))
            if self.enabled:
                block.enter_context(dispatch.interpreting(Autocast(self.dtype.numpy)))
            self._entered.append(block.pop_all())
        return self

    def __exit__(self, *exception: Any) -> None:
        self._entered.pop().__exit__(*exception)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Run `function` inside the block, whenever it is called."""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with autocast(self.device_type, dtype=self.dtype, enabled=self.enabled):
                return function(*args, **kwargs)

        return wrapper


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Say whether products are computed in a 16-bit type, here and now, on a device that there is."""
    return autocast_dtype() is not None and (device_type is None or is_available(device_type))


def get_autocast_dtype(device_type: str) -> DType:
    """Return the 16-bit type that `autocast` takes on a device where none is given, or that is in force.

    >>> get_autocast_dtype("cpu").name, get_autocast_dtype("cuda").name
    ('bfloat16', 'float16')
    """
    now = autocast_dtype() if is_available(device_type) else None
    if now is not None:
        return as_dtype(now)
    return as_dtype("bfloat16" if Device(device_type).type in ("cpu", "xpu") else "float16")


def is_autocast_cpu_enabled() -> bool:
    """Say `is_autocast_enabled` of the CPU: PyTorch's older word."""
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> DType:
    """Return `get_autocast_dtype` of the CPU: PyTorch's older word."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> DType:
    """Return `get_autocast_dtype` of a GPU: PyTorch's older word."""
    return get_autocast_dtype("cuda")


def is_autocast_cache_enabled() -> bool:
    """Say whether casts of weights are kept for the next use: each is made when it is needed."""
    return False


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether casts of weights should be kept: taken, and none are."""


def clear_autocast_cache() -> None:
    """Forget casts of weights that were kept: none are."""
