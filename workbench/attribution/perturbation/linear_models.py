"""Small linear models that explain: weighted least squares, ridge and lasso, fitted in float64."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["Lasso", "LinearModel", "LinearRegression", "Ridge"]

Array = np.ndarray[Any, Any]

MOST_SWEEPS = 10_000
"""After so many turns over the coefficients that are not zero a lasso stops."""

LASSO_TOLERANCE = 1e-10
"""A lasso has come to rest when no coefficient moves by more than this share of the largest."""

RIDGE = 1e-12
"""Share of the sum of all eigenvalues that least squares add to each: above rounding, below those that count."""

MOST_RIDGES = 8
"""After so many turns least squares are not solved by ridges."""

RIDGE_TOLERANCE = 1e-11
"""Least squares have come to rest when no coefficient moves by more than this share of the largest."""


class LinearModel(ABC):
    """A model ``y = x @ w + b`` of samples that count with different weights.

    What `Lime` needs of an interpretable model is `fit`, given an iterable of batches (x [samples, features],
    y [samples], weights [samples]), and `representation`, the coefficients [1, features]; any object with both will do.
    """

    def __init__(self) -> None:
        self._coefficients: Array | None = None
        self._intercept = 0.0

    def fit(self, train_data: Iterable[Any]) -> LinearModel:
        """Fit the model to all batches together, and return it.

        Raises:
            ValueError: there are no samples, or values are NaN or infinite.
        """
        batches = [[_array(one) for one in batch] for batch in train_data]
        if not batches:
            raise ValueError(f"{type(self).__name__}: there are no samples to fit")
        x = np.concatenate([batch[0] for batch in batches])
        y = np.concatenate([batch[1].ravel() for batch in batches])
        parts = [batch[2].ravel() if len(batch) > 2 else np.ones(len(batch[0])) for batch in batches]
        self.fit_arrays(x, y, np.concatenate(parts))
        return self

    def fit_arrays(self, x: Array, y: Array, weights: Array) -> None:
        """Fit the model to arrays: x [samples, features], y [samples], weights [samples] of any scale."""
        name = type(self).__name__
        if not (np.isfinite(x).all() and np.isfinite(y).all() and np.isfinite(weights).all()):
            raise ValueError(
                f"{name}: samples, outputs or weights are NaN or infinite, and nothing fits those"
            )
        if (weights < 0).any() or not weights.sum():
            raise ValueError(f"{name}: weights of samples are not negative, and not all zero")
        x, y = x.astype(np.float64), y.astype(np.float64)
        mean_x, mean_y = np.average(x, axis=0, weights=weights), np.average(y, weights=weights)
        root = np.sqrt(weights.astype(np.float64))
        # A free intercept is what is left of the means: the rest goes through the origin.
        found = self._solve((x - mean_x) * root[:, None], (y - mean_y) * root, float(weights.sum()))
        self._coefficients, self._intercept = found, float(mean_y - mean_x @ found)

    @abstractmethod
    def _solve(self, x: Array, y: Array, total: float) -> Array:
        """Return the coefficients for samples that are centred and scaled by the roots of weights of sum `total`."""

    def representation(self) -> Tensor:
        """Return the coefficients, float32 [1, features].

        Raises:
            RuntimeError: nothing was fitted yet.
        """
        found: Tensor = new(self.coefficients.astype(np.float32)[None])
        return found

    @property
    def coefficients(self) -> Array:
        """The coefficients, float64 [features]."""
        if self._coefficients is None:
            raise RuntimeError(f"{type(self).__name__} has no coefficients before fit(…)")
        return self._coefficients

    def bias(self) -> Tensor:
        """Return the intercept, float32 [1]."""
        found: Tensor = new(np.array([self._intercept], np.float32))
        return found


class LinearRegression(LinearModel):
    r"""Weighted least squares; of several solutions the one with the smallest coefficients.

    .. math:: \min_{w, b} \sum_n \pi_n (y_n - x_n w - b)^2

    >>> import numpy as np
    >>> model = LinearRegression()
    >>> model.fit_arrays(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0]), np.ones(3))
    >>> model.coefficients.round(6).tolist(), model.bias().tolist()
    ([2.0], [1.0])
    """

    def _solve(self, x: Array, y: Array, total: float) -> Array:
        found = _smallest(x, y)
        return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0]) if found is None else found


def _smallest(x: Array, y: Array) -> Array | None:
    """Return the smallest coefficients of least squares, or None where columns are too nearly dependent to tell.

    A ridge that is small beside all eigenvalues but those of zero, applied to what is left again and again. These are a
    few large steps: LAPACK's ways are hundreds of small products, which take many times as long on several threads.
    """
    samples, features = x.shape
    wide = features > samples
    gram = x @ x.T if wide else x.T @ x
    ridge = RIDGE * float(np.trace(gram))
    gram[np.diag_indices_from(gram)] += ridge
    try:
        if wide:
            # What samples that depend on each other disagree in has no coefficients, and would be blown up.
            part = y
            for _ in range(3):
                part = ridge * np.linalg.solve(gram, part)
            y = y - part
        found, left = np.zeros(features), y
        for _ in range(MOST_RIDGES):
            more = x.T @ np.linalg.solve(gram, left) if wide else np.linalg.solve(gram, x.T @ left)
            found += more
            if np.abs(more).max() <= RIDGE_TOLERANCE * np.abs(found).max():
                return found
            left = y - x @ found
    except np.linalg.LinAlgError:  # all columns are zero
        return None
    return None


class Ridge(LinearModel):
    r"""Least squares with small coefficients.

    .. math:: \min_{w, b} \sum_n \pi_n (y_n - x_n w - b)^2 + \alpha \lVert w \rVert_2^2

    Raises:
        ValueError: `alpha` is not positive.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = _positive("Ridge", alpha)

    def _solve(self, x: Array, y: Array, total: float) -> Array:
        samples, features = x.shape
        # Whichever of the two products is smaller.
        if features <= samples:
            return np.asarray(np.linalg.solve(x.T @ x + self.alpha * np.eye(features), x.T @ y))
        return np.asarray(x.T @ np.linalg.solve(x @ x.T + self.alpha * np.eye(samples), y))


