"""Layers against NumPy, the names they give, and the inputs they refuse."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.nn import init
from workbench.testing import assert_close


def images(seed: int = 0, **sizes: int) -> wb.Tensor:
    shape = tuple((sizes or {"N": 2, "C": 3, "H": 6, "W": 6}).values())
    array = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return wb.from_numpy(array, names=("N", "C", "H", "W"))


def convolution(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, padding: int) -> np.ndarray:
    """The definition, by loops over the window."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    height, width = x.shape[2] - weight.shape[2] + 1, x.shape[3] - weight.shape[3] + 1
    out = np.zeros((x.shape[0], weight.shape[0], height, width)) + bias[:, None, None]
    for i in range(weight.shape[2]):
        for j in range(weight.shape[3]):
            out += np.einsum("nchw,oc->nohw", x[:, :, i : i + height, j : j + width], weight[:, :, i, j])
    return out


@pytest.mark.parametrize("inference", [False, True])
def test_convolution_is_its_definition(inference: bool) -> None:
    layer, x = nn.Conv2d(3, 5, 3, padding=1), images()
    expected = convolution(x.numpy(), layer.weight.detach().numpy(), layer.bias.detach().numpy(), 1)
    if inference:
        layer.eval()
        with wb.no_grad():
            y = layer(x)
    else:
        y = layer(x)
    assert_close(y, expected, rtol=1e-4)
    assert y.names == ("N", "C", "H", "W")
    assert y.requires_grad is not inference


def test_inference_sees_every_change_of_the_weights() -> None:
    """Weights are packed once for inference: whatever way they change, the next call must know."""
    layer, x = nn.Conv2d(2, 4, 3).eval(), images(N=1, C=2, H=5, W=5)

    def checked() -> np.ndarray:
        with wb.no_grad():
            y = layer(x).numpy().copy()
        assert_close(y, layer(x), rtol=1e-4)
        return y

    seen = [checked()]
    with wb.no_grad():
        layer.weight.mul_(2.0)
    seen.append(checked())
    layer.weight.detach().numpy()[0, 0, 0, 0] += 1.0
    seen.append(checked())
    layer.bias.data[1] = 9.0
    seen.append(checked())
    layer.bias = None
    seen.append(checked())
    layer.weight = nn.Parameter(layer.weight.detach() * 3)
    seen.append(checked())
    layer.padding = (1, 1)
    assert checked().shape == (1, 4, 5, 5)
    layer.double()
    x = wb.from_numpy(x.numpy().astype(np.float64), names=x.names)
    assert checked().dtype == np.float64
    for before, after in itertools.pairwise(seen):
        assert not np.array_equal(before, after)


def test_a_copy_of_a_layer_that_was_used_is_a_layer_of_its_own() -> None:
    layer, x = nn.Conv2d(3, 4, 3).eval(), images()
    with wb.no_grad():
        before = layer(x).numpy().copy()
        other = copy.deepcopy(layer)
        other.weight.mul_(2.0)
        assert not np.array_equal(other(x).numpy(), before)
        np.testing.assert_array_equal(layer(x).numpy(), before)


def test_inference_refuses_what_training_refuses() -> None:
    layer = nn.Conv2d(2, 4, 3).eval()
    with wb.no_grad():
        layer(images(N=1, C=2, H=5, W=5))
        with pytest.raises(wb.DimensionError, match="to have 2 channels, but got 3 channels"):
            layer(images())
        with pytest.raises(wb.DimensionError, match="can't be greater than the padded input size"):
            layer(images(N=1, C=2, H=2, W=2))


