"""Random programs of views, changes in place and gradients, against what was recorded of PyTorch."""

from __future__ import annotations

import pytest

from tests.random_programs.compare import differs
from tests.random_programs.program import Step, describe
from tests.random_programs.recorded import read

PROGRAMS = read()


def test_there_are_programs_of_all_kinds() -> None:
    words = {step.word for one in PROGRAMS for step in one.steps}
    assert len(PROGRAMS) >= 300
    assert {
        "backward",
        "grad",
        "hook",
        "copy_",
        "set",
        "select",
        "expand",
        "conj",
        "data",
        "add_out",
    } <= words
    assert sum(one.outcomes.count("refused") for one in PROGRAMS) > 100


@pytest.mark.parametrize("part", range(8))
def test_the_workbench_does_as_pytorch_did(part: int) -> None:
    found = [text for one in PROGRAMS[part::8] if (text := differs(one.steps, one))]
    assert not found, found[0]


def test_a_difference_is_found_and_shown() -> None:
    one = next(
        one for one in PROGRAMS if one.left["gradients"][0] is not None and one.left["gradients"][0].size
    )
    one.left["gradients"][0][...] += 1
    assert "gradients of v0" in differs(one.steps, one)
    one.left["gradients"][0][...] -= 1


def test_a_program_reads_as_python() -> None:
    steps = [
        Step("leaf", (), ([2], "float64", True, 3)),
        Step("get", (0,), ([["slice", 0, None, None]],)),
        Step("add", (0, 1)),
        Step("scale_", (2,), (2.0,), True),
    ]
    assert describe(steps, [[1], [1], [1], []]).splitlines() == [
        "v0 = leaf([2], 'float64', True, 3)",
        "v1 = v0[key(lib, [['slice', 0, None, None]])]",
        "v2 = v0 + v1",
        "with no_grad(): v2.mul_(2.0)",
    ]
