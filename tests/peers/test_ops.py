"""Ops against PyTorch: values and gradients on the same inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")
F = torch.nn.functional

Case = tuple[str, Callable[..., Any], Callable[..., Any], tuple[tuple[int, ...], ...]]

CASES: list[Case] = [
    ("conv2d", lambda x, w, b: wb.conv2d(x, w, b, padding=1), lambda x, w, b: F.conv2d(x, w, b, padding=1),
     ((2, 3, 7, 6), (4, 3, 3, 3), (4,))),
    ("conv2d stride groups dilation", lambda x, w: wb.conv2d(x, w, None, 2, 2, 2, 2),
     lambda x, w: F.conv2d(x, w, None, 2, 2, 2, 2), ((2, 4, 9, 9), (6, 2, 3, 3))),
    ("max_pool2d", lambda x: wb.max_pool2d(x, 3, 2, 1), lambda x: F.max_pool2d(x, 3, 2, 1), ((2, 3, 7, 8),)),
    ("max_pool2d dilation", lambda x: wb.max_pool2d(x, 2, 1, 0, 2), lambda x: F.max_pool2d(x, 2, 1, 0, 2),
     ((1, 2, 6, 6),)),
    ("avg_pool2d", lambda x: wb.avg_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, 3, 2, 1), ((2, 3, 7, 8),)),
    ("linear", wb.linear, F.linear, ((5, 2, 4), (3, 4), (3,))),
    ("matmul batched", wb.matmul, torch.matmul, ((2, 1, 3, 4), (5, 4, 2))),
    ("matmul vector", wb.matmul, torch.matmul, ((4,), (2, 4, 3))),
    ("softmax", lambda x: wb.softmax(x, 1), lambda x: torch.softmax(x, 1), ((3, 5, 2),)),
    ("log_softmax", lambda x: wb.log_softmax(x, -1), lambda x: torch.log_softmax(x, -1), ((3, 5),)),
    ("logsumexp", lambda x: wb.logsumexp(x, (0, 2)), lambda x: torch.logsumexp(x, (0, 2)), ((3, 5, 2),)),
    ("var", lambda x: wb.var(x, 1), lambda x: torch.var(x, 1), ((3, 5),)),
    ("std", lambda x: wb.std(x), lambda x: torch.std(x), ((3, 5),)),
    ("amax", lambda x: wb.amax(x, 1), lambda x: torch.amax(x, 1), ((3, 5),)),
    ("cumsum", lambda x: wb.cumsum(x, 1), lambda x: torch.cumsum(x, 1), ((3, 5),)),
    ("pow", lambda x, y: wb.pow(x.abs() + 0.1, y), lambda x, y: torch.pow(x.abs() + 0.1, y), ((3, 5), (5,))),
    ("where", lambda x, y: wb.where(x > 0, x * 2, y), lambda x, y: torch.where(x > 0, x * 2, y), ((3, 5), (5,))),
    ("index", lambda x: x[1:, [0, 2, 2]], lambda x: x[1:, [0, 2, 2]], ((3, 5, 2),)),
    ("pad", lambda x: wb.pad(x, (1, 2, -1, 0), value=0.5), lambda x: F.pad(x, (1, 2, -1, 0), value=0.5), ((3, 5),)),
    ("sigmoid tanh", lambda x: x.sigmoid() * x.tanh(), lambda x: x.sigmoid() * x.tanh(), ((3, 5),)),
    ("clamp", lambda x: x.clamp(-0.5, 0.5), lambda x: x.clamp(-0.5, 0.5), ((3, 5),)),
    ("mse_loss", wb.mse_loss, F.mse_loss, ((3, 5), (3, 5))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "theirs", "shapes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_values_and_gradients(ours: Any, theirs: Any, shapes: tuple[tuple[int, ...], ...]) -> None:
    arrays = [
        np.random.default_rng(i).standard_normal(shape).astype(np.float32) for i, shape in enumerate(shapes)
    ]
    mine = [wb.tensor(array, requires_grad=True) for array in arrays]
    peers = [torch.tensor(array, requires_grad=True) for array in arrays]
    out, expected = ours(*mine), theirs(*peers)
    np.testing.assert_allclose(out.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-5)
    seed = np.random.default_rng(99).standard_normal(tuple(out.shape)).astype(np.float32)
    out.backward(wb.tensor(seed))
    expected.backward(torch.tensor(seed))
    for one, peer in zip(mine, peers, strict=True):
        assert one.grad is not None
        np.testing.assert_allclose(one.grad.numpy(), peer.grad.numpy(), rtol=1e-4, atol=1e-4)


def test_cross_entropy() -> None:
    scores = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    target = np.array([0, 3, 1, 1, 2, 0])
    x, peer = wb.tensor(scores, requires_grad=True), torch.tensor(scores, requires_grad=True)
    for reduction in ("mean", "sum"):
        x.grad = peer.grad = None
        wb.cross_entropy(x, wb.tensor(target), reduction=reduction).backward()
        F.cross_entropy(peer, torch.tensor(target), reduction=reduction).backward()
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), peer.grad.numpy(), rtol=1e-5, atol=1e-6)


NAMES = [
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "bool",
]


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("a", NAMES)
@pytest.mark.parametrize("b", NAMES)
@pytest.mark.parametrize("ndims", [(1, 1), (1, 0), (0, 1)])
def test_promotion(a: str, b: str, ndims: tuple[int, int]) -> None:
    sizes = [(2,) * n for n in ndims]
    ours = wb.ones(sizes[0], dtype=a) * wb.ones(sizes[1], dtype=b)
    theirs = torch.ones(sizes[0], dtype=getattr(torch, a)) * torch.ones(sizes[1], dtype=getattr(torch, b))
    # There is no half-precision complex type here: the next wider one takes its place.
    expected = str(theirs.dtype).removeprefix("torch.").replace("complex32", "complex64")
    assert ours.dtype.name == expected
