"""The board's view model: rows, opened and closed."""

from __future__ import annotations

import json

import numpy as np
import pytest

import workbench as wb
from workbench.live.encode import encode_snapshot
from workbench.live.messages import BoardState, HeatmapState, OpenRowEvent, SampleEvent, StopEvent
from workbench.live.model import Refused
from workbench.widgets.board import BoardModel


def made() -> BoardModel:
    model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(16, 3)).eval()
    board = wb.attribution.compare(
        model,
        wb.rand(N=3, C=1, H=4, W=4),
        1,
        ["saliency", "layer_grad_cam", "integrated_gradients"],
        ["deletion"],
        publish=False,
    )
    return BoardModel(board.wait(60))


def test_rows_and_columns_are_those_of_the_board() -> None:
    model = made()
    state = model.snapshot().state
    assert isinstance(state, BoardState)
    json.dumps(encode_snapshot(model.view, model.snapshot())[0])
    assert [one.name for one in state.columns] == ["deletion", "delta", "time"]
    assert [row.standing for row in state.rows] == ["done", "refused", "done"]
    assert state.rows[0].cells[0].value == model.board.to_dict()["saliency"]["deletion"]
    assert state.rows[0].cells[1].note == "the method promises no sum"
    assert "explains a layer" in state.rows[1].trouble and state.rows[1].attribution_buffer is None
    assert state.question == "class 1 of 3 samples" and not state.running
    result = model.board.rows[0].result
    assert result is not None and state.rows[0].attribution_buffer is not None
    drawn = np.frombuffer(model.snapshot().buffers[state.rows[0].attribution_buffer], "<f4").reshape(4, 4)
    np.testing.assert_array_equal(drawn, result.attributions.numpy()[0, 0])


def test_a_row_opens_as_a_heatmap_and_closes_again() -> None:
    model = made()
    model.handle(OpenRowEvent("open_row", "saliency"))
    state = model.snapshot().state
    assert isinstance(state, HeatmapState)
    assert state.board and state.method == "Saliency"
    assert state.controls is not None and state.controls.method == "saliency"
    model.handle(SampleEvent("sample", 2))
    assert model.snapshot().state.sample == 2  # type: ignore[attr-defined]
    model.handle(OpenRowEvent("open_row", None))
    assert isinstance(model.snapshot().state, BoardState)
    with pytest.raises(Refused, match="there is no row 'magic' on this board"):
        model.handle(OpenRowEvent("open_row", "magic"))
    with pytest.raises(Refused, match=r"Grad-CAM has no attributions: .* explains a layer"):
        model.handle(OpenRowEvent("open_row", "layer_grad_cam"))
    with pytest.raises(Refused, match="one opens a row or stops"):
        model.handle(SampleEvent("sample", 1))
    model.handle(StopEvent("stop"))


def test_a_board_in_a_cell_and_one_that_is_published() -> None:
    with pytest.raises(TypeError, match="methods are compared on inputs"):
        wb.widgets.board(lambda x: x)
