"""What is said of the keys of a state that are not those of the module, and what would make them so."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.base.dims import near_miss

__all__ = ["key_problems", "way_to_state"]

_COMPARED = 20
"""How many unexpected keys are compared with the missing ones: where there are more, it is another model's state."""


def key_problems(missing: Sequence[str], unexpected: Sequence[str], state: Mapping[str, Any]) -> list[str]:
    """Say which keys are missing and which are unexpected; last, where one thing explains all of them, what."""
    problems = []
    if missing:
        problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{key}"' for key in missing) + ".")
    if unexpected:
        # Every one is compared with all that are missing: of a wrong model's thousands the first few tell
        # enough.
        near = {key: near_miss(key, missing) for key in unexpected[:_COMPARED]}
        problems.append(
            "Unexpected key(s) in state_dict: "
            + ", ".join(
                f'"{key}"' + (f' (is it "{near[key]}"?)' if near.get(key) else "") for key in unexpected
            )
            + "."
        )
    reason = _reason(missing, unexpected, state)
    return [*problems, reason] if reason else problems


def _reason(missing: Sequence[str], unexpected: Sequence[str], state: Mapping[str, Any]) -> str:
    if not missing or not unexpected:
        return ""
    inner = next((key for key in unexpected if isinstance(state.get(key), Mapping)), None)
    if inner is not None:
        return f"state_dict[{inner!r}] holds keys of its own: load that."
    first, known = missing[0], {*unexpected}
    longer = next((key.removesuffix(first) for key in unexpected if key.endswith(f".{first}")), "")
    if longer and all(longer + key in known for key in missing):
        return (
            f"The keys begin with {longer!r}, as those of a module that held this one: load "
            f"{{key.removeprefix({longer!r}): value for key, value in state_dict.items()}}."
        )
    within = next((first.removesuffix(key) for key in unexpected if first.endswith(f".{key}")), "")
    if within and all(key.startswith(within) and key.removeprefix(within) in known for key in missing):
        return f"The keys are those of the module within: load them by {within}load_state_dict(...)."
    return ""


def way_to_state(given: Any) -> str:
    """Say how what was given in the place of a state becomes one; empty where nobody knows."""
    if isinstance(given, str | os.PathLike):
        return " wb.load_weights(path) reads one."
    return " Give its state_dict()." if hasattr(given, "state_dict") else ""
