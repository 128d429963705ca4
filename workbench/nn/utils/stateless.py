"""`functional_call`, under PyTorch's older name: see `workbench.func`."""

from __future__ import annotations

from workbench.autograd.stateless import functional_call
from workbench.base.public import words

__all__ = ["functional_call"]

__getattr__, __dir__ = words(__name__, __all__)
