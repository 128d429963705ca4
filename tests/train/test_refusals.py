"""What a `Trainer` refuses before it trains, in words that say what would work; and what it takes in several forms."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.train.parts import clusters, loader, trainer
from workbench import data, nn, optim
from workbench.optim.lr_scheduler import StepLR
from workbench.train import Accuracy, EarlyStopping, Trainer
from workbench.train.output import join

Pair = namedtuple("Pair", ["scores", "names"])


def made(model: Any = nn.Linear, loss: Any = None, optimizer: Any = None) -> Trainer:
    """Something of which one part is given, and may be wrong."""
    own = nn.Linear(3, 3)
    return Trainer(
        own if model is nn.Linear else model,
        nn.CrossEntropyLoss() if loss is None else loss,
        optim.SGD(own.parameters()) if optimizer is None else optimizer,
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": nn.ReLU}, r"trains an nn.Module, got the class ReLU itself: make one, ReLU\(\)"),
        ({"loss": nn.MSELoss}, r"got the class MSELoss itself: make one, MSELoss\(\)"),
        ({"loss": "mse"}, "loss is called as .*, and str cannot be"),
        ({"optimizer": optim.Adam}, r"got the class Adam itself: make one, Adam\(model.parameters\(\)\)"),
        ({"optimizer": "adam"}, r"such as wb.optim.Adam\(model.parameters\(\)\), got str"),
        (
            {"optimizer": [1, 2]},
            "has one optimizer, got 2 in a list: .* parameter groups.* a loop of your own",
        ),
    ],
)
def test_parts(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        made(**settings)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"callbacks": EarlyStopping}, TypeError, r"got the class EarlyStopping itself: make one, Early"),
        ({"callbacks": [EarlyStopping]}, TypeError, r"got the class EarlyStopping itself"),
        ({"callbacks": 3}, TypeError, "callbacks are Callback objects, got int"),
        ({"scheduler": StepLR}, TypeError, r"got the class StepLR itself: make one, StepLR\(optimizer, …\)"),
        ({"scheduler": []}, TypeError, "list does not: several become one by SequentialLR"),
        ({"metrics": Accuracy}, TypeError, r"got the class Accuracy itself: make one, Accuracy\(\)"),
        ({"accumulate": 2.0}, ValueError, "accumulate must be 1 or more, got 2.0, no whole number"),
        ({"clip_norm": "1"}, ValueError, "clip_norm must be above 0, or None, got '1'"),
        ({"clip_norm": np.nan}, ValueError, "clip_norm must be above 0, or None, got nan"),
        ({"checkpoint": True}, TypeError, "checkpoint is a folder, such as 'runs/mine', got True"),
    ],
)
def test_settings(settings: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        trainer(**settings)


def test_settings_in_several_forms() -> None:
    one = EarlyStopping()
    assert one in trainer(callbacks=one).callbacks
    assert one not in trainer(callbacks=None).callbacks
    ready = trainer(clip_norm=np.float32(0.5))
    Trainer(ready.model, ready.loss, ready.optimizer, seed=np.int64(3))
    with pytest.raises(ValueError, match="seed must be a whole number, or None, got 'x'"):
        Trainer(ready.model, ready.loss, ready.optimizer, seed="x")
    ready.fit(loader())
    assert ready.step == 4


def test_data() -> None:
    inputs, labels = clusters().tensors
    with pytest.raises(TypeError, match=r"Data that are one batch go into a list, \[\(inputs, targets\)\]"):
        trainer().fit((inputs, labels))
    with pytest.raises(TypeError, match=r"int cannot be gone over: .* So many epochs are fit\(…, epochs=3\)"):
        trainer().fit(loader(), 3)
    ready = trainer()
    with pytest.raises(ValueError, match="the validation loader has no batches"):
        ready.fit(loader(), [])
    assert (ready.step, ready.status) == (0, "idle")
    ready.fit([(inputs, labels)])
    assert ready.step == 1


def test_what_is_resumed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"got 'lats'\. Did you mean 'last'"):
        trainer(checkpoint=tmp_path).fit(loader(), resume="lats")
    with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
        trainer().save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_score_a_sample_is_measured_by_a_function() -> None:
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters())
    batches = [(wb.ones(4, 3), wb.ones(4, 1))]
    binary = Trainer(model, nn.BCEWithLogitsLoss(), optimizer, metrics="accuracy", progress=False)
    with pytest.raises(wb.DimensionError, match="a function measures it") as raised:
        binary.fit(batches)
    code = str(raised.value).partition("metrics=")[2]
    assert code.startswith("{'accuracy': lambda")
    metrics = {"accuracy": lambda scores, labels: ((scores > 0) == (labels > 0)).float().mean()}
    assert "((scores > 0) == (labels > 0)).float().mean()" in code
    fine = Trainer(model, nn.BCEWithLogitsLoss(), optimizer, metrics=metrics, progress=False)
    assert fine.fit(batches).epochs[0].metrics["accuracy"] in (0.0, 1.0)


def test_predictions_keep_their_texts_and_their_kind() -> None:
    class Named(Trainer):
        def predict_step(self, batch: Any) -> Any:
            return Pair(self.model(batch["x"]), batch["name"])

    samples = [{"x": wb.ones(C=3) * i, "name": f"s{i}"} for i in range(5)]
    model = nn.Linear(3, 2)
    found = Named(model, None, optim.SGD(model.parameters())).predict(data.DataLoader(samples, 2))
    assert isinstance(found, Pair)
    assert found.scores.shape == (5, 2)
    assert found.names == ["s0", "s1", "s2", "s3", "s4"]
    assert [one.tolist() for one in join([[wb.ones(1)], [wb.zeros(1)]])] == [[1.0, 0.0]]
