"""The sign of a result that is zero: as PyTorch has it, for few values and many, dispatched one by one and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.core.signs_of_zero import CASES, DTYPES, SIGNS, VALUES, signs

COUNTS = (1, 5, 300, 20_000)
"""Of each value: one vector or less, what eager dispatch computes itself, what NumPy does, what kernels do."""


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_zeros_have_the_signs_of_pytorch(name: str, dtype: str, compiled: bool) -> None:
    def call(x: Any) -> Any:
        return CASES[name](wb, x)

    function = wb.compile(call) if compiled else call
    for count in COUNTS:
        # Each value stands in every lane, and fills whole vectors of its own.
        turns = function(wb.tensor(np.tile(VALUES, count), dtype=getattr(wb, dtype)))
        assert signs(turns.float().numpy().reshape(-1, len(VALUES))) == {SIGNS[name]}, count
        alone = function(wb.tensor(np.repeat(VALUES, count), dtype=getattr(wb, dtype)))
        assert signs(alone.float().numpy().reshape(len(VALUES), -1).T) == {SIGNS[name]}, count


def test_signs_are_told_apart() -> None:
    assert signs([[0.0, -0.0, np.nan, 1.0], [-0.0, 0.0, 1.0, 0.0]]) == {"+-..", "-+.+"}
