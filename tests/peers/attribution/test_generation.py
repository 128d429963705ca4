"""Attributions of text that a model writes agree with Captum's, on the same weights."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import attribution as ours
from workbench import nn

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("captum.attr")

RANDOM = np.random.default_rng(0)
TABLE, INNER, LAST = (RANDOM.normal(size=size).astype(np.float32) for size in [(27, 6), (6, 6), (27, 6)])
PROMPT, TARGET = "a c d f", "m n o"


class Letters:
    """A token a letter, by its number in the alphabet; 0 in front of all."""

    def encode(self, text: str, return_tensors: str | None = None, add_special_tokens: bool = True) -> Any:
        numbers = [0] * add_special_tokens + [ord(one) - 96 for one in text.split()]
        return torch.tensor([numbers]) if return_tensors else numbers

    def convert_ids_to_tokens(self, numbers: Any) -> Any:
        return ["<s>" if one == 0 else chr(one + 96) for one in numbers]

    def convert_tokens_to_ids(self, tokens: list[str]) -> list[int]:
        return [0 if one == "<s>" else ord(one) - 96 for one in tokens]

    def decode(self, numbers: Any) -> str:
        return " ".join(self.convert_ids_to_tokens(np.atleast_1d(np.asarray(numbers)).tolist()))

    def __call__(self, text: str, **options: Any) -> Any:
        words = text.split()
        return {
            "input_ids": self.encode(text, add_special_tokens=False),
            "offset_mapping": [(2 * place, 2 * place + 1) for place in range(len(words))],
        }


class Mine(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(27, 6, _weight=wb.from_numpy(TABLE))

    def forward(self, numbers: Any, *rest: Any, **kwargs: Any) -> Any:
        vectors = self.table(numbers)
        mixed = wb.tanh(vectors.cumsum(1) @ wb.from_numpy(INNER))
        return SimpleNamespace(logits=mixed @ wb.from_numpy(LAST).t())


class Theirs(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(27, 6, _weight=torch.tensor(TABLE))

    def forward(self, input_ids: Any, *rest: Any, **kwargs: Any) -> Any:
        vectors = self.table(input_ids)
        mixed = torch.tanh(vectors.cumsum(1) @ torch.tensor(INNER))
        return SimpleNamespace(logits=mixed @ torch.tensor(LAST).T)


def close(found: Any, expected: Any) -> None:
    assert found.input_tokens == expected.input_tokens and found.output_tokens == expected.output_tokens
    np.testing.assert_allclose(found.seq_attr.numpy(), expected.seq_attr.numpy(), rtol=1e-3, atol=1e-4)
    if expected.token_attr is None:
        assert found.token_attr is None
    else:
        np.testing.assert_allclose(
            found.token_attr.numpy(), expected.token_attr.numpy(), rtol=1e-3, atol=1e-4
        )


def test_pictures_are_painted_over_as_captum_does() -> None:
    image = pytest.importorskip("PIL.Image").fromarray(RANDOM.integers(0, 255, (4, 6, 3)).astype(np.uint8))
    mask = RANDOM.integers(2, 5, (4, 6)).astype(np.int32)
    several = [RANDOM.random((4, 6)) < 0.5 for _ in range(3)]
    there = np.array([[1.0, 0.0, 1.0]], np.float32)
    weights = RANDOM.normal(size=(2, 3)).astype(np.float32)
    for given in ({"mask": mask}, {"mask_list": several}, {"mask": mask, "baseline": (3, 2, 1)}):
        as_torch = {
            name: [torch.tensor(x) for x in one] if name == "mask_list" else torch.tensor(one)
            for name, one in given.items()
            if name != "baseline"
        }
        mine = ours.ImageMaskInput(image, processor_fn=np.asarray, **given)
        other = theirs.ImageMaskInput(image, processor_fn=np.asarray, **{**given, **as_torch})
        assert mine.values == other.values and mine.n_itp_features == other.n_itp_features
        assert mine.mask_id_to_idx == other.mask_id_to_idx
        np.testing.assert_array_equal(mine.to_tensor().numpy(), other.to_tensor().numpy())
        np.testing.assert_array_equal(
            mine.to_model_input(wb.from_numpy(there)), other.to_model_input(torch.tensor(there))
        )
        found = mine.format_pixel_attr(wb.from_numpy(weights)).numpy()
        if "mask_list" in given:
            expected = other.format_pixel_attr(torch.tensor(weights)).numpy()
        else:  # Captum takes one row of features there
            rows = [other.format_pixel_attr(torch.tensor(one[None])).numpy() for one in weights]
            expected = np.concatenate(rows)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        for one, same in zip(mine.get_mask_list(), other.get_mask_list(), strict=True):
            np.testing.assert_array_equal(one.numpy(), same.numpy())


@pytest.mark.parametrize("method", ["FeatureAblation", "ShapleyValues"])
@pytest.mark.parametrize("attr_target", ["log_prob", "prob"])
@pytest.mark.parametrize("kind", ["tokens", "template", "masked template"])
@pytest.mark.parametrize("stepwise", [True, False])
def test_features_that_are_left_out(method: str, attr_target: str, kind: str, stepwise: bool) -> None:
    results = []
    for house, model in ((ours, Mine()), (theirs, Theirs())):
        text: Any
        if kind == "tokens":
            text = house.TextTokenInput(PROMPT, Letters(), baselines=5, skip_tokens=[0])
        else:
            mask = [3, 1, 3, 0] if kind == "masked template" else None
            text = house.TextTemplateInput("{} b {} {} e {}", PROMPT.split(), list("tuvw"), mask)
        asked = house.LLMAttribution(getattr(house, method)(model.eval()), Letters(), attr_target)
        results.append(
            asked.attribute(text, TARGET, use_cached_outputs=house is ours, forward_in_tokens=stepwise)
        )
    close(*results)


@pytest.mark.parametrize("method", ["LayerIntegratedGradients", "LayerGradientXActivation"])
def test_gradients_at_the_embedding(method: str) -> None:
    results = []
    for house, model in ((ours, Mine()), (theirs, Theirs())):
        model.eval()
        text = house.TextTokenInput(PROMPT, Letters(), skip_tokens=[0])
        asked = house.LLMGradientAttribution(getattr(house, method)(model, model.table), Letters())
        results.append(asked.attribute(text, TARGET))
    close(*results)
