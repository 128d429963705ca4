"""Every plain entry of the op database in every type beside float32, and in memory that lies otherwise.

A bounded number of samples of each entry, spread over all: forward always, backward where torch has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.peers.op_db.judge import LAYOUTS, STRIDED, TIED, TYPES, judge_spread, name_of  # noqa: E402
from tests.peers.op_db.known import ELSEWHERE  # noqa: E402
from tests.peers.op_db.names import PLAIN  # noqa: E402

ENTRIES = {name_of(entry): entry for entry in op_db if name_of(entry) in set(PLAIN)}
IN_A_TYPE, IN_A_LAYOUT = 8, 6
"""Most samples of an entry in each type, and in each layout (in float32 and complex64)."""

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("one_thread")]


def _runs(entry: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is run, by the word it is declared by, and its outcomes."""
    for dtype in TYPES:
        if dtype in entry.dtypes:
            yield str(dtype).removeprefix("torch."), judge_spread(entry, IN_A_TYPE, dtype)
    if entry.name.startswith(STRIDED):
        return
    for layout in LAYOUTS:
        if layout == "expanded" and entry.name.startswith(TIED):
            continue
        for dtype in (torch.float32, torch.complex64):
            if dtype in entry.dtypes:
                yield layout, judge_spread(entry, IN_A_LAYOUT, dtype, layout)


@pytest.mark.parametrize("name", PLAIN)
def test_entry(name: str) -> None:
    where, _ = ELSEWHERE.get(name, (frozenset(), ""))
    undeclared, met = [], set()
    for word, outcomes in _runs(ENTRIES[name]):
        failed = [one for one in outcomes if one.message]
        if failed and word in where:
            met.add(word)
        elif failed:
            undeclared += [f"{word}, sample {one.index}: {one.message}" for one in failed]
    assert not undeclared, "\n".join(undeclared[:10])
    assert not where - met, f"declared as known failures, yet these pass: {sorted(where - met)}"


def test_what_is_declared_is_in_the_database() -> None:
    assert set(ELSEWHERE) <= set(PLAIN)
