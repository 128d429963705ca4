"""Files that are shared, full, spoiled or made to harm lose nothing of a training."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.train.parts import loader, same, trainer, weights
from workbench.base.files import alone
from workbench.interop.safetensors import load_file, read_metadata, save_file
from workbench.train import (
    CheckpointError,
    LearningRateMonitor,
    ModelCheckpoint,
    checkpoint,
)


def test_a_training_that_saves_keeps_another_from_its_folder(tmp_path: Path) -> None:
    part = tmp_path / ".0001-step-4.safetensors.00ff.part"
    part.touch()
    with alone(tmp_path):
        assert checkpoint.clean(tmp_path) == []
        assert part.exists()
        second = ModelCheckpoint(tmp_path)
        made = trainer()
        saving = threading.Thread(target=second.save, args=(made,), daemon=True)
        saving.start()
        saving.join(0.2)
        assert saving.is_alive()
        assert not checkpoint.files(tmp_path)
    saving.join(10)
    assert len(checkpoint.files(tmp_path)) == 1
    assert checkpoint.clean(tmp_path) == [part.name]


def test_a_full_disk_stops_the_training_and_it_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = trainer(seed=3)
    expected.fit(loader(), epochs=3)
    made = trainer(seed=3, checkpoint=tmp_path)
    made.fit(loader(), epochs=1)

    def full(path: Path, content: list[Any]) -> None:
        path.write_bytes(content[0])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("workbench.interop.safetensors._write", full)
    with pytest.raises(OSError, match="No space left"):
        made.fit(loader(), epochs=3, resume="last")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["0001-step-4.safetensors"]
    made.fit(loader(), epochs=3, resume=True)
    same(weights(made), weights(expected))


def test_what_is_finished_is_not_saved_again(tmp_path: Path) -> None:
    trainer(checkpoint=tmp_path).fit(loader(), epochs=1)
    again = trainer(checkpoint=tmp_path)
    again.fit(loader(), epochs=1, resume="last")
    assert again.step == 4
    assert [path.name for path in tmp_path.iterdir()] == ["0001-step-4.safetensors"]


def changed(path: Path, old: str | None = None, new: str = "", **summary: Any) -> Path:
    """Rewrite a checkpoint with other metadata, as somebody would who means harm."""
    metadata = read_metadata(path)
    told = json.loads(metadata[checkpoint.SUMMARY])
    text = metadata[checkpoint.STATE] if old is None else new
    if "state" not in summary and old is not None:
        summary["state"] = checkpoint.zlib.crc32(text.encode())
    lie = json.dumps({**told, **summary})
    checksum = str(checkpoint.zlib.crc32(lie.encode()))
    metadata |= {checkpoint.STATE: text, checkpoint.SUMMARY: lie, checkpoint.CHECKSUM: checksum}
    save_file(load_file(path), path, metadata)
    return path


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        ({"tensors": [1]}, "has tensors=\\[1\\]"),
        ({"tensors": None}, "has tensors=None"),
        ({"value": "x"}, "has value='x'"),
        ({"step": "7"}, "has step='7'"),
        ({"run": ["r"]}, "has run="),
        ({"mode": None}, "has mode=None"),
        ({"state": 3}, "the checksum of its state does not fit"),
        ({"format": 99}, "of format 99"),
    ],
)
def test_a_summary_that_lies_is_refused(summary: dict[str, Any], words: str, tmp_path: Path) -> None:
    trainer().save(tmp_path / "0001-step-0.safetensors")
    path = changed(tmp_path / "0001-step-0.safetensors", **summary)
    with pytest.raises(CheckpointError, match=words):
        checkpoint.load(path)
    for best in (True, False):
        with pytest.raises(CheckpointError):
            checkpoint.newest(tmp_path, best=best)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000 + "]" * 100_000,
        "[]",
        '{"a": {"$": "scalar", "dtype": "V8", "value": 1000000000000}}',
        '{"a": {"$": "scalar", "dtype": "int8", "value": 1000}}',
        '{"a": {"$": "scalar", "dtype": "O", "value": 1}}',
        '{"a": {"$": "nothing"}}',
        '{"a": {"$": ["tensor"]}}',
        '{"a": {"$": "tensor", "key": "none"}}',
        '{"a": {"$": "tensor", "key": "model.0.weight", "order": [0, 0]}}',
        '{"a": {"$": "dict", "items": [[[], 1]]}}',
    ],
)
def test_a_state_that_is_made_to_harm_is_refused(text: str, tmp_path: Path) -> None:
    trainer().save(tmp_path / "a.safetensors")
    with pytest.raises(CheckpointError):
        checkpoint.load(changed(tmp_path / "a.safetensors", "", text))


def test_a_state_of_other_parts_changes_nothing() -> None:
    made = trainer()
    made.fit(loader())
    before, state = weights(made), dict(made.state_dict())
    wrong: list[Any] = [None, 3, {}, {**state, "progress": {**state["progress"], "step": "4"}}]
    wrong += [{key: one for key, one in state.items() if key != left} for left in state]
    wrong += [
        {**state, key: 3} for key in ("settings", "progress", "metrics", "callbacks", "gradients", "model")
    ]
    wrong += [{**state, "progress": {**state["progress"], **bad}} for bad in ({"epoch": -1}, {"new": 1})]
    for one in wrong:
        with pytest.raises(CheckpointError):
            made.load_state_dict(one)
    same(weights(made), before)
    assert made.step == 4


def test_an_interrupt_while_a_state_is_taken_over_changes_nothing() -> None:
    first, made = trainer(seed=1), trainer(seed=2)
    first.fit(loader(), epochs=2)
    made.fit(loader())
    before, calls = weights(made), [0]
    load = made.optimizer.load_state_dict

    def interrupted(state: Any) -> None:
        calls[0] += 1
        if calls[0] == 1:
            raise KeyboardInterrupt
        load(state)

    made.optimizer.load_state_dict = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        made.load_state_dict(first.state_dict())
    same(weights(made), before)
    assert made.step == 4


def test_the_best_is_of_the_newest_training_and_a_number(tmp_path: Path) -> None:
    summary = checkpoint.Summary
    for i, (run, value) in enumerate([("old", 0.1), ("new", 0.5), ("new", float("nan")), ("new", 0.7)]):
        path = tmp_path / f"{i + 1:04d}-step-{i}.safetensors"
        checkpoint.save({"i": i}, path, summary(run, i, 0, 0.0, "val_loss", value))
    assert checkpoint.newest(tmp_path, best=True)[0] == {"i": 1}
    stored = checkpoint.files(tmp_path)
    assert checkpoint.best_of(stored, "new") == stored[1]
    assert checkpoint.best_of(stored, "old") == stored[0]


def test_rates_of_a_long_training_are_no_text(tmp_path: Path) -> None:
    monitor = LearningRateMonitor()
    made = trainer(callbacks=[monitor])
    made.fit(loader())
    rates = [list(one) for one in monitor.rates]
    made.save(tmp_path / "a.safetensors")
    assert "callbacks.LearningRateMonitor.rates.0" in load_file(tmp_path / "a.safetensors")
    monitor.rates = []
    made.load(tmp_path / "a.safetensors")
    assert monitor.rates == rates
