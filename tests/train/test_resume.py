"""Stopped anywhere and gone on with, a training ends with the same weights to the bit."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.train.parts import loader, same, trainer, weights
from workbench import data, nn, optim
from workbench.interop.safetensors import save_file
from workbench.optim import lr_scheduler as schedules
from workbench.train import (
    Callback,
    CheckpointError,
    CheckpointWarning,
    EarlyStopping,
    ModelCheckpoint,
    Trainer,
    checkpoint,
)
from workbench.train.position import Position
from workbench.train.schedule import Schedule
from workbench.train.state import apply
from workbench.train.state import save as save_state

EPOCHS = 3


class StopAt(Callback):
    """Asks for a stop after so many batches."""

    def __init__(self, batch: int) -> None:
        self.left = batch

    def on_batch_end(self, trainer: Any) -> None:
        self.left -= 1
        if self.left == 0:
            trainer.stop()


def whole(**settings: Any) -> tuple[dict[str, Any], Trainer]:
    made = trainer(seed=3, **settings)
    made.fit(loader(), loader(), epochs=EPOCHS)
    return weights(made), made


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5, 8, 11, 12])
def test_a_stop_at_any_batch_changes_nothing(batch: int, accumulate: int, tmp_path: Path) -> None:
    expected, reference = whole(accumulate=accumulate, clip_norm=1.0)
    first = trainer(seed=3, accumulate=accumulate, clip_norm=1.0, callbacks=[StopAt(batch)])
    first.fit(loader(), loader(), epochs=EPOCHS)
    assert first.status == "stopped"
    first.save(tmp_path / "c.safetensors")
    second = trainer(seed=99, accumulate=accumulate, clip_norm=1.0)
    history = second.fit(loader(), loader(), epochs=EPOCHS, resume=tmp_path / "c.safetensors")
    same(weights(second), expected)
    assert history.losses == reference.history.losses
    assert history.norms == reference.history.norms
    assert [one.values for one in history.epochs] == [one.values for one in reference.history.epochs]
    assert second.status == "finished"


def test_it_goes_on_in_memory_too() -> None:
    expected, _ = whole()
    made = trainer(seed=3, callbacks=[StopAt(6)])
    data_loader = loader()
    made.fit(data_loader, loader(), epochs=EPOCHS)
    assert made.progress.batch == 2
    made.fit(data_loader, loader(), epochs=EPOCHS, resume=True)
    same(weights(made), expected)


def test_every_checkpoint_of_a_run_goes_on_exactly(tmp_path: Path) -> None:
    """After each step, also the last of an epoch, and with a loader that has a generator of its own."""

    def own() -> Any:
        return loader(generator=wb.Generator(5))

    first = trainer(seed=3, callbacks=[ModelCheckpoint(tmp_path, every_steps=1, keep=100)])
    first.fit(own(), epochs=2)
    stored = checkpoint.files(tmp_path)
    assert [one.step for one in stored] == [1, 2, 3, 4, 5, 6, 7, 8, 8]
    for one in stored:
        second = trainer(seed=17)
        second.fit(own(), epochs=2, resume=one.path)
        same(weights(second), weights(first))
        assert (second.step, second.epoch) == (8, 2)


def test_a_list_of_batches_goes_on_exactly(tmp_path: Path) -> None:
    batches = list(loader())

    def make(stop: int) -> Trainer:
        return trainer(seed=3, callbacks=[StopAt(stop)])

    first = make(0)
    first.fit(batches, epochs=2)
    second = make(3)
    second.fit(batches, epochs=2)
    second.save(tmp_path / "c.safetensors")
    third = make(0)
    third.fit(batches, epochs=2, resume=tmp_path / "c.safetensors")
    same(weights(third), weights(first))


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_convolutions_and_adam_go_on_exactly(precision: Any, tmp_path: Path) -> None:
    """Gradients gathered so far, in the memory order of images, and the loss scale come back too."""
    images = data.TensorDataset(wb.randn(N=40, C=3, H=6, W=6), wb.randint(0, 4, (40,)))

    def make(stop: int) -> Trainer:
        wb.manual_seed(1)
        model = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, 4)
        )
        return Trainer(
            model, nn.CrossEntropyLoss(), optim.Adam(model.parameters(), lr=1e-2), precision=precision,
            accumulate=2, clip_norm=1.0, callbacks=[StopAt(stop)], progress=False,
        )  # fmt: skip

    def batches() -> Any:
        return data.DataLoader(images, batch_size=8, shuffle=True)

    first = make(0)
    first.fit(batches(), epochs=2)
    second = make(6)
    second.fit(batches(), epochs=2)
    assert second.progress.group == 1
    second.save(tmp_path / "c.safetensors")
    third = make(0)
    wb.seed()
    third.fit(batches(), epochs=2, resume=tmp_path / "c.safetensors")
    same(weights(third), weights(first))


@pytest.mark.parametrize(
    "make",
    [
        lambda one: schedules.OneCycleLR(one, max_lr=0.1, total_steps=20),
        lambda one: schedules.SequentialLR(
            one, [schedules.ConstantLR(one, 0.1, 3), schedules.ExponentialLR(one, 0.9)], [3]
        ),
        lambda one: schedules.MultiStepLR(one, [2, 2, 5], 0.5),
        lambda one: schedules.ReduceLROnPlateau(one, patience=0, threshold=1.0),
    ],
    ids=["one cycle", "sequential", "steps", "plateau"],
)
def test_schedules_go_on_exactly(make: Any, tmp_path: Path) -> None:
    def made(stop: int) -> Trainer:
        found = trainer(seed=3, scheduler=None, callbacks=[StopAt(stop)])
        found.schedule = Schedule(make(found.optimizer), "step")
        return found

    first = made(0)
    first.fit(loader(), epochs=EPOCHS)
    second = made(5)
    second.fit(loader(), epochs=EPOCHS)
    second.save(tmp_path / "c.safetensors")
    third = made(0)
    third.fit(loader(), epochs=EPOCHS, resume=tmp_path / "c.safetensors")
    assert third.history.rates == first.history.rates
    assert len(set(third.history.rates)) > 1
    same(weights(third), weights(first))


def test_early_stopping_keeps_its_patience(tmp_path: Path) -> None:
    def make() -> Trainer:
        stopping = EarlyStopping("loss", patience=2, mode="max", restore_best=True)
        return trainer(seed=3, callbacks=[stopping], checkpoint=tmp_path)

    first = make()
    first.fit(loader(), epochs=20)
    assert first.epoch == 3
    stored = [one for one in checkpoint.files(tmp_path) if checkpoint.read_summary(one.path).epoch == 2]
    second = make()
    second.fit(loader(), epochs=20, resume=stored[0].path)
    assert second.epoch == 3
    assert "got no better" in second.message
    same(weights(second), weights(first))


def test_a_process_of_its_own_goes_on_exactly(tmp_path: Path, root: Path) -> None:
    expected, _ = whole(checkpoint=tmp_path / "whole")
    stopped = trainer(seed=3, checkpoint=tmp_path / "runs", callbacks=[StopAt(6)])
    stopped.fit(loader(), loader(), epochs=EPOCHS)
    code = f"""
        from tests.train.parts import loader, trainer
        made = trainer(seed=17, checkpoint={str(tmp_path / "runs")!r})
        made.fit(loader(), loader(), epochs={EPOCHS}, resume="last")
        made.save({str(tmp_path / "end.safetensors")!r})
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, cwd=root, timeout=120)
    again = trainer(seed=8)
    again.load(tmp_path / "end.safetensors")
    same(weights(again), expected)


