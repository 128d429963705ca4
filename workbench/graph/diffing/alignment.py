"""Two sequences beside each other: the longest that stands in both, and what lies between what is matched already."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

__all__ = ["MOST_CELLS", "common", "gaps", "rising"]

MOST_CELLS = 400_000_000
"""Pairs of items that are compared, an eighth of a byte each; longer stretches are divided where items are unique."""

Pairs = list[tuple[int, int]]


def common(first: Sequence[Hashable], second: Sequence[Hashable]) -> Pairs:
    """Return the positions of a longest common subsequence, rising on both sides.

    >>> common("abcd", "xacdy")
    [(0, 1), (2, 2), (3, 3)]
    """
    low = 0
    while low < min(len(first), len(second)) and first[low] == second[low]:
        low += 1
    high = 0
    while high < min(len(first), len(second)) - low and first[-1 - high] == second[-1 - high]:
        high += 1
    one, other = first[low : len(first) - high], second[low : len(second) - high]
    inner = _divided(one, other) if len(one) * len(other) > MOST_CELLS else _longest(one, other)
    found = [(i, i) for i in range(low)]
    found += [(low + i, low + j) for i, j in inner]
    found += [(len(first) - i, len(second) - i) for i in range(high, 0, -1)]
    return found


def _longest(first: Sequence[Hashable], second: Sequence[Hashable]) -> Pairs:
    """Return a longest common subsequence, a row of the table at a time, as the bits of one whole number.

    Bit j of row i is 0 where the item j of `second` makes the subsequence longer (Hyyrö, "Bit-parallel LCS-length
    computation revisited", 2004).
    """
    places: dict[Hashable, int] = {}
    for j, item in enumerate(second):
        places[item] = places.get(item, 0) | 1 << j
    full = (1 << len(second)) - 1
    row, rows = full, []
    for item in first:
        hits = row & places.get(item, 0)
        row = ((row + hits) | (row - hits)) & full
        rows.append(row)
    found, i, j = [], len(first), len(second)
    while i and j:
        if rows[i - 1] >> (j - 1) & 1:
            j -= 1
        elif i > 1 and not rows[i - 2] >> (j - 1) & 1:
            # It was longer there a row earlier already.
            i -= 1
        else:
            i, j = i - 1, j - 1
            found.append((i, j))
    return found[::-1]


def _divided(first: Sequence[Hashable], second: Sequence[Hashable]) -> Pairs:
    """Return a common subsequence of what is too long for a table.

    Of items that stand once on both sides, and of what lies between them as far as that is short enough.
    """
    counts, others = Counter(first), Counter(second)
    places = {item: j for j, item in enumerate(second) if others[item] == 1}
    fixed = rising(
        [(i, places[item]) for i, item in enumerate(first) if counts[item] == 1 and item in places]
    )
    found: Pairs = []
    for (i, j), (to_i, to_j) in zip([(-1, -1), *fixed], [*fixed, (len(first), len(second))], strict=True):
        one, other = first[i + 1 : to_i], second[j + 1 : to_j]
        if len(one) * len(other) <= MOST_CELLS:
            found += [(i + 1 + p, j + 1 + q) for p, q in _longest(one, other)]
        if to_i < len(first):
            found.append((to_i, to_j))
    return found


def rising(pairs: Sequence[tuple[int, int]]) -> Pairs:
    """Return the most pairs that rise on the second side too, of pairs that rise on the first.

    >>> rising([(0, 3), (1, 0), (2, 1), (3, 4)])
    [(1, 0), (2, 1), (3, 4)]
    """
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for k, (_, j) in enumerate(pairs):
        place = bisect_left(ends, j)
        before.append(last[place - 1] if place else -1)
        if place == len(ends):
            ends.append(j)
            last.append(k)
        else:
            ends[place], last[place] = j, k
    found, k = [], last[-1] if last else -1
    while k >= 0:
        found.append(pairs[k])
        k = before[k]
    return found[::-1]


def gaps(matched: Sequence[int | None], other: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the stretches of unmatched items between pairs: `matched` has the partner of each item of the first side.

    Of pairs that cross, the most that do not are kept as borders; the others lie in no stretch.

    >>> list(gaps([0, None, 3, None], 5))
    [([1], [1, 2]), ([3], [4])]
    """
    pairs = [(i, j) for i, j in enumerate(matched) if j is not None]
    taken = {j for _, j in pairs}
    start = (0, 0)
    for i, j in [*rising(pairs), (len(matched), other)]:
        one = [k for k in range(start[0], i) if matched[k] is None]
        two = [k for k in range(start[1], j) if k not in taken]
        if one and two:
            yield one, two
        start = i + 1, j + 1
