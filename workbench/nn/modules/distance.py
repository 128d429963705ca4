"""How far two vectors are apart, and at what angle."""

from __future__ import annotations

from typing import Any

from workbench.nn import functional
from workbench.nn.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """Cosine of the angle between vectors along `dim`, by position or by name: x₁·x₂ / (max(‖x₁‖, ε)·max(‖x₂‖, ε)).

    The dim goes; sizes of the others broadcast.

    >>> import workbench as wb
    >>> CosineSimilarity("E")(wb.ones(N=2, E=4), wb.ones(N=2, E=4)).names
    ('N',)
    """

    def __init__(self, dim: int | str = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return the cosines."""
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """Distance of vectors along the last dim, [N, D] and [N, D]: ‖x₁ - x₂ + ε‖_p.

    The last dim goes, unless `keepdim`.

    >>> import workbench as wb
    >>> PairwiseDistance()(wb.zeros(N=1, D=2), wb.tensor([[3.0, 4.0]]))
    tensor([5.0000], names=('N',))
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return the distances."""
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
