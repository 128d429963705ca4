"""What stands in an output where no widget can be made: every view, small, escaped, and shown by nbconvert."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbconvert import HTMLExporter

import workbench as wb
from tests.live.models import Observers
from tests.train.parts import loader, trainer
from workbench import quantization as q
from workbench.attribution import explain
from workbench.base.errors import DimensionError, Operand
from workbench.embedding import Embedding
from workbench.live.messages import VIEWS
from workbench.live.model import Snapshot, ViewModel
from workbench.widgets import base, scatter_drawn
from workbench.widgets.base import ViewWidget
from workbench.widgets.board import BoardModel
from workbench.widgets.charts import bars, fitting, lines, points
from workbench.widgets.clash import ClashModel
from workbench.widgets.diff import DiffModel
from workbench.widgets.flow import FlowModel
from workbench.widgets.graph import GraphModel
from workbench.widgets.heatmap import HeatmapModel
from workbench.widgets.histogram import HistogramModel
from workbench.widgets.runs import RunsModel
from workbench.widgets.scatter import ScatterModel
from workbench.widgets.stills import MOST_BYTES, OUTPUT, still
from workbench.widgets.tensor import TensorModel
from workbench.widgets.training import TrainingModel, model_of

EVIL = "<img src=x onerror=alert(1)>"


def graph() -> wb.graph.Graph:
    return wb.graph.trace(wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU()).eval(), wb.zeros(N=2, C=4))


def clash() -> ViewModel:
    operands = (Operand("x", (EVIL, "C"), (2, 3), (), (False, True)), Operand("y", ("C",), (4,), (), (True,)))
    return ClashModel(DimensionError("C means 3 here and 4 there", operands=operands, fix="x[:, :1] + y"))


def observers() -> ViewModel:
    made: Any = q.prepare(wb.nn.Sequential(wb.nn.Linear(4, 3)).eval(), q.bits_qconfig(8, 8))
    stop = made.calibration.listen(lambda source: None)
    made(wb.randn(N=8, C=4))
    stop()
    model = HistogramModel(made.calibration)
    model.snapshot()  # rows are brought up to date a few at a time
    return model


def scores(images: wb.Tensor) -> wb.Tensor:
    total = images.sum(["C", "H", "W"]).rename(None)
    return wb.stack([total, total * -1], 1)


def attributions() -> ViewModel:
    images = wb.rand(N=2, C=3, H=64, W=48)
    return HeatmapModel(explain(scores, images, [1, 1], class_names=[EVIL, "b"], title=EVIL))


def board() -> ViewModel:
    images = wb.rand(N=2, C=3, H=8, W=8)
    made = wb.attribution.compare(
        scores, images, 1, ["saliency", "layer_activation"], ["deletion"], title=EVIL
    )
    return BoardModel(made.wait(60))


def cloud() -> ViewModel:
    made = Embedding(
        np.random.default_rng(4).standard_normal((5000, 5)), title=EVIL, labels=[EVIL, "b"] * 2500
    )
    made.project()
    return ScatterModel(made)


def training() -> ViewModel:
    made = trainer()
    made.fit(loader(), epochs=2)
    curves: Any = next(one for one in made.callbacks if isinstance(one, wb.train.LiveCurves))
    model: TrainingModel = model_of(curves)
    model.keep = made  # type: ignore[attr-defined]  # of one that is gone the last picture stays
    return model


def difference() -> wb.graph.GraphDiff:
    one, other = (wb.graph.trace(f, wb.ones(3)) for f in (lambda x: x.relu(), lambda x: x.tanh()))
    return wb.graph.diff(one, other)


def log() -> ViewModel:
    with tempfile.TemporaryDirectory() as folder:
        with wb.tensorboard.SummaryWriter(folder) as writer:
            for step in range(9):
                writer.add_scalar("loss", 1 / (step + 1), step)
                writer.add_scalar(f"accuracy {EVIL}", step, step)
        return RunsModel(wb.tensorboard.open(folder))


MODELS: dict[str, tuple[Callable[[], ViewModel], tuple[str, ...]]] = {
    "tensor": (lambda: TensorModel(wb.rand(N=40, C=3, H=200, W=300), EVIL), ("H&nbsp;200", "<img", "mean")),
    "line": (lambda: TensorModel(wb.arange(100000.0), "x"), ("100 K values", "<svg")),
    "flow": (lambda: FlowModel(graph()), ("linear", "relu", "gives")),
    "clash": (clash, ("C means 3 here and 4 there", "x[:, :1] + y")),
    "graph": (lambda: GraphModel(graph()), ("linear", "parameters", "15")),
    "diff": (lambda: DiffModel(difference()), ("tanh", "relu → tanh", "±", "1 added")),
    "histogram": (observers, ("0.weight", "dB", "<svg")),
    "heatmap": (attributions, ("<img", "the attribution", "%")),
    "board": (board, ("Saliency", "Deletion", "class 1 of 2 samples", "explains a layer")),
    "scatter": (cloud, ("5,000", "PCA", "●", "<img")),
    "runs": (log, ("2 scalars", "loss", "accuracy", "<svg")),
    "training": (training, ("finished", "epoch 2", "loss", "accuracy", "<svg")),
}


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


@pytest.mark.parametrize("name", MODELS)
def test_a_view_has_a_picture_without_a_widget(name: str) -> None:
    make, expected = MODELS[name]
    html = still(make().snapshot())
    assert len(html.encode()) < MOST_BYTES
    for words in expected:
        assert words in html, html[:2000]
    page = Tags()
    page.feed(html)
    assert not page.tags & {"script", "style", "link", "iframe"}
    assert not [one for one in page.attributes if one.startswith("on")], "text from data became markup"


def test_every_view_is_among_them() -> None:
    assert {type(make().snapshot().state) for make, _ in MODELS.values()} == {
        state for view in VIEWS.values() for state in view.states
    }


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The output of a cell that ends with a view."""
    for view in VIEWS:
        (tmp_path / f"{view}.js").write_text("export default {}", encoding="utf-8")
    monkeypatch.setattr(base, "STATIC", tmp_path)
    data, _ = ViewWidget(TensorModel(wb.arange(6.0).reshape(2, 3), "a small one"))._repr_mimebundle_()
    return data


