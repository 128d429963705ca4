"""Whole steps of training, traced at one batch size: at others they are eager training to the bit.

A step is forward, loss, gradients, their clipping and the update of the weights; then parameters, buffers and the
default generator are where eager code leaves them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.graph.test_training import MODELS
from workbench import nn
from workbench.graph import check, parse, run_apart, text, trace

F = nn.functional
Sizes = tuple[int, ...]


class Training(nn.Module):
    """A model that one call trains: by gradient descent with momentum, weight decay and clipped gradients."""

    def __init__(self, model: Any, loss: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.model = model
        self.loss = loss
        for i, one in enumerate(model.parameters()):
            self.register_buffer(f"momentum_{i}", wb.zeros_like(one.detach()))

    def forward(self, x: Any, y: Any) -> Any:
        loss = self.loss(self.model(x), y)
        weights = list(self.model.parameters())
        slopes = wb.autograd.grad(loss, weights)
        with wb.no_grad():
            total = sum((one * one).sum() for one in slopes) ** 0.5
            scale = (1.0 / (total + 1e-6)).clamp(max=1.0)
            for i, (weight, slope) in enumerate(zip(weights, slopes, strict=True)):
                momentum = getattr(self, f"momentum_{i}")
                momentum.mul_(0.9).add_(slope * scale + weight * 1e-2)
                weight.sub_(momentum * 0.1)
        return loss


def square(y: Any, target: Any) -> Any:
    return F.mse_loss(y, target.expand_as(y))


# The models that are traced for training, with other sizes than those they are traced for.
OTHERS: dict[str, list[Sizes]] = {
    **{name: [(7, *sizes[1:]), (33, *sizes[1:])] for name, (_, sizes) in MODELS.items()},
    "instances": [(3, 4, 5), (16, 4, 9)],
    "channels dropped": [(3, 1, 6, 6), (4, 1, 9, 7)],
    "attention": [(5, 7, 8), (9, 2, 8), (1, 1, 8)],
    "digits": [(3, 1, 28, 28)],
    "recurrent": [(5, 7, 8), (9, 2, 8), (1, 3, 8)],
    "transformer": [(5, 7, 8), (9, 2, 8), (1, 3, 8)],
}


class Last(nn.Module):
    """The last state of a recurrent layer, and a linear layer on it."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer
        self.out = nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        return self.out(self.layer(x)[0][:, -1])


def dense() -> Any:
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))


def conv(norm: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), norm, nn.GELU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(4, 3),
    )  # fmt: skip


def classes(*sizes: int) -> Any:
    return wb.from_numpy(np.random.default_rng(sizes[0]).integers(0, 3, sizes[:1]))


def shares(*sizes: int) -> Any:
    return wb.from_numpy(np.random.default_rng(sizes[0]).random((sizes[0], 3)).astype(np.float32))


def signs(*sizes: int) -> Any:
    return wb.from_numpy(
        np.random.default_rng(sizes[0]).choice([-1.0, 1.0], (sizes[0], 3)).astype(np.float32)
    )


def spread(y: Any, target: Any) -> Any:
    """A loss with variances, deviations and norms of what comes out, and with means by hand."""
    centred = (y - y.sum(0) / y.shape[0]) / y.std(0)
    return y.var() + y.norm(dim=1).mean() / y.shape[0] ** 0.5 + (centred**3).sum() * (1 / y.numel())


