"""`functional_call`, under PyTorch's older name: see `workbench.func`."""

from __future__ import annotations

from workbench.autograd.stateless import functional_call

__all__ = ["functional_call"]