def test_an_output_has_the_widget_the_picture_and_the_mark(shown: Any) -> None:
    assert set(shown) == {
        "text/plain", "text/html", OUTPUT, "application/vnd.jupyter.widget-view+json",
    }  # fmt: skip
    assert shown[OUTPUT] == {"view": "shapes"}
    assert "a small one" in shown["text/html"]


def test_nbconvert_shows_the_picture_of_a_notebook_without_widget_state(shown: Any) -> None:
    output = nbformat.v4.new_output("execute_result", data=shown, execution_count=1)
    cell = nbformat.v4.new_code_cell("x", outputs=[output], execution_count=1)
    page, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    assert "a small one" in page
    assert "wb-still" in page
    assert 'src="data:image/png' in page


def test_it_is_made_when_the_output_is_shown_and_not_at_each_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "histogram.js").write_text("export default {}", encoding="utf-8")
    monkeypatch.setattr(base, "STATIC", tmp_path)
    made: list[Snapshot] = []
    monkeypatch.setattr(base, "still", lambda snapshot: made.append(snapshot) or "")
    widget = ViewWidget(Observers())
    widget._repr_mimebundle_()
    for _ in range(5):
        widget.draw()
    assert len(made) == 1


def test_what_is_too_large_is_its_title() -> None:
    class Long:
        head = type("Head", (), {"title": "<long>"})

    assert "&lt;long&gt;" in still(Snapshot(Long()))
    state: Any = clash().snapshot().state
    vars(state)["message"] = "x" * MOST_BYTES
    html = still(Snapshot(state))
    assert len(html.encode()) < 2048
    assert "too large to be drawn here" in html


def test_charts_are_bounded_and_keep_the_extremes() -> None:
    values = np.zeros(100_000)
    values[[500, 70_000]] = 9, np.nan
    drawn = lines(np.arange(100_000.0), values, 100, 20)
    assert len(drawn) < 20_000
    assert "from 0 to 9" in drawn
    assert lines(np.arange(3.0), np.full(3, np.nan), 10, 10) == ""
    assert len(bars([0.5] * 100_000, 100, 20)) < 20_000
    assert bars([], 10, 10) == ""
    assert fitting(np.zeros((40, 300, 300, 3))).size <= 16 * 3 * 15 * 15
    picture, colours = points(np.full((3, 2), np.nan), np.array([0, 1, 1]))
    assert "data:image/png" in picture and len(colours) == 2


def test_a_cloud_says_how_many_of_how_many_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Embedding(np.random.default_rng(0).standard_normal((60, 4)))
    sampled = still(ScatterModel(made.project(sample=50)).snapshot())
    assert "PCA · sampled: 50 of 60 points · 50 of 60 points<" in sampled
    monkeypatch.setattr(scatter_drawn, "MOST_POINTS", 20)
    dense = still(ScatterModel(made.project("given", positions=np.arange(120.0).reshape(60, 2))).snapshot())
    assert "given · 60 points as density<" in dense
