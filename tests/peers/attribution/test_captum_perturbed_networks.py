"""Methods that perturb inputs agree with Captum's on whole networks of the same code and weights in both libraries."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")
captum = pytest.importorskip("captum.attr")

RANDOM = np.random.default_rng(5)
OURS = SimpleNamespace(lib=wb, attr=wb.attribution, tensor=wb.from_numpy)
THEIRS = SimpleNamespace(lib=torch, attr=captum, tensor=torch.tensor)


def two_inputs(lib: Any) -> Any:
    class Network(lib.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = lib.nn.Linear(4, 8), lib.nn.Linear(6, 8)
            self.last = lib.nn.Linear(16, 3)

        def forward(self, a: Any, b: Any) -> Any:
            return self.last(lib.cat([lib.relu(self.first(a)), lib.tanh(self.second(b))], 1))

    return Network()


def recurrent(lib: Any) -> Any:
    class Network(lib.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = lib.nn.Embedding(20, 8)
            self.lstm = lib.nn.LSTM(8, 12, batch_first=True)
            self.last = lib.nn.Linear(12, 4)

        def forward(self, tokens: Any) -> Any:
            return self.last(self.lstm(self.embedding(tokens))[0][:, -1])

    return Network()


def transformer(lib: Any) -> Any:
    class Network(lib.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = lib.nn.Embedding(20, 16)
            self.layer = lib.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
            self.last = lib.nn.Linear(16, 4)

        def forward(self, tokens: Any) -> Any:
            return self.last(self.layer(self.embedding(tokens)).mean(1))

    return Network()


def resnet(lib: Any) -> Any:
    nn = lib.nn

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, before: int, count: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(before, count, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(count)
            self.conv2 = nn.Conv2d(count, count, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(count)
            self.relu = nn.ReLU(inplace=True)
            self.shortcut = (
                nn.Sequential()
                if stride == 1 and before == count
                else nn.Sequential(nn.Conv2d(before, count, 1, stride, bias=False), nn.BatchNorm2d(count))
            )

        def forward(self, x: Any) -> Any:
            inside = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(inside + self.shortcut(x))

    widths = [64, 64, 128, 256, 512]
    blocks = [
        Block(
            widths[stage - (place == 0)] if stage else 64, widths[stage], 2 if stage > 1 and not place else 1
        )
        for stage in range(1, 5)
        for place in range(2)
    ]
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(512, 10),
    )


INPUTS: dict[Any, tuple[Any, ...]] = {
    two_inputs: (
        RANDOM.normal(size=(3, 4)).astype(np.float32),
        RANDOM.normal(size=(3, 6)).astype(np.float32),
    ),
    recurrent: (RANDOM.integers(0, 20, (3, 7)),),
    transformer: (RANDOM.integers(0, 20, (3, 7)),),
    resnet: (RANDOM.normal(size=(2, 3, 32, 32)).astype(np.float32),),
}
MASKS = {
    two_inputs: (np.array([[0, 0, 1, 2]]), np.array([[1, 1, 2, 2, 3, 3]])),
    recurrent: (np.array([[0, 0, 1, 1, 2, 3, 3]]),),
    transformer: (np.array([[0, 0, 1, 1, 2, 3, 3]]),),
    resnet: (np.arange(4).reshape(1, 1, 1, 4).repeat(8, 3),),
}
LAYERS = {two_inputs: "first", recurrent: "embedding", transformer: "embedding", resnet: "3"}
NETWORKS = pytest.mark.parametrize("network", INPUTS, ids=lambda network: network.__name__)


def networks(make: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    theirs = make(torch).eval()
    ours = make(wb).eval()
    ours.load_state_dict({name: wb.from_numpy(one.numpy()) for name, one in theirs.state_dict().items()})
    return ours, theirs


def check(network: Any, ask: Any, rtol: float = 1e-3, atol: float = 1e-4) -> None:
    """Hold both libraries' answers to `ask` against each other."""
    answers = []
    for side, model in zip((OURS, THEIRS), networks(network), strict=True):
        inputs = tuple(side.tensor(one) for one in INPUTS[network])
        masks = tuple(side.tensor(one) for one in MASKS[network])
        answer = ask(
            side, model, inputs if len(inputs) > 1 else inputs[0], masks if len(masks) > 1 else masks[0]
        )
        answers.append(answer if isinstance(answer, tuple) else (answer,))
    assert len(answers[0]) == len(answers[1])
    for found, expected in zip(*answers, strict=True):
        assert tuple(found.shape) == tuple(expected.shape)
        np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=rtol, atol=atol)


