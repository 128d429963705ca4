"""The trainer: what it learns, tells and refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.train.parts import clusters, loader, network, same, trainer, weights
from workbench import data, kernels, nn, optim
from workbench.models import DigitsNet
from workbench.train import Callback, Output, Trainer, evaluate, fit


class Calls(Callback):
    """Writes down which hooks were called."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_"):
            self.seen.append(name)
        return super().__getattribute__(name)


def test_it_learns_and_tells() -> None:
    made = trainer(scheduler=None)
    history = made.fit(loader(), loader(), epochs=4)
    assert history is made.history
    assert history.accuracy == 1.0
    assert [epoch.number for epoch in history.epochs] == [1, 2, 3, 4]
    assert [epoch.step for epoch in history.epochs] == [4, 8, 12, 16]
    assert history.epochs[0].loss == pytest.approx(np.average(history.losses[:4], weights=[16, 16, 16, 12]))
    assert history.losses[-1] < history.losses[0] / 2
    assert set(history.epochs[0].values) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert history.rates == [0.05] * 16
    assert all(norm > 0 for norm in history.norms)
    assert (made.step, made.epoch, made.status) == (16, 4, "finished")
    assert repr(made) == "<Trainer Sequential: finished, 4 epochs, 16 steps, SGD, float32>"


def test_fit_is_a_trainer_in_one_line() -> None:
    wb.manual_seed(0)
    model = network()
    history = fit(
        model,
        loader(),
        optim.Adam(model.parameters(), lr=0.05),
        epochs=4,
        validation=loader(),
        progress=False,
    )
    assert history.accuracy == evaluate(model, loader()).accuracy == 1.0


def test_hooks_come_in_their_order() -> None:
    calls = Calls()
    made = trainer(callbacks=[calls], accumulate=2)
    made.fit(loader(), loader())
    step = ["on_batch_start", "on_batch_end"] * 2 + ["on_step_start", "on_step_end"]
    validation = ["on_validation_start", "on_validation_end"]
    ends = ["on_epoch_end", "on_fit_end", "on_end"]
    assert calls.seen == ["on_fit_start", "on_epoch_start", *step, *step, *validation, *ends]


def test_the_model_is_left_in_the_mode_it_was_in() -> None:
    made = trainer()
    made.model.eval()
    made.model[0].train()
    modes = []
    made.model[2].register_forward_hook(lambda module, *_: modes.append(module.training))
    with wb.no_grad():
        made.fit(loader(), loader())
        assert not wb.is_grad_enabled()
    assert modes == [True] * 4 + [False] * 4
    assert [module.training for module in made.model] == [True, False, False, False, False]


def test_batches_of_another_shape_need_one_method() -> None:
    class Pairs(Trainer):
        def training_step(self, batch: Any) -> Any:
            left, right = self.model(batch["left"]), self.model(batch["right"])
            return {"loss": ((left - right) ** 2).mean()}

    wb.manual_seed(0)
    model = nn.Linear(3, 2)
    made = Pairs(model, None, optim.SGD(model.parameters(), lr=0.1), progress=False)
    batches = [{"left": wb.randn(5, 3), "right": wb.randn(5, 3)} for _ in range(3)]
    history = made.fit(batches, batches, epochs=5)
    assert history.losses[-1] < history.losses[0]
    assert history.epochs[-1].validation["loss"] == pytest.approx(made.evaluate(batches).loss)
    with pytest.raises(TypeError, match=r"a batch is \(inputs, targets\), got dict: override training_step"):
        Trainer(model, nn.MSELoss(), made.optimizer, progress=False).fit(batches)


@pytest.mark.parametrize(
    ("given", "message"),
    [(3.0, "training_step returns the loss as a real tensor"), ({"los": 1}, "got a dict with \\['los'\\]")],
)
def test_a_step_that_gives_no_loss_is_refused(given: Any, message: str) -> None:
    made = trainer()
    made.training_step = lambda batch: given  # type: ignore[method-assign]
    with pytest.raises(TypeError, match=message):
        made.fit(loader())
    made.training_step = lambda batch: Output(wb.ones(2))  # type: ignore[method-assign]
    with pytest.raises(wb.DimensionError, match="a loss is one number"):
        made.fit(loader())


