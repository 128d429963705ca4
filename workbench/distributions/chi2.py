"""The chi-squared distribution."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.gamma import Gamma
from workbench.distributions.utils import broadcast_all

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-squared distribution of `df` degrees of freedom: the sum of that many squared standard normal draws.

    Equation: Gamma(df/2, ½).

    >>> import workbench as wb
    >>> wb.distributions.Chi2(2.0).log_prob(wb.tensor(1.0))
    tensor(-1.1931)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        (value,) = broadcast_all(df)
        super().__init__(value / 2, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return 2 * self.concentration
