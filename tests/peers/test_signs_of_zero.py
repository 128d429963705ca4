"""The signs of zeros that are recorded are PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.core.signs_of_zero import CASES, DTYPES, SIGNS, VALUES, signs

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def own_code() -> Iterator[None]:
    """oneDNN, which PyTorch asks for some functions, has a GELU without the sign where there is no AVX-512."""
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    yield
    torch._C._set_mkldnn_enabled(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_recorded_signs(name: str, dtype: str) -> None:
    for count in (1, 5, 20_000):
        x = torch.tensor(VALUES, dtype=getattr(torch, dtype)).repeat_interleave(count)
        rows = CASES[name](torch, x).double().numpy().reshape(len(VALUES), -1)
        assert signs(rows.T) == {SIGNS[name]}, count