def test_predictions_come_together_with_their_names() -> None:
    made = trainer()
    batches = data.DataLoader(clusters(), batch_size=16)
    predictions = made.predict(batches)
    assert predictions.names == ("N", "out_features")
    made.model.eval()
    expected = made.model(clusters().tensors[0])
    np.testing.assert_allclose(predictions.numpy(), expected.detach().numpy(), rtol=1e-5)
    assert not predictions.requires_grad
    inputs = [batch[0] for batch in batches]
    np.testing.assert_array_equal(made.predict(inputs).numpy(), predictions.numpy())
    with pytest.raises(ValueError, match="there is nothing to predict"):
        made.predict([])
    with pytest.raises(TypeError, match="for one batch call predict_step"):
        made.predict(wb.zeros(2, 3))


# ------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize(("size", "accumulate"), [(15, 4), (10, 6), (8, 8), (7, 9)])
def test_accumulated_batches_are_one_batch(size: int, accumulate: int) -> None:
    """Also where the last batch, or the last group, is smaller."""

    def train(size: int, accumulate: int) -> dict[str, Any]:
        wb.manual_seed(0)
        model = nn.Linear(3, 3)
        made = Trainer(
            model, nn.CrossEntropyLoss(), optim.SGD(model.parameters(), lr=0.5),
            accumulate=accumulate, progress=False,
        )  # fmt: skip
        made.fit(data.DataLoader(clusters(), batch_size=size))
        return weights(made)

    whole, parts = train(size * accumulate, 1), train(size, accumulate)
    for name, one in whole.items():
        np.testing.assert_allclose(parts[name], one, rtol=2e-5, atol=1e-6)


def test_a_loss_that_sums_is_added_up() -> None:
    def train(size: int, accumulate: int) -> Trainer:
        wb.manual_seed(0)
        model = nn.Linear(3, 3)
        made = Trainer(
            model, nn.CrossEntropyLoss(reduction="sum"), optim.SGD(model.parameters(), lr=0.01),
            accumulate=accumulate, progress=False,
        )  # fmt: skip
        made.fit(data.DataLoader(clusters(), batch_size=size), epochs=2)
        return made

    whole, parts = train(60, 1), train(16, 4)
    for name, one in weights(whole).items():
        np.testing.assert_allclose(weights(parts)[name], one, rtol=2e-5, atol=1e-6)
    assert whole.history.epochs[0].loss == pytest.approx(parts.history.epochs[0].loss, rel=1e-5)
    assert whole.history.losses == pytest.approx(parts.history.losses, rel=1e-5)


def test_gradients_are_clipped_together() -> None:
    norms: list[float] = []

    class Look(Callback):
        def on_step_start(self, trainer: Trainer) -> None:
            squares = [(one.grad.numpy() ** 2).sum() for one in trainer.model.parameters()]
            norms.append(float(np.sqrt(sum(squares))))

    made = trainer(callbacks=[Look()], clip_norm=0.05)
    history = made.fit(loader())
    assert min(history.norms) > 0.05
    assert norms == pytest.approx([0.05] * 4, rel=1e-4)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_mixed_precision_learns(precision: Any) -> None:
    made = trainer(precision=precision, scheduler=None)
    kinds = []
    made.model[0].register_forward_hook(lambda module, inputs, output: kinds.append(output.dtype.name))
    history = made.fit(loader(), loader(), epochs=4)
    assert set(kinds) == {precision}
    assert history.accuracy == 1.0
    assert {one.dtype.name for one in made.model.parameters()} == {"float32"}


def test_a_float16_step_that_overflows_is_left_out() -> None:
    made = trainer(precision="float16")
    scaler = made.precision.scaler
    assert scaler is not None
    scaler.load_state_dict({**scaler.state_dict(), "scale": 2.0**30})
    before, rate = weights(made), made.optimizer.param_groups[0]["lr"]
    made.fit(loader(), steps=1)
    assert (made.step, made.progress.skipped) == (1, 1)
    assert scaler.get_scale() == 2.0**29
    assert made.optimizer.param_groups[0]["lr"] == rate
    np.testing.assert_array_equal(weights(made)["0.weight"], before["0.weight"])
    made.fit(loader(), epochs=8)
    assert made.progress.skipped < made.step / 2
    assert evaluate(made.model, loader()).accuracy == 1.0


