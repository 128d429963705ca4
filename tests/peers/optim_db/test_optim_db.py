"""Every optimizer of PyTorch's database in every configuration, and every schedule, over 50 steps."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tests.optim.recipe import SCHEDULES  # noqa: E402
from tests.peers.optim_db.coverage import read  # noqa: E402
from tests.peers.optim_db.judge import KNOWN, UNOFFERED, entries, judge_entry, judge_schedule  # noqa: E402
from workbench import optim  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("one_thread")]
ENTRIES = entries()


@pytest.mark.parametrize("name", ENTRIES)
def test_optimizer(name: str) -> None:
    outcomes = list(judge_entry(name, ENTRIES[name]))
    failed = [f"{one.case}: {one.message}" for one in outcomes if one.message]
    assert not failed, "\n".join(failed)
    assert read()[name] == (len(outcomes), len(outcomes)), (
        "write the page anew: python -m tests.peers.optim_db"
    )


@pytest.mark.parametrize("label", SCHEDULES)
def test_schedule(label: str) -> None:
    assert judge_schedule(label).message == ""


def test_nothing_of_torch_is_left_out_but_what_is_declared() -> None:
    theirs = {name for name in torch.optim.__all__ if not name.startswith("_")}
    assert theirs - set(optim.__all__) == set(UNOFFERED)
    assert set(KNOWN) <= set(optim.__all__)  # they are there, and judged elsewhere
    modules = [(torch.optim.lr_scheduler, optim.lr_scheduler), (torch.optim.swa_utils, optim.swa_utils)]
    for their_module, module in modules:
        assert set(their_module.__all__) - set(module.__all__) == set()
    assert {kind for kind, _ in SCHEDULES.values()} == {*optim.lr_scheduler.__all__, "SWALR"} - {
        "LRScheduler"
    }
