"""What a gradient rule reads, among the inputs that a call has."""

from __future__ import annotations

from workbench.core.op import Saves


def test_inputs_that_a_call_does_without_are_not_read() -> None:
    saves = Saves((1, 2, 4))
    assert saves.read((True, True, False, True, True)) == (1, 2, 4)
    assert saves.read((True, True, False, True)) == (1, 2)
