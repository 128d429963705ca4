"""Normalisation of each value by its neighbours in other channels, as layers."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import DimensionValueError
from workbench.core.value import dims_of
from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.spatial_names import check_layout, require_size
from workbench.ops.nn.conv.window_geometry import LAYOUT

__all__ = ["CrossMapLRN2d", "LocalResponseNorm"]


class LocalResponseNorm(Module):
    """Divide each value of [N, C, …] by its neighbours in `size` channels. Krizhevsky et al. 2012.

    y = x / (k + alpha / size·Σ x²)^beta, over the channels c - ⌊size / 2⌋ … c + ⌊(size - 1) / 2⌋; beyond the channels
    there is nothing.

    Raises ValueError for an input of fewer than three dims.

    >>> import workbench as wb
    >>> LocalResponseNorm(1, alpha=3.0, beta=0.5)(wb.ones(1, 1, 2)).tolist()
    [[[0.5, 0.5]]]
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        require_size(1, size=size)
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Any) -> Any:
        """Divide by the neighbours."""
        n = len(input.payload.shape) - 2
        if n in LAYOUT:
            check_layout(type(self).__name__, input, n)
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """Divide each value of [N, C, H, W] by its neighbours in an odd number of channels, as many on either side.

    y = x / (k + alpha / size·Σ x²)^beta, over the channels c - r … c + r, r = ⌊(size - 1) / 2⌋; an even `size` counts
    one channel fewer than it divides by. PyTorch's own keeps the first channel's square in windows that have moved past
    it, and its gradient is that of neither; here window and gradient are those of the equation.

    >>> import workbench as wb
    >>> CrossMapLRN2d(3, alpha=3.0, beta=1.0)(wb.ones(1, 3, 1, 1)).flatten()
    tensor([0.3333, 0.2500, 0.3333])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Any) -> Any:
        """Divide by the neighbours."""
        dims = dims_of(input)
        if len(dims.sizes) != 4:
            raise DimensionValueError(
                f"Expected input to be 4D, got {len(dims.sizes)}D instead.",
                op="CrossMapLRN2d", operands=(dims.operand("input"),),
            )  # fmt: skip
        check_layout("CrossMapLRN2d", input, 2)
        seen = 2 * ((self.size - 1) // 2) + 1
        # The function divides by the channels it sees, the equation by `size`.
        return functional.local_response_norm(input, seen, self.alpha * seen / self.size, self.beta, self.k)