def test_batch_norm_uses_the_batch_and_moves_the_running_statistics() -> None:
    layer, x = nn.BatchNorm2d(3), images(N=4, C=3, H=5, W=5)
    with wb.no_grad():
        layer.weight.copy_(wb.tensor([1.0, 2.0, 3.0]))
        layer.bias.copy_(wb.tensor([0.5, 0.0, -1.0]))
    a = x.numpy().astype(np.float64)
    mean, var = a.mean((0, 2, 3)), a.var((0, 2, 3))
    scale, shift = np.array([1.0, 2.0, 3.0])[:, None, None], np.array([0.5, 0.0, -1.0])[:, None, None]
    expected = (a - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5) * scale + shift
    assert_close(layer(x), expected, rtol=1e-4)
    count = 4 * 5 * 5
    assert_close(layer.running_mean, 0.1 * mean, rtol=1e-4)
    assert_close(layer.running_var, 0.9 + 0.1 * var * count / (count - 1), rtol=1e-4)
    assert layer.num_batches_tracked.item() == 1
    layer.eval()
    measured, variance = layer.running_mean.numpy()[:, None, None], layer.running_var.numpy()[:, None, None]
    assert_close(layer(x), (a - measured) / np.sqrt(variance + 1e-5) * scale + shift, rtol=1e-4)
    assert layer.num_batches_tracked.item() == 1
    assert layer.running_mean.dim_labels == ("C",)


def test_batch_norm_without_momentum_keeps_the_plain_mean() -> None:
    layer = nn.BatchNorm2d(3, momentum=None)
    batches = [images(seed) for seed in range(3)]
    for batch in batches:
        layer(batch)
    means = [batch.numpy().mean((0, 2, 3)) for batch in batches]
    assert_close(layer.running_mean, np.mean(means, 0), rtol=1e-4)
    layer.reset_running_stats()
    assert layer.running_mean.tolist() == [0, 0, 0]
    assert layer.running_var.tolist() == [1, 1, 1]


def test_batch_norm_without_factors_and_without_statistics() -> None:
    layer, x = nn.BatchNorm2d(3, affine=False, track_running_stats=False), images()
    assert list(layer.state_dict()) == []
    assert_close(layer.eval()(x), layer.train()(x))
    assert abs(layer(x).mean(["N", "H", "W"]).numpy()).max() < 1e-5


def test_batch_norm_of_rows_keeps_any_name() -> None:
    layer = nn.BatchNorm1d(4)
    y = layer(wb.randn(N=8, features=4))
    assert y.names == ("N", "features")
    assert abs(y.mean("N").detach().numpy()).max() < 1e-5
    with pytest.raises(wb.DimensionError, match=r"takes dims \['N', 'C', 'L'\]"):
        layer(wb.randn(N=8, L=4, C=4))


def test_statistics_stay_while_only_rules_are_followed() -> None:
    layer = nn.BatchNorm2d(3)
    with wb.core.interpreting(wb.core.WithoutNumbers()):
        layer(images())
    assert layer.running_mean.tolist() == [0, 0, 0]


def test_pooling_activations_and_linear() -> None:
    x = images()
    a = x.numpy()
    tiles = a.reshape(2, 3, 3, 2, 3, 2)
    assert_close(nn.MaxPool2d(2)(x), tiles.max((3, 5)))
    assert_close(nn.AvgPool2d(2)(x), tiles.mean((3, 5)))
    values, indices = nn.MaxPool2d(6, return_indices=True)(x)
    assert indices.tolist() == a.reshape(2, 3, 1, -1).argmax(-1)[..., None].tolist()
    assert values.shape == (2, 3, 1, 1)
    assert_close(nn.ReLU()(x), np.maximum(a, 0))
    assert_close(nn.Tanh()(x), np.tanh(a))
    assert_close(nn.Sigmoid()(x), 1 / (1 + np.exp(-a)))
    shares = nn.Softmax("C")(x)
    assert_close(shares.sum("C"), np.ones((2, 6, 6)))
    layer = nn.Linear(6, 4)
    assert_close(layer(x), a @ layer.weight.detach().numpy().T + layer.bias.detach().numpy(), rtol=1e-4)
    assert layer(x).names == ("N", "C", "H", "out_features")


