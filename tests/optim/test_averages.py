"""Averages of models: how they are taken, over what, and the batch statistics after them."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.optim import swa_utils
from workbench.testing import assert_close


def model() -> nn.Module:
    wb.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2))


def shifted(net: nn.Module, by: float) -> None:
    with wb.no_grad():
        for value in (*net.parameters(), net[1].running_mean):
            value.add_(by)


WAYS = {
    "equal": ({}, lambda k: (0 + 1 + 3) / 3),
    "equal, one by one": ({"avg_fn": swa_utils.get_swa_avg_fn()}, lambda k: 4 / 3),
    "equal, many": ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, lambda k: 4 / 3),
    "exponential": ({"avg_fn": swa_utils.get_ema_avg_fn(0.5)}, lambda k: 1.75),
    "exponential, many": ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, lambda k: 1.75),
}


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_averages(way: str, use_buffers: bool) -> None:
    settings, moved = WAYS[way]
    net = model()
    start = [value.detach().numpy().copy() for value in net.parameters()]
    averaged = swa_utils.AveragedModel(net, use_buffers=use_buffers, **settings)
    for by in (0.0, 1.0, 2.0):  # the model is at 0, 1 and 3
        shifted(net, by)
        averaged.update_parameters(net)
    for value, before in zip(averaged.module.parameters(), start, strict=True):
        assert_close(value.detach(), before + moved(0), rtol=1e-6)
    assert_close(averaged.module[1].running_mean, [moved(0) if use_buffers else 3.0] * 2, rtol=1e-6)
    assert averaged.n_averaged.item() == 3
    assert list(averaged.state_dict())[:2] == ["n_averaged", "module.0.weight"]
    x = wb.ones(1, 1, 2, 2)
    averaged.eval()
    assert_close(averaged(x), averaged.module(x))


def test_the_model_itself_is_left_alone() -> None:
    net = model()
    averaged = swa_utils.AveragedModel(net)
    averaged.update_parameters(net)
    shifted(net, 1.0)
    assert not np.allclose(averaged.module[0].weight.detach().numpy(), net[0].weight.detach().numpy())


def test_batch_statistics_are_measured_anew() -> None:
    net = model()
    random = np.random.default_rng(0)
    batches = [wb.from_numpy(random.standard_normal((6, 1, 3, 3)).astype(np.float32)) for _ in range(4)]
    net.eval()
    swa_utils.update_bn([(x, 3) for x in batches], net)
    assert not net.training
    assert net[1].momentum == 0.1
    assert net[1].num_batches_tracked.item() == 4
    with wb.no_grad():
        outputs = [net[0](x).numpy() for x in batches]
    assert_close(net[1].running_mean, np.mean([y.mean((0, 2, 3)) for y in outputs], 0), rtol=1e-5, atol=1e-6)
    assert_close(net[1].running_var, np.mean([y.var((0, 2, 3), ddof=1) for y in outputs], 0), rtol=1e-5)
    swa_utils.update_bn(None, nn.ReLU())  # nothing to measure: the loader is not even looked at


def test_momentum_comes_back_where_a_batch_fails() -> None:
    net = model()
    with pytest.raises(RuntimeError):
        swa_utils.update_bn([wb.ones(1, 7, 2, 2)], net)
    assert net[1].momentum == 0.1


def test_refusals() -> None:
    with pytest.raises(ValueError, match="Invalid decay value 2"):
        swa_utils.get_ema_avg_fn(2)
    with pytest.raises(ValueError, match="Invalid decay value -1"):
        swa_utils.get_ema_multi_avg_fn(-1)
    both = {"avg_fn": swa_utils.get_swa_avg_fn(), "multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        swa_utils.AveragedModel(model(), **both)
    averaged = swa_utils.AveragedModel(nn.Linear(2, 3))
    with pytest.raises(ValueError, match=r"shape \[4, 2\] where it had \[3, 2\]"):
        averaged.update_parameters(nn.Linear(2, 4))
    assert averaged.n_averaged.item() == 0
