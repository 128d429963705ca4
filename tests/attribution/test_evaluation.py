"""How rows go through a model: batches under a limit, forecasts, ends before the last row, and the model's mode."""

from __future__ import annotations

import functools
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import (
    InputXGradient,
    IntegratedGradients,
    InterruptedWarning,
    LayerGradCam,
    LayerIntegratedGradients,
    NoiseTunnel,
    Saliency,
    TrainingModeWarning,
    explain,
)
from workbench.attribution.arguments import ask
from workbench.attribution.behind import modules_behind
from workbench.attribution.evaluation import Evaluation
from workbench.attribution.measuring import memory_limit, size_text
from workbench.base import events
from workbench.models import DigitsNet


def images(count: int = 2) -> wb.Tensor:
    values = np.random.default_rng(1).random((count, 1, 28, 28), np.float32)
    return wb.from_numpy(values, names=("N", "C", "H", "W"))


class Counting:
    """A model that keeps how many rows came at each call."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.sizes: list[int] = []
        self.fail_at = fail_at

    def __call__(self, x: Any) -> Any:
        if self.fail_at is not None and len(self.sizes) >= self.fail_at:
            raise KeyboardInterrupt
        self.sizes.append(x.shape[0])
        return (x * x).sum(1)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_batches_do_not_change_what_is_found(size: int) -> None:
    x, start = wb.rand(3, 5), wb.rand(3, 5)
    counting = Counting()
    found = IntegratedGradients(counting).attribute(x, start, n_steps=7, internal_batch_size=size)
    whole = IntegratedGradients(Counting()).attribute(x, start, n_steps=7)
    np.testing.assert_allclose(found.numpy(), whole.numpy(), rtol=1e-5)
    assert max(counting.sizes) <= size


def test_a_limit_of_memory_is_kept_and_a_too_small_one_is_refused() -> None:
    model, x = DigitsNet().eval(), images(1)
    forecast = IntegratedGradients(model).forecast(x, target=3, n_steps=40)
    assert forecast.rows == 42 and forecast.seconds > 0 and "of memory" in str(forecast)
    row = forecast.bytes // forecast.batch
    # What one row of this network takes at the very least: two layers, kept for the way back.
    assert row > 2 * 32 * 28 * 28 * 4
    small = IntegratedGradients(model).forecast(x, target=3, n_steps=40, memory=3 * row)
    assert 1 <= small.batch <= 3 and small.bytes <= 3 * row
    # With the deltas, which a network drawn at random may have too large for ten steps, and be warned of.
    options: dict[str, Any] = {"target": 3, "n_steps": 10, "return_convergence_delta": True}
    found, _ = IntegratedGradients(model).attribute(x, memory=3 * row, **options)
    expected, _ = IntegratedGradients(model).attribute(x, **options)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match=r"memory=1 kB is too small for one example, which takes about"):
        Saliency(model).attribute(x, target=3, memory="1 KB")


@pytest.mark.parametrize(
    ("memory", "error", "words"),
    [
        ("many", ValueError, "memory is an amount such as '512 MB'"),
        (0, ValueError, "a limit of at least one byte"),
        (True, TypeError, "memory is a number of bytes or text"),
        ([1], TypeError, "memory is a number of bytes or text"),
    ],
)
def test_limits_that_are_none(memory: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Saliency(Counting()).attribute(wb.rand(2, 3), memory=memory)


def test_amounts() -> None:
    assert memory_limit("2 GiB", "x") == 2 << 30 and memory_limit("64kB", "x") == 64_000
    assert size_text(1_500_000_000) == "1.5 GB" and size_text(12) == "12 B"


def test_an_interruption_answers_with_what_is_done() -> None:
    # Two calls for both ends, then one for each step of the path.
    with pytest.warns(InterruptedWarning, match=r"IntegratedGradients was stopped after \d+% of its rows"):
        found = IntegratedGradients(Counting(fail_at=2 + 6)).attribute(
            wb.ones(2, 3), n_steps=4, internal_batch_size=1
        )
    # The first sample is whole, of the second some steps are missing.
    whole = IntegratedGradients(Counting()).attribute(wb.ones(2, 3), n_steps=4).numpy()
    np.testing.assert_allclose(found.numpy()[0], whole[0], rtol=1e-6)
    assert (found.numpy()[1] < whole[1]).all()
    with pytest.raises(KeyboardInterrupt):
        Saliency(Counting(fail_at=0)).attribute(wb.ones(2, 3))


def test_samples_that_were_not_reached_are_unknown() -> None:
    model = Counting(fail_at=1)
    evaluation = Evaluation(ask("Example", wb.ones(3, 2)), model, internal_batch_size=2)
    (found,) = evaluation.input_gradients()
    assert evaluation.interrupted and evaluation.state()["progress"] == pytest.approx(2 / 3)
    assert np.isnan(found[2]).all() and (found[:2] == 2).all()


def test_another_thread_stops_a_run() -> None:
    begun = threading.Event()

    def slow(x: Any) -> Any:
        begun.set()
        return (x * x).sum(1)

    method = InputXGradient(slow)
    seen: list[int] = []

    def watch(done: int, count: int) -> None:
        seen.append(done)
        method.stop()

    question = ask("Example", wb.ones(4, 2))
    evaluation = method.evaluation(question, internal_batch_size=1)
    evaluation.on_progress = watch
    list(evaluation.outputs(4, question.part))
    assert seen == [1] and evaluation.interrupted and begun.is_set()


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    IntegratedGradients(Counting()).attribute(wb.ones(2, 3), n_steps=4, show_progress=True)
    assert "IntegratedGradients: 100%" in capsys.readouterr().err


def test_modules_behind_a_function() -> None:
    model = wb.nn.Linear(2, 1)
    other = functools.partial(lambda module, x: module(x), model)
    for forward in (model, model.forward, lambda x: model(x), other):
        assert modules_behind(forward) == [model]
    assert modules_behind(np.exp) == []


def test_a_model_in_training_is_warned_of_wherever_it_hides() -> None:
    model = DigitsNet()
    with pytest.warns(TrainingModeWarning) as seen:
        Saliency(lambda x: model(x)).attribute(images(), target=1)
    assert seen[0].filename == __file__ and model.training
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.eval()
        Saliency(lambda x: model(x)).attribute(images(), target=1)


def test_gradients_that_are_no_numbers_are_named() -> None:
    with pytest.raises(ValueError, match="2 of 4 gradients for input 0 are NaN or infinite"):
        Saliency(lambda x: x.sqrt().sum(1)).attribute(wb.tensor([[0.0, 1.0], [4.0, 0.0]]))


def test_attributions_are_summed_over_dims_by_name() -> None:
    x = images()
    model = DigitsNet().eval()
    whole = Saliency(model).attribute(x, target=1)
    found = Saliency(model).attribute(x, target=1, over="C")
    assert found.names == ("N", "H", "W")
    np.testing.assert_allclose(found.numpy(), whole.numpy().sum(1), rtol=1e-6)
    both = Saliency(model).attribute(x, target=1, over=("H", "W"))
    np.testing.assert_allclose(both.numpy(), whole.numpy().sum((2, 3)), rtol=1e-4)
    with pytest.raises(
        wb.DimensionError, match="there is no dim 'channels' to sum over; names are C, H, N, W"
    ):
        Saliency(model).attribute(x, target=1, over="channels")


# ------------------------------------------------------------------------------------------------ explain


def test_explain_takes_layers_and_resizes_their_maps() -> None:
    model, x = DigitsNet().eval(), images()
    result = explain(model, x, 3, method="layer_grad_cam", layer="conv2")
    assert result.attributions.shape == (2, 1, 28, 28) and result.settings["layer"] == "conv2"
    expected = LayerGradCam(model, "conv2").attribute(x, target=3)
    np.testing.assert_array_equal(result.attributions.numpy()[:, :, ::2, ::2], expected.numpy())
    again = eval(result.code, {"wb": wb, "model": model, "inputs": x, "targets": 3})
    np.testing.assert_array_equal(again.attributions.numpy(), result.attributions.numpy())
    with pytest.raises(TypeError, match=r"LayerGradCam explains a layer: say which, layer='features.3'"):
        explain(model, x, 3, method="layer_grad_cam")


def test_explain_takes_several_inputs_and_shows_them_one_by_one() -> None:
    a, b = wb.tensor([[1.0, 2.0]]), wb.tensor([[3.0]])
    seen: list[Any] = []
    stop = events.subscribe(wb.attribution.AttributionResult, lambda source: seen.append(source))
    try:
        result = explain(lambda a, b: (a * b).sum(1), (a, b))
    finally:
        stop()
    assert isinstance(result.inputs, tuple) and isinstance(result.attributions, tuple) and len(result) == 1
    first, second = result.parts()
    assert [one.title[-14:] for one in seen] == ["(input 1 of 2)", "(input 2 of 2)"]
    np.testing.assert_allclose(
        first.attributions.numpy().sum() + second.attributions.numpy().sum(), 9, rtol=1e-5
    )
    assert "1 · · 2; · 1 · · 1" in repr(result).replace("[· ", "")


def test_explain_takes_a_method_with_another_inside() -> None:
    model, x = DigitsNet().eval(), images()
    wb.manual_seed(0)
    result = explain(model, x, 3, method=NoiseTunnel(InputXGradient(model)), nt_samples=4, stdevs=0.1)
    assert result.method == "Noise Tunnel" and result.attributions.names == x.names
    named = explain(model, x, 3, method="smooth_grad", nt_samples=2)
    assert named.attributions.shape == x.shape


def test_a_noise_tunnel_that_is_stopped_answers_with_the_copies_that_are_done() -> None:
    seen: list[int] = []

    def model(x: Any) -> Any:
        seen.append(x.shape[0])
        if len(seen) == 2:
            method.stop()
        return (x * wb.tensor([2.0, -3.0])).sum(1)

    method = NoiseTunnel(Saliency(model))
    with pytest.warns(InterruptedWarning, match=r"NoiseTunnel was stopped after \d+% of its rows"):
        found = method.attribute(wb.ones(2, 2), nt_samples=1000, abs=False)
    assert found.tolist() == [[2, -3], [2, -3]]
    assert method.interrupted and sum(seen) <= 512
    assert method.attribute(wb.ones(2, 2), nt_samples=4, abs=False).tolist() == [[2, -3], [2, -3]]
    assert not method.interrupted


def test_slopes_that_are_not_multiplied_are_not_said_to_miss_a_sum() -> None:
    model, x = DigitsNet().eval(), images()
    for method in (
        IntegratedGradients(model, multiply_by_inputs=False),
        LayerIntegratedGradients(model, "conv1", multiply_by_inputs=False),
    ):
        method.attribute(x, target=1, n_steps=2)  # a warning would be an error


@pytest.mark.parametrize(("steps", "wrong"), [(2, 2.0), (1, True)])
def test_a_number_of_steps_is_refused_whatever_was_asked_before(steps: int, wrong: Any) -> None:
    method = IntegratedGradients(lambda x: x.sum(1))
    method.attribute(wb.ones(1, 2), n_steps=steps)
    with pytest.raises(TypeError, match="n_steps is a whole number, got"):
        method.attribute(wb.ones(1, 2), n_steps=wrong)
