"""Mixed precision on a GPU, in PyTorch's older words: what `wb.amp` has, for the device ``cuda``."""

from __future__ import annotations

import functools
from typing import Any

from workbench import amp
from workbench.base.public import words

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

PYTORCH_FILES = ("autocast_mode", "common", "grad_scaler")
"""Files that PyTorch has here."""


class autocast(amp.autocast):
    """``wb.autocast("cuda")``: it warns and changes nothing where there is no GPU."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``wb.amp.GradScaler("cuda")``: it warns and is off where there is no GPU."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")

__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)
