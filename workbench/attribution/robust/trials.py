"""What searches over attacks share: several changed inputs go through the model at once, and are told apart again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.core.dispatch import no_grad
from workbench.core.value import new
from workbench.ops.shape.join import cat
from workbench.tensor import Tensor

__all__ = ["extra_of", "run_together"]


def extra_of(additional_forward_args: Any) -> tuple[Any, ...]:
    """Return further arguments of a model as a tuple: a tuple is several, anything else is one."""
    if additional_forward_args is None:
        return ()
    return (
        additional_forward_args if isinstance(additional_forward_args, tuple) else (additional_forward_args,)
    )


def run_together(forward: Callable[..., Any], trials: Sequence[Any], extra: tuple[Any, ...]) -> list[Any]:
    """Return the model's output for each of `trials`, of which each is a batch; further tensors go along with each.

    Raises:
        TypeError: several trials are not tensors, nor tuples of tensors.
    """
    with no_grad():
        if len(trials) == 1:
            return [forward(trials[0], *extra)]
        output = forward(_joined(trials), *(_again(one, len(trials)) for one in extra))
    parts, start = [], 0
    for trial in trials:
        stop = start + (trial if isinstance(trial, Tensor) else trial[0]).shape[0]
        parts.append(output[start:stop])
        start = stop
    return parts


def _joined(trials: Sequence[Any]) -> Any:
    first = trials[0]
    if isinstance(first, Tensor):
        return cat(list(trials))
    if isinstance(first, tuple | list) and first:
        return tuple(_joined([one[place] for one in trials]) for place in range(len(first)))
    raise TypeError(
        f"several inputs go through a model at once as tensors, or tuples of tensors; a {type(first).__name__} cannot "
        "be joined: use perturbations_per_eval=1, or a preproc_fn that makes tensors"
    )


def _again(one: Any, times: int) -> Any:
    if not isinstance(one, Tensor) or one.ndim == 0:
        return one
    return new(np.concatenate([one.detach().numpy(force=True)] * times), one._names)
