"""Which library's integer arithmetic is followed to its last rounding, as PyTorch's ``backends.quantized.engine`` says.

All engines run on the same kernels and sum exactly. They differ in how sums become codes, which shows where a result
meets a half:

- ``onednn``: in real numbers, rounded once with the zero point.
- ``fbgemm``: the bias joins the sum first, and the zero point is added after rounding.
- ``x86``: convolutions as ``onednn``, affine maps as ``fbgemm``.
- ``qnnpack``: by whole numbers alone, as phones do it: the bias is rounded to 32 bits, and a multiplier of 31 bits
  and a shift stand for the scales.
"""

from __future__ import annotations

from typing import Literal

from workbench.base.errors import QuantizationError

__all__ = ["ENGINES", "Requantization", "engine", "requantization", "set_engine"]

Requantization = Literal["real", "joined", "whole"]

ENGINES: dict[str, dict[str, Requantization]] = {
    "qnnpack": {"convolution": "whole", "linear": "whole"},
    "onednn": {"convolution": "real", "linear": "real"},
    "x86": {"convolution": "real", "linear": "joined"},
    "fbgemm": {"convolution": "joined", "linear": "joined"},
}
"""How each engine brings the sums of each kind of layer to codes."""

_chosen = ["x86"]


def engine() -> str:
    """Return the engine in force.

    >>> engine()
    'x86'
    """
    return _chosen[0]


def set_engine(name: str) -> None:
    """Choose the engine for all that is computed from now on. Raises QuantizationError for an unknown one.

    >>> set_engine("onednn")
    >>> engine()
    'onednn'
    >>> set_engine("x86")
    """
    if name not in ENGINES:
        known = ", ".join(map(repr, ENGINES))
        raise QuantizationError(f"there is no quantized engine {name!r}; there are {known}")
    _chosen[0] = name


def requantization(layer: str) -> Requantization:
    """Return how the engine in force brings the sums of ``convolution`` or ``linear`` to codes."""
    return ENGINES[_chosen[0]][layer]