# --------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"accumulate": 0}, ValueError, "accumulate must be 1 or more, got 0"),
        ({"clip_norm": 0.0}, ValueError, "clip_norm must be above 0"),
        (
            {"precision": "float64"},
            ValueError,
            "precision is 'float32', 'bfloat16', 'float16'; got 'float64'",
        ),
        ({"schedule": "batch"}, ValueError, "schedule is 'step' or 'epoch'"),
        ({"scheduler": 3}, TypeError, "a scheduler has step"),
        ({"callbacks": [print]}, TypeError, "callbacks are Callback objects"),
        ({"metrics": "acuracy"}, ValueError, "there is no metric 'acuracy'.* Did you mean 'accuracy'"),
        ({"metrics": ["accuracy", "accuracy"]}, ValueError, "two metrics are called the same"),
        ({"log": 3}, TypeError, "log is a folder, or a writer"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        trainer(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"epochs": 0}, "epochs must be 1 or more, got 0"), ({"steps": True}, "steps must be 1 or more")],
)
def test_bad_lengths_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trainer().fit(loader(), **settings)


def test_what_does_not_belong_together_is_refused() -> None:
    model, other = nn.Linear(3, 3), nn.Linear(3, 3)
    with pytest.raises(wb.AutogradError, match="the optimizer changes none of the model's parameters"):
        Trainer(model, nn.CrossEntropyLoss(), optim.SGD(other.parameters(), lr=0.1))
    with pytest.raises(TypeError, match=r"a Trainer trains an nn\.Module"):
        Trainer(print, nn.CrossEntropyLoss(), optim.SGD(other.parameters(), lr=0.1))
    with pytest.raises(TypeError, match="optimizer is an Optimizer"):
        Trainer(model, nn.CrossEntropyLoss(), model)
    with pytest.raises(TypeError, match="LBFGS computes the loss several times in a step"):
        Trainer(model, nn.CrossEntropyLoss(), optim.LBFGS(model.parameters()))
    with pytest.raises(TypeError, match="loss is called as"):
        Trainer(model, 3, optim.SGD(model.parameters(), lr=0.1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="loader gives batches, and this is a tensor"):
        trainer().fit(wb.zeros(3, 3))
    with pytest.raises(TypeError, match="loader gives batches, and int cannot be gone over"):
        trainer().fit(3)


def test_nothing_to_learn_from_or_evaluate_is_an_error() -> None:
    made = trainer()
    empty = data.DataLoader(data.TensorDataset(wb.zeros(0, 3), wb.zeros(0, dtype="int64")))
    with pytest.raises(ValueError, match="the loader has no batches"):
        made.fit(empty)
    with pytest.raises(ValueError, match="the loader has no batches"):
        made.fit(iter([]))
    with pytest.raises(ValueError, match="there is nothing to evaluate"):
        made.evaluate(empty)


# -------------------------------------------------------------------------------------------- schedules


def test_a_schedule_steps_with_every_batch_or_epoch() -> None:
    made = trainer()
    history = made.fit(loader(), epochs=3)
    assert history.rates[0] == 0.05
    assert history.rates[6] == pytest.approx(0.025)
    by_epoch = trainer(scheduler=None)
    by_epoch.schedule = type(by_epoch.schedule)(
        optim.lr_scheduler.StepLR(by_epoch.optimizer, 1, 0.1), "epoch"
    )
    assert by_epoch.fit(loader(), epochs=2).rates == pytest.approx([0.05] * 4 + [0.005] * 4)


def test_a_seed_makes_it_repeat() -> None:
    runs = []
    for _ in range(2):
        made = trainer(seed=0)
        wb.rand(3)
        made.seed = 7
        made.fit(loader(), epochs=2)
        runs.append(weights(made))
        wb.seed()
    same(*runs)


@pytest.mark.skipif(
    not kernels.available(), reason="a whole training takes minutes in NumPy, and its parts are tested there"
)
def test_the_network_for_digits_learns_them() -> None:
    wb.manual_seed(0)
    train, test = data.digits()
    model = DigitsNet()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    batches = data.DataLoader(data.Subset(train, range(2560)), batch_size=64, shuffle=True)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 2 * len(batches))
    made = Trainer(
        model, nn.CrossEntropyLoss(), optimizer, scheduler=schedule, metrics="accuracy", progress=False
    )
    made.fit(batches, epochs=2)
    assert made.evaluate(data.DataLoader(test, batch_size=250)).accuracy > 0.93
