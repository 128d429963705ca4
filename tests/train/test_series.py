"""A million values kept as a thousand: nothing that stands out is lost, and only what is new is looked at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from workbench.train import downsampling
from workbench.train.curves import spikes
from workbench.train.downsampling import Peaks, Series


def grown(values: list[float], pieces: list[int], most: int = 8) -> Series:
    """A series that follows a list while it grows by `pieces`."""
    made, held = Series(most), list[float]()
    for piece in pieces:
        held.extend(values[len(held) : len(held) + piece])
        made.follow(held, len(held))
    return made


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 17, 100, 1000, 1023])
def test_growing_piece_by_piece_is_the_same_as_at_once(count: int) -> None:
    random = np.random.default_rng(count)
    values = random.normal(size=count).tolist()
    pieces = random.integers(1, 60, size=200).tolist()
    one, other = grown(values, pieces), grown(values, [count])
    assert one.points() == other.points()
    assert one.means()[::2] == other.means()[::2]
    np.testing.assert_allclose(np.array(one.means()[1], float), np.array(other.means()[1], float), atol=1e-12)
    places, shown = one.points()
    assert len(places) <= 2 * 8 + 1
    assert shown == [values[place] for place in places]
    if count:
        assert {min(values), max(values)} <= set(shown)
        assert places[-1] == count - 1
        ends, means, counts = one.means()
        assert sum(counts) == count
        assert ends == (np.cumsum(counts) - 1).tolist()
        assert np.dot(np.array(means, float), counts) == pytest.approx(sum(values))


def test_few_values_are_all_there() -> None:
    values = [3.0, 1.0, 2.0]
    made = grown(values, [3])
    assert made.points() == ([0, 1, 2], values)
    assert made.means() == ([0, 1, 2], values, [1, 1, 1])


def test_values_that_are_not_finite_are_counted_and_passed_over() -> None:
    values = [math.nan, math.inf, 1.0, 5.0, -math.inf, math.nan, math.nan, math.nan]
    made = Series(4)
    made.follow(values, 3)
    assert made.missing == 2
    made.follow(values, 8)
    assert made.missing == 6
    assert made.means()[1] == [None, 3.0, None, None]
    places, shown = made.points()
    assert {(2, 1.0), (3, 5.0)} <= set(zip(places, shown, strict=True))
    assert all(value is None or math.isfinite(value) for value in shown)


def test_another_list_or_a_shorter_one_begins_anew() -> None:
    made = grown([9.0] * 50, [50])
    other = [1.0, 2.0]
    made.follow(other, 2)
    assert made.points() == ([0, 1], other)
    made.follow(other, 1)
    assert made.points() == ([0], [1.0])


def test_only_what_is_new_is_looked_at() -> None:
    class Counting(list[float]):
        taken = 0

        def __getitem__(self, key: Any) -> Any:
            found = super().__getitem__(key)
            self.taken += len(found) if isinstance(key, slice) else 0
            return found

    values, made = Counting(), Series(64)
    for _ in range(1000):
        values.extend([1.0] * 10)
        made.follow(values, len(values))
    # The new values, and those of the stretch under way, which is at most 256 long.
    assert values.taken < 10_000 + 1000 * 256


def test_peaks_are_those_that_stand_out_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    values = np.exp(random.normal(size=3000) * 0.6 - np.arange(3000) / 1000)
    expected = []
    for i in range(10, len(values)):
        before = values[max(0, i - 50) : i]
        middle = np.median(before)
        spread = np.median(np.abs(before - middle))
        if values[i] > middle + 8 * max(spread, 0.02 * abs(middle)):
            expected.append(i)
    assert 5 < len(expected) < 200
    assert spikes(values.tolist(), most=1000) == expected
    monkeypatch.setattr(downsampling, "AT_ONCE", 70)
    peaks, growing = Peaks(1000), list[float]()
    for value in values.tolist():
        growing.append(value)
        if len(growing) % 33 == 0:
            peaks.follow(growing, len(growing))
    while not peaks.follow(growing, len(growing)):
        pass
    assert [one.position for one in peaks.found] == expected


def test_a_look_judges_a_bounded_number() -> None:
    values = [1.0] * (downsampling.AT_ONCE + 1)
    peaks = Peaks()
    assert not peaks.follow(values, len(values))
    assert peaks.follow(values, len(values))
    assert peaks.found == []


def test_the_farthest_peaks_are_kept_in_their_order() -> None:
    values = [1.0] * 400
    for place, value in ((60, 3.0), (120, 9.0), (180, 4.0), (240, 2.0)):
        values[place] = value
    peaks = Peaks(most=2)
    peaks.follow(values, 400)
    assert [(one.position, one.value, one.usual) for one in peaks.found] == [(120, 9.0, 1.0), (180, 4.0, 1.0)]
