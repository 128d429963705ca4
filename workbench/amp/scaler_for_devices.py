"""The scaler that is given a device: where that is not here, there is nothing to scale for."""

from __future__ import annotations

import warnings

from workbench.amp import grad_scaler
from workbench.base.devices import Device
from workbench.core.backend import is_available

__all__ = ["GradScaler"]


class GradScaler(grad_scaler.GradScaler):
    """`train.GradScaler` for the device ``cuda``, unless another is given; without that device it warns and is off.

    An optimizer then takes its steps as if there were no scaler, as in PyTorch.

    >>> GradScaler("cpu", init_scale=4.0).get_scale()
    4.0
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and not is_available(Device(device).type):
            warnings.warn(
                f"GradScaler is enabled, and there is no device {device!r} here: disabling it",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
