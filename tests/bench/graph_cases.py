"""Making graphs of programs, against PyTorch's FX."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.fx

import workbench as wb
from tests.bench.measure import Case, Work
from tests.peers.fx.models import with_torch

__all__ = ["graph_cases"]


def _symbolic_trace() -> tuple[Work, Work]:
    ours, theirs = wb.models.resnet50(), with_torch("resnet").resnet50()
    return lambda: wb.fx.symbolic_trace(ours), lambda: torch.fx.symbolic_trace(theirs)


def graph_cases() -> Iterator[Case]:
    """Every row."""
    yield Case("symbolic trace of ResNet-50", "torch.fx", 0.5, _symbolic_trace)
