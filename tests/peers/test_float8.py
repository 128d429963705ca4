"""Floats of 8 bits against PyTorch's: every float16, random bits of float32, the ends; back, files, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")

KINDS = ["float8_e4m3fn", "float8_e5m2"]
HALVES = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
BITS = (
    np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
)
ENDS = np.array(
    [448, 463.9, 464, 465, 480, 57344, 61439, 61440, 61441, 65536, np.inf, -np.inf, np.nan], np.float32
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "values", [HALVES, BITS, ENDS, np.linspace(-500, 500, 20001, dtype=np.float32)], ids=range(4)
)
def test_conversion(kind: str, values: Any) -> None:
    found = wb.from_numpy(values).to(getattr(wb, kind))
    expected = torch.tensor(values).to(getattr(torch, kind))
    np.testing.assert_array_equal(found.float().numpy(), expected.float().numpy())
    # From other types as well, and by other ways.
    for name in ("float16", "float64"):
        with np.errstate(all="ignore"):
            x = values.astype(name)
        found = wb.from_numpy(x).to(getattr(wb, kind)).double()
        expected = torch.tensor(x).to(getattr(torch, kind)).double()
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
    with np.errstate(all="ignore"):
        fits = values[np.abs(values) < wb.finfo(getattr(wb, kind)).max]
    made = wb.tensor(fits, dtype=getattr(wb, kind)).float().numpy()
    np.testing.assert_array_equal(made, torch.tensor(fits, dtype=getattr(torch, kind)).float().numpy())
    written = wb.zeros(len(values), dtype=getattr(wb, kind)).copy_(wb.from_numpy(values))
    other = torch.zeros(len(values), dtype=getattr(torch, kind)).copy_(torch.tensor(values))
    np.testing.assert_array_equal(written.float().numpy(), other.float().numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_what_stores_is_moved_and_not_computed(kind: str) -> None:
    x = wb.tensor([[1.0, 3.3], [-2.0, 0.1]], names=("N", "C")).to(getattr(wb, kind))
    assert (x.dtype.name, x.element_size(), x.names) == (kind, 1, ("N", "C"))
    assert repr(x).endswith(f"dtype=workbench.{kind}, names=('N', 'C'))")
    other = torch.tensor([[1.0, 3.3], [-2.0, 0.1]]).to(getattr(torch, kind))
    for act in (
        lambda t: t[0],
        lambda t: t.flip(0),
        lambda t: t.reshape(4),
        lambda t: t.clone(),
        lambda t: t[:, 1:],
    ):
        np.testing.assert_array_equal(act(x).float().numpy(), act(other).float().numpy())
    assert x[0, 1].item() == other[0, 1].item()
    for act in (lambda t: t + t, lambda t: t.sum(), lambda t: -t):
        with pytest.raises((RuntimeError, NotImplementedError)):
            act(other)
        with pytest.raises(wb.DTypeError, match=rf"is not computed in {kind}: .* Call .float\(\) first"):
            act(x)
    with pytest.raises(wb.DTypeError, match="Promotion for Float8 Types is not supported"):
        x + wb.ones(2, 2)
    with pytest.raises(wb.DTypeError, match="only floating-point types are supported as the default type"):
        wb.set_default_dtype(getattr(wb, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_fake_rounding_and_its_gradient(kind: str) -> None:
    values = np.array([1.1, -3.3, 0.001, 1e6, -1e6, 447.0, np.nan], np.float32)
    x = wb.from_numpy(values).requires_grad_()
    y = wb.fake_float8(x, getattr(wb, kind), 0.5)
    largest = float(torch.finfo(getattr(torch, kind)).max)
    shown = torch.tensor(values / np.float32(0.5)).clamp(-largest, largest)
    expected = shown.to(getattr(torch, kind)).float() * 0.5
    np.testing.assert_array_equal(y.detach().numpy(), expected.numpy())
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), (np.abs(values) <= largest * 0.5).astype(np.float32))
    with pytest.raises(wb.DTypeError, match="fake_float8 takes float8_e4m3fn or float8_e5m2, got float16"):
        wb.fake_float8(x, wb.float16)


@pytest.mark.parametrize("kind", KINDS)
def test_safetensors(kind: str, tmp_path: Any) -> None:
    x = wb.tensor([1.0, 3.3, -0.1]).to(getattr(wb, kind))
    wb.interop.safetensors.save_file({"x": x}, tmp_path / "x.safetensors")
    again = wb.interop.safetensors.load_file(tmp_path / "x.safetensors")["x"]
    assert again.dtype is x.dtype
    assert again.float().tolist() == x.float().tolist()
