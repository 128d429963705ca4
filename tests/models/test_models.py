"""The models: their sizes are those of the papers, names flow through, a step changes every parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
import workbench.nn.functional as F
from workbench import models, nn

COUNTED: list[tuple[Callable[[], nn.Module], int]] = [
    (models.LeNet, 61_706),
    (models.resnet18, 11_689_512),
    (models.resnet50, 25_557_032),
    (models.mobilenet_v2, 3_504_872),
    (models.efficientnet_lite0, 4_652_008),
    (models.minilm, 22_713_216),
    (models.vit_small, 2_693_578),
]


@pytest.mark.parametrize(("make", "expected"), COUNTED, ids=lambda one: getattr(one, "__name__", str(one)))
def test_the_number_of_parameters_is_the_known_one(make: Callable[[], nn.Module], expected: int) -> None:
    assert sum(one.numel() for one in make().parameters()) == expected


IMAGES: list[tuple[Callable[[], nn.Module], dict[str, int]]] = [
    (models.LeNet, {"N": 4, "C": 1, "H": 28, "W": 28}),
    (lambda: models.resnet18(10), {"N": 4, "C": 3, "H": 32, "W": 32}),
    (lambda: models.mobilenet_v2(10, width=0.35), {"N": 4, "C": 3, "H": 32, "W": 32}),
    (lambda: models.efficientnet_lite0(10), {"N": 4, "C": 3, "H": 40, "W": 32}),
    (lambda: models.vit_small(size=16), {"N": 4, "C": 3, "H": 16, "W": 16}),
]


@pytest.mark.parametrize(
    ("make", "sizes"), IMAGES, ids=["lenet", "resnet18", "mobilenet_v2", "efficientnet_lite0", "vit"]
)
def test_a_step_on_images_reaches_every_parameter(
    make: Callable[[], nn.Module], sizes: dict[str, int]
) -> None:
    model = make()
    scores = model(wb.randn(**sizes))
    assert scores.names == ("N", "out_features")
    assert scores.shape == (4, 10)
    F.cross_entropy(scores, wb.tensor([1, 2, 3, 4])).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.names == parameter.grad.names
        assert np.isfinite(parameter.grad.numpy()).all(), name


def test_a_residual_block_starts_as_its_shortcut() -> None:
    block = models.resnet.BasicBlock(4, 4)
    nn.init.zeros_(block.bn2.weight)
    x = wb.randn(N=2, C=4, H=5, W=5)
    np.testing.assert_array_equal(block(x).detach().numpy(), x.relu().numpy())


@pytest.mark.parametrize(("height", "width"), [(8, 8), (9, 8), (7, 7)])
def test_the_padding_of_strided_convolutions_goes_to_the_far_sides(height: int, width: int) -> None:
    conv: Any = models.efficientnet._conv(1, 1, 3, 2)
    x = wb.randn(N=1, C=1, H=height, W=width)
    found = conv(x)
    assert found.shape[2:] == (-(-height // 2), -(-width // 2))
    missing = [max((-(-size // 2) - 1) * 2 + 3 - size, 0) for size in (height, width)]
    padded = np.pad(
        x.numpy()[0, 0], [(one // 2, one - one // 2) for one in missing]
    )  # TensorFlow's rule for "SAME"
    patch = padded[:3, :3] * conv.weight.detach().numpy()[0, 0]
    assert found.detach().numpy()[0, 0, 0, 0] == pytest.approx(patch.sum(), abs=1e-5)


@pytest.mark.parametrize("make", [models.resnet18, models.mobilenet_v2, models.efficientnet_lite0])
def test_networks_for_photos_are_traced_without_an_example_for_any_size(make: Any) -> None:
    model = make().eval()
    traced = wb.fx.symbolic_trace(model)
    for height, width in ((32, 32), (33, 47)):
        x = wb.randn(1, 3, height, width)
        with wb.no_grad():
            np.testing.assert_array_equal(traced(x).numpy(), model(x).numpy())


def test_photos() -> None:
    photo = np.full((300, 200, 3), 255, np.uint8)
    x = models.imagenet_input(photo)
    assert not x.has_names() and x.shape == (1, 3, 224, 224)
    assert models.imagenet_input(photo, names=("N", "C", "H", "W")).names == ("N", "C", "H", "W")
    np.testing.assert_allclose(x.numpy()[0, 0], (1 - 0.485) / 0.229, rtol=1e-5)
    for wrong in (photo[..., :1], photo.astype(np.float32), photo[0], photo[:0]):
        with pytest.raises(ValueError, match=r"a photo is an array \[H, W, 3\] of uint8"):
            models.imagenet_input(wrong)


def test_words() -> None:
    words = models.words_of("The cat saw the dog; the dog saw nothing.")
    vocabulary = models.Vocabulary(words, most=4)
    assert vocabulary.words == ["<unk>", "the", "dog", "saw"]
    assert vocabulary.numbers(["dog", "zebra"]).tolist() == [2, 0]
    assert vocabulary.text([1, 2, 0]) == "the dog <unk>"


def test_a_language_model_carries_its_state() -> None:
    model = models.WordLanguageModel(words=20, features=6, hidden=6, layers=2).eval()
    text = wb.randint(0, 20, (8, 3)).rename("T", "N")
    whole, _ = model(text)
    first, state = model(text[:5])
    second, _ = model(text[5:], model.cut(state))
    np.testing.assert_allclose(
        whole.detach().numpy(), np.concatenate([first.detach().numpy(), second.detach().numpy()]), atol=1e-6
    )
    assert model.decoder.weight is model.embedding.weight
    assert len(list(model.parameters())) == 1 + 8 + 1
    with pytest.raises(ValueError, match="a tied table needs as many features as hidden values, got 4 and 6"):
        models.WordLanguageModel(words=20, features=4, hidden=6)
    assert models.WordLanguageModel(20, 4, 6, tied=False)(text)[0].shape == (8, 3, 20)


SMALL = models.BertSettings(words=30, features=8, layers=2, heads=2, hidden=16, positions=7)


def test_an_encoder_does_not_look_at_what_is_masked() -> None:
    model = models.BertEncoder(SMALL).eval()
    words = wb.tensor([[3, 4, 5, 0], [6, 7, 0, 0]])
    mask = (words != 0).to(wb.int64)
    short = model.sentences(words[1:, :2])
    padded = model.sentences(words, mask)
    assert model.sentences(words.rename("N", "T"), mask).names == ("N", "E")
    assert not padded.has_names()
    np.testing.assert_allclose(padded.detach().numpy()[1], short.detach().numpy()[0], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(padded.detach().numpy(), axis=1), 1, rtol=1e-5)


def test_texts_that_are_too_long_and_sizes_that_do_not_divide() -> None:
    model = models.BertEncoder(SMALL)
    with pytest.raises(ValueError, match="a text of 8 words is too long: the model has positions for 7"):
        model(wb.zeros(1, 8, dtype=wb.int64))
    with pytest.raises(ValueError, match="8 features do not divide among 3 heads"):
        models.BertEncoder(SMALL._replace(heads=3))


def test_blocks_of_a_residual_network_start_as_their_shortcuts() -> None:
    for block in models.resnet18(classes=2).layer1:
        assert not block.bn2.weight.any()
        assert block.bn1.weight.all()


def test_an_encoder_refuses_steps_in_the_place_of_the_batch() -> None:
    model = models.BertEncoder(models.BertSettings(words=9, features=8, layers=1, heads=2, hidden=8))
    with pytest.raises(wb.DimensionError, match="BertEncoder takes 'N' as dim 0"):
        model(wb.zeros(T=3, N=1, dtype=wb.int64))
