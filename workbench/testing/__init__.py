"""Public checkers: what the workbench holds its own ops to."""

from __future__ import annotations

from workbench.base.public import words
from workbench.testing.checks import assert_close, check_op, gradcheck

__all__ = ["assert_close", "check_op", "gradcheck"]

__getattr__, __dir__ = words(__name__, __all__)
