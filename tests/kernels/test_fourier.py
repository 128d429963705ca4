"""Transforms of many kinds of lengths, against NumPy's in double precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels
from workbench.kernels import available
from workbench.kernels.fourier import takes_from_half, takes_half, takes_transform
from workbench.kernels.loader import native

NORMS = ("backward", "ortho", "forward")
TYPES = [(np.complex64, 2e-6), (np.complex128, 1e-13)]


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = kernels.get_num_threads()
    kernels.set_num_threads(request.param)
    yield request.param
    kernels.set_num_threads(before)


def points(*shape: int) -> Any:
    random = np.random.default_rng(shape[-1])
    return random.standard_normal(shape) + 1j * random.standard_normal(shape)


def is_near(got: Any, expected: Any, error: float) -> bool:
    return bool(np.abs(got - expected).max() < error * np.abs(expected).max())


@pytest.mark.parametrize("size", [1 << 16, 65_536 + 64, 100_000, 196_608, 131_071])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("dtype", "error"), TYPES)
def test_a_long_transform_is_the_transform(size: int, norm: str, dtype: type, error: float) -> None:
    x = points(size).astype(dtype)
    for ours, theirs in ((wb.fft.fft, np.fft.fft), (wb.fft.ifft, np.fft.ifft)):
        got = ours(wb.tensor(x), norm=norm).numpy()
        assert got.dtype == dtype
        assert is_near(got, theirs(x.astype(np.complex128), norm=norm), error)


SHAPES = [
    ((400, 4), (1,)),
    ((200, 7), (1,)),
    ((41, 60), (1,)),
    ((20, 60), (0,)),
    ((100, 2 * 11), (0, 1)),
    ((33, 3 * 13), (1, 0)),
    ((9, 1024), (1,)),
    ((3, 8192), (1,)),
    ((70, 16, 1), (1,)),
    ((60, 1, 40), (0, 1, 2)),
    ((6, 30, 40), (1, 2)),
    ((6, 40, 30), (0, 2)),
    ((2, 20_000), (1,)),
]
"""Powers of two and others, fewer rows than lanes and more, whole squares of them and rests, rows and columns."""


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize(("dtype", "error"), TYPES)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.usefixtures("threads")
def test_many_transforms_are_the_transforms(
    shape: tuple[int, ...], dim: tuple[int, ...], dtype: type, error: float, norm: str
) -> None:
    x = points(*shape).astype(dtype)
    if available():
        assert takes_transform(x, dim)
    kept = x.copy()
    for ours, theirs in ((wb.fft.fftn, np.fft.fftn), (wb.fft.ifftn, np.fft.ifftn)):
        got = ours(wb.tensor(x), dim=dim, norm=norm).numpy()
        assert got.dtype == dtype
        assert is_near(got, theirs(x.astype(np.complex128), axes=dim, norm=norm), error)
    assert np.array_equal(x, kept)


@pytest.mark.parametrize(
    ("shape", "dim"), [(s, d) for s, d in SHAPES if d[-1] == len(s) - 1 and s[-1] % 2 == 0]
)
@pytest.mark.parametrize(("dtype", "error"), TYPES)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.usefixtures("threads")
def test_transforms_of_real_values_and_back(
    shape: tuple[int, ...], dim: tuple[int, ...], dtype: type, error: float, norm: str
) -> None:
    spectrum = points(*shape[:-1], shape[-1] // 2 + 1).astype(dtype)
    x = points(*shape).real.astype(spectrum.real.dtype)
    sizes = [shape[one] for one in dim]
    if available():
        assert takes_half(x, dim)
        assert takes_from_half(spectrum, dim, shape[-1])
    got = wb.fft.rfftn(wb.tensor(x), dim=dim, norm=norm).numpy()
    assert got.dtype == dtype
    assert is_near(got, np.fft.rfftn(x.astype(np.float64), axes=dim, norm=norm), error)
    # The ends of a spectrum of real values are real: what else is given there is not looked at.
    back = wb.fft.irfftn(wb.tensor(spectrum), s=sizes, dim=dim, norm=norm).numpy()
    assert back.dtype == x.dtype
    expected = np.fft.irfftn(spectrum.astype(np.complex128), s=sizes, axes=dim, norm=norm)
    assert is_near(back, expected, error)


def test_a_spectrum_given_with_another_number_of_frequencies() -> None:
    spectrum = points(40, 33).astype(np.complex64)
    for size in (40, 63, 65, 80):
        got = wb.fft.irfft(wb.tensor(spectrum), n=size).numpy()
        assert is_near(got, np.fft.irfft(spectrum.astype(np.complex128), n=size), 2e-6)


def test_the_same_bits_every_time() -> None:
    for shape in ((1 << 17,), (40, 90)):
        x = wb.tensor(points(*shape).astype(np.complex64))
        assert np.array_equal(wb.fft.fft(x).numpy(), wb.fft.fft(x).numpy())


def test_what_is_not_finite_stays_in_its_row() -> None:
    x = points(20, 64).astype(np.complex64)
    x[3, 5], x[7, 0] = np.nan, np.inf
    got = wb.fft.fft(wb.tensor(x)).numpy()
    finite = np.isfinite(got).all(axis=1)
    assert not finite[[3, 7]].any()
    assert finite[[i for i in range(20) if i not in (3, 7)]].all()


@pytest.mark.skipif(not available(), reason="the compiled kernels are not there")
def test_which_transforms_have_a_kernel() -> None:
    def takes(*shape: int, dim: tuple[int, ...] = (-1,)) -> bool:
        return takes_transform(np.zeros(shape, np.complex64), tuple(one % len(shape) for one in dim))

    assert takes(100_000)
    assert takes(1000, 1000)
    assert not takes(131_071)  # a prime comes apart into nothing
    assert not takes(300)  # one short one is quicker where nothing is laid out for many
    assert not takes(2, 512)
    assert not takes(0, 1000)
    assert not takes(5000, 10, dim=(0,))  # columns longer than a block
    assert not takes_half(np.zeros((20, 99), np.float32), (1,))


@pytest.mark.skipif(not available(), reason="the compiled kernels are not there")
def test_the_kernel_refuses_what_does_not_fit() -> None:
    x = np.zeros((4, 16), np.complex64)
    with pytest.raises(ValueError, match="the output has 48 values instead of 64"):
        native.complex_fft(x, np.zeros((3, 16), np.complex64), 4, 16, 1, inverse=False, scale=1.0)
    with pytest.raises(ValueError, match="4 transforms of 17 points"):
        native.complex_fft(x, x.copy(), 4, 17, 1, inverse=False, scale=1.0)
    with pytest.raises(ValueError, match="0 columns"):
        native.complex_fft(x, x.copy(), 4, 16, 0, inverse=False, scale=1.0)
    with pytest.raises(ValueError, match="the input has 64 values instead of 72"):
        native.inverse_real_fft(x, np.zeros((8, 16), np.float32), 8, 8, scale=1.0)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("inner", [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33])
def test_columns_that_do_not_fill_the_lanes(inner: int, dtype: type) -> None:
    x = points(3, 12, inner).astype(dtype)
    out = np.full_like(x, np.nan)
    native.complex_fft(x, out, 3, 12, inner, inverse=False, scale=1.0)
    assert is_near(out, np.fft.fft(x.astype(np.complex128), axis=1), 1e-5)
