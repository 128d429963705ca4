"""Gradients: the tape's backward pass, and what is built on it."""

from __future__ import annotations

from workbench.autograd import batch_rules as _batch_rules  # noqa: F401  attaches the rules to their ops
from workbench.autograd.engine import backward, grad
from workbench.core.dispatch import enable_grad, grad_enabled, no_grad

__all__ = ["backward", "enable_grad", "grad", "grad_enabled", "no_grad"]
