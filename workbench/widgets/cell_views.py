"""What a cell shows live of its value: the view in which there is something to move or to choose.

A tensor of which a picture shows only a part gets sliders, an attribution its samples and settings. What a static
picture says as well stays one: it costs a notebook's file a tenth.
"""

from __future__ import annotations

import functools

from workbench.attribution import AttributionResult, Board, Study
from workbench.base.errors import DimensionError
from workbench.graph import GraphDiff
from workbench.graph.passes import Step
from workbench.live.renderers import renderers
from workbench.tensor import Tensor
from workbench.tensorboard import Log
from workbench.widgets.base import STATIC, ViewWidget
from workbench.widgets.board import BoardWidget
from workbench.widgets.diff import DiffWidget
from workbench.widgets.heatmap import HeatmapWidget
from workbench.widgets.runs import RunsWidget
from workbench.widgets.tensor import TensorModel

__all__ = ["cell_view"]

MOST_VALUES = 1 << 15
"""Most values of a tensor that a cell's picture keeps in the notebook's file."""


@functools.singledispatch
def cell_view(thing: object) -> ViewWidget | None:
    """Return the widget that draws `thing` in a cell; None if a static picture says all of it."""
    return None


@cell_view.register
def _tensor(tensor: Tensor) -> ViewWidget | None:
    model = renderers.model_of(tensor, lambda made: TensorModel(made, keep=False, most=MOST_VALUES))
    drawn = model.snapshot().state.picture  # type: ignore[attr-defined]
    if drawn is None or not drawn.sliders or not (STATIC / "shapes.js").is_file():
        return None
    return ViewWidget(model)


@cell_view.register
def _attribution(result: AttributionResult) -> ViewWidget | None:
    try:
        return HeatmapWidget(result) if (STATIC / "heatmap.js").is_file() else None
    except DimensionError:  # its samples are no pictures
        return None


@cell_view.register
def _board(board: Board) -> ViewWidget | None:
    return BoardWidget(board) if (STATIC / "heatmap.js").is_file() else None


@cell_view.register
def _study(study: Study) -> ViewWidget | None:
    return HeatmapWidget(study) if (STATIC / "heatmap.js").is_file() else None


@cell_view.register
def _difference(diff: GraphDiff) -> ViewWidget | None:
    # Of no difference the static picture says all.
    return DiffWidget(diff) if diff and (STATIC / "diff.js").is_file() else None


@cell_view.register
def _step(step: Step) -> ViewWidget | None:
    return DiffWidget(step) if step.diff and (STATIC / "diff.js").is_file() else None


@cell_view.register
def _log(log: Log) -> ViewWidget | None:
    return RunsWidget(log) if (STATIC / "runs.js").is_file() else None
