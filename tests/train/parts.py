"""A small model with everything that has a state of its own, and data for it."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench as wb
from workbench import data, nn, optim
from workbench.train import Trainer


def clusters(count: int = 60) -> data.TensorDataset:
    """Three clouds of points, which a linear map tells apart."""
    random = np.random.default_rng(0)
    labels = np.arange(count) % 3
    points = np.eye(3)[labels] * 4 + random.normal(size=(count, 3)) * 0.3
    return data.TensorDataset(
        wb.from_numpy(points.astype(np.float32), names=("N", "features")), wb.from_numpy(labels, names=("N",))
    )


def network() -> nn.Module:
    return nn.Sequential(
        nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3)
    )  # fmt: skip


def trainer(seed: int = 0, **settings: Any) -> Trainer:
    """Momentum, dropout, batch normalisation, a schedule: all that an exact resume must bring back."""
    wb.manual_seed(seed)
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    settings.setdefault("scheduler", schedule)
    return Trainer(
        model, nn.CrossEntropyLoss(), optimizer, **{"metrics": "accuracy", "progress": False, **settings}
    )


def loader(count: int = 60, size: int = 16, **settings: Any) -> Any:
    return data.DataLoader(clusters(count), batch_size=size, shuffle=True, **settings)


def weights(made: Trainer) -> dict[str, np.ndarray[Any, Any]]:
    return {name: one.numpy().copy() for name, one in made.model.state_dict().items()}


def same(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Assert that two sets of weights are the same to the bit."""
    assert first.keys() == second.keys()
    for name, one in first.items():
        np.testing.assert_array_equal(one, second[name], err_msg=name)
