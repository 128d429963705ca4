"""The signs of zeros that are recorded are PyTorch's."""

from __future__ import annotations

import pytest

from tests.core.signs_of_zero import CASES, DTYPES, SIGNS, VALUES, signs

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_recorded_signs(name: str, dtype: str) -> None:
    for count in (1, 5, 20_000):
        x = torch.tensor(VALUES, dtype=getattr(torch, dtype)).repeat_interleave(count)
        rows = CASES[name](torch, x).double().numpy().reshape(len(VALUES), -1)
        assert signs(rows.T) == {SIGNS[name]}, count
