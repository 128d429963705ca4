"""Losses where the database of ops does not look, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")


F: Any = wb.nn.functional


torch_functional: Any = torch.nn.functional


@pytest.mark.filterwarnings("ignore")
def test_ctc_is_that_of_torch() -> None:
    random = np.random.default_rng(0)
    for case in range(12):
        time, batch, classes, longest = (int(random.integers(2, 9)) for _ in range(4))
        lengths = random.integers(0, longest + 1, batch)
        times = random.integers(1, time + 1, batch)
        targets = random.integers(1, classes, int(lengths.sum()) if case % 3 == 0 else (batch, longest))
        scores = random.standard_normal((time, batch, classes))
        for reduction in ("none", "mean", "sum"):
            theirs: Any = torch.tensor(scores, requires_grad=True)
            mine: Any = wb.tensor(scores, requires_grad=True)
            expected = torch_functional.ctc_loss(
                torch.log_softmax(theirs, 2),
                *(torch.tensor(one) for one in (targets, times, lengths)),
                reduction=reduction,
                zero_infinity=True,
            )
            got = F.ctc_loss(
                wb.log_softmax(mine, 2),
                *(wb.tensor(one) for one in (targets, times, lengths)),
                reduction=reduction,
                zero_infinity=True,
            )
            np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-6)
            expected.sum().backward()
            got.sum().backward()
            np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), rtol=1e-5, atol=1e-7)
