"""Models and layers, traced once, run for other batches, lengths and pictures: to the bit what they give at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import models, nn
from workbench.graph import check, parse, text, trace

F = nn.functional


def values(*sizes: int) -> wb.Tensor:
    return wb.from_numpy(np.random.default_rng(sum(sizes)).standard_normal(sizes).astype(np.float32))


def words(*sizes: int) -> wb.Tensor:
    return wb.from_numpy(np.random.default_rng(sum(sizes)).integers(0, 9, sizes))


def several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


class Called(nn.Module):
    """A function of a layer and its inputs as a module."""

    def __init__(self, function: Callable[..., Any], layer: nn.Module | None = None) -> None:
        super().__init__()
        self.function = function
        self.layer = layer

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs) if self.layer is None else self.function(self.layer, *inputs)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.up, self.out = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(8, 1, 1)

    def forward(self, x: Any) -> Any:
        wide = F.relu(self.down(x))
        deep = F.relu(self.deep(F.max_pool2d(wide, 2)))
        return self.out(wb.cat([self.up(deep), wide], 1))


class Pyramid(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 2, 1)

    def forward(self, x: Any) -> Any:
        fine = self.first(x)
        return fine + F.interpolate(
            self.second(fine), size=fine.shape[-2:], mode="bilinear", align_corners=False
        )


def positions(count: Any, features: int) -> Any:
    """Return the sines and cosines that say where in a sequence something stands."""
    rates = wb.exp(wb.arange(0, features, 2) * (-9.21 / features))
    angles = wb.arange(count).unsqueeze(1) * rates
    return wb.stack([angles.sin(), angles.cos()], -1).reshape(count, features)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.all = nn.Linear(8, 24)

    def forward(self, x: Any) -> Any:
        n, t, e = x.shape
        q, k, v = (one.reshape(n, t, 2, e // 2).transpose(1, 2) for one in self.all(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / (q.shape[-1] ** 0.5)
        weights = scores.masked_fill(wb.tril(wb.ones(t, t)) == 0, -1e9).softmax(-1)
        return (weights @ v).transpose(1, 2).reshape(n, t, e) + positions(t, e)


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 6)

    def forward(self, x: Any) -> Any:
        state = wb.zeros(x.shape[0], 6)
        for _ in range(3):
            state = self.cell(x, state)
        return state


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.experts = nn.ModuleList([nn.Linear(8, 4) for _ in range(3)])

    def forward(self, x: Any) -> Any:
        shares = self.gate(x).softmax(-1)
        return sum(shares[..., i : i + 1] * expert(x) for i, expert in enumerate(self.experts))


def rotated(x: Any) -> Any:
    """Turn pairs of features by the place in the sequence."""
    places = wb.arange(x.shape[1], dtype=wb.float32)
    angles = wb.outer(places, 1.0 / (100 ** (wb.arange(0, 8, 2) / 8)))
    angles = wb.cat([angles, angles], -1)
    return x * angles.cos() + wb.cat([-x[..., 4:], x[..., :4]], -1) * angles.sin()


def windows(x: Any) -> Any:
    """Cut pictures into windows of 4 by 4."""
    n, h, w, c = x.shape
    return x.reshape(n, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)


def decoded(layer: Any, x: Any, memory: Any) -> Any:
    return layer(x, memory, tgt_mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]))


def masked(layer: Any, x: Any) -> Any:
    above = wb.triu(wb.full((x.shape[1], x.shape[1]), float("-inf")), 1)
    return layer(x, x, x, attn_mask=above)[0]


def turned(x: Any) -> Any:
    same = wb.eye(2, 3).unsqueeze(0).expand(x.shape[0], 2, 3)
    return F.grid_sample(x, F.affine_grid(same, x.shape, align_corners=False), align_corners=False)


def written(x: Any) -> Any:
    made = wb.zeros(x.shape[0], x.shape[1])
    made[:, 0] = x[:, 1]
    made[1:] = x[:-1]
    return made


def losses(x: Any) -> Any:
    target = wb.zeros(x.shape[0], dtype=wb.int64)
    return F.mse_loss(x, wb.zeros_like(x)) + F.smooth_l1_loss(x, x * 2) + F.cross_entropy(x, target)


Sizes = tuple[int, ...]
BERT = models.BertSettings(words=20, features=16, heads=2, hidden=32, layers=2, positions=32)
PICTURES: tuple[Sizes, ...] = ((2, 3, 64, 64), (5, 3, 64, 64), (1, 3, 96, 80), (3, 3, 33, 47))
SMALL: tuple[Sizes, ...] = ((2, 3, 8, 8), (1, 3, 5, 7), (4, 3, 9, 6))
DIGITS: tuple[Sizes, ...] = ((2, 1, 28, 28), (7, 1, 28, 28), (1, 1, 28, 28))
SEQUENCES: tuple[Sizes, ...] = ((2, 5, 8), (7, 5, 8), (2, 9, 8), (1, 1, 8))
TABLES: tuple[Sizes, ...] = ((2, 3), (5, 4), (1, 7))
TEXTS: tuple[Sizes, ...] = ((2, 5), (4, 7), (1, 1))

# What makes the model, and the sizes of its input: those of the trace first.
CASES: dict[str, tuple[Callable[[], Any], tuple[Sizes, ...]]] = {
    "DigitsNet": (models.DigitsNet, DIGITS),
    "LeNet": (models.LeNet, DIGITS),
    "ResNet-18": (models.resnet18, PICTURES),
    "ResNet-50": (models.resnet50, ((1, 3, 64, 64), (2, 3, 65, 96))),
    "MobileNetV2": (models.mobilenet_v2, PICTURES),
    "EfficientNet-Lite0": (models.efficientnet_lite0, PICTURES),
    "VisionTransformer": (models.VisionTransformer, ((2, 3, 32, 32), (5, 3, 32, 32), (1, 3, 32, 32))),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), SEQUENCES),
    "encoder layer, time first": (lambda: nn.TransformerEncoderLayer(8, 2, 16), SEQUENCES),
    "attention": (Attention, SEQUENCES),
    "MultiheadAttention": (
        lambda: Called(lambda layer, x: layer(x, x, x)[0], nn.MultiheadAttention(8, 2, batch_first=True)),
        SEQUENCES,
    ),
    "MultiheadAttention with a mask": (
        lambda: Called(masked, nn.MultiheadAttention(8, 2, batch_first=True)),
        SEQUENCES,
    ),
    "causal attention": (
        lambda: Called(lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)),
        ((2, 2, 5, 4), (3, 1, 9, 4)),
    ),
    "rotary positions": (lambda: Called(rotated), SEQUENCES),
    "GRU": (
        lambda: Called(lambda layer, x: layer(x)[0], nn.GRU(8, 6, 2, batch_first=True, bidirectional=True)),
        SEQUENCES,
    ),
    "LSTM": (lambda: Called(lambda layer, x: layer(x)[1][0], nn.LSTM(8, 6, batch_first=True)), SEQUENCES),
    "RNN": (lambda: Called(lambda layer, x: layer(x)[0], nn.RNN(8, 6)), SEQUENCES),
    "GRUCell": (Steps, ((2, 8), (5, 8))),
    "LSTMCell": (lambda: Called(lambda layer, x: layer(x)[0], nn.LSTMCell(8, 4)), ((2, 8), (5, 8))),
    "Upsample": (lambda: nn.Upsample(scale_factor=2), SMALL),
    "Upsample by 1.5": (lambda: nn.Upsample(scale_factor=1.5, mode="bilinear"), SMALL),
    "interpolation to sizes": (
        lambda: Called(
            lambda x: F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] // 2), mode="bicubic", antialias=True)
        ),
        SMALL,
    ),
    "U-Net": (UNet, ((2, 3, 16, 16), (1, 3, 32, 8))),
    "pyramid": (Pyramid, ((2, 3, 16, 16), (1, 3, 31, 45))),
    "GroupNorm": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.SiLU()), SMALL),
    "InstanceNorm": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4, affine=True)), SMALL),
    "LayerNorm": (lambda: nn.Sequential(nn.Linear(8, 4), nn.LayerNorm(4)), SEQUENCES),
    "BatchNorm, traced for one": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        ((1, 3, 8, 8), (5, 3, 8, 9)),
    ),
    "PixelShuffle": (lambda: nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.PixelShuffle(2)), SMALL),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), ((2, 3, 8, 8), (1, 3, 6, 4))),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), ((2, 4, 8, 8), (5, 4, 6, 4))),
    "unfold and fold": (
        lambda: Called(lambda x: F.fold(F.unfold(x, 2, stride=2), x.shape[-2:], 2, stride=2)),
        ((2, 3, 8, 8), (1, 3, 6, 4)),
    ),
    "global pooling": (
        lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2)),
        SMALL,
    ),
    "adaptive pooling": (lambda: nn.AdaptiveAvgPool2d(4), ((2, 3, 8, 8), (1, 3, 16, 4), (1, 3, 9, 3))),
    "adaptive pooling, uneven": (lambda: nn.AdaptiveAvgPool2d((3, 2)), (*SMALL, (2, 3, 9, 6), (1, 3, 2, 1))),
    "adaptive pooling of one dim": (
        lambda: nn.AdaptiveAvgPool2d((None, 2)),
        ((2, 3, 8, 8), (1, 3, 5, 6), (1, 3, 5, 7)),
    ),
    "adaptive pooling to a share": (
        lambda: Called(lambda x: F.adaptive_avg_pool2d(x, (x.shape[2] // 2, 2))),
        ((2, 3, 8, 8), (1, 3, 5, 7)),
    ),
    "adaptive pooling of sequences": (lambda: nn.AdaptiveAvgPool1d(4), ((2, 3, 8), (1, 3, 10), (2, 5, 3))),
    "adaptive pooling of volumes": (lambda: nn.AdaptiveAvgPool3d(2), ((2, 3, 4, 4, 4), (1, 3, 3, 5, 2))),
    "adaptive largest": (lambda: nn.AdaptiveMaxPool2d((3, 2)), SMALL),
    "pooling to the edge": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), SMALL),
    "mean pooling": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), SMALL),
    "padding same": (lambda: nn.Conv2d(3, 4, (2, 3), padding="same"), SMALL),
    "reflected border": (lambda: nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(3, 4, 3)), SMALL),
    "circular border": (
        lambda: nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular"),
        ((2, 3, 8), (1, 3, 5)),
    ),
    "transposed convolution": (
        lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1),
        SMALL,
    ),
    "autoencoder": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(4, 3, 4, 2, 1), nn.Sigmoid()
        ),
        SMALL,
    ),
    "grid_sample": (lambda: Called(turned), SMALL),
    "context": (lambda: Called(lambda x: x.mean((2, 3), keepdim=True).expand_as(x) + x), SMALL),
    "windows": (lambda: Called(windows), ((2, 8, 8, 3), (1, 12, 4, 3))),
    "einsum": (lambda: Called(lambda x: wb.einsum("bthd,bshd->bhts", x, x)), ((2, 5, 2, 4), (3, 7, 1, 3))),
    "mixture of experts": (Experts, ((2, 8), (7, 8))),
    "zeros_like + 1": (lambda: Called(lambda x: wb.zeros_like(x) + 1), TABLES),
    "ones_like, full_like": (lambda: Called(lambda x: x * wb.ones_like(x) + wb.full_like(x, 2.5)), TABLES),
    "new_zeros": (lambda: Called(lambda x: wb.cat([x.new_zeros(x.shape[0], 1), x], 1)), TABLES),
    "arange": (lambda: Called(lambda x: x + wb.arange(x.shape[1]) + wb.arange(1, 2 * x.shape[1], 2)), TABLES),
    "linspace": (lambda: Called(lambda x: x + wb.linspace(-1, 1, x.shape[1])), TABLES),
    "eye": (lambda: Called(lambda x: x @ wb.eye(x.shape[1])), TABLES),
    "full of a size": (lambda: Called(lambda x: x + wb.full((x.shape[1],), x.shape[0])), TABLES),
    "meshgrid": (
        lambda: Called(lambda x: x + sum(wb.meshgrid(*map(wb.arange, x.shape), indexing="ij"))),
        TABLES,
    ),
    "differences": (lambda: Called(lambda x: x.unsqueeze(1) - x.unsqueeze(0)), TABLES),
    "tile and repeat": (lambda: Called(lambda x: x.tile(2, 1) + x.repeat_interleave(2, 0)), TABLES),
    "sorted": (lambda: Called(lambda x: x.gather(1, x.argsort(1)) + x.sort(1)[0]), TABLES),
    "scans": (lambda: Called(lambda x: x.cumprod(0) + x.cummax(1)[0] + x.diff(dim=1).abs().sum()), TABLES),
    "assignment": (lambda: Called(written), ((3, 4), (5, 6))),
    "losses": (lambda: Called(losses), ((2, 4), (5, 4))),
}

TEXT_CASES: dict[str, tuple[Callable[[], Any], tuple[Sizes, ...]]] = {
    "BertEncoder": (lambda: models.BertEncoder(BERT), TEXTS),
    "WordLanguageModel": (
        lambda: Called(lambda layer, x: layer(x)[0], models.WordLanguageModel(10, 16, 16, 2)),
        TEXTS,
    ),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(9, 4), TEXTS),
    "Embedding": (lambda: nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 2)), TEXTS),
    "one_hot": (lambda: Called(lambda x: F.one_hot(x, 9)), TEXTS),
}

PAIRS: dict[str, tuple[Callable[[], Any], tuple[tuple[Sizes, Sizes], ...]]] = {
    "Transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True),
        (((2, 5, 8), (2, 4, 8)), ((3, 6, 8), (3, 7, 8))),
    ),
    "causal decoder": (
        lambda: Called(decoded, nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)),
        (((2, 5, 8), (2, 4, 8)), ((3, 6, 8), (3, 7, 8))),
    ),
    "Siamese": (
        lambda: Called(lambda layer, a, b: F.cosine_similarity(layer(a), layer(b)), nn.Linear(8, 4)),
        (((2, 8), (2, 8)), ((5, 8), (5, 8))),
    ),
    "distances": (lambda: Called(wb.cdist), (((2, 4), (3, 4)), ((5, 4), (6, 4)))),
}


def runs_for_all(make: Callable[[], Any], inputs: list[tuple[Any, ...]]) -> None:
    wb.manual_seed(0)
    model = make().eval()
    with wb.no_grad():
        model(*inputs[0])  # what a model remembers of a call before is nothing that a graph may depend on
    graph = check(trace(model, *inputs[0]))
    again = parse(text(graph), {value.name: tensor for value, tensor in graph.held().items()})
    assert text(again) == text(graph)
    for given in inputs:
        with wb.no_grad():
            expected = several(model(*given))
            for run in (graph, again):
                for one, other in zip(several(run(*given)), expected, strict=True):
                    np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize("name", CASES)
def test_a_model_traced_once_runs_for_other_sizes(name: str) -> None:
    make, sizes = CASES[name]
    runs_for_all(make, [(values(*one),) for one in sizes])


@pytest.mark.parametrize("name", TEXT_CASES)
def test_a_model_of_words_traced_once_runs_for_other_sizes(name: str) -> None:
    make, sizes = TEXT_CASES[name]
    runs_for_all(make, [(words(*one),) for one in sizes])


@pytest.mark.parametrize("name", PAIRS)
def test_a_model_of_two_inputs_traced_once_runs_for_other_sizes(name: str) -> None:
    make, sizes = PAIRS[name]
    runs_for_all(make, [(values(*one), values(*other)) for one, other in sizes])


GRADIENTS: dict[str, tuple[Callable[[Any], Any], tuple[Sizes, ...]]] = {
    "means": (lambda x: x.exp().mean() + x.softmax(1).pow(2).sum() + (x * x).mean(0).sum(), TABLES),
    "norm": (
        lambda x: F.layer_norm(x, (4,)).pow(3).mean() + F.group_norm(x, 2).pow(3).sum(),
        ((2, 4), (5, 4)),
    ),
    "joined": (lambda x: wb.cat([x, x[:1]]).cumsum(0).mean() + (x[1:] * x[:-1]).sum(), ((2, 4), (5, 6))),
    "pictures": (
        lambda x: (
            F.interpolate(F.avg_pool2d(x, 2), scale_factor=2, mode="bilinear").pow(2).mean()
            + F.adaptive_avg_pool2d(x, 1).sum()
            + F.pad(x, (1, 1, 1, 1), mode="reflect").pow(2).sum()
        ),
        ((2, 4, 8, 8), (5, 4, 6, 4)),
    ),
    "adaptive pooling": (
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)).pow(3).sum() + F.adaptive_max_pool2d(x, 2).pow(3).sum(),
        ((2, 4, 8, 8), (5, 4, 6, 4), (1, 4, 9, 7)),
    ),
    "convolution": (lambda x: F.conv2d(x, wb.ones(2, 3, 3, 3), stride=2, padding=1).pow(2).mean(), SMALL),
    "recurrent": (lambda x: nn.functional.relu(x @ x.transpose(1, 2)).mean((1, 2)).sum(), SEQUENCES),
    "losses": (losses, ((2, 4), (5, 4))),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_graph_of_a_gradient_runs_for_other_sizes(name: str) -> None:
    function, sizes = GRADIENTS[name]

    def gradient(x: Any) -> Any:
        return wb.autograd.grad(function(x), x, create_graph=True)[0]

    inputs = [values(*one).requires_grad_() for one in sizes]
    graph = check(trace(gradient, inputs[0]))
    for x in inputs:
        np.testing.assert_array_equal(graph(x).detach().numpy(), gradient(x).detach().numpy())
