"""Convolution, pooling, resampling and transforms: names, refusals, types, and what the generic loop does not see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError

F = wb.nn.functional


def image(names: bool = True) -> Any:
    x = wb.from_numpy(np.random.default_rng(0).normal(size=(2, 4, 6, 8)).astype(np.float32))
    return x.rename("N", "C", "H", "W") if names else x


NCHW = ("N", "C", "H", "W")


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda x: F.conv2d(x, wb.ones(3, 4, 3, 3), padding="same"), NCHW),
        (lambda x: F.conv2d(x[0], wb.ones(3, 4, 2, 2)), NCHW[1:]),
        (lambda x: F.conv_transpose2d(x, wb.ones(4, 3, 3, 3), wb.ones(O=3), stride=2), NCHW),
        (lambda x: F.max_pool2d(x, 2, return_indices=True)[1], NCHW),
        (lambda x: F.max_pool2d(x[0], 2), NCHW[1:]),
        (lambda x: F.avg_pool2d(x, 2, ceil_mode=True), NCHW),
        (lambda x: F.adaptive_avg_pool2d(x, (None, 3)), NCHW),
        (lambda x: F.adaptive_max_pool2d(x, 2), NCHW),
        (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), NCHW),
        (lambda x: F.unfold(x, 2), ("N", None, None)),
        (lambda x: F.grid_sample(x, wb.zeros(2, 3, 3, 2), align_corners=False), ("N", "C", None, None)),
        (lambda x: wb.pixel_shuffle(x, 2), NCHW),
        (lambda x: wb.pixel_unshuffle(x, 2), NCHW),
        (lambda x: wb.channel_shuffle(x, 2), NCHW),
        (lambda x: wb.fft.fft(x, dim="C"), NCHW),
        (lambda x: wb.fft.irfftn(wb.fft.rfftn(x, dim=("H", "W")), dim=("H", "W")), NCHW),
        (lambda x: wb.fft.fftshift(x, dim=("H", "W")), NCHW),
    ],
)  # fmt: skip
def test_names(call: Any, names: tuple[str | None, ...]) -> None:
    assert call(image()).names == names


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: F.conv2d(x, wb.ones(3, 4, 3, 3), stride=0), DimensionError, "stride should be greater"),
        (lambda x: F.conv2d(x, wb.ones(3, 4, 3, 3), padding="some"), ValueError, "'valid', 'same'"),
        (lambda x: F.conv2d(x, wb.ones(3, 4, 3, 3), 2, padding="same", stride=2), DimensionError, "strided"),
        (lambda x: F.conv2d(x[0, 0], wb.ones(3, 4, 3, 3)), DimensionError, "Expected 3D (unbatched)"),
        (lambda x: F.conv_transpose2d(x, wb.ones(3, 4, 3, 3)), DimensionError, "to have 3 channels, but got 4"),
        (lambda x: F.conv_transpose2d(x, wb.ones(4, 3, 3, 3), output_padding=1), DimensionError, "smaller than"),
        (lambda x: F.max_pool2d(x, 2, padding=2), DimensionError, "at most half"),
        (lambda x: F.max_pool2d(x, (1, 2, 3)), ValueError, "a pair of them"),
        (lambda x: F.avg_pool2d(x, 2, divisor_override=0), DimensionError, "divisor must be not zero"),
        (lambda x: F.adaptive_avg_pool2d(x, (1, 2, 3)), DimensionError, "output_size must be 2"),
        (lambda x: F.interpolate(x), ValueError, "either size or scale_factor"),
        (lambda x: F.interpolate(x, 2, mode="linear"), DimensionError, "takes 3D inputs"),
        (lambda x: F.interpolate(x, 2, align_corners=True), ValueError, "interpolating modes"),
        (lambda x: F.grid_sample(x, wb.zeros(1, 3, 3, 2)), DimensionError, "same batch size"),
        (lambda x: F.grid_sample(x, wb.zeros(2, 3, 3, 3)), DimensionError, "size 2 in last dimension"),
        (lambda x: F.grid_sample(x, wb.zeros(2, 3, 3, 2), mode="cubic"), ValueError, "bicubic"),
        (lambda x: F.fold(x[0], 5, 2), DimensionError, "to be divisible"),
        (lambda x: wb.pixel_shuffle(x, 3), DimensionError, "square of upscale_factor"),
        (lambda x: wb.fft.fft(x, dim="T"), DimensionIndexError, "Name 'T' not found"),
        (lambda x: wb.fft.fft(x, dim=4), DimensionIndexError, "out of range"),
        (lambda x: wb.fft.fft(x, norm="foo"), DimensionError, 'Invalid normalization mode: "foo"'),
        (lambda x: wb.fft.fft(x.half()), DTypeError, "Unsupported dtype Half"),
        (lambda x: wb.fft.fft(x, 0), DimensionError, "Invalid number of data points (0)"),
        (lambda x: wb.fft.irfft(x[..., :1]), DimensionError, "Invalid number of data points (0)"),
        (lambda x: wb.fft.rfft(wb.fft.fft(x)), DTypeError, "expects a real input tensor, but got ComplexFloat"),
        (lambda x: wb.fft.fftn(x, dim=(1, 1)), DimensionError, "FFT dims must be unique"),
        (lambda x: wb.fft.fftn(x, s=(2, 2), dim=(1,)), DimensionError, "must have the same length"),
        (lambda x: wb.stft(x[0, 0, 0], 4), DimensionError, "return_complex"),
        (lambda x: wb.hann_window(3, dtype=wb.int64), DTypeError, "floating point dtypes"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:grid_sample")
def test_refusals(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        call(image())
    assert message in str(raised.value)


def test_pooling_finds_what_padding_and_the_lowest_value_hide() -> None:
    low = wb.from_numpy(np.full((1, 1, 3, 3), -np.inf))
    values, indices = F.max_pool2d(low, 2, stride=1, padding=1, return_indices=True)
    assert bool((values == -np.inf).all())
    assert indices[0, 0].tolist() == [[0, 0, 1, 2], [0, 0, 1, 2], [3, 3, 4, 5], [6, 6, 7, 8]]
    codes = wb.zeros(1, 1, 4, dtype=wb.uint8)
    assert F.max_pool1d(codes, 2, padding=1, return_indices=True)[1].tolist() == [[[0, 1, 3]]]
    nan = wb.tensor([[[1.0, float("nan"), 3.0]]])
    assert F.max_pool1d(nan, 3).isnan().item()


def test_unpooling_undoes_pooling() -> None:
    x = image()
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(values, indices, 2)
    assert back.names == x.names
    assert wb.equal(F.max_pool2d(back.clamp(min=-9.0) * 1, 2).clamp(min=0), values.clamp(min=0))


def test_fold_and_unfold_are_transposes() -> None:
    x, g = image(False), wb.ones(2, 16, 35)
    left = (F.unfold(x, 2) * g).sum()
    right = (x * F.fold(g, (6, 8), 2)).sum()
    np.testing.assert_allclose(left.item(), right.item(), rtol=1e-4)


@pytest.mark.parametrize("dtype", [wb.float32, wb.float64, wb.int32, wb.bool])
def test_types_of_transforms(dtype: Any) -> None:
    x = image(False).to(dtype)
    wide = dtype is wb.float64
    assert wb.fft.fft(x).dtype is (wb.complex128 if wide else wb.complex64)
    assert wb.fft.rfft(x).dtype is (wb.complex128 if wide else wb.complex64)
    assert wb.fft.irfft(x).dtype is wb.fft.hfft(x).dtype is (wb.float64 if wide else wb.float32)
    assert wb.fft.fftfreq(4, dtype=wb.float64).dtype is wb.float64


def test_large_transforms_stay_in_single_precision() -> None:
    x = np.random.default_rng(0).normal(size=9000).astype(np.float32)
    y = wb.fft.rfft(wb.from_numpy(x))
    assert y.dtype is wb.complex64
    np.testing.assert_allclose(y.numpy(), np.fft.rfft(x), atol=2e-3)
    np.testing.assert_allclose(wb.fft.irfft(y, 9000).numpy(), x, atol=1e-5)


@pytest.mark.parametrize("n", [6, 7])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_gradients_of_transforms_are_those_of_their_matrices(name: str, n: int) -> None:
    function = getattr(wb.fft, name)
    rng = np.random.default_rng(n)
    x = wb.from_numpy(rng.normal(size=5)).requires_grad_()
    target = wb.from_numpy(rng.normal(size=function(x.detach(), n).shape))

    def loss(one: Any) -> Any:
        y = wb.view_as_real(function(one, n) * (1 + 2j)) if "irfft" not in name and name != "hfft" else None
        if y is None:
            return ((function(one, n) - target) ** 2).sum()
        return ((y - target[:, None]) ** 2).sum()

    (gradient,) = wb.autograd.grad(loss(x), [x], create_graph=True)
    (second,) = wb.autograd.grad((gradient**2).sum(), [x])
    for i in range(5):
        step = np.zeros(5)
        step[i] = 1e-6
        ends = [loss(wb.from_numpy(x.detach().numpy() + sign * step)).item() for sign in (1, -1)]
        np.testing.assert_allclose(gradient[i].item(), (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-5)
    # The loss is quadratic: its Hessian is the matrix of differences of gradients.
    moved = [wb.from_numpy(x.detach().numpy() + np.eye(5)[i]).requires_grad_() for i in range(5)]
    slopes = np.stack([wb.autograd.grad(loss(one), [one])[0].numpy() for one in moved])
    first = gradient.detach().numpy()
    np.testing.assert_allclose(second.numpy(), 2 * (slopes - first) @ first, rtol=1e-6, atol=1e-6)


def test_the_signal_comes_back_from_its_spectra() -> None:
    x = wb.from_numpy(np.random.default_rng(0).normal(size=(2, 64)).astype(np.float32)).rename("N", "T")
    window = wb.hann_window(16)
    spectra = wb.stft(x, 16, window=window, return_complex=True)
    assert spectra.names == ("N", None, None)
    back = wb.istft(spectra, 16, window=window, length=64)
    assert back.names == ("N", None)
    np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-5)
    with pytest.raises(DimensionError, match="without any weight"):
        wb.istft(spectra, 16, window=wb.zeros(16))


def test_an_affine_grid_looks_where_the_map_says() -> None:
    x = wb.arange(12.0).reshape(1, 1, 3, 4)
    same = wb.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    for align in (True, False):
        grid = F.affine_grid(same, (1, 1, 3, 4), align_corners=align)
        np.testing.assert_allclose(F.grid_sample(x, grid, align_corners=align).numpy(), x.numpy(), atol=1e-5)
    mirrored = F.affine_grid(same * wb.tensor([[-1.0], [1.0]]), (1, 1, 3, 4), align_corners=False)
    found = F.grid_sample(x, mirrored, mode="nearest", align_corners=False)
    assert found.tolist() == x.flip(3).tolist()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize(("size", "out"), [(7, 3), (5, 2), (40, 3), (100, 7), (6, 3), (2, 5)])
@pytest.mark.parametrize("dtype", [wb.float32, wb.float64, wb.bfloat16], ids=str)
def test_what_is_not_finite_stays_in_its_windows(value: float, size: int, out: int, dtype: Any) -> None:
    x = wb.ones(1, 1, size, 4, dtype=dtype)
    x[0, 0, size // 2, 0] = value
    x.requires_grad_()
    y = wb.nn.functional.adaptive_avg_pool2d(x, (out, 3))
    windows = [(p * size // out, -(-(p + 1) * size // out)) for p in range(out)]
    for p, (start, end) in enumerate(windows):
        expected = value if start <= size // 2 < end else 1.0
        assert y[0, 0, p, 0].item() == pytest.approx(expected, rel=1e-2, nan_ok=True)
        assert y[0, 0, p, 1:].detach().tolist() == pytest.approx([1.0, 1.0], rel=1e-2)
    # Of the gradient the same: what is not finite goes to the window that it came from.
    g = wb.ones_like(y).detach()
    g[0, 0, out // 2, 0] = value
    y.backward(g)
    start, end = windows[out // 2]
    inside = np.zeros((size, 4), bool)
    inside[start:end, :2] = True
    assert np.array_equal(~np.isfinite(x.grad.float().numpy()[0, 0]), inside)
