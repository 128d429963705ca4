"""Going through a model twice and back once: multipliers of inputs, of a layer, and of one neuron."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question
from workbench.attribution.evaluation import gradients_for
from workbench.attribution.propagation.differences import Explained, Reference
from workbench.attribution.propagation.multipliers import SMALL
from workbench.attribution.target import select
from workbench.base.random import get_rng_state, set_rng_state
from workbench.core.dispatch import enable_grad, interpreting

__all__ = ["multipliers_of"]

Array = np.ndarray[Any, Any]
Forward = Callable[..., Any]


def multipliers_of(
    forward: Forward,
    question: Question,
    values: Sequence[Array],
    references: Sequence[Array],
    rows: Array,
    small: float = SMALL,
) -> tuple[list[Array], Array, Array]:
    """Return the multipliers for `values`, and the targets' values [rows] there and at the `references`.

    Differences up to `small` count as none. Row i is of sample ``rows[i]``, and all arrays have as many rows.
    Parameters collect no gradients.

    Raises:
        AutogradError: a call has no rule, the two runs part, or the output does not depend on the inputs.
    """
    explained = Explained(question.method)
    reference = Reference(explained, small)
    leaves = [leaf.requires_grad_() for leaf in question.tensors(values)]
    baselines = [leaf.requires_grad_() for leaf in question.tensors(references)]
    explained.follow(leaves)
    reference.follow(baselines)
    with enable_grad():
        # What a model draws is to be the same in both runs.
        drawn = get_rng_state()
        with interpreting(explained):
            output = forward(*leaves, *question.arguments(rows))
        index = select(output, question.target, rows, question.method)
        after = get_rng_state()
        set_rng_state(drawn)
        with interpreting(reference):
            before = forward(*baselines, *question.arguments(rows))
        set_rng_state(after)
        reference.finish()
        found = gradients_for(output, index, leaves, question.method)
    here = output.detach().numpy(force=True)[index]
    return found, here, before.detach().numpy(force=True)[index]
