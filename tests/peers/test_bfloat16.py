"""Ops on bfloat16 beside PyTorch's, forwards and backwards, where kernels compute them, at special values too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch: Any = pytest.importorskip("torch")

STEP = 2.0**-7
"""The distance of neighbours, relative to the lower one: both libraries round once, of numbers in float32 that differ
in their last digits."""
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 3.3e38, -3.3e38, 1e-39, -1e-40, 1.2e-38, 1.0, -1.0]


def _numbers(*shape: int, seed: int = 0, special: bool = True) -> Any:
    found = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    if special:
        found.reshape(-1)[: 5 * len(SPECIAL)] = np.roll(SPECIAL * 5, seed)
    return found


def _alike(ours: Any, theirs: Any, steps: float = 1) -> None:
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    np.testing.assert_allclose(
        ours.detach().double().numpy(), theirs.detach().double().numpy(), rtol=steps * STEP, atol=1e-38
    )


ELEMENTWISE: dict[str, tuple[Callable[..., Any], int]] = {
    "relu": (lambda lib, x: lib.relu(x), 1),
    "tanh": (lambda lib, x: lib.tanh(x), 1),
    "sigmoid": (lambda lib, x: lib.sigmoid(x), 1),
    "gelu": (lambda lib, x: lib.nn.functional.gelu(x), 1),
    "silu": (lambda lib, x: lib.nn.functional.silu(x), 1),
    "neg": (lambda lib, x: -x, 1),
    "abs": (lambda lib, x: abs(x), 1),
    "exp": (lambda lib, x: lib.exp(x), 1),
    "sqrt": (lambda lib, x: lib.sqrt(x), 1),
    "add": (lambda lib, x, y: x + y, 2),
    "sub": (lambda lib, x, y: x - y, 2),
    "mul": (lambda lib, x, y: x * y, 2),
    "div": (lambda lib, x, y: x / y, 2),
    "maximum": (lambda lib, x, y: lib.maximum(x, y), 2),
    "minimum": (lambda lib, x, y: lib.minimum(x, y), 2),
    "by_channel": (lambda lib, x, y: x * y[:1] + 1.5, 2),
    "number": (lambda lib, x: 3 - 0.7 * x, 1),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_an_elementwise_op_gives_what_pytorch_gives(name: str) -> None:
    function, count = ELEMENTWISE[name]
    arrays = [_numbers(40, 96, seed=i) for i in range(count)]
    g = _numbers(40, 96, seed=9, special=False)
    if name == "gelu":  # of the largest numbers PyTorch makes infinity or NaN in this type, not in float32
        arrays = [np.clip(one, -100, 100) for one in arrays]
    found = []
    for lib in (wb, torch):
        operands = [lib.tensor(one).to(lib.bfloat16).requires_grad_() for one in arrays]
        y = function(lib, *operands)
        y.backward(lib.tensor(g).to(lib.bfloat16))
        found.append([y, *(one.grad for one in operands)])
    # Two operations round twice, and gradients of gelu and silu are rounded in between in neither.
    steps = 2 if name in ("by_channel", "number") else 1
    for ours, theirs in zip(*found, strict=True):
        _alike(ours, theirs, steps)


@pytest.mark.parametrize("shape", [(8, 16, 6, 6), (64, 48), (4, 40, 33)], ids=str)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("channels_last", [True, False])
def test_batch_norm_of_bfloat16_beside_float32_is_pytorchs(
    shape: tuple[int, ...], training: bool, channels_last: bool
) -> None:
    x, g = _numbers(*shape, special=False), _numbers(*shape, seed=1, special=False)
    c = [_numbers(shape[1], seed=2 + i, special=False) for i in range(3)]
    found = []
    for lib in (wb, torch):
        operand = lib.tensor(x).to(lib.bfloat16)
        if channels_last and len(shape) == 4:
            operand = operand.to(memory_format=lib.channels_last)
        operand.requires_grad_()
        weight, bias, mean = (lib.tensor(one).requires_grad_() for one in c)
        mean = mean.detach()
        variance = lib.ones(shape[1])
        y = lib.nn.functional.batch_norm(operand, mean, variance, weight, bias, training, 0.1)
        y.backward(lib.tensor(g).to(lib.bfloat16))
        found.append([y, operand.grad, weight.grad, bias.grad, mean, variance])
    for ours, theirs in zip(*found, strict=True):
        assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
        wide = theirs.detach().double().numpy()
        # PyTorch rounds the gradients of parameters to bfloat16 on one of its ways, and returns them in float32.
        bound = 1e-4 if theirs is found[1][4] or theirs is found[1][5] else 1.5 * STEP
        np.testing.assert_allclose(
            ours.detach().double().numpy(), wide, rtol=bound, atol=bound * max(1.0, np.abs(wide).max())
        )


LAYERS: dict[str, Callable[..., Any]] = {
    "max_pool": lambda lib, x: lib.nn.functional.max_pool2d(x, 2),
    "max_pool_overlapping": lambda lib, x: lib.nn.functional.max_pool2d(x, 3, 2, 1),
    "avg_pool": lambda lib, x: lib.nn.functional.avg_pool2d(x, 2),
    "avg_pool_overlapping": lambda lib, x: lib.nn.functional.avg_pool2d(x, 3, 2, 1),
    "adaptive": lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, 1),
    "adaptive_uneven": lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, (5, 3)),
    "sum": lambda lib, x: x.sum((0, 2)),
    "sum_all": lambda lib, x: x.sum(),
    "mean": lambda lib, x: x.mean(3, keepdim=True),
    "amax": lambda lib, x: x.amax((1, 2)),
    "amin": lambda lib, x: x.amin(0),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("channels_last", [True, False])
def test_pools_and_sums_give_what_pytorch_gives(name: str, channels_last: bool) -> None:
    x = _numbers(6, 20, 12, 12, special=False)
    found = []
    for lib in (wb, torch):
        operand = lib.tensor(x).to(lib.bfloat16)
        if channels_last:
            operand = operand.to(memory_format=lib.channels_last)
        operand.requires_grad_()
        y = LAYERS[name](lib, operand)
        y.backward(lib.tensor(_numbers(*y.shape, seed=3, special=False)).to(lib.bfloat16))
        found.append([y, operand.grad])
    for ours, theirs in zip(*found, strict=True):
        assert ours.dtype is wb.bfloat16
        # PyTorch adds up gradients of windows that overlap in bfloat16.
        wide = theirs.detach().double().numpy()
        np.testing.assert_allclose(
            ours.detach().double().numpy(),
            wide,
            rtol=2 * STEP,
            atol=2 * STEP if "overlapping" in name else STEP / 8,
        )


def test_a_cast_gives_the_same_bits() -> None:
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    floats = (upper[:, None] | np.array([0, 0x7FFF, 0x8000, 0x8001], np.uint32)).reshape(-1).view(np.float32)
    floats = floats[~np.isnan(floats)]
    ours = wb.tensor(floats).bfloat16().view(wb.int16).numpy()
    theirs = torch.tensor(floats).bfloat16().view(torch.int16).numpy()
    np.testing.assert_array_equal(ours, theirs)
