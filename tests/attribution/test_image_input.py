"""A picture whose segments are features: painted over where they are not there, in the form in which it was given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import FeatureAblation, ImageMaskInput, LLMAttribution, ShapleyValues
from workbench.models import Vocabulary

Array = np.ndarray[Any, Any]
PICTURE = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
MASK = np.array([[7, 7, 2, 2], [7, 7, 2, 2]])
HALF = wb.tensor([[1.0, 0.0]])


@pytest.mark.parametrize("form", [np.asarray, wb.from_numpy])
def test_segments_that_are_not_there_are_painted_over(form: Any) -> None:
    given = form(PICTURE.copy())
    image = ImageMaskInput(given, mask=wb.from_numpy(MASK), baseline=(1, 2, 3))
    assert image.values == ["image_feature_2", "image_feature_7"] and image.mask_id_to_idx == {2: 0, 7: 1}
    assert image.to_tensor().tolist() == [[1.0, 1.0]] and image.to_model_input() is given
    painted = image.to_model_input(HALF)
    assert type(painted) is type(given)
    expected = PICTURE.copy()
    expected[:, :2] = (1, 2, 3)
    np.testing.assert_array_equal(np.asarray(painted), expected)
    np.testing.assert_array_equal(np.asarray(given), PICTURE)


def test_masks_may_overlap_and_one_is_all_of_the_picture() -> None:
    left, top = np.eye(2, 4) * 0, np.eye(2, 4) * 0
    left[:, :2], top[0] = 1, 1
    image = ImageMaskInput(PICTURE[..., 0], mask_list=[left, top])
    assert image.to_model_input(HALF).tolist() == [[255] * 4, PICTURE[1, :, 0].tolist()]
    assert image.format_pixel_attr(wb.tensor([[1.0, 10.0]])).tolist() == [[[11.0, 11, 10, 10], [1, 1, 0, 0]]]
    assert [one.numpy().sum() for one in image.get_mask_list()] == [4, 4]
    whole = ImageMaskInput(PICTURE)
    assert whole.n_itp_features == 1 and (whole.to_model_input(wb.zeros(1, 1)) == 255).all()


def test_methods_that_leave_features_out_explain_it() -> None:
    image = ImageMaskInput(PICTURE, MASK, baseline=0, processor_fn=lambda one: one.astype(np.float32))

    def model(features: Any) -> Any:
        rows = [image.to_model_input(one[None]) for one in features]
        return wb.tensor([float(one.sum()) for one in rows])

    found = ShapleyValues(model).attribute(image.to_tensor(), perturbations_per_eval=4)
    expected = [float(PICTURE[:, 2:].sum()), float(PICTURE[:, :2].sum())]
    np.testing.assert_allclose(found.numpy()[0], expected, rtol=1e-6)


def test_a_prompt_may_be_made_of_a_picture() -> None:
    words = Vocabulary(["a", "b", "c"])

    def prompt(one: Array) -> Any:
        return wb.tensor([[1 + int(one[:, :2].sum() > 0), 1 + int(one[:, 2:].sum() > 0)]])

    def model(numbers: Any) -> Any:  # writes what the first token is
        return wb.nn.functional.one_hot(numbers[:, :1], 4).float().expand(-1, numbers.shape[1], -1)

    image = ImageMaskInput(PICTURE, MASK, baseline=0, processor_fn=prompt)
    found = LLMAttribution(FeatureAblation(model), words).attribute(image, target=[2])
    assert found.input_tokens == image.values
    np.testing.assert_allclose(found.seq_attr.numpy(), [0.0, 1.0], atol=1e-6)
    with pytest.raises(TypeError, match=r"a text or numbers of tokens \[N, T\], this one became shape"):
        LLMAttribution(FeatureAblation(model), words).attribute(ImageMaskInput(PICTURE, MASK), target=[2])


def test_segments_are_drawn_over_the_picture() -> None:
    image = ImageMaskInput(PICTURE, MASK)
    drawn = image.plot_mask_overlay(border_width=1)
    assert drawn is not None
    assert [one.get_text() for one in drawn[1].texts] == ["2", "7"]
    assert len(drawn[1].get_images()) == 5
    plain = image.plot_mask_overlay(show_legends=False)
    assert plain is not None and len(plain[1].get_images()) == 3 and not plain[1].texts
    with pytest.raises(ValueError, match="1 labels for 2 masks"):
        wb.attribution.visualization.draw_mask_overlay(PICTURE, [MASK == 2, MASK == 7], ["one"])


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"image": "cat.png"}, TypeError, "image is a picture of Pillow, an array or a tensor .*, got str"),
        (
            {"image": SimpleNamespace(mode="P", frombytes=len)},
            TypeError,
            "mode 'P' are no colours; image.convert",
        ),
        ({"image": np.zeros(3)}, wb.DimensionError, r"a picture is \[H, W\]"),
        (
            {"mask": MASK[:1]},
            wb.DimensionError,
            r"a mask of shape \[1, 4\] for a picture of \[H, W\] \[2, 4\]",
        ),
        ({"mask_list": [MASK.T]}, wb.DimensionError, r"a mask of shape \[4, 2\]"),
        ({"mask_list": []}, ValueError, "mask_list holds no mask"),
        ({"baseline": (1, 2)}, wb.DimensionError, "a colour of 2 numbers for pixels of 3"),
        (
            {"image": PICTURE[..., 0], "baseline": (1, 2, 3)},
            wb.DimensionError,
            "a colour of 3 numbers for pixels of 1",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        ImageMaskInput(**{"image": PICTURE, **given})
