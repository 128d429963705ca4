"""Mixed precision in PyTorch's words: `autocast`, the scaler of losses, and functions that say their own types."""

from __future__ import annotations

from workbench.amp.custom import custom_bwd, custom_fwd
from workbench.amp.scaler_for_devices import GradScaler
from workbench.autograd import autocast
from workbench.base.public import words
from workbench.core.backend import is_available as is_autocast_available

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

PYTORCH_FILES = ("autocast_mode", "grad_scaler")
"""Files that PyTorch has here."""

__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)
