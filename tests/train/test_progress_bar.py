"""What the progress bar shows: in a terminal, where output goes to a file, in a notebook, and amid an epoch."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

import pytest
from tqdm import std

from tests.train.parts import loader, trainer
from workbench.base import renderer_lookup
from workbench.train import Callback
from workbench.train.callbacks import progress_bar

FIGURES = r"loss [\d.]+, accuracy [\d.]+, val_loss [\d.]+, val_accuracy [\d.]+, [\d.]+ ?K? samples/s"


def as_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


class StopOnce(Callback):
    def on_step_end(self, trainer: Any) -> None:
        if trainer.step == 3:
            trainer.stop("enough")


def test_a_file_gets_a_line_an_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    trainer(progress=True).fit(loader(), loader(), epochs=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    for number, line in enumerate(lines, 1):
        assert re.fullmatch(rf"epoch {number}/2: {FIGURES}, \d+\.\d s", line)


def test_a_file_gets_signs_of_life_amid_a_long_epoch(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_bar, "SIGN_OF_LIFE", 0.0)
    trainer(progress=True).fit(iter(list(loader())))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines[:4]] == [f"epoch 1/1: {i} batches" for i in range(1, 5)]
    trainer(progress=True).fit(loader(), steps=2)
    assert re.search(r"epoch 1: 2 of 4 batches, loss [\d.]+, [\d.]+ ?K? samples/s\n", capsys.readouterr().out)


def test_a_terminal_has_a_bar_and_then_a_line_of_all_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    as_terminal(monkeypatch)
    trainer(progress=True).fit(loader(), loader())
    *shown, line, end = re.split(r"[\r\n]+", capsys.readouterr().out)
    assert any("100%" in one and "4/4" in one for one in shown)
    assert re.fullmatch(rf"epoch 1/1: {FIGURES}, \d+\.\d s", line)
    assert end == ""


def test_a_training_that_goes_on_begins_in_the_middle_of_the_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    as_terminal(monkeypatch)
    made = trainer(progress=True, callbacks=StopOnce())
    made.fit(loader())
    before = capsys.readouterr().out
    assert "3/4" in before
    assert before.endswith("stopped: enough\n")  # and the bar stays as it was
    made.fit(loader(), resume=True)
    after = capsys.readouterr().out
    assert "| 3/4 [" in after
    assert "batch [" not in after  # as a bar beyond its end would say


def test_a_notebook_keeps_the_bar_with_the_figures_beside_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renderer_lookup, "in_notebook", lambda: True)
    shown: list[Any] = []
    monkeypatch.setattr(renderer_lookup, "display_again", lambda thing: shown.append(thing) or (lambda: None))
    trainer(progress=True).fit(loader(), loader())
    told = [re.fullmatch(rf"epoch 1/1: 100% 4/4, 00:00 left, {FIGURES}", repr(one)) for one in shown]
    assert len(told) == 2 and told[1], "the history's table, and the bar"
    assert capsys.readouterr().out == "", "text is broken anywhere in a narrow cell"


def test_bars_are_text_in_notebooks_too() -> None:
    bar = importlib.import_module("workbench.train.callbacks.progress_bar")
    assert bar.tqdm is std.tqdm, "a bar of widgets is an error in a notebook that is opened again"