@pytest.mark.parametrize(
    ("layer", "names"),
    [
        (nn.Flatten(), ("N", "features")),
        (nn.Flatten("C", "W"), ("N", "features")),
        (nn.Flatten("H", "W", out_dim="pixel"), ("N", "C", "pixel")),
        (nn.Flatten(0), ("features",)),
        (nn.Flatten(2, 2), ("N", "C", "H", "W")),
    ],
)
def test_flatten_names_what_it_makes(layer: nn.Module, names: tuple[str, ...]) -> None:
    x = images()
    y = layer(x)
    assert y.names == names
    assert y.numpy().ravel().tolist() == x.numpy().ravel().tolist()


def test_flatten_gives_no_name_where_one_is_missing() -> None:
    assert nn.Flatten()(images().rename("N", "C", None, "W")).names == ("N", None)


def test_dropout_drops_while_training_only() -> None:
    layer, x = nn.Dropout(0.25), wb.ones(N=100, C=100)
    wb.manual_seed(3)
    y = layer(x)
    values, counts = np.unique(y.numpy(), return_counts=True)
    assert values.tolist() == [0.0, np.float32(4 / 3)]
    assert 0.22 < counts[0] / 10_000 < 0.28
    assert y.names == ("N", "C")
    wb.manual_seed(3)
    assert_close(layer(x), y)
    assert layer.eval()(x) is x
    assert nn.functional.dropout(x, 1.0).sum().item() == 0


def test_losses() -> None:
    scores = np.array([[1.0, 2.0, 0.5], [0.1, 0.2, 3.0]], np.float32)
    target = wb.tensor([1, 0])
    log = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    expected = -log[[0, 1], [1, 0]]
    assert_close(nn.CrossEntropyLoss()(wb.tensor(scores), target), expected.mean())
    assert_close(nn.CrossEntropyLoss(reduction="none")(wb.tensor(scores), target), expected)
    assert_close(nn.NLLLoss(reduction="sum")(wb.tensor(log), target), expected.sum())
    assert_close(nn.MSELoss()(wb.tensor(scores), wb.zeros(2, 3)), (scores**2).mean())


def test_parameters_say_what_their_dims_are() -> None:
    assert nn.Conv2d(1, 2, 3).weight.dim_labels == (
        "out_channels",
        "in_channels",
        "kernel_height",
        "kernel_width",
    )
    assert nn.Conv2d(1, 2, 3).bias.dim_labels == ("out_channels",)
    assert nn.Linear(1, 2).weight.dim_labels == ("out_features", "in_features")
    layer = nn.Conv2d(3, 2, 3)
    layer(images()).sum().backward()
    assert layer.weight.grad.dim_labels == layer.weight.dim_labels


def refused(layer: nn.Module, x: wb.Tensor) -> wb.DimensionError:
    with pytest.raises(wb.DimensionError) as caught:
        layer(x)
    return caught.value


