"""Kernel SHAP: Shapley values by a linear model of which features are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.attribution.perturbation.lime import Lime, Sums
from workbench.attribution.perturbation.linear_models import LinearRegression
from workbench.base.random import default_generator

__all__ = ["KernelShap"]

Array = np.ndarray[Any, Any]


class KernelShap(Lime):
    r"""Shapley values as the coefficients of a linear model, fitted to samples that are drawn by the Shapley kernel.

    A sample has k of n features with the probability :math:`p(k) \propto 1 / k(n - k)`, and each set of so many
    features is as likely as another; the first two samples, the input and the baseline, weigh 1,000,000 times as
    much as the others, so that attributions add up to the output's change. All sets that there are, drawn often
    enough, give Shapley values. Arguments are those of `Lime.attribute`. Samples are drawn from the default generator.

    Source: Lundberg, Lee: A Unified Approach to Interpreting Model Predictions (2017).

    >>> import workbench as wb
    >>> _ = wb.manual_seed(0)
    >>> x = wb.tensor([[2.0, 3.0, 5.0]])
    >>> found = KernelShap(lambda x: x[:, 0] + 2 * x[:, 1]).attribute(x, n_samples=20)
    >>> wb.allclose(found, wb.tensor([[2.0, 6.0, 0.0]]), atol=1e-4)
    True
    """

    takes_any_type = True
    name = "Kernel SHAP"
    multiplies_by_inputs = True

    def __init__(self, forward_func: Callable[..., Any]) -> None:
        super().__init__(forward_func, LinearRegression())
        self.inf_weight = 1_000_000.0
        """Weight of the input and the baseline, which the linear model is to meet."""

    def _is_drawn_here(self) -> bool:
        return True

    def _draw(self, count: int, shape: tuple[int, int]) -> Array:
        stream = default_generator.numpy
        chosen = np.zeros((*shape, count), bool)
        chosen[:, 0] = True
        if count > 1 and shape[1] > 2:
            sizes = np.arange(1, count)
            odds = 1 / (sizes * (count - sizes))
            drawn = stream.choice(sizes, (shape[0], shape[1] - 2), p=odds / odds.sum())
            values = stream.random((*drawn.shape, count))
            # As many of the smallest as the set is to have.
            limits = np.take_along_axis(np.sort(values, axis=-1), drawn[..., None] - 1, -1)
            chosen[:, 2:] = values <= limits
        return chosen

    def _weigh(self, chosen: Array, sums: Sums) -> Array:
        sizes = chosen.sum(axis=-1)
        return np.where((sizes == 0) | (sizes == chosen.shape[-1]), self.inf_weight, 1.0)
