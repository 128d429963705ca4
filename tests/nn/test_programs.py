"""Ordinary programs that name nothing run, and no value of them has a name; `tests/peers` compares their numbers."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.programs import networks, training, weights
from tests.programs.kit import PROGRAMS, Kit, tensors_in
from workbench.core.dispatch import apply, interpreting
from workbench.core.value import Value

assert networks and training and weights  # they enter their programs into the list


class NoNames:
    """The interpreter under which a value with a name is an error."""

    transparent = True

    def __init__(self) -> None:
        self.calls = 0

    def process(self, op: Any, inputs: Any, params: Any) -> Any:
        results = apply(op, *inputs, **params)
        self.calls += 1
        for one in (*inputs, *(results if isinstance(results, tuple) else (results,))):
            assert not isinstance(one, Value) or one._names is None, (op.name, one._names)
        return results


def test_there_are_enough_of_them() -> None:
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_value_of_a_program_that_names_nothing_has_a_name(name: str) -> None:
    found = tensors_in(PROGRAMS[name](Kit(wb)))  # as everybody runs it
    assert found
    assert not any(one.has_names() for one in found)
    watch = NoNames()
    with interpreting(watch):
        PROGRAMS[name](Kit(wb))
    assert watch.calls


def test_the_watch_sees_names() -> None:
    with interpreting(NoNames()), pytest.raises(AssertionError, match="mul"):
        wb.ones(2, 3, names=("N", None)) * 2
