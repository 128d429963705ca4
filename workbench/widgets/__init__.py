"""One small file a view: a view model and the widget on it. Importing this room lets panels draw what is published."""

# Written by `python -m workbench.lab.views`: change the list of views, or the files below.

from __future__ import annotations

from workbench.base.public import words
from workbench.widgets.board import BoardWidget, board
from workbench.widgets.diff import DiffWidget, diff, graph_diff
from workbench.widgets.flow import FlowWidget, flow, shapes
from workbench.widgets.graph import GraphWidget, graph
from workbench.widgets.heatmap import HeatmapWidget, attribution, heatmap
from workbench.widgets.histogram import HistogramWidget, histogram, observers
from workbench.widgets.runs import RunsWidget, runs
from workbench.widgets.scatter import ScatterWidget, projector, scatter
from workbench.widgets.tensor import TensorWidget
from workbench.widgets.training import TrainingWidget, training

__all__ = [
    "BoardWidget",
    "DiffWidget",
    "FlowWidget",
    "GraphWidget",
    "HeatmapWidget",
    "HistogramWidget",
    "RunsWidget",
    "ScatterWidget",
    "TensorWidget",
    "TrainingWidget",
    "attribution",
    "board",
    "diff",
    "flow",
    "graph",
    "graph_diff",
    "heatmap",
    "histogram",
    "observers",
    "projector",
    "runs",
    "scatter",
    "shapes",
    "training",
]

__getattr__, __dir__ = words(__name__, __all__)
