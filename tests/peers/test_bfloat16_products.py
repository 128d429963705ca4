"""Products and convolutions of bfloat16, and steps under autocast, beside PyTorch's, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch: Any = pytest.importorskip("torch")

STEP = 2.0**-7

WITHIN = "bfloat16" if torch.ops.mkldnn._is_mkldnn_bf16_supported() else "float32"
"""The type in which PyTorch's convolutions are asked: theirs of bfloat16 round on the way where the processor has no
products of that type."""


def _numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _alike(ours: Any, theirs: Any, steps: float = 1.0) -> None:
    """Off by a rounding to bfloat16 of the same sum in float32; sums near zero by its scale."""
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    have, want = ours.detach().double().numpy(), theirs.detach().double().numpy()
    np.testing.assert_allclose(have, want, rtol=steps * STEP, atol=1e-4 * steps * float(np.abs(want).max()))


OPS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "product": (lambda lib, x, w: x @ w, [(96, 130), (130, 80)]),
    "product in batches": (lambda lib, x, w: x @ w.transpose(-1, -2), [(4, 3, 50, 70), (3, 60, 70)]),
    "product with a bias": (lambda lib, *all: lib.nn.functional.linear(*all), [(5, 40, 128), (96, 128), (96,)]),
    "conv1d": (lambda lib, *all: lib.nn.functional.conv1d(*all, padding=2), [(3, 8, 50), (12, 8, 5), (12,)]),
    "conv2d": (
        lambda lib, *all: lib.nn.functional.conv2d(*all, stride=2, padding=1),
        [(6, 16, 15, 12), (24, 16, 3, 3), (24,)],
    ),
    "few places": (lambda lib, *all: lib.nn.functional.conv2d(*all, padding=1), [(6, 16, 2, 2), (24, 16, 3, 3)]),
    "groups": (lambda lib, *all: lib.nn.functional.conv2d(*all, groups=4), [(3, 16, 9, 9), (24, 4, 3, 3)]),
    "conv3d": (lambda lib, *all: lib.nn.functional.conv3d(*all), [(2, 6, 7, 8, 9), (10, 6, 3, 3, 2), (10,)]),
    "transposed": (
        lambda lib, *all: lib.nn.functional.conv_transpose2d(*all, stride=2),
        [(3, 16, 7, 7), (16, 12, 3, 3)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_products_of_bfloat16_and_their_gradients(name: str) -> None:
    function, shapes = OPS[name]
    arrays = [_numbers(*shape, seed=i) for i, shape in enumerate(shapes)]
    found = []
    for lib in (wb, torch):
        dtype = getattr(lib, WITHIN if lib is torch and "product" not in name else "bfloat16")
        operands = [lib.tensor(one).to(lib.bfloat16).to(dtype).requires_grad_() for one in arrays]
        y = function(lib, *operands)
        y.backward(lib.tensor(_numbers(*y.shape, seed=9)).to(lib.bfloat16).to(dtype))
        found.append([one.to(lib.bfloat16) for one in (y, *(one.grad for one in operands))])
        assert lib is torch or all(one.dtype is wb.bfloat16 for one in (y, *(one.grad for one in operands)))
    for ours, theirs in zip(*found, strict=True):
        _alike(ours, theirs)


def _network(lib: Any) -> tuple[Any, Any]:
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(512, 64), nn.GELU(), nn.Linear(64, 10),
    )  # fmt: skip
    return model, lib.tensor(_numbers(16, 3, 16, 16, seed=5))


def _attention(lib: Any) -> tuple[Any, Any]:
    layer = lib.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    return layer, lib.tensor(_numbers(4, 24, 64, seed=5))


@pytest.mark.parametrize("make", [_network, _attention], ids=["convolutions", "transformer"])
def test_gradients_under_autocast_are_float32_and_near_those_of_pytorch(make: Callable[[Any], Any]) -> None:
    """Each is off from float32 by what 16 bits lose; ours no further than twice theirs."""
    (ours, x), (theirs, u) = make(wb), make(torch)
    state = {key: value.numpy() for key, value in theirs.state_dict().items()}
    ours.load_state_dict({key: wb.tensor(value) for key, value in state.items()})
    found: dict[str, list[Any]] = {}
    for name, lib, model, data in (("ours", wb, ours, x), ("theirs", torch, theirs, u)):
        for half in (True, False):
            model.zero_grad()
            with lib.autocast("cpu", dtype=lib.bfloat16, enabled=half):
                y = model(data)
            y.float().square().mean().backward()
            gradients = [one.grad for one in model.parameters()]
            assert all(one.dtype is lib.float32 for one in gradients)
            found[name if half else f"{name} exact"] = [
                one.detach().double().numpy() for one in (y, *gradients)
            ]
    for mine, yours, exact in zip(found["ours"], found["theirs"], found["theirs exact"], strict=True):
        scale = np.linalg.norm(exact) + 1e-12
        least = 0.004 * np.sqrt(exact.size)  # what one rounding of each number may lose, with room
        assert np.linalg.norm(mine - exact) <= 2 * np.linalg.norm(yours - exact) + least * scale / np.sqrt(
            exact.size
        )


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_of_attention_are_those_of_the_weights_that_were_computed(causal: bool) -> None:
    """Scores are large, and so are the logarithms of their sums: in 16 bits these would change all weights of a row."""
    arrays = [_numbers(2, 4, 64, 32, seed=i) for i in range(3)]
    found = {}
    for lib in (wb, torch):
        for dtype in ("bfloat16", "float32"):
            operands = [
                lib.tensor(one).to(lib.bfloat16).to(getattr(lib, dtype)).requires_grad_() for one in arrays
            ]
            y = lib.nn.functional.scaled_dot_product_attention(*operands, is_causal=causal, scale=1.5)
            y.backward(lib.tensor(_numbers(*y.shape, seed=9)).to(y.dtype))
            assert all(one.grad.dtype is y.dtype for one in operands)
            found[lib, dtype] = [
                one.detach().double().numpy() for one in (y, *(one.grad for one in operands))
            ]
    for ours, theirs, exact in zip(
        found[wb, "bfloat16"], found[torch, "bfloat16"], found[wb, "float32"], strict=True
    ):
        size = np.linalg.norm(exact)
        assert np.linalg.norm(ours - exact) <= np.linalg.norm(theirs - exact) + 0.002 * size