@pytest.mark.parametrize("layer", [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(3), nn.MaxPool2d(2), nn.AvgPool2d(2)])
def test_misnamed_images_are_refused_with_code_that_works(layer: nn.Module) -> None:
    x = images()
    permuted = refused(layer, x.align_to("N", "H", "W", "C"))
    assert "The names are the same in another order" in str(permuted)
    assert permuted.fix == "x.align_to('N', 'C', 'H', 'W')"
    assert permuted.operands[0].marks == (False, True, True, True)
    assert permuted.operands[0].sizes == (2, 6, 6, 3)
    layer(x.align_to("N", "H", "W", "C").align_to("N", "C", "H", "W"))

    misspelt = refused(layer, x.rename(C="c"))
    assert "Is 'c' a misspelling of 'C'?" in str(misspelt)
    assert misspelt.fix.startswith("x.rename(c='C')")

    other = refused(layer, x.rename("batch", "channels", "height", "width"))
    assert other.fix.startswith("x.rename(batch='N', channels='C', height='H', width='W')")

    mixed = refused(layer, x.rename("N", "H", "rows", "W"))
    assert "position 1 is 'H' where 'C' is expected" in str(mixed)
    layer(x.rename("N", None, "H", None))
    layer(x.rename(None))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Conv2d(0, 1, 3), ValueError, "in_channels must be a whole number, at least 1, got 0"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups: 3 by 2"),
        (lambda: nn.Conv2d(1, 1, (3, 3, 3)), ValueError, "kernel_size is a whole number or a pair"),
        (lambda: nn.Conv2d(1, 1, 3, padding="all"), ValueError, "should be one of ('valid', 'same')"),
        (lambda: nn.Conv2d(1, 1, 3, stride=2, padding="same"), ValueError, "not supported for strided"),
        (lambda: nn.Linear(2.5, 1), ValueError, "in_features must be a whole number, at least 0, got 2.5"),
        (lambda: nn.Dropout(1.5), ValueError, "has to be between 0 and 1, but got 1.5"),
        (lambda: nn.CrossEntropyLoss(reduction="avg"), ValueError, "use 'none', 'mean' or 'sum'"),
        (
            lambda: nn.BatchNorm2d(3)(images(N=1, C=3, H=1, W=1)),
            wb.DimensionError,
            "more than 1 value per channel",
        ),
        (lambda: nn.BatchNorm2d(3)(wb.zeros(2, 3)), wb.DimensionError, "got 2D input"),
        (lambda: nn.BatchNorm2d(4)(images()), wb.DimensionError, "should contain 3 elements"),
        (lambda: nn.Softmax("K")(images()), IndexError, "Name 'K' not found"),
        (
            lambda: nn.functional.batch_norm(images(), None, None),
            ValueError,
            "to be given when training=False",
        ),
        (lambda: init.xavier_uniform_(wb.empty(3)), wb.DimensionError, "fewer than 2 dimensions"),
        (lambda: init.kaiming_uniform_(wb.empty(3, 3), mode="fan"), ValueError, "Mode fan not supported"),
        (lambda: init.calculate_gain("swish"), ValueError, "Unsupported nonlinearity swish"),
    ],
)
def test_bad_settings_are_refused_in_words(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)


def test_a_failed_batch_norm_moves_no_statistics() -> None:
    layer = nn.BatchNorm2d(3)
    with pytest.raises(wb.DimensionError):
        layer(images(N=1, C=3, H=1, W=1))
    assert layer.num_batches_tracked.item() == 0


def test_functional_batch_norm_is_the_layer() -> None:
    layer, x = nn.BatchNorm2d(3), images()
    mean, var = wb.zeros(3), wb.ones(3)
    y = nn.functional.batch_norm(x, mean, var, layer.weight, layer.bias, training=True)
    assert_close(y, layer(x))
    assert_close(mean, layer.running_mean)
    assert_close(var, layer.running_var)
    assert_close(nn.functional.batch_norm(x, mean, var), layer.eval()(x))


@pytest.mark.parametrize(
    ("fill", "deviation"),
    [
        (lambda w: init.kaiming_uniform_(w, nonlinearity="relu"), np.sqrt(2 / 200)),
        (lambda w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"), np.sqrt(2 / 300)),
        (init.xavier_uniform_, np.sqrt(2 / 500)),
        (init.xavier_normal_, np.sqrt(2 / 500)),
        (lambda w: init.uniform_(w, -1, 1), np.sqrt(1 / 3)),
        (lambda w: init.normal_(w, 0, 0.3), 0.3),
        (lambda w: init.default_weight_and_bias(w, None), np.sqrt(1 / 3 / 200)),
    ],
)
def test_first_values_have_the_deviation_that_they_should(fill: object, deviation: float) -> None:
    wb.manual_seed(1)
    weight = wb.empty(300, 200)
    fill(weight)  # type: ignore[operator]
    assert abs(weight.numpy().mean()) < 0.02 * max(deviation, 0.1)
    assert weight.numpy().std() == pytest.approx(deviation, rel=0.02)


def test_the_same_seed_gives_the_same_layers() -> None:
    wb.manual_seed(5)
    first = nn.Conv2d(3, 4, 3)
    wb.manual_seed(5)
    assert_close(nn.Conv2d(3, 4, 3).weight.detach(), first.weight.detach())


def test_names_reach_a_layer_through_a_trace_without_numbers() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    )
    with wb.core.interpreting(wb.core.WithoutNumbers()):
        y = model(images())
    assert (y.names, y.shape) == (("N", "features"), (2, 36))
