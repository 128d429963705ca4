"""The Wishart distribution."""

from __future__ import annotations

import math

from workbench import linalg
from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.multivariate_normal import half_log_determinant, matrices, scale_tril_of
from workbench.distributions.utils import bare, lazy_property
from workbench.ops.elementwise.filling import where
from workbench.ops.linalg.cholesky import cholesky_inverse, cholesky_solve
from workbench.ops.shape.diagonal import diag_embed
from workbench.ops.shape.expand import broadcast_shapes
from workbench.tensor import Tensor as _Tensor
from workbench.tensor.factories import tensor
from workbench.tensor.ranges import arange

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """The Wishart distribution of scatter matrices [..., n, n]: Σ x·xᵀ of `df` normal vectors of mean 0.

    `df` exceeds n - 1 and need not be whole; the matrix is given as for `MultivariateNormal`. Equation:
    p(X) = |X|^((ν-n-1)/2) e^(-tr(V⁻¹X)/2) / (2^(νn/2) |V|^(ν/2) Γₙ(ν/2)). Draws are made by Bartlett's decomposition.

    >>> import workbench as wb
    >>> wb.distributions.Wishart(wb.tensor(3.0), wb.eye(2)).log_prob(wb.eye(2))
    tensor(-3.5310)
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {
            "covariance_matrix": covariance_matrix,
            "scale_tril": scale_tril,
            "precision_matrix": precision_matrix,
        }
        name, matrix = matrices(type(self).__name__, given)
        freedom: Tensor = df if isinstance(df, _Tensor) else tensor(df, dtype=matrix.dtype)
        batch = broadcast_shapes(tuple(matrix.shape[:-2]), tuple(freedom.shape))
        event = tuple(matrix.shape[-2:])
        self.__dict__[name] = matrix.expand((*batch, *event))
        self.df = freedom.expand(batch)
        # Not left to validate_args: below it no draw is positive definite.
        if event[0] != event[1]:
            raise ValueError(f"{name} is a batch of square matrices, got shape {tuple(matrix.shape)}")
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:  # type: ignore[override]
        """`df` is bounded by the size of the matrices."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @lazy_property
    def scale_tril(self) -> Tensor:
        """L, the lower Cholesky factor of V."""
        return self._unbroadcasted_scale_tril.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """V = L·Lᵀ."""
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """V⁻¹."""
        inverse = cholesky_inverse(self._unbroadcasted_scale_tril)
        return inverse.expand((*self._batch_shape, *self._event_shape))

    @property
    def _freedom(self) -> Tensor:
        return bare(self.df)[..., None, None]

    @property
    def mean(self) -> Tensor:
        """νV."""
        return self._freedom * bare(self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        """(ν - n - 1)V; NaN for ν ≤ n + 1."""
        factor = self._freedom - self._event_shape[-1] - 1
        return where(factor <= 0, float("nan"), factor) * bare(self.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        """ν(Vᵢⱼ² + VᵢᵢVⱼⱼ)."""
        v = bare(self.covariance_matrix)
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._freedom * (v.square() + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        shape = self._extended_shape(sizes)
        n = shape[-1]
        df = bare(self.df)
        # Bartlett: chi draws of falling freedom on the diagonal, normal ones below it.
        halves = (df.unsqueeze(-1) - arange(n, dtype=df.dtype)) / 2
        chi = (2 * draws.standard_gamma(shape[:-1], halves)).sqrt()
        factor = self._unbroadcasted_scale_tril @ (draws.normal(shape, df).tril(-1) + diag_embed(chi))
        return factor @ factor.mT

    def _log_prob(self, value: Tensor) -> Tensor:
        nu, n, factor = bare(self.df), self._event_shape[-1], self._unbroadcasted_scale_tril
        x = bare(value)
        size = half_log_determinant(linalg.cholesky(x))
        scale = n * math.log(2) / 2 + half_log_determinant(factor)
        inner = cholesky_solve(x, factor.expand(x.shape)).diagonal(dim1=-2, dim2=-1).sum(-1)
        found = (nu - n - 1) * size - inner / 2 - nu * scale - (nu / 2).mvlgamma(n)
        return self._named(found, value)

    def entropy(self) -> Tensor:
        """(n+1)·ln |2^½L| + ln Γₙ(ν/2) - (ν-n-1)/2·ψₙ(ν/2) + νn/2."""
        nu, n = bare(self.df), self._event_shape[-1]
        scale = n * math.log(2) / 2 + half_log_determinant(self._unbroadcasted_scale_tril)
        slope = ((nu.unsqueeze(-1) - arange(n, dtype=nu.dtype)) / 2).digamma().sum(-1)
        return (n + 1) * scale + (nu / 2).mvlgamma(n) - (nu - n - 1) / 2 * slope + nu * n / 2

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -bare(self.precision_matrix) / 2, (bare(self.df) - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (n * math.log(2) - linalg.slogdet(-2 * x)[1]) + half.mvlgamma(n)
