"""Convolutions of every number of dims: borders, one example, transposes, and what they refuse."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.nn import functional as F
from workbench.ops.nn.conv.window_geometry import LAYOUT
from workbench.testing import assert_close

SIZES = {1: (7,), 2: (6, 7), 3: (4, 5, 6)}
STRAIGHT = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


def values(n: int, channels: int = 4, batch: int = 2) -> wb.Tensor:
    array = np.random.default_rng(n).standard_normal((batch, channels, *SIZES[n])).astype(np.float32)
    return wb.from_numpy(array, names=LAYOUT[n])


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("training", [True, False])
def test_one_example_is_a_batch_of_one(n: int, training: bool) -> None:
    x = values(n)
    for layer in (
        STRAIGHT[n](4, 6, 3, stride=2, padding=1, groups=2),
        STRAIGHT[n](4, 6, 3, padding="same", padding_mode="circular"),
        TRANSPOSED[n](4, 6, 3, stride=2),
    ):
        layer.train(training)
        with wb.set_grad_enabled(training):
            y, one = layer(x), layer(x[0])
        assert y.names == LAYOUT[n]
        assert one.names == LAYOUT[n][1:]
        assert_close(one.detach(), y.detach()[0], rtol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("mode", "border"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
def test_a_border_of_other_values_is_that_of_numpy(n: int, mode: str, border: str) -> None:
    x = values(n)
    layer = STRAIGHT[n](4, 3, 3, padding=1, padding_mode=mode)
    plain = STRAIGHT[n](4, 3, 3)
    plain.load_state_dict(layer.state_dict())
    wide = np.pad(x.numpy(), ((0, 0), (0, 0), *((1, 1),) * n), mode=border)
    assert_close(layer(x), plain(wb.from_numpy(wide)), rtol=1e-5)
    assert f"padding_mode={mode}" in repr(layer)
    with wb.no_grad():
        assert_close(layer.eval()(x), plain(wb.from_numpy(wide)), rtol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_same_keeps_the_size_and_pads_more_behind(training: bool) -> None:
    x = values(2)
    for kernel, dilation in (((3, 5), 1), ((2, 4), (1, 3)), ((1, 1), 1)):
        layer = nn.Conv2d(4, 3, kernel, padding="same", dilation=dilation).train(training)
        assert layer.padding == "same"
        plain = nn.Conv2d(4, 3, kernel, dilation=dilation)
        plain.load_state_dict(layer.state_dict())
        total = [d * (k - 1) for k, d in zip(kernel, layer.dilation, strict=True)]
        wide = np.pad(x.numpy(), ((0, 0), (0, 0), *((t // 2, t - t // 2) for t in total)))
        with wb.set_grad_enabled(training):
            y = layer(x)
        assert y.shape[2:] == x.shape[2:]
        assert_close(y, plain(wb.from_numpy(wide)), rtol=1e-4, atol=1e-5)
    assert nn.Conv2d(4, 3, 3, padding="valid")(x).shape == (2, 3, 4, 5)


def test_settings_that_change_are_seen() -> None:
    x, layer = values(2), nn.Conv2d(4, 3, 3).eval()
    with wb.no_grad():
        assert layer(x).shape == (2, 3, 4, 5)
        layer.padding = "same"
        assert layer(x).shape == (2, 3, 6, 7)
        layer.padding_mode, layer.padding = "circular", (2, 2)
        assert layer(x).shape == (2, 3, 8, 9)
        layer.padding_mode, layer.padding = "zeros", 1
        assert layer(x).shape == (2, 3, 6, 7)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_transpose_is_the_gradient_of_the_convolution(n: int) -> None:
    settings = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}
    straight = STRAIGHT[n](4, 6, 2, bias=False, **settings)
    x = values(n).requires_grad_()
    y = straight(x)
    back = TRANSPOSED[n](6, 4, 2, bias=False, **settings)
    back.load_state_dict({"weight": straight.weight.detach().rename(None)})
    seed = wb.randn(*y.shape).rename(*LAYOUT[n])
    y.backward(seed)
    spread = back(seed, output_size=x.shape[2:])
    assert spread.shape == back(seed, output_size=list(x.shape)).shape == x.shape
    assert_close(spread, x.grad, rtol=1e-4, atol=1e-5)
    assert back.weight.dim_labels[:2] == ("in_channels", "out_channels")


def test_weights_have_names_types_and_sizes() -> None:
    layer = nn.Conv3d(4, 6, (1, 2, 3), groups=2, dtype=wb.float64, device="cpu", bias=False)
    assert layer.weight.dim_labels == (
        "out_channels",
        "in_channels",
        "kernel_depth",
        "kernel_height",
        "kernel_width",
    )
    assert layer.weight.shape == (6, 2, 1, 2, 3)
    assert layer.weight.dtype is wb.float64
    assert nn.ConvTranspose1d(4, 6, 3, groups=2).weight.shape == (4, 3, 3)
    assert nn.Conv1d(1, 2, 3).weight.dim_labels == ("out_channels", "in_channels", "kernel_width")
    layer = copy.deepcopy(layer)
    layer(values(3).double()).sum().backward()
    assert layer.weight.grad.dim_labels == layer.weight.dim_labels


@pytest.mark.parametrize("n", [1, 2, 3])
def test_other_names_are_refused_with_code_that_works(n: int) -> None:
    x = values(n)
    last = [*LAYOUT[n][:1], *LAYOUT[n][2:], "C"]
    for layer in (STRAIGHT[n](4, 2, 1), TRANSPOSED[n](4, 2, 1)):
        with pytest.raises(wb.DimensionError) as caught:
            layer(x.align_to(*last))
        assert caught.value.fix == f"x.align_to({', '.join(map(repr, LAYOUT[n]))})"
        with pytest.raises(wb.DimensionError, match="position 0 is 'T' where 'C' is expected"):
            layer(x[0].rename(C="T"))
        assert layer(x.rename(None)).names == (None,) * (n + 2)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Conv1d(1, 1, 3, padding_mode="mirror"), ValueError, "padding_mode must be one of zeros"),
        (
            lambda: nn.Conv3d(1, 1, 3, groups=0),
            ValueError,
            "groups must be a whole number, at least 1, got 0",
        ),
        (lambda: nn.Conv1d(1, 1, (3, 3)), ValueError, "kernel_size is a whole number, got (3, 3)"),
        (
            lambda: nn.ConvTranspose2d(1, 1, 3, padding="same"),
            ValueError,
            "padding is a whole number or a pair",
        ),
        (
            lambda: nn.ConvTranspose1d(1, 1, 3, padding_mode="reflect"),
            ValueError,
            'Only "zeros" padding mode',
        ),
        (
            lambda: nn.ConvTranspose2d(4, 1, 3, stride=2)(values(2), output_size=(13, 20)),
            ValueError,
            "requested an output size of [13, 20], but valid sizes range from [13, 15] to [14, 16]",
        ),
        (
            lambda: nn.ConvTranspose2d(4, 1, 3)(values(2), output_size=(1, 2, 3)),
            ValueError,
            "output_size must have 2 or 4 elements (got 3)",
        ),
        (
            lambda: nn.ConvTranspose1d(4, 1, 3, output_padding=1)(values(1)),
            wb.DimensionError,
            "output padding must be smaller than either stride or dilation",
        ),
        (lambda: nn.Conv2d(3, 1, 1)(values(2)), wb.DimensionError, "to have 3 channels, but got 4 channels"),
        (lambda: nn.Conv2d(4, 1, 1)(wb.zeros(2, 2)), wb.DimensionError, "Expected 3D (unbatched) or 4D"),
        (
            lambda: nn.Conv2d(4, 1, 3, padding=6, padding_mode="reflect")(values(2)),
            wb.DimensionError,
            "Padding size should be less than the corresponding input dimension",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_words(
    make: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)


def test_borders_of_two_widths_and_two_sizes_stand_where_they_belong() -> None:
    x = wb.randn(1, 1, 6, 7)
    layer = nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode="circular")
    bordered = np.pad(x.numpy(), ((0, 0), (0, 0), (1, 1), (2, 2)), mode="wrap")
    expected = F.conv2d(
        wb.tensor(bordered), layer.weight.detach().rename(None), layer.bias.detach().rename(None)
    )
    np.testing.assert_allclose(layer(x).detach().numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
    even = nn.Conv2d(1, 2, (2, 4), padding="same", padding_mode="replicate")
    bordered = np.pad(x.numpy(), ((0, 0), (0, 0), (0, 1), (1, 2)), mode="edge")
    expected = F.conv2d(
        wb.tensor(bordered), even.weight.detach().rename(None), even.bias.detach().rename(None)
    )
    np.testing.assert_allclose(even(x).detach().numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_packed_weights_are_not_used_for_another_type_nor_pickled() -> None:
    layer = nn.Conv2d(1, 2, 3).eval()
    with wb.no_grad():
        layer(wb.zeros(1, 1, 4, 4))
    assert layer._prepared is not None or nn.Conv2d.op.kernel is None
    assert pickle.loads(pickle.dumps(layer))._prepared is None
    assert copy.deepcopy(layer)._prepared is None
    layer.double()
    with wb.no_grad():
        assert layer(wb.zeros(1, 1, 4, 4, dtype=wb.float64)).dtype is wb.float64
