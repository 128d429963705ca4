"""Public checkers: what the workbench holds its own ops to."""

from __future__ import annotations

from workbench.testing.checks import assert_close, check_op, gradcheck

__all__ = ["assert_close", "check_op", "gradcheck"]
