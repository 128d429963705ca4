"""Random gestures on the view of observers: each is done, or refused in words."""

from __future__ import annotations

import pytest

from tests.widgets.random_gestures import WAYS, beside_failure, gesture_failure


@pytest.mark.parametrize("first", range(0, 60, 6))
def test_gestures_are_done_or_refused_and_can_be_undone(first: int) -> None:
    found = [one for seed in range(first, first + 6) if (one := gesture_failure(seed)) is not None]
    assert not found, found[0]


@pytest.mark.parametrize("way", WAYS)
def test_gestures_beside_a_running_cell_do_not_end_it(way: str) -> None:
    found = beside_failure(way, seed=0)
    assert found is None, found
