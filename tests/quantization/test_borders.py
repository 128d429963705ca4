"""Convolutions on codes whose border is of other values than zeros, or wider on one side than on the other."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.nn import functional as F

MODES = ("zeros", "reflect", "replicate", "circular")


def network(n: int, mode: str, padding: Any = 1) -> Any:
    wb.manual_seed(0)
    conv, norm, width = getattr(nn, f"Conv{n}d"), getattr(nn, f"BatchNorm{n}d"), 4 if padding == "same" else 3
    settings = {"padding": padding, "padding_mode": mode}
    return nn.Sequential(
        conv(3, 4, width, **settings), norm(4), nn.ReLU(), conv(4, 2, width, **settings)
    ).eval()


def data(n: int) -> Any:
    wb.manual_seed(1)
    return wb.randn(2, 3, *(7, 6, 5)[:n])


def by_layers(model: Any, x: Any) -> Any:
    return q.quantize(model, [x])


def as_a_graph(model: Any, x: Any) -> Any:
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    return q.convert_fx(prepared)


def trained(model: Any, x: Any) -> Any:
    prepared = q.prepare_qat_fx(model.train(), q.get_default_qat_qconfig_mapping("x86"), (x,))
    prepared(x).sum().backward()
    return q.convert_fx(prepared.eval())


def trained_by_layers(model: Any, x: Any) -> Any:
    model = nn.Sequential(q.QuantStub(), *model, q.DeQuantStub()).train()
    model.qconfig = q.get_default_qat_qconfig("x86")  # type: ignore[attr-defined]
    prepared = q.prepare_qat(q.fuse_modules_qat(model, [["1", "2", "3"]]))
    prepared(x).sum().backward()
    return q.convert(prepared.eval())


def convolutions(model: Any) -> list[Any]:
    return [
        one
        for one in model.modules()
        if isinstance(one, q.quantized.Conv1d | q.quantized.Conv2d | q.quantized.Conv3d)
    ]


def widths(layer: Any, n: int) -> list[int]:
    if layer.padding != "same":
        return [1, 1] * n
    return [1, 2] * n


def check(converted: Any, x: Any, n: int, mode: str) -> None:
    """Each layer does what one without a border does with an input that is padded as numbers, and rounded again."""
    seen = {}
    for layer in convolutions(converted):
        layer.register_forward_hook(lambda one, given, found: seen.__setitem__(one, (given[0], found)))
    with wb.no_grad():
        converted(x)
    assert len(seen) == 2
    for layer, (codes, found) in list(seen.items()):
        assert layer.padding_mode == mode
        wide = F.pad(codes.dequantize(), widths(layer, n), mode="constant" if mode == "zeros" else mode)
        wide = wb.quantize_per_tensor(wide, codes.q_scale(), codes.q_zero_point(), codes.dtype)
        plain = copy.deepcopy(layer)
        plain.padding, plain.padding_mode = (0,) * n, "zeros"
        np.testing.assert_array_equal(plain(wide).int_repr().numpy(), found.int_repr().numpy())


@pytest.mark.parametrize("padding", [1, "same"])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_codes_of_the_border_are_those_of_the_input(mode: str, n: int, padding: Any) -> None:
    x = data(n)
    for way in (by_layers, as_a_graph):
        model = network(n, mode, padding)
        exact = model(x)
        converted = way(model, x)
        assert q.sqnr(exact, converted(x)) > 28
        check(converted, x, n, mode)


@pytest.mark.parametrize("way", [trained, trained_by_layers])
@pytest.mark.parametrize(
    ("mode", "n", "padding"), [("reflect", 2, 1), ("circular", 1, "same"), ("replicate", 3, 1)]
)
def test_after_training(mode: str, n: int, padding: Any, way: Any) -> None:
    check(way(network(n, mode, padding), data(n)), data(n), n, mode)


@pytest.mark.parametrize("mode", MODES)
def test_layers_that_say_what_is_to_be_done_pad_alike(mode: str) -> None:
    model, x = network(2, mode, "same"), data(2)
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    assert q.sqnr(q.convert_to_reference_fx(prepared)(x), q.convert_fx(prepared)(x)) > 60


@pytest.mark.parametrize("mode", MODES)
def test_they_travel(mode: str) -> None:
    model, x = network(2, mode, "same"), data(2)
    prepared = q.prepare(nn.Sequential(q.QuantStub(), *model, q.DeQuantStub()).eval())
    prepared(x)
    converted = q.convert(prepared)
    expected = converted(x).numpy()
    for other in (pickle.loads(pickle.dumps(converted)), copy.deepcopy(converted), wb.compile(converted)):
        np.testing.assert_array_equal(other(x).numpy(), expected)
    prepared(3 * x)
    other = q.convert(prepared)
    assert not np.array_equal(other(x).numpy(), expected)
    other.load_state_dict(converted.state_dict())
    np.testing.assert_array_equal(other(x).numpy(), expected)


@pytest.mark.parametrize("mode", MODES)
def test_their_bias_is_corrected(mode: str) -> None:
    model, x = network(2, mode, "same"), data(2)
    config = q.bits_qconfig(8, 3)
    plain = q.quantize(model, [x], qconfig=config)
    exact = model(x)
    apart, less = (
        float((one(x) - exact).mean((0, 2, 3)).abs().max())
        for one in (plain, q.correct_bias(plain, model, [x]))
    )
    assert less < apart / 4


def test_a_layer_is_made_by_the_words_of_one_on_numbers() -> None:
    for n in (1, 2, 3):
        x = wb.quantize_per_tensor(data(n), 0.1, 20, wb.quint8)
        straight = getattr(q.quantized, f"Conv{n}d")(
            3, 6, 3, 2, 1, groups=3, bias=False, padding_mode="reflect"
        )
        number = getattr(nn, f"Conv{n}d")(3, 6, 3, 2, 1, groups=3)
        assert straight(x).shape == number(x.dequantize()).shape
        assert "groups=3, bias=False, padding_mode=reflect, scale=1" in repr(straight)
        spread = getattr(q.quantized, f"ConvTranspose{n}d")(3, 6, 3, 2, 1, 1, groups=3)
        number = getattr(nn, f"ConvTranspose{n}d")(3, 6, 3, 2, 1, 1, groups=3)
        assert spread(x).shape == number(x.dequantize()).shape


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: q.quantized.Conv2d(2, 2, 3, padding_mode="mirror"), ValueError,
         "padding_mode must be one of zeros, reflect, replicate, circular, but got padding_mode='mirror'"),
        (lambda: q.quantized.ConvTranspose1d(2, 2, 3, padding_mode="reflect"), ValueError,
         'Only "zeros" padding mode is supported for ConvTranspose1d'),
        (lambda: q.quantized.Conv1d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups: 3 by 2"),
        (lambda: q.quantized.Conv3d(2, 2, 3, stride=2, padding="same"), ValueError, "strided convolutions"),
        (lambda: q.quantized.Conv2d(1, 1, 3, padding=4, padding_mode="reflect")(
            wb.quantize_per_tensor(wb.ones(1, 1, 4, 4), 0.1, 0, wb.quint8)
        ), wb.DimensionError, "Padding size should be less than the corresponding input dimension: got 4 for size 4"),
    ],
)  # fmt: skip
def test_refusals(act: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act()
