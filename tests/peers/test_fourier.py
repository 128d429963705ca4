"""Transforms, spectra of stretches and tapers against torch: values, types and gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
COMPLEX = (RNG.normal(size=(3, 5, 6)) + 1j * RNG.normal(size=(3, 5, 6))).astype(np.complex64)

ONE = [f"{name}{end}" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for end in ("", "2", "n")]
SETTINGS: dict[str, list[tuple[Any, Any]]] = {
    "": [(None, -1), (4, 1), (9, 0)],
    "2": [(None, (-2, -1)), ((4, 7), (0, 2)), ((-1, 4), (2, 1))],
    "n": [(None, None), ((4,), None), ((4, -1, 7), (0, 2, 1)), (None, (1,))],
}


@pytest.mark.parametrize("norm", [None, "forward", "ortho"])
@pytest.mark.parametrize("name", ONE)
def test_transform(name: str, norm: str | None) -> None:
    real = name.rstrip("2n") in ("rfft", "ihfft")
    settings = SETTINGS[name[-1] if name[-1] in "2n" else ""]
    for (size, dim), double in itertools.product(settings, (False, True)):
        x = COMPLEX.real if real else COMPLEX
        x = np.ascontiguousarray(x.astype(np.float64 if real else np.complex128) if double else x)
        mine, other = wb.from_numpy(x).requires_grad_(), torch.from_numpy(x).requires_grad_()
        got = getattr(wb.fft, name)(mine, size, dim, norm)
        want = getattr(torch.fft, name)(other, size, dim, norm)
        assert str(got.dtype).rpartition(".")[2] == str(want.dtype).rpartition(".")[2]
        np.testing.assert_allclose(
            got.detach().numpy(), want.detach().resolve_conj().numpy(), rtol=2e-5, atol=2e-5
        )
        (gradient,) = wb.autograd.grad((got.abs() ** 2).sum(), [mine])
        (expected,) = torch.autograd.grad((want.abs() ** 2).sum(), other)
        scale = float(expected.abs().max())
        np.testing.assert_allclose(
            gradient.numpy(), expected.resolve_conj().numpy(), rtol=2e-5, atol=2e-6 * scale
        )


def test_frequencies_and_shifts() -> None:
    for n, d in ((7, 0.5), (8, 1.0)):
        for name in ("fftfreq", "rfftfreq"):
            np.testing.assert_allclose(
                getattr(wb.fft, name)(n, d).numpy(), getattr(torch.fft, name)(n, d).numpy(), rtol=1e-6
            )
        x = np.arange(2 * n).reshape(2, n)
        for name, dim in itertools.product(("fftshift", "ifftshift"), (None, 1, (0, 1))):
            got = getattr(wb.fft, name)(wb.from_numpy(x), dim)
            assert got.tolist() == getattr(torch.fft, name)(torch.from_numpy(x), dim).tolist()


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows(name: str) -> None:
    for length, periodic in itertools.product((0, 1, 2, 7, 8), (True, False)):
        got = getattr(wb, f"{name}_window")(length, periodic)
        want = getattr(torch, f"{name}_window")(length, periodic)
        np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-6)


@pytest.mark.filterwarnings("ignore:A window was not provided")
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("pad_mode", ["reflect", "constant", "replicate", "circular"])
def test_spectra_of_stretches(center: bool, pad_mode: str) -> None:
    x = RNG.normal(size=(2, 50)).astype(np.float32)
    for n, hop, win, normalized, onesided in itertools.product(
        (8, 9), (None, 3), (None, 6), (False, True), (None, False)
    ):
        taper = torch.hann_window(win or n) + 0.1
        mine, other = wb.from_numpy(x.copy()).requires_grad_(), torch.from_numpy(x.copy()).requires_grad_()
        rest = (center, pad_mode, normalized, onesided)
        got = wb.stft(mine, n, hop, win, wb.from_numpy(taper.numpy()), *rest, return_complex=True)
        want = torch.stft(other, n, hop, win, taper, *rest, return_complex=True)
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), atol=1e-5)
        (gradient,) = wb.autograd.grad((got.abs() ** 2).sum(), [mine])
        (expected,) = torch.autograd.grad((want.abs() ** 2).sum(), other)
        np.testing.assert_allclose(gradient.numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)
        if center or win is None:
            settings = (hop, win)
            back = wb.istft(got, n, *settings, wb.from_numpy(taper.numpy()), center, normalized, onesided)
            theirs = torch.istft(want, n, *settings, taper, center, normalized, onesided)
            np.testing.assert_allclose(back.detach().numpy(), theirs.detach().numpy(), atol=1e-5)


def test_stretches_aligned_to_the_window() -> None:
    x = RNG.normal(size=50).astype(np.float32)
    settings = {"center": False, "return_complex": True, "align_to_window": True}
    got = wb.stft(wb.from_numpy(x), 8, 3, 6, wb.hann_window(6), **settings)
    want = torch.stft(torch.from_numpy(x), 8, 3, 6, torch.hann_window(6), **settings)
    np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-5)
