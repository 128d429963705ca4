"""Training in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.ops.nn.loss.cross_entropy import cross_entropy
from workbench.train.history import History
from workbench.train.metrics import Accuracy
from workbench.train.trainer import Trainer

__all__ = ["fit"]


def fit(
    model: Any,
    loader: Any,
    optimizer: Any,
    loss: Callable[[Any, Any], Any] = cross_entropy,
    *,
    epochs: int = 1,
    validation: Any = None,
    **settings: Any,
) -> History:
    """Train `model` on the batches (input, target) of `loader`: a `Trainer` with `settings`, for once.

    Metrics are the accuracy, where the settings name no others.

    >>> import workbench as wb
    >>> data = wb.data.TensorDataset(wb.eye(3, names=("N", "C")), wb.arange(3, names=("N",)))
    >>> model = wb.nn.Linear(3, 3)
    >>> optimizer = wb.optim.SGD(model.parameters(), lr=1.0)
    >>> history = fit(model, wb.data.DataLoader(data, 3), optimizer, epochs=9, progress=False)
    >>> history.losses[-1] < history.losses[0]
    True
    """
    settings.setdefault("metrics", [Accuracy()])
    return Trainer(model, loss, optimizer, **settings).fit(loader, validation, epochs=epochs)
