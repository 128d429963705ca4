"""What is said of a file that is not what it claims to be, or has something that is not here."""

from __future__ import annotations

from workbench.base.errors import Shown

__all__ = ["OnnxError", "UnknownOperatorError"]


class OnnxError(Shown, ValueError):
    """An ONNX file that is damaged, claims what is not so, or has what cannot be run here."""


class UnknownOperatorError(OnnxError):
    """A run came to a node whose operator there is none of here."""
