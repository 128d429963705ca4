"""The operators, a file a family. Each is a record of the table, `workbench.onnx.table`, found by being there."""

from __future__ import annotations

from workbench.onnx.families import (
    attention,
    classical,
    convolution,
    creation,
    detection,
    elementwise,
    indexing,
    losses,
    matrix,
    microsoft,
    normalization,
    pooling,
    quantized,
    recurrent,
    reductions,
    resizing,
    sequences,
    shapes,
    signal,
    steps,
)

__all__ = [
    "attention", "classical", "convolution", "creation", "detection", "elementwise", "indexing", "losses", "matrix",
    "microsoft", "normalization", "pooling", "quantized", "recurrent", "reductions", "resizing", "sequences", "shapes",
    "signal", "steps",
]  # fmt: skip
