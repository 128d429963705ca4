"""Normalisation, distances and dropout, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")


F: Any = wb.nn.functional


peer: Any = torch


def floats(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def test_instance_norm_moves_what_runs() -> None:
    x = floats(3, 2, 5)
    mine = [wb.tensor(np.zeros(2, np.float32)), wb.tensor(np.ones(2, np.float32))]
    theirs = [torch.zeros(2), torch.ones(2)]
    F.instance_norm(wb.tensor(x), *mine, momentum=0.3)
    peer.nn.functional.instance_norm(torch.tensor(x), *theirs, momentum=0.3)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


def test_native_batch_norm_moves_what_runs() -> None:
    x = floats(3, 2, 5)
    mine = [wb.tensor(np.zeros(2, np.float32)), wb.tensor(np.ones(2, np.float32))]
    theirs = [torch.zeros(2), torch.ones(2)]
    got = wb.native_batch_norm(wb.tensor(x), None, None, *mine, True, 0.3, 1e-5)
    expected = peer.native_batch_norm(torch.tensor(x), None, None, *theirs, True, 0.3, 1e-5)
    for a, b in zip([*got, *mine], [*expected, *theirs], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-6)
