"""Layers on codes: every engine's kernel gives what NumPy gives with whole numbers, to the last code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.ops.quantized_layers import LAYERS, Layer, run
from workbench.base.dtypes import qint8, quint8
from workbench.base.quantized_array import QuantizedArray
from workbench.core.op import ops
from workbench.core.value import new

ENGINES = ["qnnpack", "onednn", "x86", "fbgemm"]


@pytest.fixture(autouse=True)
def engine_as_before() -> Iterator[None]:
    before = wb.backends.quantized.engine
    yield
    wb.backends.quantized.engine = before


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_kernels_agree_with_whole_numbers(layer: Layer, engine: str) -> None:
    wb.backends.quantized.engine = engine
    for ties in (False, True):
        for relu in (False, True):
            for per_channel in (False, True):
                codes = layer.codes(ties, relu, per_channel)
                for bias in (False, True):
                    found = run(layer, codes, relu, bias, oracle=False)
                    expected = run(layer, codes, relu, bias, oracle=True)
                    assert np.ptp(expected) > 20
                    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_a_bias_may_have_31_bits(layer: Layer, engine: str) -> None:
    wb.backends.quantized.engine = engine
    for relu in (False, True):
        for per_channel in (False, True):
            codes = layer.with_large_bias(relu, per_channel)
            found = run(layer, codes, relu, bias=True, oracle=False)
            np.testing.assert_array_equal(found, run(layer, codes, relu, bias=True, oracle=True))
            *_, bias, scale, zero = codes
            # Beside such a bias the sums are too small to change more than a code.
            real = np.resize(bias, layer.outputs).astype(float) / scale + zero
            expected = np.clip(np.rint(real), zero if relu else 0, 255)
            channels = np.moveaxis(found, -1 if layer.kind == "linear" else 1, -1)
            assert np.abs(channels - expected).max() <= 1


def test_a_bias_of_more_bits_is_cut_to_32() -> None:
    wb.backends.quantized.engine = "qnnpack"
    x = QuantizedArray(np.full((1, 2), 70, np.uint8), 0.5, 60, quint8)
    weight = QuantizedArray(np.full((4, 2), 3, np.int8), 0.25, 0, qint8)
    bias = np.array([2.0**33, 2.0**31, -(2.0**31), -(2.0**35)], np.float32) * np.float32(0.125)
    params = {"scale": 0.125 * 2.0**31 / 100, "zero_point": 110, "qmin": 0, "qmax": 255, "relu": False}
    found = ops.quantized_linear(*map(new, (x, weight, bias)), **params).payload.codes
    assert found.tolist() == [[210, 210, 10, 10]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("scale", "weights"), [(1e30, 1e20), (3e38, 1e-30), (1e-38, 1e-30)])
def test_scales_beyond_their_type_give_codes_without_a_warning(
    engine: str, scale: float, weights: float
) -> None:
    wb.backends.quantized.engine = engine
    x = QuantizedArray(np.full((1, 2), 70, np.uint8), scale, 60, quint8)
    weight = QuantizedArray(np.full((4, 2), 3, np.int8), weights, 0, qint8)
    bias = np.array([1.0, -1.0, 0.0, 3e38], np.float32)
    for given in (None, bias):
        inputs = [one if one is None else new(one) for one in (x, weight, given)]
        params = {"zero_point": 110, "qmin": 0, "qmax": 255, "relu": False}
        assert ops.quantized_linear(*inputs, scale=1.0, **params).payload.codes.shape == (1, 4)
        assert ops.quantized_linear(*inputs, scale=None, **params).shape == (1, 4)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("limits", [(90, 200), (20, 110), (150, 180)])
@pytest.mark.parametrize("layer", [LAYERS[3], LAYERS[-2]], ids=str)
def test_codes_stay_within_limits(layer: Layer, limits: tuple[int, int], relu: bool) -> None:
    x, weight, bias, scale, _ = layer.codes(False, relu, True)
    op: Any = getattr(ops, f"quantized_{layer.kind}")
    params = {**dict(layer.geometry), "scale": scale, "zero_point": 100, "relu": relu}
    params |= dict(zip(("qmin", "qmax"), limits, strict=True))
    found = op(*map(new, (x, weight, bias)), **params).payload.codes
    np.testing.assert_array_equal(found, op.forward(x, weight, bias, **params).codes)
    # A rectified value is not below zero, and the limits may lie above that.
    assert (found.min(), found.max()) == (max(limits[0], 100 if relu else 0), limits[1])


def _exact(layer: Layer, codes: Any) -> Any:
    """Return real results of an affine map, in double precision."""
    x, weight, bias, scale, zero = codes
    sums = (x.codes.astype(float) - x.zero_point) @ weight.codes.astype(float).T
    return (sums * x.scale * np.asarray(weight.scale) + bias) / scale + zero


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_rounds_to_the_nearest_code(engine: str) -> None:
    wb.backends.quantized.engine = engine
    layer = LAYERS[-2]
    codes = layer.codes(False, False, True)
    found = run(layer, codes, relu=False, bias=True, oracle=False).astype(float)
    exact = np.clip(_exact(layer, codes), 0, 255)
    # A bias rounded to 32 bits moves a result by less than a hundredth of a code.
    assert np.abs(found - exact).max() < (0.51 if engine == "qnnpack" else 0.501)


def test_engines_differ_at_halves_only() -> None:
    differing = {False: 0, True: 0}
    for layer in LAYERS[:9]:
        for ties in (False, True):
            codes, found = layer.codes(ties, False, True), {}
            for engine in ENGINES:
                wb.backends.quantized.engine = engine
                found[engine] = run(layer, codes, relu=False, bias=True, oracle=False).astype(int)
            apart = {engine: np.abs(found[engine] - found["onednn"]) for engine in ENGINES}
            assert max(one.max() for one in apart.values()) <= 1
            assert not apart["x86"].any()
            differing[ties] += int((apart["fbgemm"] > 0).sum())
    assert differing[False] == 0 < differing[True]


def test_an_unknown_engine_is_refused_and_changes_nothing() -> None:
    wb.backends.quantized.engine = "onednn"
    with pytest.raises(
        wb.QuantizationError, match="there is no quantized engine 'gpu'; there are 'qnnpack', 'onednn'"
    ):
        wb.backends.quantized.engine = "gpu"
    assert wb.backends.quantized.engine == "onednn"
    assert wb.backends.quantized.supported_engines == ENGINES


F = wb.quantization.quantized.functional


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda x, w: F.conv2d(x.dequantize(), w, None), "quantized conv2d takes a quantized tensor, and got float32"),
        (lambda x, w: F.conv2d(x, w.dequantize(), None), "quantized conv2d takes a quantized tensor"),
        (lambda x, w: F.conv2d(x, w, None, padding_mode="reflect"), "pads with zeros, not by 'reflect'"),
        (lambda x, w: F.conv2d(x, w, None, dtype=wb.qint8), "writes quint8, not qint8"),
        (lambda x, w: F.conv_transpose2d(x, w, None, output_padding=1), "smaller than either stride or dilation"),
        (lambda x, w: F.linear(x.dequantize(), w), "quantized linear takes a quantized tensor"),
    ],
)  # fmt: skip
def test_refusals(act: Any, message: str) -> None:
    x = wb.quantize_per_tensor(wb.ones(1, 2, 4, 4), 0.1, 3, wb.quint8)
    w = wb.quantize_per_tensor(wb.ones(2, 2, 2, 2), 0.1, 0, wb.qint8)
    with pytest.raises(wb.QuantizationError, match=message):
        act(x, w)


@pytest.mark.parametrize(("rows", "features", "outputs"), [(3, 0, 2), (3, 4, 0), (0, 4, 2), (0, 0, 0)])
def test_maps_of_nothing(rows: int, features: int, outputs: int) -> None:
    x = wb.quantize_per_tensor(wb.ones(rows, features), 0.1, 3, wb.quint8)
    w = wb.quantize_per_tensor(wb.ones(outputs, features), 0.1, 0, wb.qint8)
    found = F.linear(x, w, wb.full((outputs,), 0.7), 0.1, 5)
    assert found.shape == F.linear(x, w).shape == (rows, outputs)
    # Of no features the bias is left.
    assert features or (found.int_repr() == 12).all()


def test_names_stay() -> None:
    named = wb.quantize_per_tensor(wb.ones(1, 2, 4, 4, names=("N", "C", "H", "W")), 0.1, 3, wb.quint8)
    turned = wb.quantize_per_tensor(wb.ones(2, 3, 2, 2), 0.1, 0, wb.qint8)
    y = F.conv_transpose2d(named, turned, None, stride=2)
    assert (y.names, y.shape) == (("N", "C", "H", "W"), (1, 3, 8, 8))


@pytest.mark.parametrize("seed", range(40))
def test_transposed_convolutions_by_phases_give_the_same_codes(seed: int) -> None:
    random = np.random.default_rng(seed)
    rank, groups = int(random.integers(1, 4)), int(random.integers(1, 3))
    channels, outputs = groups * int(random.integers(1, 4)), int(random.integers(1, 4))
    bounds = (1, 6), (1, 4), (0, 3), (5, 7)
    drawn = (random.integers(*both, rank) for both in bounds)
    kernel, stride, padding, sizes = (tuple(map(int, one)) for one in drawn)
    more = tuple(int(random.integers(0, one)) for one in stride)
    x = QuantizedArray(random.integers(0, 256, (2, channels, *sizes)).astype(np.uint8), 0.02, 60, wb.quint8)
    codes = random.integers(-128, 128, (channels, outputs, *kernel)).astype(np.int8)
    weight = QuantizedArray(codes, np.linspace(0.01, 0.02, outputs), np.zeros(outputs, int), wb.qint8, 1)
    op: Any = getattr(ops, f"quantized_conv_transpose{rank}d")
    params = {
        "stride": stride, "padding": padding, "output_padding": more, "dilation": (1,) * rank, "groups": groups,
        "scale": 0.7, "zero_point": 100, "qmin": 0, "qmax": 255, "relu": False,
    }  # fmt: skip
    given = x, weight, random.standard_normal(outputs * groups).astype(np.float32)
    np.testing.assert_array_equal(
        op.quantized.codes(op, *given, **params).codes, op.forward(*given, **params).codes
    )
