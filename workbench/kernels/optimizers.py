"""Optimizer steps in place: one pass over all parameters of a group, their gradients and their state.

The compiled step looks up what belongs to each parameter itself, so that Python does not go over them one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.kernels.loader import native

__all__ = ["STEP_RULES", "optimizer_step"]

STEP_RULES = ("sgd", "adam", "nadam", "radam", "adamax", "rmsprop", "adagrad", "adadelta")
"""What `optimizer_step` knows."""

optimizer_step: Callable[..., list[Any]] | None = None if native is None else native.optimizer_step
"""``(rule, state, parameters, keys, settings, first)``: make one step of every parameter that has a gradient.

`state` maps a parameter to a dict of tensors, and `keys` says which of them a step uses: three arrays, the number of
steps, a running product; None for what there is not. `settings` are seven numbers (rate, two betas, epsilon, weight
decay, momentum, one more) and four flags (nesterov, maximize, decoupled, variant). `first` says that there is no
momentum yet. Returns the parameters that were left as they are: no state yet, memory with gaps, half precision.

None without the compiled kernels.
"""