def test_epochs_and_steps_count_from_where_the_run_began(tmp_path: Path) -> None:
    made = trainer(checkpoint=tmp_path)
    made.fit(loader(), epochs=2)
    made.fit(loader(), epochs=1)
    assert (made.epoch, made.step) == (3, 12)
    made.fit(loader(), steps=6)
    assert (made.epoch, made.step, made.status) == (4, 18, "finished")
    again = trainer(checkpoint=tmp_path)
    again.fit(loader(), steps=10, resume="last")
    assert (again.epoch, again.step) == (5, 22)
    assert again.run_id == made.run_id


def test_resume_last_begins_where_there_is_nothing(tmp_path: Path) -> None:
    made = trainer(checkpoint=tmp_path / "new")
    made.fit(loader(), epochs=1, resume="last")
    assert made.step == 4
    assert made.resumed_from is None
    with pytest.raises(ValueError, match="there is nothing to go on with"):
        trainer().fit(loader(), resume=True)
    with pytest.raises(ValueError, match="resume='last' looks into a folder"):
        trainer().fit(loader(), resume="last")
    with pytest.raises(FileNotFoundError):
        made.fit(loader(), resume=tmp_path / "absent.safetensors")
    assert made.status == "failed"


def test_resume_best_takes_the_best(tmp_path: Path) -> None:
    made = trainer(callbacks=[ModelCheckpoint(tmp_path, monitor="loss", mode="max", keep=1)])
    made.fit(loader(), epochs=3)
    assert [one.step for one in checkpoint.files(tmp_path)] == [4, 12]
    again = trainer(checkpoint=tmp_path)
    again.fit(loader(), epochs=1, resume="best")
    assert (again.step, again.epoch) == (4, 1)


