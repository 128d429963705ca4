"""Layers in training whose input is rounded by its own range in every call, as those of `quantized.dynamic` do."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import QuantizationError
from workbench.base.public import words
from workbench.quantization.qat import layers
from workbench.quantization.qconfig import is_memoryless

__all__ = ["Linear"]

PYTORCH_FILES = ("modules",)


class Linear(layers.Linear):
    """An affine map with a rounded weight, for what becomes dynamic: y = x̂·ŵᵀ + b, x̂ what its input is rounded to.

    The qconfig's fake quantization of activations sees a range anew in each batch, and `prepare_qat` puts it in front
    of the layer. Raises `QuantizationError` for one that remembers batches.

    >>> import workbench as wb
    >>> layer = Linear(3, 2, qconfig=wb.quantization.default_dynamic_qat_qconfig)
    >>> layer(wb.ones(1, 3)).shape
    (1, 2)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, qconfig, device, dtype)
        if not is_memoryless(qconfig):
            raise QuantizationError(
                "Dynamic QAT requires a memoryless observer: a moving average with averaging_constant=1, as "
                "default_dynamic_qat_qconfig has"
            )


__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)
