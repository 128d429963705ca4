"""Complexity and sparseness: over how many features attributions are spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.arguments import Question, ask
from workbench.attribution.metrics.features import features
from workbench.attribution.metrics.scoring import per_sample
from workbench.tensor import Tensor

__all__ = ["complexity", "sparseness"]

Array = np.ndarray[Any, Any]


def complexity(attributions: Any, *, over: Any = ()) -> Tensor:
    """Return the entropy of how attributions are spread over features, float64 [N]; lower is simpler.

    ``−Σ p log p`` with ``p = |a| / Σ |a|``: 0 where one feature has it all, log F where all have the same, and 0 where
    all attributions are 0. Dims named by `over` are summed first (see `features`).

    Raises:
        TypeError, DTypeError, DimensionError: attributions are not floating point tensors [N, …].
        ValueError: attributions hold NaN or infinite values.

    Source: Bhatt, Weller, Moura: Evaluating and Aggregating Feature-based Model Explanations (2020).

    >>> import workbench as wb
    >>> complexity(wb.tensor([[0.0, 2.0], [0.0, 0.0]])).tolist()
    [0.0, 0.0]
    """
    question, sizes = _sizes("complexity", attributions, over)
    total = sizes.sum(axis=1, keepdims=True)
    parts = sizes / np.where(total == 0, 1, total)
    # Nothing is added by a feature that has nothing: p log p goes to 0. And no −0.
    logarithms = np.log(np.where(parts == 0, 1, parts))
    return per_sample(question, np.abs((parts * logarithms).sum(axis=1)))


def sparseness(attributions: Any, *, over: Any = ()) -> Tensor:
    """Return the Gini index of attributions, float64 [N], 0 to 1; higher is sparser.

    ``Σ_k (2k − F − 1) |a|_(k) / (F Σ |a|)`` over features in the order of ``|a|``, k from 1: 0 where all have the same
    (or all are 0), 1 − 1/F where one has it all. Dims named by `over` are summed first (see `features`).

    Raises as `complexity` does.

    Source: Chalasani, Chen, Chowdhury, Jha, Wu: Concise Explanations using Adversarial Training (2020).

    >>> import workbench as wb
    >>> sparseness(wb.tensor([[0.0, 0.0, 0.0, 2.0], [1.0, 1.0, -1.0, 1.0]])).tolist()
    [0.75, 0.0]
    """
    question, sizes = _sizes("sparseness", attributions, over)
    count = sizes.shape[1]
    weights = 2 * np.arange(1, count + 1) - count - 1
    total = sizes.sum(axis=1)
    return per_sample(question, np.sort(sizes, axis=1) @ weights / (count * np.where(total == 0, 1, total)))


def _sizes(method: str, attributions: Any, over: Any) -> tuple[Question, Array]:
    # Attributions are what they themselves are asked about: they are checked as inputs are.
    question = ask(method, attributions)
    return question, np.abs(features(question, attributions, over).attributions)
