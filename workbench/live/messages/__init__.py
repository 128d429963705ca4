"""Every message that travels between Python and the browser: the one place where their shapes are written.

The TypeScript types in ``extensions/protocol`` are written from this room's files (``python -m
workbench.lab.views``) and a test compares them, so the two sides cannot disagree. `views.py` is the list of views:
the one place that names them all.

A *state* travels from Python to a view and is complete: a view that was just opened, or reopened from a
saved notebook, draws from one state alone. Large numbers travel as buffers: a field that ends in
``_buffer`` is an index into the list of binary buffers sent along, with the element type given in its
comment (little endian, C order). An *event* travels from a view to Python and is validated there
(`workbench.live.validate`) before anything changes.

Floats that are not finite travel as ``None``. Text is text: a view never treats it as markup.
"""

# Written by `python -m workbench.lab.views`: change the list of views, or the files below.

from __future__ import annotations

from workbench.base.public import words
from workbench.live.messages.common import PROTOCOL_VERSION, Dim, Head, Refusal, SelectEvent, ViewName
from workbench.live.messages.diff import DiffNode, DiffRow, DiffState
from workbench.live.messages.graph import (
    GraphEdge,
    GraphNode,
    GraphScope,
    GraphState,
    GraphTensor,
    GraphValues,
)
from workbench.live.messages.heatmap import (
    AskEvent,
    BoardCell,
    BoardColumn,
    BoardRow,
    BoardState,
    ClassScore,
    HeatmapControls,
    HeatmapMethod,
    HeatmapOther,
    HeatmapPart,
    HeatmapSetting,
    HeatmapState,
    HeatmapStrip,
    HeatmapWork,
    OpenRowEvent,
    SampleEvent,
    SettingEvent,
    StripSample,
)
from workbench.live.messages.histogram import (
    Candidate,
    Channel,
    ChooseEvent,
    CompareEvent,
    Comparison,
    CurvePoint,
    Difference,
    HistogramState,
    ModelFigures,
    ObserverDetail,
    ObserverRow,
    ObserverSettings,
    RedoEvent,
    ResetRangeEvent,
    SetRangeEvent,
    SetScaleEvent,
    ShowDifferenceEvent,
    ShowValuesEvent,
    UndoEvent,
    ValuesBeforeAfter,
)
from workbench.live.messages.link import (
    Announcement,
    Hello,
    Reply,
    Request,
    Trouble,
    Update,
    Welcome,
    Withdrawal,
)
from workbench.live.messages.scatter import (
    Neighbour,
    ScatterState,
    SelectPointsEvent,
    SetMetricEvent,
    Sprite,
)
from workbench.live.messages.shapes import (
    ClashDim,
    ClashOperand,
    ClashState,
    FlowOperand,
    FlowRow,
    FlowState,
    Picture,
    SliceEvent,
    Slider,
    Statistics,
    TensorState,
)
from workbench.live.messages.training import (
    PauseEvent,
    ResumeEvent,
    StopEvent,
    TrainingCounters,
    TrainingCurve,
    TrainingFailure,
    TrainingMark,
    TrainingRun,
    TrainingSpike,
    TrainingState,
    TrainingStrip,
)
from workbench.live.messages.views import VIEWS, View

__all__ = [
    "PROTOCOL_VERSION",
    "VIEWS",
    "Announcement",
    "AskEvent",
    "BoardCell",
    "BoardColumn",
    "BoardRow",
    "BoardState",
    "Candidate",
    "Channel",
    "ChooseEvent",
    "ClashDim",
    "ClashOperand",
    "ClashState",
    "ClassScore",
    "CompareEvent",
    "Comparison",
    "CurvePoint",
    "DiffNode",
    "DiffRow",
    "DiffState",
    "Difference",
    "Dim",
    "FlowOperand",
    "FlowRow",
    "FlowState",
    "GraphEdge",
    "GraphNode",
    "GraphScope",
    "GraphState",
    "GraphTensor",
    "GraphValues",
    "Head",
    "HeatmapControls",
    "HeatmapMethod",
    "HeatmapOther",
    "HeatmapPart",
    "HeatmapSetting",
    "HeatmapState",
    "HeatmapStrip",
    "HeatmapWork",
    "Hello",
    "HistogramState",
    "ModelFigures",
    "Neighbour",
    "ObserverDetail",
    "ObserverRow",
    "ObserverSettings",
    "OpenRowEvent",
    "PauseEvent",
    "Picture",
    "RedoEvent",
    "Refusal",
    "Reply",
    "Request",
    "ResetRangeEvent",
    "ResumeEvent",
    "SampleEvent",
    "ScatterState",
    "SelectEvent",
    "SelectPointsEvent",
    "SetMetricEvent",
    "SetRangeEvent",
    "SetScaleEvent",
    "SettingEvent",
    "ShowDifferenceEvent",
    "ShowValuesEvent",
    "SliceEvent",
    "Slider",
    "Sprite",
    "Statistics",
    "StopEvent",
    "StripSample",
    "TensorState",
    "TrainingCounters",
    "TrainingCurve",
    "TrainingFailure",
    "TrainingMark",
    "TrainingRun",
    "TrainingSpike",
    "TrainingState",
    "TrainingStrip",
    "Trouble",
    "UndoEvent",
    "Update",
    "ValuesBeforeAfter",
    "View",
    "ViewName",
    "Welcome",
    "Withdrawal",
]

__getattr__, __dir__ = words(__name__, __all__)