@NETWORKS
def test_feature_ablation(network: Any) -> None:
    check(
        network,
        lambda side, model, inputs, masks: side.attr.FeatureAblation(model).attribute(
            inputs, target=1, feature_mask=masks
        ),
    )


@NETWORKS
def test_shapley_values(network: Any) -> None:
    check(
        network,
        lambda side, model, inputs, masks: side.attr.ShapleyValues(model).attribute(
            inputs, target=[1, 0, 2][: len(inputs[0]) if isinstance(inputs, tuple) else len(inputs)],
            feature_mask=masks,
        ),
    )  # fmt: skip


@NETWORKS
def test_occlusion(network: Any) -> None:
    shapes: dict[Any, Any] = {
        two_inputs: ((2,), (3,)),
        recurrent: (2,),
        transformer: (2,),
        resnet: (3, 16, 16),
    }
    strides: dict[Any, Any] = {resnet: (3, 8, 8)}
    check(
        network,
        lambda side, model, inputs, masks: side.attr.Occlusion(model).attribute(
            inputs, shapes[network], strides.get(network), target=1
        ),
    )


@NETWORKS
def test_layer_feature_ablation(network: Any) -> None:
    mask: dict[Any, Any] = {
        resnet: np.arange(64).reshape(1, 64, 1, 1) // 16,
        two_inputs: np.array([[0, 0, 1, 1, 2, 2, 3, 3]]),
    }

    def ask(side: Any, model: Any, inputs: Any, masks: Any) -> Any:
        layer = LAYERS[network] if side is OURS else model.get_submodule(LAYERS[network])
        given = None if network not in mask else side.tensor(mask[network])
        # Captum's has no target behind the layer; the same number is picked before.
        picked = (lambda *inputs: model(*inputs)[:, 1]) if side is THEIRS else model
        options = {} if side is THEIRS else {"target": 1}
        return side.attr.LayerFeatureAblation(picked, layer).attribute(inputs, layer_mask=given, **options)

    check(network, ask)


@NETWORKS
def test_neuron_feature_ablation(network: Any) -> None:
    selector: dict[Any, Any] = {two_inputs: 2, recurrent: (1, 2), transformer: (1, 2), resnet: (5, 2, 2)}

    def ask(side: Any, model: Any, inputs: Any, masks: Any) -> Any:
        layer = LAYERS[network] if side is OURS else model.get_submodule(LAYERS[network])
        method = side.attr.NeuronFeatureAblation(model, layer)
        return method.attribute(inputs, selector[network], feature_mask=masks)

    check(network, ask)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("together", [1, 3])
def test_data_loaders(whole: bool, together: int) -> None:
    arrays = [
        RANDOM.normal(size=(5, 2)).astype(np.float32),
        RANDOM.normal(size=(5, 2, 2)).astype(np.float32),
        RANDOM.integers(0, 2, (5, 1)),
    ]
    masks = (np.array([[0, 0]]), np.array([[[1, 2], [3, 2]]]))

    def ask(side: Any) -> Any:
        lib = side.lib
        data = lib.utils.data.TensorDataset(*map(side.tensor, arrays))
        loader = lib.utils.data.DataLoader(data, batch_size=2)
        forward = lambda a, b, c: a.exp().sum(1) * b.reshape(len(b), 4).sum(1) + c[:, 0]
        method = side.attr.DataLoaderAttribution(side.attr.FeatureAblation(forward))
        return method.attribute(
            loader,
            input_roles=(0, 0, 1),
            baselines=(0.5, side.tensor(np.full((1, 2, 2), 0.25, np.float32))),
            feature_mask=tuple(map(side.tensor, masks)),
            perturbations_per_pass=together,
            return_input_shape=whole,
        )

    ours, theirs = ask(OURS), ask(THEIRS)
    for found, expected in zip(ours if whole else [ours], theirs if whole else [theirs], strict=True):
        assert tuple(found.shape) == tuple(expected.shape)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