# ----------------------------------------------------------------------------------- damaged and foreign


def saved(folder: Path, count: int = 2) -> list[Path]:
    made = trainer(checkpoint=folder)
    made.fit(loader(), epochs=count)
    return [one.path for one in checkpoint.files(folder)]


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x40
    path.write_bytes(content)


@pytest.mark.parametrize("place", [0, 9, 2000, -1, -3000])
def test_a_damaged_checkpoint_is_refused_and_changes_nothing(place: int, tmp_path: Path) -> None:
    path = saved(tmp_path)[-1]
    flip(path, place)
    made = trainer(seed=5)
    before = weights(made)
    state = wb.get_rng_state()
    with pytest.raises(CheckpointError, match=re.escape(path.name)):
        made.load(path)
    same(weights(made), before)
    assert wb.get_rng_state() == state
    assert made.step == 0


@pytest.mark.parametrize(
    ("before", "changed"),
    [
        (b"1.5", b"1.4"),
        (b"val_loss", b"val_lost"),
        (b"time", b"tine"),
        (b"max", b"mix"),
        (b"out_features", b"our_features"),
    ],
)
def test_no_byte_of_what_a_checkpoint_says_of_itself_changes_unseen(
    before: bytes, changed: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "a.safetensors"
    save_state(trainer(), path, monitor="val_loss", value=1.5, mode="max")
    content = path.read_bytes()
    summary = content.index(b"val_loss") - 200
    place = content.index(before, 0 if before == b"out_features" else summary)
    path.write_bytes(content[:place] + changed + content[place + len(before) :])
    with pytest.raises(CheckpointError, match=r"this checkpoint is damaged, .*(checksum|cannot be read)"):
        checkpoint.load(path)
    if before != b"out_features":
        with pytest.raises(CheckpointError, match="this checkpoint is damaged"):
            checkpoint.read_summary(path)


def test_a_checkpoint_cut_short_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)[-1]
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match="this checkpoint is damaged"):
        trainer().load(path)


def test_last_falls_back_and_says_so(tmp_path: Path) -> None:
    *_, good, bad = saved(tmp_path, 3)
    flip(bad, -1)
    made = trainer(checkpoint=tmp_path)
    with pytest.warns(CheckpointWarning, match=rf"went on from .*{good.name}, because:\n.*{bad.name}"):
        made.fit(loader(), epochs=3, resume="last")
    assert made.resumed_from == good
    assert made.epoch == 3
    for one in checkpoint.files(tmp_path):
        one.path.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="none of the 3 checkpoints"):
        trainer(checkpoint=tmp_path).fit(loader(), resume="last")


def test_weights_alone_are_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    save_file(trainer().model.state_dict(), path)
    with pytest.raises(CheckpointError, match="is no checkpoint of a Trainer"):
        trainer().load(path)


