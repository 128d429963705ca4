"""The Dirichlet distribution."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.utils import bare
from workbench.ops.elementwise.filling import where
from workbench.ops.index.one_hot import one_hot
from workbench.tensor.type_queries import finfo

__all__ = ["Dirichlet", "simplex_draws"]


def simplex_draws(sizes: tuple[int, ...], concentration: Tensor) -> Tensor:
    """Return draws that sum to 1 along the last dim: gamma draws over their sum, in logarithms."""
    shares = draws.log_standard_gamma(sizes, bare(concentration)).softmax(-1).to(concentration.dtype)
    info = finfo(concentration.dtype)
    # Neither 0 nor 1 to the last digit: densities there may be infinite.
    return shares.clamp(float(info.tiny), 1 - float(info.eps) / 2)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution: K shares that sum to 1, for `concentration` [..., K].

    Equation: p(x) = Γ(Σα)/ΠΓ(αₖ)·Π xₖ^(αₖ-1). Draws are differentiable, by those of gamma distributions.

    >>> import workbench as wb
    >>> wb.distributions.Dirichlet(wb.ones(3)).log_prob(wb.tensor([0.2, 0.3, 0.5]))
    tensor(0.6931)
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError(
                "`concentration` parameter must be at least one-dimensional: its last dim has one number for each share"
            )
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """αₖ/Σα."""
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        """(αₖ - 1)/Σ(α - 1) where αₖ > 1; where all are below 1, one share is all of it."""
        a = bare(self.concentration)
        above = (a - 1).clamp(0)
        total = above.sum(-1, keepdim=True)
        corner = one_hot(a.argmax(-1), a.shape[-1]).to(a.dtype)
        return where((a < 1).all(-1, keepdim=True), corner, above / where(total == 0, float("nan"), total))

    @property
    def variance(self) -> Tensor:
        """αₖ(Σα - αₖ)/((Σα)²(Σα + 1))."""
        a = self.concentration
        total = a.sum(-1, keepdim=True)
        return a * (total - a) / (total.square() * (total + 1))

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        return simplex_draws(self._extended_shape(sizes), self.concentration)

    def _log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return (a - 1).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        """Ln B(α) + (Σα - K)·ψ(Σα) - Σ(αₖ - 1)·ψ(αₖ)."""
        a = self.concentration
        total = a.sum(-1)
        normalizer = a.lgamma().sum(-1) - total.lgamma()
        return normalizer + (total - a.shape[-1]) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
