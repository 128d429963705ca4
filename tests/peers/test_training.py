"""Layers, losses and optimizers against PyTorch, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.optim.recipe import OURS, SCHEDULES, make_schedule, two_groups
from workbench import nn, optim
from workbench.testing import assert_close

torch = pytest.importorskip("torch")


def ours(bias: bool = True) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 6, 3, padding=1, bias=bias), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 3, stride=2, groups=2, bias=bias), nn.BatchNorm2d(8, momentum=None), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(8, 5),
    )  # fmt: skip


def theirs(bias: bool = True) -> Any:
    t = torch.nn
    return t.Sequential(
        t.Conv2d(2, 6, 3, padding=1, bias=bias), t.BatchNorm2d(6), t.ReLU(), t.MaxPool2d(2),
        t.Conv2d(6, 8, 3, stride=2, groups=2, bias=bias), t.BatchNorm2d(8, momentum=None), t.Tanh(), t.AvgPool2d(2),
        t.Flatten(), t.Linear(8, 5),
    )  # fmt: skip


OPTIMIZERS = {
    "adam": ("Adam", {"lr": 1e-2}),
    "adam with decay": ("Adam", {"lr": 1e-2, "weight_decay": 0.1, "betas": (0.8, 0.95)}),
    "adamw": ("AdamW", {"lr": 1e-2, "weight_decay": 0.1}),
    "sgd": ("SGD", {"lr": 5e-2}),
    "nesterov": ("SGD", {"lr": 5e-2, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3}),
    "dampened": ("SGD", {"lr": 5e-2, "momentum": 0.9, "dampening": 0.2}),
}


def pair(dtype: str) -> tuple[nn.Module, Any]:
    wb.manual_seed(1)
    bias = dtype == "float64"
    mine = ours(bias).to(dtype)
    peer = theirs(bias).to(getattr(torch, dtype))
    peer.load_state_dict({key: torch.tensor(value.numpy()) for key, value in mine.state_dict().items()})
    return mine, peer


def batches(dtype: str, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(2)
    return [
        (random.standard_normal((8, 2, 12, 12)).astype(dtype), random.integers(0, 5, 8)) for _ in range(count)
    ]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize(("dtype", "rtol", "atol"), [("float64", 1e-7, 1e-9), ("float32", 2e-3, 2e-3)])
def test_twenty_steps_agree(name: str, dtype: str, rtol: float, atol: float) -> None:
    """In float32 the convolutions have no bias.

    Before a batch normalisation it has no effect, so that its gradient is rounding noise, which Adam scales up to full
    steps; in float64 the noise is too small for that.
    """
    kind, settings = OPTIMIZERS[name]
    mine, peer = pair(dtype)
    optimizer = getattr(optim, kind)(mine.parameters(), **settings)
    other = getattr(torch.optim, kind)(peer.parameters(), **settings)
    for x, labels in batches(dtype, 20):
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(
            mine(wb.from_numpy(x, names=("N", "C", "H", "W"))), wb.from_numpy(labels)
        )
        loss.backward()
        optimizer.step()
        other.zero_grad()
        expected = torch.nn.functional.cross_entropy(peer(torch.tensor(x)), torch.tensor(labels))
        expected.backward()
        other.step()
        assert_close(loss, expected.item(), rtol=rtol, atol=atol)
    for (key, value), wanted in zip(mine.state_dict().items(), peer.state_dict().values(), strict=True):
        np.testing.assert_allclose(value.numpy(), wanted.numpy(), rtol * 10, atol * 10, err_msg=key)
    x = batches(dtype, 1)[0][0]
    with wb.no_grad(), torch.no_grad():
        scores = mine.eval()(wb.from_numpy(x)).numpy()
        assert_close(scores, peer.eval()(torch.tensor(x)).numpy(), rtol=rtol * 10, atol=atol * 10)


def test_state_keys_and_shapes_are_the_same() -> None:
    mine, peer = ours().state_dict(), theirs().state_dict()
    assert [(key, tuple(value.shape)) for key, value in mine.items()] == [
        (key, tuple(value.shape)) for key, value in peer.items()
    ]


def test_the_printed_form_is_the_same_for_layers_with_the_same_settings() -> None:
    for mine, peer in (
        (nn.Conv2d(2, 6, 3, padding=1), torch.nn.Conv2d(2, 6, 3, padding=1)),
        (nn.Linear(2, 3), torch.nn.Linear(2, 3)),
    ):
        assert repr(mine) == repr(peer)


def test_first_values_are_drawn_from_the_same_range() -> None:
    wb.manual_seed(0)
    torch.manual_seed(0)
    for mine, peer in (
        (nn.Conv2d(64, 64, 3), torch.nn.Conv2d(64, 64, 3)),
        (nn.Linear(400, 300), torch.nn.Linear(400, 300)),
    ):
        for name in ("weight", "bias"):
            a, b = getattr(mine, name).detach().numpy(), getattr(peer, name).detach().numpy()
            assert a.std() == pytest.approx(b.std(), rel=0.1)
            assert abs(a).max() == pytest.approx(abs(b).max(), rel=0.1)


@pytest.mark.parametrize(
    ("schedule", "settings"),
    [("StepLR", {"step_size": 3, "gamma": 0.5}), ("CosineAnnealingLR", {"T_max": 10, "eta_min": 0.01})],
)
def test_schedules_agree(schedule: str, settings: dict[str, Any]) -> None:
    mine = optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    peer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    a = getattr(optim.lr_scheduler, schedule)(mine, **settings)
    b = getattr(torch.optim.lr_scheduler, schedule)(peer, **settings)
    for _ in range(10):
        assert a.get_last_lr() == pytest.approx(b.get_last_lr())
        mine.step()
        a.step()
        peer.step()
        b.step()


@pytest.mark.parametrize("label", SCHEDULES)
def test_a_schedule_goes_on_from_the_state_of_the_peers(label: str) -> None:
    kind, settings = SCHEDULES[label]
    theirs = (torch.optim.lr_scheduler, torch.optim.swa_utils)
    parts = [{"params": [torch.ones(1, requires_grad=True)]} for _ in range(2)]
    optimizer = torch.optim.SGD([parts[0], {**parts[1], "lr": 0.05}], lr=0.1, momentum=0.9)
    peer = make_schedule(theirs, optimizer, kind, settings)

    def advance(one: Any, schedule: Any, count: int) -> list[Any]:
        seen = []
        for _ in range(count):
            one.step()
            schedule.step(3.0) if kind == "ReduceLROnPlateau" else schedule.step()
            seen += [(float(group["lr"]), float(group["momentum"])) for group in one.param_groups]
        return seen

    advance(optimizer, peer, 8)
    mine = two_groups()
    schedule = make_schedule(OURS, mine, kind, settings)
    mine.load_state_dict(optimizer.state_dict())
    schedule.load_state_dict(peer.state_dict())
    np.testing.assert_allclose(advance(mine, schedule, 9), advance(optimizer, peer, 9), rtol=1e-12)
