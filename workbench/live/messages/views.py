"""Which states each view can draw, and which events it may send."""

from __future__ import annotations

from workbench.live.messages.common import SelectEvent
from workbench.live.messages.graph import GraphState
from workbench.live.messages.heatmap import HeatmapState, SampleEvent
from workbench.live.messages.histogram import (
    HistogramState,
    RedoEvent,
    ResetRangeEvent,
    SetRangeEvent,
    UndoEvent,
)
from workbench.live.messages.scatter import ScatterState, SelectPointsEvent, SetMetricEvent
from workbench.live.messages.shapes import ClashState, FlowState, SliceEvent, TensorState
from workbench.live.messages.training import PauseEvent, ResumeEvent, StopEvent, TrainingState

__all__ = ["VIEWS"]

VIEWS: dict[str, tuple[tuple[type, ...], tuple[type, ...]]] = {
    "shapes": ((TensorState, FlowState, ClashState), (SliceEvent, SelectEvent)),
    "histogram": (
        (HistogramState,),
        (SelectEvent, SetRangeEvent, ResetRangeEvent, UndoEvent, RedoEvent),
    ),
    "graph": ((GraphState,), (SelectEvent,)),
    "heatmap": ((HeatmapState,), (SampleEvent,)),
    "scatter": ((ScatterState,), (SelectPointsEvent, SetMetricEvent)),
    "training": ((TrainingState,), (PauseEvent, ResumeEvent, StopEvent)),
}
"""For each view: the states it can draw and the events it may send."""
