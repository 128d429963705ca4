"""A fixture for tests that start worker processes."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.data.processes import children, descriptors


@pytest.fixture
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test ends with the processes and descriptors that it began with."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(64))
    before = descriptors()
    yield
    gc.collect()
    assert children() == []
    # A spawned process brings a tracker of resources, which stays.
    assert len(descriptors() - before) <= 2
