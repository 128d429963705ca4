"""Python's collector of cycles while something large is built."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from workbench.base.collector import MANY, collector_at_rest


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    assert gc.isenabled()
    # Where a program has frozen what it has, as these tests have, nobody else unfreezes it.
    gc.unfreeze()
    yield
    gc.freeze()


def test_it_rests_and_goes_on_whoever_is_inside() -> None:
    with collector_at_rest():
        with collector_at_rest():
            assert not gc.isenabled()
        assert not gc.isenabled(), "the outer one has stopped it"
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), collector_at_rest():
        _ = 1 / 0
    assert gc.isenabled()


def test_who_had_it_stopped_finds_it_stopped() -> None:
    gc.disable()
    with collector_at_rest():
        pass
    stopped = not gc.isenabled()
    gc.enable()
    assert stopped


def test_many_new_objects_are_old_at_once_and_can_still_go() -> None:
    def looks() -> int:
        return sum(one["collections"] for one in gc.get_stats())

    with collector_at_rest():
        kept: list[list[object]] = [[] for _ in range(2 * MANY)]
        before = looks()
    few = [[] for _ in range(50)]  # type: ignore[var-annotated]
    assert len(few) == 50 and looks() == before, "the next object brought a look through all of them"
    assert gc.get_freeze_count() == 0
    kept[0].append(kept)
    del kept
    assert gc.collect() > MANY
