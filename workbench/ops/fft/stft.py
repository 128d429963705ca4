"""Spectra of short stretches of a signal, and the signal back from them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of, new
from workbench.ops.elementwise.complex import is_complex_value, real_type
from workbench.ops.offer import offered
from workbench.ops.shape.pad import pad


def _bare(value: Any) -> Any:
    return ops.rename(value, names=None) if value._names is not None else value


def _taper(window: Any, win_length: int, n_fft: int, dtype: Any, op: str) -> Any:
    """Return the window in the middle of `n_fft` values; without one it is 1 over `win_length`."""
    if not 0 < win_length <= n_fft:
        raise DimensionError(f"expected 0 < win_length <= n_fft, but got win_length={win_length}.", op=op)
    if window is None:
        w = new(np.ones(win_length, real_type(np.dtype(dtype))))
    else:
        w = _bare(window)
        if w.payload.shape != (win_length,):
            raise DimensionError(
                f"expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
                f"{list(w.payload.shape)}.",
                op=op,
                operands=(dims_of(window).operand("window"),),
            )
    before = (n_fft - win_length) // 2
    after = n_fft - win_length - before
    return ops.pad(w, padding=((before, after),), value=0.0) if before or after else w


def _one_sided(onesided: bool | None, complex_values: bool) -> bool:
    return not complex_values if onesided is None else onesided


@offered()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Short-time Fourier transform of [T] or [N, T]: the spectrum of every stretch of `n_fft` values.

    y[f, m] = Σ_k w[k]·x[m·hop + k] e^{-2πi·kf/n_fft}, [n_fft / 2 + 1, frames] or, two-sided, [n_fft, frames]

    With `center` frame m lies around value m·hop, the signal being extended at both ends; `hop_length` is n_fft / 4
    unless given. `normalized` divides by √n_fft. Without `return_complex` the last dim holds real and imaginary part.

    >>> import workbench as wb
    >>> wb.stft(wb.ones(16), 8, window=wb.hann_window(8), return_complex=True).shape
    (5, 9)
    """
    dims = dims_of(input)
    if len(dims.sizes) not in (1, 2):
        raise DimensionError(
            f"expected a 1D or 2D tensor of floating types, got {len(dims.sizes)}D.",
            op="stft",
            operands=(dims.operand("input"),),
        )
    complex_values = is_complex_value(input) or (window is not None and is_complex_value(window))
    if return_complex is None:
        if not complex_values:
            raise DimensionError(
                "stft requires the return_complex parameter be given for real inputs.", op="stft"
            )
        return_complex = True
    half = _one_sided(onesided, complex_values)
    if half and complex_values:
        raise DimensionError("Cannot have onesided output if window or input is complex.", op="stft")
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    x = _bare(input)
    if len(dims.sizes) == 1:
        x = ops.unsqueeze(x, dim=0, name=None)
    if center:
        if align_to_window is not None:
            raise DimensionError("stft align_to_window should only be set when center = false.", op="stft")
        x = pad(x, (n_fft // 2, n_fft // 2), mode=pad_mode)
    elif align_to_window:
        before = (n_fft - length) // 2
        x = ops.pad(x, padding=((0, 0), (before, n_fft - length - before)), value=0.0)
    count, size = x.payload.shape
    if not 0 < n_fft <= size:
        raise DimensionError(f"expected 0 < n_fft < {size}, but got n_fft={n_fft}.", op="stft")
    if hop <= 0:
        raise DimensionError(f"expected hop_length > 0, but got hop_length={hop}.", op="stft")
    taper = _taper(window, length, n_fft, x.payload.dtype, "stft")
    # The stretches are the patches of a convolution of one dim: that op has their gradient.
    frames = ops.unfold_patches(
        ops.reshape(x, sizes=(count, 1, size)), kernel=(n_fft,), stride=(hop,), padding=(0,), dilation=(1,)
    )
    pieces = ops.mul(ops.permute(frames, dim=(0, 2, 1)), taper)
    norm = "ortho" if normalized else "backward"
    if half:
        spectra = ops.fft_r2c(pieces, dim=(2,), norm=norm)
    else:
        spectra = ops.fft_c2c(pieces, dim=(2,), inverse=False, norm=norm)
    y = ops.permute(spectra, dim=(0, 2, 1))
    if len(dims.sizes) == 1:
        y = ops.squeeze(y, dim=(0,))
    elif dims.names[0] is not None:
        y = ops.rename(y, names=(dims.names[0], None, None))
    return y if return_complex else ops.view_as_real(y)


@offered()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Inverse of `stft`: the signal whose spectra come nearest to those given, [T] or [N, T].

    x = Σ_m w·x_m / Σ_m w², the pieces x_m of each frame laid where they belong

    `length` cuts the signal or fills it up with zeros. Fails where the windows leave a gap.

    >>> import workbench as wb
    >>> spectra = wb.stft(wb.arange(16.0), 8, window=wb.hann_window(8), return_complex=True)
    >>> [round(x, 3) for x in wb.istft(spectra, 8, window=wb.hann_window(8))[1:5].tolist()]
    [1.0, 2.0, 3.0, 4.0]
    """
    dims = dims_of(input)
    if not is_complex_value(input):
        raise DimensionError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.",
            op="istft",
        )
    if len(dims.sizes) not in (2, 3) or 0 in dims.sizes:
        raise DimensionError(
            f"expected a tensor with 2 or 3 dimensions and values, got {list(dims.sizes)}.",
            op="istft",
            operands=(dims.operand("input"),),
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if not 0 < hop <= win:
        raise DimensionError(f"expected 0 < hop_length <= win_length, but got hop_length={hop}.", op="istft")
    bins = dims.sizes[-2]
    # As many frequencies as points are a whole spectrum, any other number is taken for half of one.
    half = onesided if onesided is not None else bins != n_fft
    if bins != (n_fft // 2 + 1 if half else n_fft):
        raise DimensionError(
            f"expected the frequency dimension (3rd to the last) of the input tensor to match n_fft "
            f"{'/ 2 + 1 ' if half else ''}when onesided={half}, but got {bins}.",
            op="istft",
            operands=(dims.operand("input", [len(dims.sizes) - 2]),),
        )
    if half and return_complex:
        raise DimensionError("Cannot have onesided output if window or input is complex.", op="istft")
    x = _bare(input)
    if len(dims.sizes) == 2:
        x = ops.unsqueeze(x, dim=0, name=None)
    taper = _taper(window, win, n_fft, x.payload.dtype, "istft")
    norm = "ortho" if normalized else "backward"
    spectra = ops.permute(x, dim=(0, 2, 1))
    if half:
        pieces = ops.fft_c2r(spectra, dim=(2,), size=n_fft, norm=norm)
    else:
        pieces = ops.fft_c2c(spectra, dim=(2,), inverse=True, norm=norm)
        if not return_complex:
            pieces = ops.real(pieces)
    y = _overlapped(pieces, taper, n_fft, hop, (n_fft // 2 if center else 0), center, length)
    if len(dims.sizes) == 2:
        return ops.squeeze(y, dim=(0,))
    return ops.rename(y, names=(dims.names[0], None)) if dims.names[0] is not None else y


def _overlapped(
    pieces: Any, taper: Any, n_fft: int, hop: int, start: int, center: bool, length: int | None
) -> Any:
    """Add the pieces of all frames up, and divide by what the windows weigh there."""
    frames = pieces.payload.shape[1]
    size = n_fft + hop * (frames - 1)
    end = size if length is None and not center else size - start if length is None else start + length
    lay = {
        "sizes": (size,),
        "kernel": (n_fft,),
        "stride": (hop,),
        "padding": (0,),
        "dilation": (1,),
    }

    def added(parts: Any) -> Any:
        whole = ops.fold(ops.permute(parts, dim=(0, 2, 1)), **lay)
        kept = ops.index(whole, key=(slice(None), slice(None), slice(start, end)))
        return ops.reshape(kept, sizes=(parts.payload.shape[0], kept.payload.shape[2]))

    signal = added(ops.mul(pieces, taper))
    squares = ops.reshape(ops.mul(taper, taper), sizes=(1, 1, n_fft))
    weight = added(ops.expand(squares, sizes=(1, frames, n_fft)))
    # A trace has no numbers to look at.
    numbers = weight.payload
    if isinstance(numbers, np.ndarray) and numbers.size and np.abs(numbers).min() <= 1e-11:
        raise DimensionError(
            "window overlap add min: 1: the windows leave values without any weight. Use a shorter hop_length, or "
            "center=True.",
            op="istft",
        )
    y = ops.div(signal, weight)
    missing = 0 if length is None else length - y.payload.shape[1]
    if missing > 0:
        warnings.warn(
            "istft: the length of the signal is shorter than the length given: zeros are added", stacklevel=3
        )
        y = ops.pad(y, padding=((0, 0), (0, missing)), value=0.0)
    return y
