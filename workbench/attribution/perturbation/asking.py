"""How methods are asked that need no gradients: any numbers, and baselines as people write them."""

from __future__ import annotations

from typing import Any

from workbench.attribution.arguments import Question, ask
from workbench.tensor import Tensor

__all__ = ["ask_any"]


def ask_any(method: str, inputs: Any, baselines: Any, target: Any, additional_forward_args: Any) -> Question:
    """Return a question about inputs of any numbers, whole ones and truth values among them.

    A baseline may have fewer dims than its input, and may be True or False.

    Raises as `ask` does.
    """
    values = inputs if isinstance(inputs, tuple) else (inputs,)
    if isinstance(baselines, tuple):
        starts: Any = tuple(_baseline(one, value) for one, value in zip(baselines, values, strict=False))
        starts += baselines[len(starts) :]
    else:
        starts = _baseline(baselines, values[0]) if values else baselines
    return ask(method, inputs, starts, target, additional_forward_args, any_type=True)


def _baseline(baseline: Any, value: Any) -> Any:
    if isinstance(baseline, bool):
        return int(baseline)
    if isinstance(baseline, Tensor) and isinstance(value, Tensor) and baseline.ndim < value.ndim:
        return baseline[(None,) * (value.ndim - baseline.ndim)] if not any(baseline.names) else baseline
    return baseline
