"""The board: rows that fill beside the program, figures that are those of the measures."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import Board, compare, explain
from workbench.attribution.metrics import Judged, measure


def linear() -> Any:
    return wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(16, 3)).eval()


def images() -> Any:
    return wb.rand(N=3, C=1, H=4, W=4)


def test_figures_are_those_of_the_measures() -> None:
    model, x = linear(), images()
    board = compare(
        model, x, 1, ["saliency", "integrated_gradients"], ["deletion", "sparseness"], publish=False
    ).wait(60)
    found = board.to_dict()
    for row in board.rows:
        assert row.standing == "done" and row.result is not None
        result = explain(model, x, 1, row.method, publish=False)
        for name in ("deletion", "sparseness"):
            assert found[row.method][name] == pytest.approx(measure(name, Judged.of(model, result)).mean)
        assert found[row.method]["time"] == row.result.seconds
    assert found["saliency"]["delta"] is None
    worst = float(np.abs(explain(model, x, 1, publish=False).delta.numpy()).max())  # type: ignore[union-attr]
    assert found["integrated_gradients"]["delta"] == pytest.approx(worst, abs=1e-9)


def test_the_best_comes_first_and_what_is_missing_last() -> None:
    board = compare(
        linear(), images(), 1, ["saliency", "integrated_gradients", "input_x_gradient"], [], publish=False
    ).wait(60)
    times = [row.figures["time"].value for row in board.sorted("time")]
    assert times == sorted(times)  # type: ignore[type-var]
    assert board.sorted("delta")[0].method == "integrated_gradients"
    assert board.best("delta") is None  # of one figure none is the best
    assert board.best("time") == board.sorted("time")[0].method
    with pytest.raises(ValueError, match="there is no column 'beauty'; there are delta, time"):
        board.sorted("beauty")


def test_a_method_that_refuses_is_a_row_that_says_why() -> None:
    board = compare(
        lambda x: x.detach().sum(["C", "H", "W"]), images(), None, ["saliency"], [], publish=False
    ).wait(60)
    (row,) = board.rows
    assert row.standing == "refused" and "leaves the tape" in row.trouble
    assert row.trouble in repr(board)
    by_layer = compare(linear(), images(), 1, ["layer_grad_cam"], [], publish=False).wait(60)
    assert "explains a layer: say which" in by_layer.rows[0].trouble


def test_a_measure_that_does_not_go_leaves_its_cell_empty_with_the_reason() -> None:
    board = compare(linear(), images(), 1, ["saliency"], ["pointing_game"], publish=False).wait(60)
    (row,) = board.rows
    assert row.standing == "done" and row.figures["pointing_game"].value is None
    assert "there is no mask of the thing" in row.figures["pointing_game"].note


def test_a_delta_over_its_tolerance_is_said() -> None:
    curved = lambda x: (x**4).sum(["C", "H", "W"])
    settings = {"integrated_gradients": {"n_steps": 1, "method": "riemann_left"}}
    with pytest.raises(TypeError):
        explain(curved, images(), None, "integrated_gradients", publish=False, **settings)
    board = compare(
        curved,
        images(),
        None,
        ["integrated_gradients"],
        [],
        settings={"integrated_gradients": {"n_steps": 1}},
        publish=False,
    ).wait(60)
    assert board.rows[0].figures["delta"].note == "over its tolerance for 3 of 3 samples"
    assert " !" in repr(board)


def test_it_is_stopped_and_keeps_what_is_done() -> None:
    entered, gate = threading.Event(), threading.Event()
    calls: list[int] = []

    def model(x: Any) -> Any:
        calls.append(1)
        if len(calls) > 4:
            entered.set()
            gate.wait(30)
        return x.sum(["C", "H", "W"])

    board = Board(
        model, images(), None, ["saliency", "integrated_gradients", "input_x_gradient"], [], publish=False
    )
    assert entered.wait(30) and board.running
    board.stop()
    gate.set()
    board.wait(60)
    assert not board.running
    assert board.rows[0].standing == "done" and board.rows[-1].standing == "stopped"


def test_the_code_that_is_written_makes_the_same_board() -> None:
    model, x = linear(), images()
    board = compare(model, x, 1, ["saliency"], ["deletion"], publish=False).wait(60)
    again = eval(board.code(), {"wb": wb, "model": model, "inputs": x, "targets": 1}).wait(60)
    assert again.to_dict()["saliency"]["deletion"] == board.to_dict()["saliency"]["deletion"]


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no method 'saliancy'; did you mean 'saliency'"):
        compare(linear(), images(), 1, ["saliancy"])
    with pytest.raises(ValueError, match="there is no measure 'delete'"):
        compare(linear(), images(), 1, ["saliency"], ["delete"])
