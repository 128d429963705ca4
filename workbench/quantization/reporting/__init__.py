"""One call that says what quantization does to a model, layer by layer, and what to do about the worst."""

from __future__ import annotations

from workbench.quantization.reporting.advice import Advice
from workbench.quantization.reporting.left import LeftInFloat
from workbench.quantization.reporting.points import PointFigures
from workbench.quantization.reporting.report import Report, report

__all__ = ["Advice", "LeftInFloat", "PointFigures", "Report", "report"]
