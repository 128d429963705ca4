"""Long transforms in four steps, against NumPy's in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.kernels import available
from workbench.kernels.fourier import takes_long_fft


@pytest.mark.parametrize("points", [1 << 16, 65_536 + 64, 100_000, 196_608, 131_071])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize(("dtype", "error"), [(np.complex64, 2e-6), (np.complex128, 1e-13)])
def test_a_long_transform_is_the_transform(points: int, norm: str, dtype: type, error: float) -> None:
    random = np.random.default_rng(points)
    x = (random.standard_normal(points) + 1j * random.standard_normal(points)).astype(dtype)
    for ours, theirs in ((wb.fft.fft, np.fft.fft), (wb.fft.ifft, np.fft.ifft)):
        got = ours(wb.tensor(x), norm=norm).numpy()
        expected = theirs(x.astype(np.complex128), norm=norm)
        assert got.dtype == dtype
        assert np.abs(got - expected).max() < error * np.abs(expected).max()


@pytest.mark.skipif(not available(), reason="the compiled kernels are not there")
def test_which_transforms_are_long() -> None:
    def takes(points: int, *shape: int) -> bool:
        return takes_long_fft(np.zeros(shape or (points,), np.complex64), (0,))

    assert takes(100_000)
    assert not takes(1000)
    assert not takes(131_071)  # a prime comes apart into nothing
    assert not takes(0, 1000, 1000)  # many short ones
    assert takes(0, 100_000, 1)
