"""A batch normalisation taken into the weights of the layer before it: the one place where that is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["fold_batch_norm"]

Array = np.ndarray[Any, Any]


def fold_batch_norm(
    weight: Array,
    bias: Array | None,
    mean: Array,
    variance: Array,
    eps: float,
    scale: Array | None = None,
    shift: Array | None = None,
    channel: int = 0,
) -> tuple[Array, Array]:
    """Return the weight and the bias of a layer that also does what the batch normalisation behind it does.

    Equation: w' = w·γ/√(σ² + ε), b' = (b - μ)·γ/√(σ² + ε) + β, for a weight whose dim `channel` counts the channels
    that μ, σ², γ (`scale`) and β (`shift`) have. Computed in float64 and rounded once, to the type of the weight and
    of the bias (of the weight, where there is none): the factor multiplies a whole channel, and so would its error.

    Reference: Jacob et al. 2018, *Quantization and training of neural networks for efficient integer-arithmetic-only
    inference*, section 3.2.

    >>> import numpy as np
    >>> fold_batch_norm(np.ones((2, 1)), None, np.array([1.0, 2.0]), np.array([4.0, 1.0]), 0.0)
    (array([[0.5],
           [1. ]]), array([-0.5, -2. ]))
    """
    factor = 1 / np.sqrt(variance.astype(np.float64) + eps)
    if scale is not None:
        factor = factor * scale
    moved = ((0 if bias is None else bias.astype(np.float64)) - mean.astype(np.float64)) * factor
    if shift is not None:
        moved = moved + shift
    wide = factor.reshape([-1 if i == channel else 1 for i in range(weight.ndim)])
    return (weight * wide).astype(weight.dtype), moved.astype(weight.dtype if bias is None else bias.dtype)
