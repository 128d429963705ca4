"""Standard draws, from which all others are made: of the type of a parameter, from the default stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.base.dtypes import DType
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.ops.random.counter_based import seed_from
from workbench.ops.random.noise import noise
from workbench.tensor.type_queries import finfo

__all__ = [
    "exponential", "gumbel", "log_standard_gamma", "normal", "seed_from", "standard_gamma", "uniform", "uniform_of",
]  # fmt: skip

_WIDE = np.dtype(np.float64)


def uniform(sizes: Sequence[int], like: Tensor) -> Tensor:
    """Return even draws from (0, 1): neither end comes, so that logarithms are finite."""
    return uniform_of(sizes, like.dtype)


def uniform_of(sizes: Sequence[int], dtype: DType) -> Tensor:
    """Return the same of a type."""
    drawn: Tensor = noise("rand", tuple(sizes), dtype.numpy)
    info = finfo(dtype)
    return drawn.clamp(info.tiny, 1 - info.eps / 2)


def normal(sizes: Sequence[int], like: Tensor) -> Tensor:
    """Return draws from the standard normal distribution."""
    return noise("randn", tuple(sizes), like.payload.dtype)  # type: ignore[no-any-return]


def exponential(sizes: Sequence[int], like: Tensor) -> Tensor:
    """Return draws from the exponential distribution of rate 1."""
    return noise("exponential", tuple(sizes), like.payload.dtype)  # type: ignore[no-any-return]


def gumbel(sizes: Sequence[int], like: Tensor) -> Tensor:
    """Return draws from the standard Gumbel distribution."""
    return noise("gumbel", tuple(sizes), like.payload.dtype)  # type: ignore[no-any-return]


def _share(sizes: Sequence[int]) -> Tensor:
    drawn: Tensor = noise("rand", tuple(sizes), _WIDE)
    return drawn.clamp(2.0**-54)


def _gamma(sizes: Sequence[int], concentration: Tensor) -> Tensor:
    return ops.standard_gamma(concentration.expand(tuple(sizes)), seed=seed_from())


def standard_gamma(sizes: Sequence[int], concentration: Tensor) -> Tensor:
    """Return draws from gamma distributions of rate 1, differentiable in the concentration.

    They are drawn by rejection; the gradient is that of the quantile whose even draw stays, which has the same
    distribution.
    """
    drawn: Tensor = ops.to(_gamma(sizes, concentration.double()), dtype=concentration.payload.dtype)
    return drawn.clamp(float(finfo(drawn.dtype).tiny))


def log_standard_gamma(sizes: Sequence[int], concentration: Tensor) -> Tensor:
    """Return logarithms of such draws, in float64: those of small concentrations lie below every type's numbers.

    With z from Gamma(a + 1) and u from (0, 1), z·u^(1/a) is from Gamma(a) (Marsaglia and Tsang 2000).
    """
    wide = concentration.double()
    return _gamma(sizes, wide + 1).log() + _share(sizes).log() / wide
