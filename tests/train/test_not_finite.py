"""What is not finite ends a training before anything changes."""

from __future__ import annotations

import math
from typing import Any

import pytest

import workbench as wb
from tests.train.parts import clusters, loader, same, trainer, weights
from workbench import data, nn, optim
from workbench.train import Trainer, TrainingError


def broken(at: int, value: float) -> list[Any]:
    """Batches of which one holds a value that is not finite."""
    batches = [tuple(one.clone() for one in batch) for batch in loader()]
    batches[at][0][3, 1] = value
    return batches


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_before_anything_changes(value: float) -> None:
    made = trainer()
    batches = broken(2, value)
    made.fit(batches[:2])
    before = weights(made)
    made.model.eval()
    message = (
        r"the loss is nan at step 3 \(epoch 2 of 2\): training stopped, and this step changed no parameter. "
        r"The batch itself is to blame: batch\[0\] has 1 (NaN|inf) among 48 values"
    )
    with pytest.raises(TrainingError, match=message) as caught:
        made.fit(batches[2:])
    same(weights(made), before)
    error = caught.value
    assert (error.step, error.epoch, error.culprit) == (3, 2, "batch[0]")
    assert error.batch is made.last_batch is batches[2]
    assert made.status == "failed"
    assert len(made.history) == 2
    assert not made.model.training
    made.fit(batches[3:])
    assert made.step == 3


def test_the_first_module_that_gave_nan_is_named() -> None:
    class Root(nn.Module):
        def forward(self, x: Any) -> Any:
            return (x - 100).sqrt()

    model = nn.Sequential(nn.Linear(3, 3), Root(), nn.Linear(3, 3))
    made = Trainer(model, nn.CrossEntropyLoss(), optim.SGD(model.parameters(), lr=0.1), progress=False)
    batches = list(data.DataLoader(clusters(), batch_size=16))
    state = wb.get_rng_state()
    with pytest.raises(
        TrainingError, match="The first module that gave such values is 1: its output has 48 NaN"
    ):
        made.fit(batches)
    assert wb.get_rng_state() == state
    model[2].weight.detach()[0, 0] = math.nan
    with pytest.raises(TrainingError, match=r"The parameter 2.weight has 1 NaN among 9 values") as caught:
        made.fit(loader())
    assert caught.value.culprit == "2.weight"


def test_a_gradient_that_is_not_finite_stops_before_anything_changes() -> None:
    class Sharp(nn.Module):
        def forward(self, x: Any) -> Any:
            return (x * 0).sqrt() + x

    model = nn.Sequential(nn.Linear(3, 4), Sharp(), nn.Linear(4, 3))
    made = Trainer(model, nn.CrossEntropyLoss(), optim.SGD(model.parameters(), lr=0.1), progress=False)
    before = weights(made)
    with pytest.raises(TrainingError, match="though the loss is finite, at step 1") as caught:
        made.fit(loader())
    same(weights(made), before)
    assert caught.value.culprit == "0.bias"
    assert "it has 4 NaN among 4 values, and 1 gradients after it" in str(caught.value)
    assert all(one.grad is None for one in model.parameters())