def test_the_weights_of_a_checkpoint_can_be_had_alone(tmp_path: Path) -> None:
    made = trainer()
    made.fit(loader())
    made.save(tmp_path / "a.safetensors")
    other = trainer(seed=1)
    other.model.load_state_dict(wb.load_weights(tmp_path / "a.safetensors"))
    same(weights(other), weights(made))


def test_the_state_of_another_optimizer_is_refused_and_says_how_the_weights_are_had(tmp_path: Path) -> None:
    made = trainer()
    model = made.model
    for first, second in ((optim.SGD, optim.Adam), (optim.AdamW, optim.Adam)):
        Trainer(model, made.loss, first(model.parameters())).save(tmp_path / "a.safetensors")
        other = Trainer(model, made.loss, second(model.parameters()))
        words = f"trained with {first.__name__}, and the trainer has Adam. The model's weights alone .*load_weights"
        with pytest.raises(CheckpointError, match=words):
            other.load(tmp_path / "a.safetensors")
    Trainer(model, made.loss, optim.AdamW(model.parameters())).load_state_dict(other.state_dict())


def test_other_data_are_refused_and_it_says_how_to_train_on_with_them(tmp_path: Path) -> None:
    made = trainer(checkpoint=tmp_path)
    made.fit(loader())
    again = trainer(checkpoint=tmp_path)
    with pytest.raises(
        CheckpointError, match=r"batch_size=16, and this one has 10: .* call load\(path\), then fit"
    ):
        again.fit(loader(size=10), epochs=2, resume="last")
    again.load(checkpoint.files(tmp_path)[-1].path)
    again.fit(loader(size=10), epochs=1)
    assert (again.epoch, again.step) == (2, 10)


def test_the_state_of_another_model_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path)[-1]
    wb.manual_seed(1)
    model = wb.nn.Linear(3, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    other = Trainer(model, wb.nn.CrossEntropyLoss(), optimizer, progress=False)
    before = weights(other)
    with pytest.raises(CheckpointError, match=r"it has a scheduler, and the trainer has none"):
        other.load(path)
    other = Trainer(
        model, wb.nn.CrossEntropyLoss(), optimizer, progress=False,
        scheduler=optim.lr_scheduler.StepLR(optimizer, 2),
    )  # fmt: skip
    with pytest.raises(
        CheckpointError, match=r"nothing was changed: Error\(s\) in loading state_dict for Linear"
    ):
        other.load(path)
    same(weights(other), before)
    assert (other.step, len(other.history)) == (0, 0)


def test_what_fails_halfway_is_taken_back(tmp_path: Path) -> None:
    made = trainer(seed=4)
    made.fit(loader(), epochs=1)
    state = made.state_dict()
    state["random"] = {"workbench": {}}
    other = trainer(seed=5)
    other.fit(loader(), epochs=2)
    before, stream = weights(other), wb.get_rng_state()
    with pytest.raises(CheckpointError, match="nothing was changed"):
        other.load_state_dict(state)
    same(weights(other), before)
    assert wb.get_rng_state() == stream
    assert (other.step, other.epoch, len(other.history)) == (8, 2, 8)
    with pytest.raises(CheckpointError, match="it lacks run, settings, optimizer"):
        other.load_state_dict({"model": {}})


def test_a_place_that_the_data_does_not_have_is_refused_and_changes_nothing() -> None:
    made = trainer(callbacks=[StopAt(3)])
    made.fit(loader())
    other = trainer(seed=1)
    before = weights(other)
    with pytest.raises(CheckpointError, match="nothing was changed"):
        apply(other, made.state_dict(), Position(loader(count=20)))
    same(weights(other), before)
    assert other.step == 0


def test_amid_a_group_accumulate_must_be_the_same() -> None:
    made = trainer(accumulate=3, callbacks=[StopAt(2)])
    made.fit(loader())
    with pytest.raises(CheckpointError, match="amid a step of 3 batches, and here accumulate=2"):
        trainer(accumulate=2).load_state_dict(made.state_dict())
