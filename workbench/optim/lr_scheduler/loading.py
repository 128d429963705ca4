"""What a schedule takes over from another: looked at whole before anything changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.tensor import Tensor

__all__ = ["LEFT_ASIDE", "differences"]

LEFT_ASIDE = frozenset({"verbose", "anneal_func", "mode_worse"})
"""What PyTorch's schedules have, or had, in their state, and nothing here needs."""
MAY_BE_MISSING = LEFT_ASIDE | {
    "_get_lr_called_within_step", "_is_initial", "_last_lr", "_scale_fn_custom", "_step_count", "default_min_lr",
    "lr_lambdas", "use_beta1",
}  # fmt: skip
"""What earlier versions of PyTorch's schedules did not have."""


def differences(own: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Say in what the state of a schedule does not fit that of one of ours."""
    problems = []
    if missing := sorted(own.keys() - given.keys() - MAY_BE_MISSING):
        problems.append(f"missing: {', '.join(missing)}")
    if unexpected := sorted(map(str, given.keys() - own.keys() - LEFT_ASIDE)):
        problems.append(f"unexpected: {', '.join(unexpected)}")
    for key in own.keys() & given.keys():
        expected, found = _kind(own[key]), _kind(given[key])
        if expected and found and expected != found:
            problems.append(f"{key!r} is {expected}, got {given[key]!r}")
        elif expected == "a list" and _numbers(own[key]) and not _numbers(given[key]):
            problems.append(f"{key!r} is a list of numbers, got {given[key]!r}")
    return sorted(problems)


def _kind(value: Any) -> str | None:
    if isinstance(value, bool | int | float | np.number | Tensor):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "a dict"
    return "a list" if isinstance(value, list | tuple) else None


def _numbers(values: Iterable[Any]) -> bool:
    return all(_kind(one) == "a number" for one in values)
