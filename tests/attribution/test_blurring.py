"""Blurred pictures as baselines: what they are, who can be blurred, and how a study starts from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import IntegratedGradients, Occlusion, Study, blurred
from workbench.base.errors import DimensionError


def test_a_blurred_picture_is_the_weighted_mean_of_its_neighbours() -> None:
    picture = np.random.default_rng(0).random((2, 3, 7, 9), np.float32)
    found = blurred(wb.from_numpy(picture), 1.5).numpy()
    rows, columns = np.mgrid[:7, :9]
    weights = np.exp(-((rows - 2) ** 2 + (columns - 8) ** 2) / (2 * 1.5**2))
    expected = (picture[1, 2] * weights).sum() / weights.sum()
    assert found[1, 2, 2, 8] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(blurred(wb.ones(1, 1, 5, 6), 4).numpy(), 1.0, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.uint8])
def test_type_and_names_stay_wherever_height_and_width_lie(dtype: Any) -> None:
    values = np.random.default_rng(1).integers(0, 255, (2, 6, 5, 3)).astype(dtype)
    found = blurred(wb.from_numpy(values, names=("N", "H", "W", "C")), 1.0)
    moved = blurred(wb.from_numpy(np.ascontiguousarray(values.transpose(0, 3, 1, 2))), 1.0)
    assert (found.names, found.dtype, found.requires_grad) == (("N", "H", "W", "C"), moved.dtype, False)
    np.testing.assert_array_equal(found.numpy().transpose(0, 3, 1, 2), moved.numpy())


@pytest.mark.parametrize(
    ("inputs", "width", "error", "words"),
    [
        (wb.ones(2, 3), 1.0, DimensionError, "there is no height and width to blur along"),
        (wb.ones(N=1, T=4, F=2, E=3), 1.0, DimensionError, "there is no height and width to blur along"),
        (wb.ones(2, 3, 4), 1.0, DimensionError, r"try: inputs\.rename\('N', 'H', 'W'\)"),
        (wb.ones(1, 1, 4, 4), 0, ValueError, "a width in pixels, above 0 and finite; got 0"),
        (wb.ones(1, 1, 4, 4), float("nan"), ValueError, "a width in pixels, above 0 and finite; got nan"),
        (wb.ones(1, 1, 4, 4), "wide", ValueError, "a width in pixels, above 0 and finite; got 'wide'"),
        ([[1.0]], 1.0, TypeError, "inputs are a tensor of pictures, got list"),
    ],
)
def test_what_cannot_be_blurred_is_refused(inputs: Any, width: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        blurred(inputs, width)


def test_methods_start_from_it_and_add_up() -> None:
    model = wb.nn.Sequential(wb.nn.Conv2d(1, 2, 3), wb.nn.Flatten(), wb.nn.Linear(72, 3)).eval()
    x = wb.rand(N=2, C=1, H=8, W=8)
    start = blurred(x, 2.0)
    found = IntegratedGradients(model).attribute(x, start, target=1)
    change = (model(x) - model(start))[:, 1].detach().numpy()
    np.testing.assert_allclose(found.numpy().sum(axis=(1, 2, 3)), change, atol=1e-5)
    covered = Occlusion(model).attribute(x, sliding_window_shapes=(1, 8, 8), target=1, baselines=start)
    np.testing.assert_allclose(covered.numpy()[:, 0, 0, 0], change, atol=1e-5)


# -------------------------------------------------------------------------------------------------- asked of a study


def studied(inputs: Any, model: Any, **more: Any) -> Study:
    return Study(model, inputs, publish=False, n_steps=8, **more)


def squares(images: Any, table: Any) -> Any:
    return wb.stack([(images * images).sum(["C", "H", "W"]).rename(None) + table.sum(1), table.sum(1)], 1)


@pytest.mark.filterwarnings("ignore::workbench.attribution.ConvergenceWarning")
@pytest.mark.parametrize("samples", [(1,), (0, 2)])
@pytest.mark.parametrize("width", [None, 0.75])
@pytest.mark.parametrize("several", [False, True])
def test_the_code_starts_from_the_same_picture(
    samples: tuple[int, ...], width: float | None, several: bool
) -> None:
    images = wb.rand(N=3, C=1, H=16, W=12)
    inputs: Any = (images, wb.rand(3, 4)) if several else images
    one = lambda x: squares(x, wb.ones(x.shape[0], 1))
    model: Any = squares if several else one
    made = studied(inputs, model)
    made.ask(baseline="blurred", samples=samples, target=0, blur_width=width)
    found = made.wait(60)
    assert made.asked.blur_width == (width or 1.5)
    assert found.settings["baseline"] == f"blurred by {width or 1.5:g} pixels"
    again = eval(made.code(), {"wb": wb, "model": model, "inputs": inputs})
    for ours, theirs in zip(found.pairs, again.pairs, strict=True):
        np.testing.assert_array_equal(ours[1].numpy(), theirs[1].numpy())
    rows = list(samples)
    start = blurred(images[rows], width or 1.5)
    by_hand = IntegratedGradients(model).attribute(
        (images[rows], inputs[1][rows]) if several else images[rows],
        (start, 0) if several else start,
        target=0,
        n_steps=8,
        method="gausslegendre",
    )
    np.testing.assert_array_equal(found.pairs[0][1].numpy(), (by_hand[0] if several else by_hand).numpy())


def test_other_widths_are_other_questions_and_wrong_ones_change_nothing() -> None:
    made = studied(wb.rand(N=2, C=1, H=16, W=16), lambda x: (x * x * x).sum(["C", "H", "W"]))
    made.ask(baseline="blurred", blur_width=1.0)
    narrow = made.wait(60)
    made.ask(blur_width=4.0)
    assert not np.array_equal(made.wait(60).attributions.numpy(), narrow.attributions.numpy())
    before = made.asked
    with pytest.raises(ValueError, match="above 0 and finite; got -1"):
        made.ask(blur_width=-1)
    assert made.asked is before
    made.ask(baseline="zeros")
    zeros = made.wait(60)
    # How wide something is blurred says nothing where nothing is.
    made.ask(blur_width=7.0)
    assert made.wait(60) is zeros


def test_of_what_is_no_picture_nothing_is_blurred() -> None:
    made = studied(wb.rand(2, 4), lambda x: x.sum(1))
    with pytest.raises(ValueError, match="no input is a picture that could be blurred"):
        made.ask(baseline="blurred")
