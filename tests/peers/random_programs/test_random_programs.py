"""20,000 random programs in PyTorch and in the workbench: one that differs is shrunk, and shown as Python."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from tests.peers.random_programs.grow import grow  # noqa: E402
from tests.random_programs.compare import differs  # noqa: E402

COUNT = int(os.environ.get("WORKBENCH_RANDOM_PROGRAMS", "20000"))
PARTS = 20
pytestmark = pytest.mark.usefixtures("one_thread")
START = int(os.environ.get("WORKBENCH_RANDOM_PROGRAMS_SEED", "0"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_programs(part: int) -> None:
    @seed(START * PARTS + part)
    @settings(
        max_examples=COUNT // PARTS,
        derandomize=False,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        steps, theirs = grow(lambda below: data.draw(st.integers(0, below - 1)) if below > 1 else 0)
        found = differs(steps, theirs)
        assert not found, "\n" + found

    agree()
