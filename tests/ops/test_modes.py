"""Every sample of the op table, traced, scripted and compiled: names, types, values and gradients as in eager calls.

Through XLA the same loop runs in `tests/backend/xla_checks.py`, in a process of its own.
"""

from __future__ import annotations

import pytest

from tests.ops.modes import MODES, check_mode
from tests.ops.sample_programs import programs
from workbench import kernels
from workbench.core.op import Op, table


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
# What a function warns of, it warns of in each way that it runs.
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_op_gives_what_it_gives_eagerly(op: Op, mode: str) -> None:
    if mode == "compiled" and not kernels.available():
        pytest.skip("programs are made of compiled kernels")
    check_mode(op, MODES[mode])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_most_samples_are_written_as_people_write_them() -> None:
    texts = [program.text for op in table() for program in programs(op)]
    by_name = [text for text in texts if "return wb." in text]
    assert len(by_name) > len(texts) / 2
    for kind in (
        "Tensor",
        "List[Tensor]",
        "int",
        "float",
        "bool",
        "str",
        "List[int]",
        "Optional[int]",
        "wb.dtype",
    ):
        assert any(f": {kind}" in text for text in by_name), f"no sample has an argument of type {kind}"
