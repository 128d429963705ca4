"""What tensors without names print, against PyTorch: random values of every type, whole, tiny, huge, not finite."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

TYPES = [
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int64", "int32", "int16", "int8", "uint8",
    "bool",
]  # fmt: skip
SHAPES: list[tuple[int, ...]] = [
    (), (1,), (3,), (7,), (30,), (0,), (2, 0), (2, 3), (4, 9), (2, 2, 3), (1, 2, 2, 12), (1001,), (40, 40), (2, 30, 40),
    (8, 8, 20),
]  # fmt: skip


def _values(draw: np.random.Generator, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    """Return values of one of several kinds: close together, whole, spread over many powers, some not finite."""
    kind = draw.integers(7)
    numbers = draw.standard_normal(shape)
    if kind == 1:
        numbers = draw.integers(-9, 10, shape).astype(float)
    elif kind == 2:
        numbers = numbers * 10.0 ** draw.integers(-9, 12, shape)
    elif kind == 3:
        numbers = numbers * 10.0 ** draw.integers(-6, 10)
    elif kind == 4:
        numbers = np.where(
            draw.random(shape) < 0.3, draw.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape), numbers
        )
    elif kind == 5:
        numbers = np.round(numbers * 10.0 ** draw.integers(0, 10))
    elif kind == 6:
        numbers = np.where(draw.random(shape) < 0.8, 0.0, np.round(numbers * 4) / 4)
    real = torch.tensor(numbers)
    target = getattr(torch, dtype)
    if target.is_complex:
        other = torch.tensor(draw.standard_normal(shape) * (0 if kind == 1 else 10.0 ** draw.integers(-3, 3)))
        return torch.complex(real, other).to(target)
    return (real.nan_to_num(0, 9, -9).clamp(-1e18, 1e18) if not target.is_floating_point else real).to(target)


def _same(ours: Any, theirs: torch.Tensor) -> bool:
    """Compare what is printed, but for the line that the type stands on: its module's name is longer here."""
    texts = repr(ours).replace("workbench.", "torch."), repr(theirs)
    one, other = (re.sub(r",\s+(dtype|size|requires_grad)=", r", \1=", text) for text in texts)
    return one == other


def _ours(value: torch.Tensor) -> Any:
    kind = str(value.dtype).removeprefix("torch.")
    array = value.float().numpy() if kind == "bfloat16" else value.numpy()
    return wb.tensor(array, dtype=kind)


@pytest.mark.parametrize("dtype", TYPES)
def test_they_print_as_pytorchs_do(dtype: str) -> None:
    draw = np.random.default_rng(7)
    for _ in range(40):
        for shape in SHAPES:
            value = _values(draw, shape, dtype)
            ours = _ours(value)
            assert _same(ours, value), f"{value!r}\n{ours!r}"


def test_options_and_words_behind_the_values() -> None:
    draw = np.random.default_rng(8)
    for options in (
        {"precision": 2},
        {"sci_mode": True},
        {"sci_mode": False},
        {"linewidth": 40},
        {"edgeitems": 1, "threshold": 5},
    ):
        torch.set_printoptions(**options)
        wb.set_printoptions(**options)
        try:
            for _ in range(60):
                value = _values(draw, SHAPES[draw.integers(10)], TYPES[draw.integers(len(TYPES))])
                assert _same(_ours(value), value)
                if value.is_floating_point():
                    assert _same(_ours(value).requires_grad_(), value.requires_grad_())
        finally:
            torch.set_printoptions(profile="default")
            wb.set_printoptions(profile="default")


def test_the_default_type_is_left_out() -> None:
    torch.set_default_dtype(torch.float64)
    wb.set_default_dtype(wb.float64)
    try:
        for dtype in TYPES:
            value = torch.ones(2).to(getattr(torch, dtype))
            assert _same(_ours(value), value)
    finally:
        torch.set_default_dtype(torch.float32)
        wb.set_default_dtype(wb.float32)
