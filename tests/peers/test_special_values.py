"""What `tests/kernels` holds kernels to at NaN, infinities and the largest numbers is what this PyTorch does."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.recorded import FILE, record

torch = pytest.importorskip("torch")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_recorded_values_are_those_of_pytorch() -> None:
    with np.load(FILE) as recorded:
        asked = dict(record(torch))
        assert set(asked) == set(recorded)
        for name, values in asked.items():
            np.testing.assert_allclose(values, recorded[name], rtol=1e-5, atol=1e-6, err_msg=name)
