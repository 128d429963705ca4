"""What is written for each op, a file a family; importing them fills the table."""

from __future__ import annotations

from workbench.onnx.writing.families import (
    activations,
    convolutions,
    creation,
    dynamic,
    elementwise,
    indexing,
    integers,
    losses,
    matrices,
    normalizations,
    pools,
    quantized,
    recurrent,
    reductions,
    resampling,
    shapes,
)

__all__ = [
    "activations", "convolutions", "creation", "dynamic", "elementwise", "indexing", "integers", "losses", "matrices",
    "normalizations", "pools", "quantized", "recurrent", "reductions", "resampling", "shapes",
]  # fmt: skip

integers.declare()
