"""Bookmarks of a picture as TensorBoard's projector writes them: a list of states, each a JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["MOST_BOOKMARKS", "State", "as_states", "states_of", "text_of"]

State = Mapping[str, Any]

MOST_BOOKMARKS = 200
"""As many bookmarks has an embedding at most."""


def as_states(given: Iterable[State]) -> tuple[State, ...]:
    """Return states as they are kept, copied.

    Raises:
        TypeError: one is no mapping.
        ValueError: there are too many, or one holds what JSON has no form for.

    >>> as_states([{"label": "start", "selectedPoints": (1, 2)}])
    ({'label': 'start', 'selectedPoints': [1, 2]},)
    """
    states: list[Any] = list(given)
    if len(states) > MOST_BOOKMARKS:
        raise ValueError(
            f"an embedding has at most {MOST_BOOKMARKS} bookmarks, and {len(states):,} were given"
        )
    wrong = next((one for one in states if not isinstance(one, Mapping)), None)
    if wrong is not None:
        raise TypeError(
            "a bookmark is a state of TensorBoard's projector, a mapping such as {'label': 'start'}; "
            f"got {type(wrong).__name__}"
        )
    try:
        # What the file would give back: nothing of it is shared with who gave it.
        return tuple(json.loads(json.dumps([dict(one) for one in states], allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"a bookmark holds what a JSON file cannot: {error}") from None


def text_of(states: Iterable[State]) -> str:
    """Return the file's text."""
    return json.dumps(list(states), indent=1, allow_nan=False)


def states_of(text: str) -> tuple[State, ...]:
    """Return the states of a file's text.

    Raises:
        ValueError: it is no JSON, or no list of states.

    >>> states_of('[{"label": "start"}]')
    ({'label': 'start'},)
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is no JSON: {error}") from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError("bookmarks are a list of states, as the projector's bookmarks are saved")
    return as_states(found)
