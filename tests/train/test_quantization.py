"""Training with fake quantization in a `Trainer`: what settles when, and what measuring leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.train.parts import clusters, loader, network
from workbench import quantization as q
from workbench.train import Callback, QuantizationSchedule, Trainer

X = wb.zeros(2, 3)


class Notes(Callback):
    """The running mean and the range of the last layer at the end of each epoch."""

    order = 1

    def __init__(self) -> None:
        self.means: list[Any] = []
        self.ranges: list[Any] = []

    def on_epoch_end(self, trainer: Trainer) -> None:
        norm = next(one for one in trainer.model.modules() if hasattr(one, "running_mean"))
        self.means.append(norm.running_mean.numpy().copy())
        self.ranges.append(trainer.model.calibration.entries[-1].range())


def made(graph: bool, *callbacks: Callback) -> Trainer:
    wb.manual_seed(0)
    net = network()
    if graph:
        model = q.prepare_qat_fx(net, q.get_default_qat_qconfig_mapping("onednn"), (X,))
    else:
        model = q.prepare_qat(q.fuse_modules_qat(net, [["0", "1"]]))
    optimizer = wb.optim.SGD(model.parameters(), lr=0.05)
    return Trainer(
        model, wb.nn.CrossEntropyLoss(), optimizer, metrics="accuracy", progress=False, callbacks=callbacks
    )


@pytest.mark.parametrize("graph", [False, True])
def test_normalisations_freeze_and_observers_stop(graph: bool) -> None:
    notes = Notes()
    trainer = made(graph, notes, QuantizationSchedule(freeze_bn_stats=3, disable_observer=4))
    calibration = q.Calibration(trainer.model, next(iter(loader())))
    trainer.fit(loader(), loader(), epochs=5)
    moved = [not np.array_equal(a, b) for a, b in zip(notes.means, notes.means[1:], strict=False)]
    # Epoch 3 begins frozen.
    assert moved == [True, False, False, False]
    moved = [a != b for a, b in zip(notes.ranges, notes.ranges[1:], strict=False)]
    assert moved == [True, True, False, False]
    figures = calibration.figures()
    assert figures.accuracy is not None and figures.accuracy > 0.8
    integer = (q.convert_fx if graph else q.convert)(trainer.model.eval())
    assert q.accuracy(integer, [clusters()[:]]) > 0.8


@pytest.mark.parametrize("graph", [False, True])
def test_validation_moves_no_range(graph: bool) -> None:
    trainer = made(graph)
    trainer.fit(loader(), epochs=1)
    held = [entry.range() for entry in trainer.model.calibration.entries]
    far = wb.data.TensorDataset(
        wb.full((8, 3), 1000.0, names=("N", "features")), wb.zeros(N=8, dtype=wb.int64)
    )
    trainer.evaluate(wb.data.DataLoader(far, 8))
    assert [entry.range() for entry in trainer.model.calibration.entries] == held


def test_refusals() -> None:
    with pytest.raises(
        ValueError, match="disable_observer is the number of an epoch, 1 or more, or None: got 0"
    ):
        QuantizationSchedule(disable_observer=0)
    trainer = made(False, QuantizationSchedule())
    trainer.model = network()
    with pytest.raises(wb.QuantizationError, match="goes with a model that trains with fake quantization"):
        trainer.fit(loader(), epochs=1)
