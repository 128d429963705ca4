"""What each layer's codes cost the model, and which layers are to have how many bits under a budget."""

from __future__ import annotations

from workbench.quantization.layerwise.costs import LayerCost, Sensitivity, sensitivity
from workbench.quantization.layerwise.mixed_precision import MixedPrecision, mixed_precision

__all__ = ["LayerCost", "MixedPrecision", "Sensitivity", "mixed_precision", "sensitivity"]