class Lasso(LinearModel):
    r"""Least squares with few coefficients that are not zero.

    .. math:: \min_{w, b} \frac{1}{2 \sum_n \pi_n} \sum_n \pi_n (y_n - x_n w - b)^2 + \alpha \lVert w \rVert_1

    Solved one coefficient after the other (Friedman, Hastie, Tibshirani: Regularization Paths for Generalized Linear
    Models via Coordinate Descent, 2010), those that are not zero first.

    Raises:
        ValueError: `alpha` is not positive.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = _positive("Lasso", alpha)

    def _solve(self, x: Array, y: Array, total: float) -> Array:
        bound = self.alpha * total
        norms = (x * x).sum(axis=0)
        found = np.zeros(x.shape[1])
        # Columns without spread say nothing, and columns that stay within the bound have the coefficient 0.
        candidates = np.flatnonzero((np.abs(x.T @ y) > bound) & (norms > 0))
        active = candidates[:0]
        while True:
            residual = y - x @ found
            over = np.abs(x.T @ residual) > bound * (1 + 1e-9)
            over &= norms > 0
            over[active] = False
            fresh = np.flatnonzero(over)
            if not len(fresh):
                return found
            active = np.union1d(active, fresh)
            _descend(x[:, active], y, norms[active], bound, found, active)


def _descend(x: Array, y: Array, norms: Array, bound: float, found: Array, active: Array) -> None:
    """Bring the active coefficients to rest, in place; only their columns are given."""
    # By the columns' products a turn takes no pass over the samples.
    gram, pull = x.T @ x, x.T @ y
    values = found[active]
    gradient = pull - gram @ values
    for _ in range(MOST_SWEEPS):
        most = 0.0
        for place, old in enumerate(values.tolist()):
            wanted = gradient[place] + norms[place] * old
            fresh = max(abs(wanted) - bound, 0.0) / norms[place] * (1.0 if wanted > 0 else -1.0)
            if fresh != old:
                gradient -= gram[place] * (fresh - old)
                values[place] = fresh
                most = max(most, abs(fresh - old))
        if most <= LASSO_TOLERANCE * max(float(np.abs(values).max(initial=0.0)), 1e-300):
            break
    found[active] = values


def _positive(name: str, alpha: Any) -> float:
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not alpha > 0:
        raise ValueError(
            f"{name}: alpha is a number above 0, got {alpha!r}; without a penalty it is LinearRegression"
        )
    return float(alpha)


def _array(value: Any) -> Array:
    return value.detach().numpy(force=True) if isinstance(value, Tensor) else np.asarray(value)
