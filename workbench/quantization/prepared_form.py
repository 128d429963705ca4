"""One door to prepared models: of layers, or of graphs."""

from __future__ import annotations

from typing import Any

from workbench.quantization.graph_mode.prepared_graph import PreparedGraph, is_prepared
from workbench.quantization.points import PreparedForm, PreparedLayers

__all__ = ["form_of"]


def form_of(model: Any) -> PreparedForm:
    """Return how a prepared model is looked at."""
    return PreparedGraph(model) if is_prepared(model) else PreparedLayers(model)
