"""The course of the loss scale, against PyTorch's."""

from __future__ import annotations

import math

import numpy as np
import pytest

import workbench as wb
from workbench.train import GradScaler

torch = pytest.importorskip("torch")


def test_the_scale_takes_the_same_course() -> None:
    random = np.random.default_rng(0)
    factors = random.choice([1.0, 0.5, math.inf, math.nan], 60, p=[0.45, 0.45, 0.05, 0.05])
    settings = {"init_scale": 1024.0, "growth_interval": 4, "growth_factor": 3.0, "backoff_factor": 0.3}
    ours = wb.ones(3, requires_grad=True)
    theirs = torch.ones(3, requires_grad=True)
    optimizers = wb.optim.SGD([ours], lr=0.01), torch.optim.SGD([theirs], lr=0.01)
    scalers = GradScaler(**settings), torch.amp.GradScaler("cpu", **settings)  # type: ignore[arg-type]
    for factor in factors:
        for weight, optimizer, scaler in zip((ours, theirs), optimizers, scalers, strict=True):
            optimizer.zero_grad()
            scaler.scale((weight * float(factor)).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        assert scalers[0].state_dict() == scalers[1].state_dict()
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6)