class Scores(nn.Module):
    """Attention by hand, and the mean over the sequence by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.all, self.out = nn.Linear(8, 24), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        q, k, v = self.all(x).chunk(3, -1)
        mixed = (q @ k.mT / (x.shape[1] * k.shape[-1]) ** 0.5).softmax(-1) @ v
        return self.out(mixed.sum(1) / x.shape[1])


TABLE: list[Sizes] = [(6, 8), (4, 8), (11, 8)]
PICTURES: list[Sizes] = [(4, 3, 8, 8), (2, 3, 8, 8), (5, 3, 9, 12)]
SEQUENCES: list[Sizes] = [(4, 5, 8), (2, 5, 8), (3, 9, 8), (1, 1, 8)]

# What makes the model, its loss and targets, and the sizes of its input: those of the trace first.
LOSSES: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any], Callable[..., Any], list[Sizes]]] = {
    "cross entropy": (dense, F.cross_entropy, classes, TABLE),
    "smoothed cross entropy": (dense, lambda y, t: F.cross_entropy(y, t, label_smoothing=0.1), classes, TABLE),
    "log-likelihood": (dense, lambda y, t: F.nll_loss(y.log_softmax(1), t), classes, TABLE),
    "binary cross entropy": (dense, F.binary_cross_entropy_with_logits, shares, TABLE),
    "mean squares": (dense, F.mse_loss, shares, TABLE),
    "mean differences": (dense, F.l1_loss, shares, TABLE),
    "Huber": (dense, F.huber_loss, shares, TABLE),
    "smooth": (dense, F.smooth_l1_loss, shares, TABLE),
    "divergence": (
        dense, lambda y, t: F.kl_div(y.log_softmax(1), t, reduction="batchmean"), shares, TABLE
    ),
    "soft margin": (dense, F.soft_margin_loss, signs, TABLE),
    "margin of many": (dense, F.multi_margin_loss, classes, TABLE),
    "cosine": (
        dense, lambda y, t: F.cosine_embedding_loss(y, t, wb.ones(y.shape[0])), shares, TABLE
    ),
    "triplet": (dense, lambda y, t: F.triplet_margin_loss(y, t, y.flip(0)), shares, TABLE),
    "Gaussian": (dense, lambda y, t: F.gaussian_nll_loss(y, t, y.exp()), shares, TABLE),
    "Poisson": (dense, F.poisson_nll_loss, shares, TABLE),
    "variances": (dense, spread, shares, TABLE),
    "attention by hand": (Scores, F.cross_entropy, classes, SEQUENCES),
    "mean by hand": (dense, lambda y, t: ((y - t) ** 2).sum() / y.shape[0], shares, TABLE),
    "batch norm": (lambda: conv(nn.BatchNorm2d(4)), F.cross_entropy, classes, PICTURES),
    "group norm": (lambda: conv(nn.GroupNorm(2, 4)), F.cross_entropy, classes, PICTURES),
    "instance norm": (lambda: conv(nn.InstanceNorm2d(4, affine=True)), F.cross_entropy, classes, PICTURES),
    "gated recurrent": (lambda: Last(nn.GRU(8, 6, batch_first=True)), F.cross_entropy, classes, SEQUENCES),
    "both ways": (
        lambda: Last(nn.RNN(8, 3, 2, batch_first=True, bidirectional=True)), F.cross_entropy, classes, SEQUENCES
    ),
    "long short-term": (lambda: Last(nn.LSTM(8, 6, batch_first=True)), F.cross_entropy, classes, SEQUENCES),
}  # fmt: skip


def same(one: Any, other: Any, what: str = "") -> None:
    np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy(), err_msg=what)


def values(*sizes: int) -> Any:
    return wb.from_numpy(np.random.default_rng(sum(sizes)).standard_normal(sizes).astype(np.float32))


def trained_alike(
    make: Callable[[], Any], loss: Any, targets: Callable[..., Any], sizes: list[Sizes]
) -> None:
    """Train two equal models, one by the graph of the first sizes; compare everything after every step."""
    made = []
    for _ in range(2):
        wb.manual_seed(0)
        made.append(Training(make(), loss))
    eager, traced = made
    graph = check(trace(traced, values(*sizes[0]), targets(*sizes[0])))
    again = parse(text(graph), {value.name: tensor for value, tensor in graph.held().items()})
    for one in sizes:
        inputs = values(*one), targets(*one)
        wb.manual_seed(sum(one))
        result, after = run_apart(again, *inputs)
        wb.manual_seed(sum(one))
        expected, state = eager(*inputs), wb.get_rng_state()
        wb.manual_seed(sum(one))
        same(graph(*inputs), expected)
        assert wb.get_rng_state() == state
        same(result, expected)
        for (name, a), (_, b) in zip(eager.state_dict().items(), traced.state_dict().items(), strict=True):
            same(b, a, f"{name} after {one}")
            same(after.get(name, a), a, f"{name} after {one}")


@pytest.mark.parametrize("name", MODELS)
def test_a_step_of_a_kind_of_model_is_right_for_other_sizes(name: str) -> None:
    make, sizes = MODELS[name]
    trained_alike(make, square, lambda *_: wb.ones(()), [sizes, *OTHERS[name]])


@pytest.mark.parametrize("name", LOSSES)
def test_a_step_with_a_loss_is_right_for_other_sizes(name: str) -> None:
    trained_alike(*LOSSES[name])
