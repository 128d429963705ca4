"""The board: rows that fill beside the program, figures that are those of the measures."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import (
    Attribution,
    Board,
    InputXGradient,
    LayerGradCam,
    NeuronGradient,
    NoiseTunnel,
    Saliency,
    compare,
    explain,
)
from workbench.attribution.arguments import ask
from workbench.attribution.base import Answer
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
        if len(calls) > 7:
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


class Twice(Attribution):
    """A method of somebody's own."""

    name = "Twice the input"

    def attribute(self, inputs: Any, target: Any = None) -> Any:
        question = ask("Twice", inputs, None, target)
        return self.respond(question, self.answer(question))

    def _compute(self, question: Any, **settings: Any) -> Answer:
        return Answer([2 * question.inputs[0].numpy()])


def test_methods_are_named_by_their_class_or_made_ready() -> None:
    model, x = linear(), images()
    noisy = NoiseTunnel(Saliency(model))
    methods = [Saliency, "input_x_gradient", noisy, NoiseTunnel(InputXGradient(model)), Twice]
    board = compare(model, x, 1, methods, ["deletion"], publish=False).wait(60)
    rows = {row.method: row for row in board.rows}
    assert list(rows) == [
        "saliency",
        "input_x_gradient",
        "Noise Tunnel",
        "Noise Tunnel #2",
        "Twice the input",
    ]
    assert [row.standing for row in board.rows] == ["done"] * 5, board
    found = rows["Twice the input"].result
    assert found is not None and np.array_equal(found.attributions.numpy(), 2 * x.numpy())
    assert "methods=methods" in board.code() and set(board.to_dict()) == set(rows)
    again = eval(board.code(), {"wb": wb, "model": model, "inputs": x, "targets": 1, "methods": methods})
    assert [row.method for row in again.wait(60).rows] == list(rows)


def test_a_method_that_is_made_ready_is_asked_of_the_copy() -> None:
    model, x = wb.models.DigitsNet(), wb.rand(N=2, C=1, H=28, W=28)
    methods = [LayerGradCam(model, model.conv2), NeuronGradient(model, "conv1")]
    settings = {"Neuron Gradient": {"neuron_selector": (3, 4, 5)}}
    board = compare(model, x, 1, methods, [], settings=settings, publish=False).wait(60)
    assert [row.standing for row in board.rows] == ["done", "done"], board
    # The person's own stayed in training, and ran never.
    assert model.training and board.rows[0].result is not None
    assert board.rows[0].result.settings["layer"] == "conv2"


def test_what_is_no_method_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"a method is the name of one .*, its class, or one made ready; got int"
    ):
        compare(linear(), images(), 1, [3])
    with pytest.raises(TypeError, match="got type"):
        compare(linear(), images(), 1, [int])


def test_the_first_row_does_not_pay_for_the_first_run() -> None:
    calls: list[int] = []

    def model(x: Any) -> Any:
        calls.append(1)
        return x.sum(["C", "H", "W"])

    board = compare(model, images(), None, ["saliency"], [], publish=False).wait(60)
    alone = len(calls)
    calls.clear()
    wb.attribution.explain(model, images(), None, "saliency", publish=False)
    assert board.rows[0].standing == "done" and alone == 2 * len(calls)


def test_rows_of_one_method_are_numbered_however_they_are_named() -> None:
    model, x = linear(), images()
    methods = [Saliency, "saliency", Saliency(model), Saliency(model)]
    settings = {"saliency #2": {"abs": False}}
    board = compare(model, x, 1, methods, [], settings=settings, publish=False).wait(60)
    assert [row.method for row in board.rows] == ["saliency", "saliency #2", "Saliency", "Saliency #2"]
    assert [row.title for row in board.rows] == ["Saliency", "Saliency #2", "Saliency", "Saliency #2"]
    first, second = (row.result for row in board.rows[:2])
    assert first is not None and second is not None
    np.testing.assert_array_equal(first.attributions.numpy(), abs(second.attributions.numpy()))
    twice = compare(model, x, 1, [Saliency, "saliency"], [], settings=settings, publish=False).wait(60)
    assert "methods=['saliency', 'saliency']" in twice.code()
    again = eval(twice.code(), {"wb": wb, "model": model, "inputs": x, "targets": 1}).wait(60)
    for one, other in zip(twice.rows, again.rows, strict=True):
        assert one.result is not None and other.result is not None and one.method == other.method
        np.testing.assert_array_equal(one.result.attributions.numpy(), other.result.attributions.numpy())


def test_settings_of_no_row_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no row 'salinecy'; did you mean 'saliency'"):
        compare(linear(), images(), 1, ["saliency"], settings={"salinecy": {"abs": False}})


def test_its_code_says_which_variables_are_the_reader_s() -> None:
    model, x = linear(), images()
    settings = {"feature_ablation": {"feature_mask": wb.arange(16).reshape(1, 1, 4, 4) // 8}}
    board = compare(model, x, 1, [Saliency(model), "feature_ablation"], [], settings=settings, publish=False)
    code, names = (
        board.wait(60).code(),
        {"methods": [Saliency(model), "feature_ablation"], "settings": settings},
    )
    line = "# Your own: methods (Saliency, FeatureAblation), settings (dict)"
    assert code.splitlines()[0] == line
    again = eval(code, {"wb": wb, "model": model, "inputs": x, "targets": 1, **names}).wait(60)
    for one, other in zip(board.rows, again.rows, strict=True):
        assert one.result is not None and other.result is not None, again
        np.testing.assert_array_equal(one.result.attributions.numpy(), other.result.attributions.numpy())


def test_baselines_and_arguments_that_go_by_samples_go_along_where_a_sample_is_asked_several_times() -> None:
    model, x = linear(), images()
    start = wb.attribution.blurred(x, 1.0)
    board = compare(
        lambda x, weight: model(x * weight.reshape(-1, 1, 1, 1)),
        x,
        1,
        ["integrated_gradients"],
        ["sensitivity"],
        baselines=start,
        additional_forward_args=wb.tensor([1.0, 2.0, 3.0]),
        publish=False,
    ).wait(60)
    figure = board.rows[0].figures["sensitivity"]
    assert figure.note == "" and figure.value is not None and figure.value > 0


def test_rows_of_one_method_are_told_apart_by_what_they_were_made_with() -> None:
    model = linear()
    methods = ["integrated_gradients", wb.attribution.IntegratedGradients(model, multiply_by_inputs=False)]
    board = compare(model, images(), 1, methods, [], publish=False).wait(60)
    assert [row.made for row in board.rows] == ["", "made ready: times inputs False"]
