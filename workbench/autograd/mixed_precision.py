"""Mixed precision as a block or a decorator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from workbench.base.devices import Device
from workbench.base.dtypes import DType, as_dtype, half_width
from workbench.base.errors import DTypeError
from workbench.core import dispatch
from workbench.core.autocast import Autocast, autocast_dtype

__all__ = ["autocast", "is_autocast_enabled"]


class autocast:
    """Compute products in a 16-bit type inside this block, and what needs range or digits in float32.

    Matrix products and convolutions take ``dtype`` (bfloat16 unless told), reductions, exponentials, logarithms,
    powers and losses take float32, every other op the type of its inputs. Parameters keep their type, and so do their
    gradients. float64, complex and integer values are left alone. Blocks nest; ``enabled=False`` switches an outer
    one off.

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
        Device(device_type)  # refuses what is no device
        found = as_dtype("bfloat16" if dtype is None else dtype)
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
            with autocast(dtype=self.dtype, enabled=self.enabled):
                return function(*args, **kwargs)

        return wrapper


def is_autocast_enabled() -> bool:
    """Say whether products are computed in a 16-bit type, here and now."""
    return autocast_dtype() is not None
