"""Models that are ready to be trained."""

from __future__ import annotations

from workbench.models.digits import DigitsNet

__all__ = ["DigitsNet"]
