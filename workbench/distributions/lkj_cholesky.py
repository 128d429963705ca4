"""The LKJ distribution of correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.beta import Beta
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import bare, broadcast_all
from workbench.ops.elementwise.filling import where
from workbench.ops.shape.diagonal import diag_embed
from workbench.ops.shape.join import cat
from workbench.tensor.factories import zeros
from workbench.tensor.ranges import arange
from workbench.tensor.type_queries import finfo

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors L of correlation matrices of `dim` variables, with density ∝ |L·Lᵀ|^(η-1).

    The larger the `concentration` η, the weaker the correlations; at 1 all matrices are as likely. Draws are made row
    by row, each on a sphere (Lewandowski, Kurowicka and Joe 2009, the onion method). Raises ValueError for `dim` < 2.

    >>> import workbench as wb
    >>> wb.distributions.LKJCholesky(3, 1.0).sample().shape
    (3, 3)
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}: one variable "
                "correlates with nothing"
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        n, eta = self.dim, bare(self.concentration)
        # How much of row i lies off the diagonal: a beta draw of i/2 and what is left of the concentration.
        step = arange(n - 1, dtype=eta.dtype)
        step = cat([zeros(1, dtype=eta.dtype), step])
        least = (eta + (n - 2) / 2).unsqueeze(-1)
        share = Beta((step + 1) / 2, least - step / 2, validate_args=False).sample(sizes).unsqueeze(-1)
        normal = draws.normal(self._extended_shape(sizes), eta).tril(-1)
        length = normal.square().sum(-1, keepdim=True).sqrt()
        rows = where(length == 0, 0.0, share.sqrt() * normal / where(length == 0, 1.0, length))
        rest = (1 - rows.square().sum(-1)).clamp(float(finfo(eta.dtype).tiny))
        return rows + diag_embed(rest.sqrt())

    def _log_prob(self, value: Tensor) -> Tensor:
        n, eta = self.dim, bare(self.concentration)
        diagonal = bare(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = 2 * (eta - 1).unsqueeze(-1) + n - arange(2, n + 1, dtype=eta.dtype)
        alpha = eta + (n - 1) / 2
        surface = (n - 1) * math.log(math.pi) / 2 + (alpha - 0.5).mvlgamma(n - 1) - (n - 1) * alpha.lgamma()
        return self._named((order * diagonal.log()).sum(-1) - surface, value)
