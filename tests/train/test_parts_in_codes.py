"""Training what stands behind a part that is in codes, whose state has more than tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.train import EarlyStopping, Trainer


class Headed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = q.quantize(nn.Sequential(nn.Linear(3, 4), nn.PReLU()), [wb.randn(8, 3)])
        self.head = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x))


def test_the_best_weights_come_back_behind_codes() -> None:
    model = Headed()
    data = wb.data.TensorDataset(wb.randn(16, 3), wb.randint(0, 2, (16,)))
    # Each step makes it worse: the best epoch is the first.
    worse = wb.optim.SGD(model.head.parameters(), lr=1.0, maximize=True)
    stopping = EarlyStopping("loss", patience=2, restore_best=True)
    made = Trainer(model, nn.functional.cross_entropy, worse, callbacks=[stopping])
    made.fit(wb.data.DataLoader(data, 16), epochs=1)
    best = model.head.weight.numpy(force=True).copy()
    made.fit(wb.data.DataLoader(data, 16), epochs=5)
    assert made.epoch == 3 and stopping.best_epoch == 1
    np.testing.assert_array_equal(model.head.weight.numpy(force=True), best)
