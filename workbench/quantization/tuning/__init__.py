"""What makes a quantized model better after its ranges are known: corrected biases, learned rounding."""

from __future__ import annotations

from workbench.quantization.tuning.adaround import adaround
from workbench.quantization.tuning.bias import correct_bias

__all__ = ["adaround", "correct_bias"]
