"""The list of views: the one place that names them all.

To add a view, write its files (CONTRIBUTING.md says which) and one entry here, then run ``make format``: what else
names views is written from this list by `workbench.lab.views`, or reads it. The sidebar shows them in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import SelectEvent
from workbench.live.messages.diff import DiffState
from workbench.live.messages.graph import GraphState
from workbench.live.messages.heatmap import (
    AskEvent,
    BoardState,
    HeatmapState,
    OpenRowEvent,
    SampleEvent,
    SettingEvent,
)
from workbench.live.messages.histogram import (
    ChooseEvent,
    CompareEvent,
    HistogramState,
    RedoEvent,
    ResetRangeEvent,
    SetRangeEvent,
    SetScaleEvent,
    ShowDifferenceEvent,
    ShowValuesEvent,
    UndoEvent,
)
from workbench.live.messages.runs import (
    FilterTagsEvent,
    RunsState,
    ShowPageEvent,
    ShowRunsEvent,
    ShowStepEvent,
    TailEvent,
)
from workbench.live.messages.scatter import (
    CompareWithEvent,
    ComputeColumnEvent,
    JudgeEvent,
    PlayEvent,
    ProjectEvent,
    PublishEvent,
    RemoveBookmarkEvent,
    SaveBookmarkEvent,
    ScatterState,
    SelectPointsEvent,
    SetNeighboursEvent,
    ShowProjectionEvent,
    WriteTableEvent,
)
from workbench.live.messages.scatter_window import LookCloserEvent
from workbench.live.messages.shapes import ClashState, FlowState, SliceEvent, TensorState
from workbench.live.messages.training import PauseEvent, ResumeEvent, StopEvent, TrainingState

__all__ = ["VIEWS", "View"]


@dataclass(frozen=True, kw_only=True)
class View:
    """One view: its messages, its modules, and how the sidebar presents it.

    The entry is read from the text of this file, too, so its fields are written out as literals.
    """

    name: str
    """Its name in messages. ``extensions/views/src/<name>/index.ts`` draws it, and exports ``mount<Name>``."""
    title: str
    icon: str
    """Outline of its icon: the ``d`` of an SVG path on 16 by 16."""
    states: tuple[type, ...]
    """What it can draw, told apart by ``kind``."""
    events: tuple[type, ...]
    """What it may send, told apart by ``type``."""
    widgets: Mapping[str, tuple[str, ...]]
    """The modules of `workbench.widgets` that hold its view models, and what of each is offered as ``wb.widgets.…``."""
    run: str
    """The line that fills its section."""
    selects: Literal["node", "observer", "points"] | None = None
    """The part of the shared selection that it takes part in: by `SelectEvent`, or `SelectPointsEvent` for points."""
    height: int = 640
    """Greatest height of its section in pixels, as long as nobody has changed it; it is as high as what it holds."""


VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        View(
            name="shapes",
            title="Shapes",
            icon="M2 5h8.5v8.5H2zM4.5 2.5H13V11h-1.5V4h-7z",
            states=(TensorState, FlowState, ClashState),
            events=(SliceEvent, SelectEvent),
            widgets={"tensor": ("TensorWidget",), "flow": ("FlowWidget", "flow", "shapes")},
            run="x = wb.rand(N=4, C=3)  # any tensor",
            selects="node",
        ),
        View(
            name="training",
            title="Training",
            icon="M1.5 2H3v11.2h11.5v1.5h-13zM4.2 3.2l1.4-.7 2.2 4.9 2.6 2.2 4-.5.2 1.5-4.7.6-3.2-2.8z",
            states=(TrainingState,),
            events=(PauseEvent, ResumeEvent, StopEvent),
            widgets={"training": ("TrainingWidget", "training")},
            run="wb.train.Trainer(model, loss, optimizer).fit(loader, epochs=5)",
        ),
        View(
            name="runs",
            title="Runs",
            icon="M1.5 2H3v11.2h11.5v1.5h-13zM4 10.6l2.6-4 2.4 2 4.4-5.6 1.2.9-5.4 6.9-2.5-2-1.5 2.6zM4.2 4.6h3v1.4h-3zM9.6 10.4h4v1.4h-4z",  # noqa: E501
            states=(RunsState,),
            events=(ShowPageEvent, FilterTagsEvent, ShowRunsEvent, ShowStepEvent, TailEvent),
            widgets={"runs": ("RunsWidget", "runs")},
            run="wb.widgets.runs('runs')",
        ),
        View(
            name="histogram",
            title="Observers",
            icon="M1.5 9h2.6v5H1.5zM5.1 5h2.6v9H5.1zM8.7 2h2.6v12H8.7zM12.3 7h2.2v7h-2.2z",
            states=(HistogramState,),
            events=(
                SelectEvent,
                SetRangeEvent,
                SetScaleEvent,
                ResetRangeEvent,
                ChooseEvent,
                CompareEvent,
                ShowValuesEvent,
                ShowDifferenceEvent,
                UndoEvent,
                RedoEvent,
            ),
            widgets={"histogram": ("HistogramWidget", "observers", "histogram")},
            run="calibration = wb.quantization.Calibration(wb.quantization.prepare(model.eval()))",
            selects="observer",
        ),
        View(
            name="graph",
            title="Graph",
            icon="M5.7 1.5h4.6V5H9.1l2.2 5H14v4h-4.6v-4h.5L8 5.8 6.1 10h.5v4H2v-4h2.7l2.2-5H5.7z",
            states=(GraphState,),
            events=(SelectEvent,),
            widgets={"graph": ("GraphWidget", "graph")},
            run="wb.widgets.graph(model, batch)",
            selects="node",
        ),
        View(
            name="diff",
            title="Diff",
            icon="M2 2h5v12H2zM3.3 3.3v9.4h2.4V3.3zM9 2h5v12H9zM11 4v1.8H9.8v1.2H11v1.8h1.2V7h1.2V5.8h-1.2V4zM9.8 10.4v1.2h3.6v-1.2z",  # noqa: E501
            states=(DiffState,),
            events=(SelectEvent,),
            widgets={"diff": ("DiffWidget", "diff", "graph_diff")},
            run="wb.graph.diff(before, after)",
            selects="node",
        ),
        View(
            name="heatmap",
            title="Attribution",
            icon="M2 2h3.4v3.4H2zM6.3 2h3.4v3.4H6.3zM11.3 2.7h2v2h-2zM2 6.3h3.4v3.4H2zM6.3 6.3h3.4v3.4H6.3zM10.6 6.3H14v3.4h-3.4zM2.7 11.3h2v2h-2zM6.3 10.6h3.4V14H6.3zM11.3 11.3h2v2h-2z",  # noqa: E501
            states=(HeatmapState, BoardState),
            events=(SampleEvent, AskEvent, SettingEvent, OpenRowEvent, StopEvent),
            widgets={
                "heatmap": ("HeatmapWidget", "attribution", "heatmap"),
                "board": ("BoardWidget", "board"),
            },
            run="wb.attribution.explain(model, batch)",
        ),
        View(
            name="scatter",
            title="Projector",
            icon="M2.5 11a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0zM5.5 7a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0zM3 3.5a1.3 1.3 0 1 0 2.6 0a1.3 1.3 0 1 0-2.6 0zM9 11.8a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0zM10.6 4.8a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0z",  # noqa: E501
            states=(ScatterState,),
            events=(
                SelectPointsEvent,
                SetNeighboursEvent,
                ProjectEvent,
                StopEvent,
                ResumeEvent,
                ShowProjectionEvent,
                ComputeColumnEvent,
                CompareWithEvent,
                SaveBookmarkEvent,
                RemoveBookmarkEvent,
                PlayEvent,
                PublishEvent,
                LookCloserEvent,
                JudgeEvent,
                WriteTableEvent,
            ),
            widgets={"scatter": ("ScatterWidget", "projector", "scatter")},
            run="wb.embedding.Embedding(vectors, labels).project()",
            selects="points",
        ),
    )
}
"""Every view by its name."""
