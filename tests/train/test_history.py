"""A history as text, tables and pictures."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.train.parts import loader, trainer
from workbench.train import History
from workbench.train.curves import smooth, spikes, thin


@pytest.fixture(scope="module")
def history() -> History:
    return trainer().fit(loader(), loader(), epochs=3)


def test_as_text(history: History) -> None:
    lines = str(history).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("epoch 1: loss ")
    assert "val_accuracy" in lines[0]
    assert repr(history).startswith("<History: 12 steps, 3 epochs>\nepoch 1")
    assert str(History()) == "nothing was trained yet"


def test_as_tables(history: History) -> None:
    rows = history.table()
    assert [row["step"] for row in rows] == [4, 8, 12]
    assert rows[1]["val_loss"] == history.epochs[1].validation["loss"]
    best = history.best("val_loss")
    assert best is not None
    assert best.validation["loss"] == min(one.validation["loss"] for one in history.epochs)
    assert history.best("nothing") is None
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = history.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.index.name == "epoch"
    assert frame["val_loss"].tolist() == [one.validation["loss"] for one in history.epochs]
    assert history.to_pandas("steps")["loss"].tolist() == history.losses


def test_as_a_figure(history: History) -> None:
    figure = history.plot()
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["loss", "accuracy", "gradient norm"]
    validation = figure.axes[0].lines[-1]
    assert list(validation.get_xdata()) == [4, 8, 12]
    with pytest.raises(ValueError, match="nothing was trained yet"):
        History().plot()


def test_as_html(history: History) -> None:
    page = history._repr_html_()
    tree = ElementTree.fromstring(page.replace("&nbsp;", " "))
    drawn = tree.findall(".//svg")
    assert [one.get("aria-label") for one in drawn] == ["loss", "accuracy", "gradient norm"]
    titles = [one.text or "" for one in tree.iter("title")]
    assert f"validation, step 12: {history.epochs[-1].validation['loss']!r}" in titles
    assert "trainer.fit" in History()._repr_html_()


def test_odd_histories_can_be_drawn() -> None:
    made = History()
    for value in (1.0, math.nan, math.inf, 1.0):
        made.record(value, 0.1, value, 10.0)
    assert "<svg" in made._repr_html_()
    assert "NaN" not in made._repr_html_()
    one = History()
    one.record(0.0, 0.1, 0.0, 10.0)
    assert "<svg" in one._repr_html_()
    long = History()
    for step in range(5000):
        long.record(1.0 if step != 3000 else 50.0, 0.1, 1.0, 10.0)
    page = long._repr_html_()
    assert "spike at step 3001" in page
    assert len(page) < 60_000


def test_curves() -> None:
    assert smooth([1.0, math.nan, 1.0])[2] == 1.0
    assert smooth([0.0] * 50 + [1.0], 0.9)[-1] == pytest.approx(0.1, rel=0.01)
    peaks: list[Any] = [0.0] * 1000
    peaks[123], peaks[777] = 5.0, -5.0
    assert {123, 777} <= set(thin(peaks, 20))
    assert len(thin(peaks, 20)) <= 20
    assert spikes([1.0] * 5) == []
