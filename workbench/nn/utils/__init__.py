"""Helpers around modules."""

from __future__ import annotations

from workbench.nn.utils import rnn

__all__ = ["rnn"]
