"""Exponential families: entropy and divergence follow from the logarithm of the normalizer."""

from __future__ import annotations

from workbench.autograd import grad
from workbench.core.dispatch import enable_grad
from workbench.core.stack import grad_enabled
from workbench.core.typing import Tensor
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import bare

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with density p(x; θ) = exp(⟨t(x), θ⟩ - F(θ) + k(x)): θ natural parameters, F the log normalizer.

    A subclass states ``_natural_params``, ``_log_normalizer(*θ)`` and ``_mean_carrier_measure`` = E[k(x)].
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise self._absent("natural parameters", "a subclass states _natural_params")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise self._absent("log normalizer", "a subclass states _log_normalizer")

    @property
    def _mean_carrier_measure(self) -> float | Tensor:
        raise self._absent("mean of its carrier measure", "a subclass states _mean_carrier_measure")

    def _normalizer_and_slopes(self) -> tuple[tuple[Tensor, ...], Tensor, tuple[Tensor, ...]]:
        """Return θ, F(θ) and ∇F(θ), which are recorded where gradients are."""
        recording = grad_enabled() and any(one.requires_grad for one in self._natural_params)
        with enable_grad():
            params = [bare(one) for one in self._natural_params]
            # Leaves of their own, unless gradients are to go on to what the parameters were made of.
            params = [
                one if recording and one.requires_grad else one.detach().requires_grad_() for one in params
            ]
            total = self._log_normalizer(*params)
            slopes = [one for one in grad(total.sum(), params, create_graph=recording) if one is not None]
        if not recording:
            params, total = [one.detach() for one in params], total.detach()
        return tuple(params), total, tuple(slopes)

    def entropy(self) -> Tensor:
        """Return the entropy F(θ) - ⟨θ, ∇F(θ)⟩ - E[k(x)] in nats."""
        params, total, slopes = self._normalizer_and_slopes()
        result = total - self._mean_carrier_measure
        for param, slope in zip(params, slopes, strict=True):
            term = param * slope
            result = result - term.reshape((*self._batch_shape, -1)).sum(-1)
        return result
